"""
Checks of what SGLang refuses once its parser has read all of it: its ``ServerArgs``,
its model's configuration, and uvicorn in front of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.checkpoints import known_checkpoint
from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import named_model
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject
from cdk_sagemaker_llm.text import any_of

# uvicorn 0.38, LOG_LEVELS, as far as Python's logging, which SGLang sets up, has them.
_LEVELS = ("critical", "error", "warning", "info", "debug")
_HTTP_LEVELS = (*_LEVELS, "trace")
_COLON_SINCE = "0.5.6"
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_ENABLED = ("1", "true", "yes", "y", "on", "t")

REFUSED_AT_START = Rule(
    "LLM537",
    "SGLang's parser takes arguments that its start refuses",
    "check_server_args and _derive_context_length of SGLang 0.5.5 to 0.5.20; uvicorn",
)

# What a config.json says of scaled positions may lengthen it.
LONG_CONTEXT = Rule(
    "LLM644",
    "SGLang is given a longer context than the model is known to have",
    "_derive_context_length of SGLang 0.5.19",
)


def level_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The level is one of uvicorn's, which looks it up once the model is loaded.
    """
    if subject.table != "sglang":
        return
    has_own = subject.has_argument("log-level-http")
    name = "log-level-http" if has_own else "log-level"
    levels = _HTTP_LEVELS if has_own else _LEVELS
    level = subject.value(name)
    if isinstance(level, str) and level and level.lower() not in levels:
        yield REFUSED_AT_START.finding(
            f"{subject.word_of(name)} must be {any_of(levels)}, got {level!r}: SGLang "
            "ends once the model is loaded",
            "write warning" if level.lower() == "warn" else "",
        )


def attention_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The copies of the attention share the GPUs of tensor parallelism evenly.
    """
    if subject.table != "sglang" or subject.value("enable-dp-attention") is not True:
        return
    copies = subject.number("dp-size") or 1
    size = subject.number("tp-size") or 1
    is_known = subject.find("tp-size") or not subject.has_argument("tp-size")
    if is_known and copies > 1 and size % copies:
        names = ("tp-size", "dp-size", "enable-dp-attention")
        tensor, data, switch = map(subject.word_of, names)
        yield REFUSED_AT_START.finding(
            f"{tensor} must be a multiple of {data} with {switch}, got {size} and "
            f"{copies}"
        )


def lora_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    Without a first adapter SGLang is told how large adapters are.
    """
    if subject.table != "sglang" or subject.value("enable-lora") is not True:
        return
    names = ("max-lora-rank", "lora-target-modules")
    has_both = all(map(subject.has_argument, names))
    if not subject.has_argument("lora-paths") and not has_both:
        rank, modules = map(subject.word_of, names)
        switch, paths = map(subject.word_of, ("enable-lora", "lora-paths"))
        yield REFUSED_AT_START.finding(
            f"{switch} needs {paths}, or {rank} and {modules}: SGLang does not start",
            f"set {rank}, and {modules} such as all",
        )


def cache_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The hierarchical cache is a radix cache.
    """
    names = ("enable-hierarchical-cache", "disable-radix-cache")
    if subject.table == "sglang" and all(subject.value(name) is True for name in names):
        first, second = map(subject.word_of, names)
        yield REFUSED_AT_START.finding(
            f"{first} and {second} exclude each other: SGLang does not start",
            "leave one of them out",
        )


def served_name_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    A colon stands between a model and its adapter.
    """
    name = subject.value("served-model-name")
    is_read = is_release_between(subject.release or "0", _COLON_SINCE)
    if subject.table != "sglang" or not is_read or not isinstance(name, str):
        return
    if ":" in name and "://" not in name:
        yield REFUSED_AT_START.finding(
            f"{subject.word_of('served-model-name')} must have no colon, which stands "
            f"between a model and its adapter, got {name!r}"
        )


def context_findings(subject: EngineSubject) -> Iterator[Finding]:
    """
    The context is no longer than the model's own, unless the process is told so.
    """
    length, longest = subject.number("context-length"), subject.context_length
    if subject.table != "sglang" or length is None or not longest:
        return
    named = named_model(subject)
    if named is not None and known_checkpoint(named[1]) is not None:
        # Its config.json is known, and says how positions are scaled.
        return
    is_allowed = (
        _LONGER in subject.hidden
        or subject.environment.get(_LONGER, "").lower() in _ENABLED
    )
    is_other = subject.has_argument("json-model-override-args")
    if length > longest and not is_allowed and not is_other:
        yield LONG_CONTEXT.finding(
            f"{subject.word_of('context-length')} should be at most {longest}, the "
            f"model's own, got {length}: SGLang does not start with more",
            f"leave it out, or set {_LONGER}=1",
        )
