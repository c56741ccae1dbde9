"""
Arguments of vLLM and SGLang as somebody asks about them, held against what a release's
parser and configuration take: no container is around them.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    all_argument_names,
    argument_names,
    argument_span,
    described_release,
    engine_releases,
    field_of,
    find_argument,
    is_release_between,
    spellings,
)
from cdk_sagemaker_llm.catalog.engine_releases import ENGINES, EngineRelease
from cdk_sagemaker_llm.catalog.releases import release_key
from cdk_sagemaker_llm.findings import Finding, Rule, errors_of
from cdk_sagemaker_llm.serving.checks import Check, checks_of
from cdk_sagemaker_llm.serving.engines.arguments import UntellableError, plain_text
from cdk_sagemaker_llm.serving.engines.checks import (
    configuration,
    devices,
    engine_values,
    refusals,
    sglang_start,
    tei,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import (
    ArgumentSetting,
    EngineSubject,
    Option,
    find_option,
)
from cdk_sagemaker_llm.serving.engines.telling import (
    UNKNOWN_ARGUMENT,
    way_out,
    when_known,
)
from cdk_sagemaker_llm.serving.support.number_formats import LACKS_METHOD
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_adapters import ADAPTER_RANK
from cdk_sagemaker_llm.serving.support.vllm_arguments import UNKNOWN_MODE
from cdk_sagemaker_llm.serving.support.vllm_drafts import NO_DRAFTS
from cdk_sagemaker_llm.serving.support.vllm_parsers import UNKNOWN_PARSER
from cdk_sagemaker_llm.text import any_of

# What the rules of support say of these themselves, with the model at hand.
_SAID_OF_SUPPORT = (engine_values.NO_TOOL_PARSER.code,)
# Which arguments a rule of support tells of.
_TELLS_OF: Mapping[str, tuple[str, ...]] = {
    ADAPTER_RANK.code: ("max_lora_rank",),
    LACKS_METHOD.code: ("quantization",),
    NO_DRAFTS.code: ("speculative_algorithm",),
    UNKNOWN_MODE.code: ("tokenizer_mode",),
    UNKNOWN_PARSER.code: ("tool_call_parser", "reasoning_parser"),
}
_CHECKS = checks_of(engine_values, configuration, refusals, devices, sglang_start)
_TRUTH = {"true": True, "1": True, "": True, "false": False, "0": False}
_WHOLE = ("int", "human_int", "human_int_or_auto")
_JSON = ("json", "json_or_str")
# What Python takes in any letters, and "none" of it for nothing.
_IN_ANY_LETTERS = ("dtype", "load-format", "quantization")
# What only Python's LLM(...) and Engine(...) take, in the releases that have it.
_OF_PYTHON: Mapping[str, Mapping[str, tuple[str, str | None]]] = {
    "vllm": {
        "enable_mm_processor_stats": ("0.14.0", None),
        "mamba_config": ("0.20.0", None),
        "model_weights": ("0.14.0", None),
        "quantization_config": ("0.20.0", None),
    },
    "sglang": {
        "custom_sigquit_handler": ("0.5.14", None),
        "stat_loggers": ("0.5.14", None),
    },
}
# The first release without what the one before had, where no table describes it.
_GONE_WITH: Mapping[str, str] = {
    "enable_reasoning": "0.10.0",
    "long_lora_scaling_factors": "0.10.0",
    "qlora_adapter_name_or_path": "0.10.0",
    "tokenizer_pool_extra_config": "0.10.0",
    "tokenizer_pool_size": "0.10.0",
    "tokenizer_pool_type": "0.10.0",
    "use_v2_block_manager": "0.10.0",
}
# The newest release that was read and does not have an argument yet, before those that
# tables describe.
_CAME_AFTER: Mapping[str, tuple[str, ...]] = {
    "0.2.7": (
        *("code-revision", "disable-custom-all-reduce", "enable-lora"),
        *("kv-cache-dtype", "lora-dtype", "lora-extra-vocab-size", "lora-modules"),
        *("max-cpu-loras", "max-lora-rank", "max-loras"),
    ),
    "0.3.3": (
        *("enable-chunked-prefill", "enable-prefix-caching", "fully-sharded-loras"),
        *("guided-decoding-backend", "max-logprobs", "model-loader-extra-config"),
        *("ngram-prompt-lookup-max", "ngram-prompt-lookup-min"),
        *("num-gpu-blocks-override", "num-lookahead-slots", "num-speculative-tokens"),
        *("quantization-param-path", "ray-workers-use-nsight"),
        *("scheduler-delay-factor", "skip-tokenizer-init", "speculative-model"),
        *("speculative-max-model-len", "tokenizer-pool-size", "use-v2-block-manager"),
    ),
    "0.4.2": (
        *("cpu-offload-gb", "disable-sliding-window", "enable-prompt-adapter"),
        *("distributed-executor-backend", "long-lora-scaling-factors"),
        *("max-seq-len-to-capture", "otlp-traces-endpoint", "preemption-mode"),
        *("ignore-patterns", "qlora-adapter-name-or-path", "rope-scaling"),
        "rope-theta",
        *("spec-decoding-acceptance-method", "speculative-disable-by-batch-size"),
        "speculative-draft-tensor-parallel-size",
    ),
    "0.5.4": (
        *("collect-detailed-traces", "config-format", "disable-async-output-proc"),
        *("enable-auto-tool-choice", "limit-mm-per-prompt", "mm-processor-kwargs"),
        *("num-scheduler-steps", "speculative-model-quantization"),
        "tool-call-parser",
    ),
    "0.6.2": ("scheduling-policy", "speculative-disable-mqa-scorer"),
}
# What says the same before there is an argument for it, and is meant.
_MEANT = ("attention_backend",)
# What LMI reads in words of its own, or keeps to itself where the engine lacks it.
_OF_LMI = ("load_format", "long_lora_scaling_factors", "task")
# What the engine called a task; LMI's are text-generation and the like.
_OWN_TASKS = ("generate", "embed", "embedding", "classify", "score", "reward")
# How much a name must be like one of the engine's to be a slip of the pen: others are
# a container's own, or of a program around the engine.
_SLIP = 0.85

OTHER_RELEASE = Rule(
    "LLM967",
    "an argument is asked for that other releases of the engine have",
    "the parsers of the published releases of vLLM and SGLang",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AskedSubject(EngineSubject):
    """
    Arguments by the words of the caller, which no variable sets.
    """

    def variable(self, name: str) -> str:
        setting = self.find(name)
        return name.replace("-", "_") if setting is None else setting.variable


def asked_findings(subject: Subject, found: Iterable[Finding]) -> Iterator[Finding]:
    """
    Find what a release refuses of its arguments, whatever the model; of those that
    ``found`` tells of, nothing more is told.
    """
    engine: Engine = "vllm" if subject.engine == "vllm" else "sglang"
    release, arguments = subject.release, _joined(subject.arguments, engine)
    yield from _name_findings(arguments, engine, release)
    codes = {finding.code for finding in found}
    reported_names = {name for code in codes for name in _TELLS_OF.get(code, ())}
    kept = {
        name: value for name, value in arguments.items() if name not in reported_names
    }
    if release in engine_releases(engine):
        yield from _errors_at(subject, engine, release, kept)
        return
    # Of a release that no table describes, how many devices it takes is known, and
    # what both beside it refuse.
    at = described_release(engine, release)
    devices_found = tuple(_errors_at(subject, engine, at, kept, checks_of(devices)))
    yield from devices_found
    around = _around(engine, release)
    if len(around) < 2:  # noqa: PLR2004 - one before, one after
        return
    after = {_head_of(one) for one in _errors_at(subject, engine, around[-1], kept)}
    for one in _errors_at(subject, engine, around[0], kept) if after else ():
        if one not in devices_found and _head_of(one) in after:
            yield one


def _errors_at(
    subject: Subject,
    engine: Engine,
    at: str,
    arguments: Mapping[str, Any],
    checks: Iterable[Check] | None = None,
) -> Iterator[Finding]:
    """
    Find what a release refuses, by the table of one that is described.
    """
    settings = (
        _setting(name, value, engine, at)
        for name, value in arguments.items()
        if not (engine == "vllm" and name in _OF_LMI)
    )
    engine_subject = _AskedSubject(
        environment=subject.environment,
        image=_image(engine, subject.release),
        table=engine,
        release=at,
        accelerators=subject.accelerators,
        architecture=subject.checkpoint.class_name,
        settings=tuple(one for one in settings if one is not None),
    )
    for check in _CHECKS if checks is None else checks:
        for finding in errors_of(check(engine_subject)):
            if finding.code not in _SAID_OF_SUPPORT:
                yield finding


def _head_of(finding: Finding) -> tuple[str, str]:
    # What a release says of it may be worded otherwise in the next.
    return finding.code, finding.message.partition(":")[0]


def asked_of_tei_findings(subject: Subject) -> Iterator[Finding]:
    """
    Find what TEI's router refuses of its arguments, whatever the model.
    """
    texts = {
        name: plain_text(value)
        for name, value in subject.arguments.items()
        if isinstance(value, str | int | float)
    }
    engine_subject = EngineSubject(
        environment={name.upper(): text for name, text in texts.items()},
        image=_image("tei", subject.release),
        words={name.upper(): name for name in texts},
    )
    yield from errors_of(tei.tei_value_findings(engine_subject))


def _image(engine: str, release: str) -> EngineRelease:
    return EngineRelease(
        family="",
        version="",
        engine=engine,
        engine_version=release,
        cuda=None,
        rule=None,
    )


def _joined(arguments: Mapping[str, Any], engine: Engine) -> dict[str, Any]:
    """
    Return the arguments, with dotted keys inside the JSON that they belong to.
    """
    long_names = _long_names(engine)
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        first, dot, rest = name.lstrip("-").partition(".")
        if not dot:
            found[first] = value
            continue
        if first not in long_names:
            # It is a key of the model's files.
            continue
        *above, last = rest.split(".")
        at = found.get(first)
        at = found[first] = dict(at) if isinstance(at, Mapping) else {}
        for key in above:
            inner = at.get(key)
            at[key] = at = dict(inner) if isinstance(inner, Mapping) else {}
        at[last] = value
    return found


def _name_findings(
    arguments: Mapping[str, Any], engine: Engine, release: str
) -> Iterator[Finding]:
    """
    The release has the arguments.

    Of a release that no table describes, what neither the one before nor the one after
    it has is none of its own; what is older than all of them may have had others.
    """
    around = _around(engine, release)
    for name, value in arguments.items():
        is_asked = value is not None and value is not False
        is_of_lmi = engine == "vllm" and name in _OF_LMI
        is_meant = name in _MEANT or (is_of_lmi and value not in _OWN_TASKS)
        if not is_asked or is_meant or _is_of_python(engine, name, release):
            continue
        # Of two releases the older one may have had what is gone since.
        gone = _GONE_WITH.get(name) if engine == "vllm" else None
        is_gone = gone is not None and release_key(release) >= release_key(gone)
        having = around[-1:] if is_gone else around
        if any(_takes(_option(engine, name, one)) for one in having):
            continue
        long_name = _known_elsewhere(engine, name)
        title = f"{ENGINES[engine]} {release}"
        if long_name is not None and _is_lacking(engine, long_name, release):
            last = _came_after(engine, long_name, release)
            when = f"it came after {last}" if last else ""
            yield OTHER_RELEASE.finding(
                f"{title} does not have the argument {name}, which other releases "
                f"have: {when or when_known(engine, long_name, release)}",
                way_out(engine, long_name, release, _underscored),
            )
        elif long_name is None and around:
            near = difflib.get_close_matches(
                name.replace("_", "-"), argument_names(engine, around[-1]), cutoff=_SLIP
            )
            if near:
                yield UNKNOWN_ARGUMENT.finding(
                    f"{title} does not have the argument {name}, and no other release "
                    "has",
                    f"did you mean {any_of(map(_underscored, near))}?",
                )


def _around(engine: Engine, release: str) -> tuple[str, ...]:
    """
    Return the release that a table describes, or else those before and after it; none
    for one that is older than all of them.
    """
    releases = engine_releases(engine)
    if release in releases:
        return (release,)
    before = [one for one in releases if release_key(one) <= release_key(release)]
    after = [one for one in releases if release_key(one) > release_key(release)]
    return (*before[-1:], *after[:1]) if before else ()


def _takes(option: Option) -> bool:
    # A name that several begin with is refused by argparse, and is nobody's own.
    return option.argument is not None or bool(option.candidates)


def _known_elsewhere(engine: Engine, name: str) -> str | None:
    """
    Return the long name that an argument has in another release.
    """
    return _long_names(engine).get(name)


@functools.cache
def _long_names(engine: Engine) -> Mapping[str, str]:
    """
    Return the long name behind each name that some release has, with underscores.
    """
    found: dict[str, str] = {}
    for release in engine_releases(engine):
        for spelling, name in spellings(engine, release).items():
            found[_underscored(spelling)] = name
            found["no_" + _underscored(spelling)] = name
    own = {name.replace("-", "_"): name for name in all_argument_names(engine)}
    fields = {field_of(engine, name): name for name in own.values()}
    return {**found, **fields, **own}


@functools.lru_cache(maxsize=64)
def _fields(engine: Engine, release: str) -> Mapping[str, str]:
    names = argument_names(engine, release)
    return {field_of(engine, name): name for name in names}


def _is_lacking(engine: Engine, long_name: str, release: str) -> bool:
    """
    Whether a release lacks an argument that others have; one older than all tables
    lacks what came later.
    """
    oldest = engine_releases(engine)[0]
    if release_key(release) >= release_key(oldest) or _came_after(
        engine, long_name, release
    ):
        return True
    return not is_release_between(oldest, argument_span(engine, long_name)[0])


def _came_after(engine: Engine, long_name: str, release: str) -> str:
    """
    Return the release after which an argument came, if this one is no newer; empty
    where no table says it.
    """
    if engine != "vllm":
        return ""
    for last, names in _CAME_AFTER.items():
        if long_name in names and release_key(release) <= release_key(last):
            return last
    return ""


def _is_of_python(engine: Engine, name: str, release: str) -> bool:
    span = _OF_PYTHON[engine].get(name)
    return span is not None and is_release_between(release, *span)


@functools.lru_cache(maxsize=1024)
def _option(engine: Engine, name: str, release: str) -> Option:
    """
    Find what a name is taken for: an argument's, or what it is called in Python.
    """
    flag = "--" + name.replace("_", "-")
    option = find_option(engine, release, flag)
    if option.argument is not None and option.is_exact:
        return option
    long_name = _fields(engine, release).get(name)
    if long_name is None:
        return option
    spelling = f"--{long_name}"
    return Option(spelling, find_argument(engine, long_name, release), spelling)


def _setting(
    name: str, value: object, engine: Engine, release: str
) -> ArgumentSetting | None:
    """
    Return what an argument is set to; ``None`` where it is left out, or where Python
    may take what the parser's text cannot say.
    """
    option = _option(engine, name, release)
    argument = option.argument
    if argument is None or value is None:
        return None
    if argument.is_switch:
        is_on = _TRUTH.get(str(value).lower())
        if is_on is None or (not is_on and not argument.has_negative):
            return None
        negative = option.is_negative == is_on
        option = option._replace(is_negative=negative)
        return ArgumentSetting(name, option, (), is_intact=True, arrived=())
    texts = _texts(argument, value)
    if not texts:
        return None
    return ArgumentSetting(name, option, texts, is_intact=True, arrived=())


def _texts(argument: EngineArgument, value: Any) -> tuple[str, ...]:  # noqa: ANN401 - whatever somebody asks
    if isinstance(value, str):
        return _words(argument, value)
    try:
        if isinstance(value, Mapping):
            return _mapped(argument, value)
        if isinstance(value, Sequence):
            return _listed(argument, value)
    except UntellableError:
        return ()
    if argument.kind in _WHOLE and isinstance(value, float) and value.is_integer():
        value = int(value)
    is_truth = isinstance(value, bool) and argument.kind != "bool"
    is_text = argument.kind == "str" and not argument.choices
    is_other = is_truth or is_text or argument.kind in _JSON
    return () if is_other else (plain_text(value),)


def _words(argument: EngineArgument, value: str) -> tuple[str, ...]:
    if argument.name in _IN_ANY_LETTERS:
        return () if value.lower() in {"", "none"} else (value.lower(),)
    # A list as text, and what is short for JSON, may be taken apart.
    is_list = argument.takes_several and (" " in value or value[:1] == "[")
    is_short = argument.kind in _JSON and value.isdecimal()
    return () if is_list or is_short else (value,)


def _mapped(argument: EngineArgument, value: Mapping[str, Any]) -> tuple[str, ...]:
    if argument.kind == "kvs":
        return (",".join(f"{key}={inner}" for key, inner in value.items()),)
    return (plain_text(value),) if argument.kind in _JSON else ()


def _listed(argument: EngineArgument, value: Sequence[Any]) -> tuple[str, ...]:
    if argument.takes_several:
        return tuple(map(plain_text, value))
    if argument.is_csv:
        return (",".join(map(plain_text, value)),)
    return (plain_text(value),) if argument.kind in _JSON else ()


def _underscored(name: str) -> str:
    return name.removeprefix("--").replace("-", "_")
