"""
Whether a release of SGLang has a model's class, or something that runs it, and what it
asks of the checkpoint: its code, its length, its parsers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import find_argument
from cdk_sagemaker_llm.catalog.model_classes import (
    brings_model_type,
    class_row,
    has_ability,
    too_new_for_transformers,
    transformers_inside,
)
from cdk_sagemaker_llm.catalog.transformers import (
    has_class,
    knows_model_type,
    replaces_attention,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.lengths import (
    LONGER_BY_FORCE,
    TOO_LONG,
    asked_length,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_arguments import UNTRUSTED_CODE
from cdk_sagemaker_llm.serving.support.vllm_classes import (
    CLASS_BY_TRANSFORMERS,
    NO_STAGES,
    OLD_TRANSFORMERS,
    REMOTE_CLASS,
    UNKNOWN_CLASS,
    class_way_out,
)
from cdk_sagemaker_llm.serving.support.vllm_parsers import OTHER_FAMILY, UNKNOWN_PARSER
from cdk_sagemaker_llm.text import any_of, nearest

_LOADER = "sglang/srt/model_loader/utils.py, resolve_transformers_arch"
# Whose names are looked up in transformers as a whole: of others, such as embedders,
# the catalogue does not know which there are.
_WRITERS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
_LENGTHS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
# Before, a longer one was allowed unless the variable says no (0.4.5 to 0.5.0rc2).
_NOT_LONGER = "0.5.1"
_TRUE = frozenset({"1", "true", "yes", "y", "on", "t"})
# How the classes begin that a parser of tool calls is made for; others may have been
# trained to its format, so that nothing is said of what is not in the table.
_FAMILIES = {
    "llama3": ("Llama", "Mllama"),
    "pythonic": ("Llama", "Mllama"),
    "qwen": ("Qwen",),
    "qwen25": ("Qwen",),
    "qwen3_coder": ("Qwen", "Nemotron"),
    "mistral": ("Mistral", "Mixtral", "Ministral", "Pixtral", "Voxtral"),
    "deepseekv3": ("Deepseek",),
    "deepseekv31": ("Deepseek",),
    "deepseekv32": ("Deepseek",),
    "gpt-oss": ("GptOss",),
    "gemma4": ("Gemma",),
}
_FAMILY_PREFIXES = tuple({prefix for names in _FAMILIES.values() for prefix in names})

INCOMPATIBLE_CLASS = Rule(
    "LLM971", "the Transformers backend cannot run the model's class", _LOADER
)


def sglang_class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has one of the model's classes, or the Transformers backend runs it.
    """
    classes = subject.checkpoint.classes
    is_native = [has_ability("sglang", name, subject.release) for name in classes]
    is_forced = subject.text("model_impl") == "transformers"
    if not classes or is_forced or any(one is not False for one in is_native):
        return
    name = classes[0]
    version = transformers_inside("sglang", subject.release) or "999"
    if replaces_attention(name, version):
        yield CLASS_BY_TRANSFORMERS.finding(
            f"{subject.title} has no {name} of its own, and falls back to the "
            "Transformers backend, which is slower",
            _way_out(subject, name),
        )
    elif has_class(name, version):
        yield INCOMPATIBLE_CLASS.finding(
            f"{subject.title} has no {name} of its own, and its Transformers backend "
            "cannot run it",
            _way_out(subject, name),
        )
    elif not name.endswith(_WRITERS) and class_row("sglang", name) is None:
        yield REMOTE_CLASS.finding(
            f"{subject.title} has no {name} of its own: it runs only if its "
            "Transformers backend does"
        )
    elif class_row("sglang", name) is None and _has_own_model(subject):
        yield REMOTE_CLASS.finding(
            f"{subject.title} has no {name}: it runs only if the model's own code is "
            "made for the Transformers backend"
        )
    else:
        yield UNKNOWN_CLASS.finding(
            f"{subject.title} does not load {name}", class_way_out(subject, name)
        )


def _way_out(subject: Subject, name: str) -> str:
    # transformers has the class, so that its name is none to correct.
    is_anywhere = class_row("sglang", name) is not None
    return class_way_out(subject, name) if is_anywhere else "serve it with Vllm"


def _has_own_model(subject: Subject) -> bool:
    """
    Whether the model may bring its class as code of its own, which is trusted.
    """
    code = subject.checkpoint.config.get("auto_map")
    if isinstance(code, Mapping):
        return "AutoModel" in code
    return subject.flag("trust_remote_code") and not subject.checkpoint.is_whole


def sglang_transformers_findings(subject: Subject) -> Iterator[Finding]:
    """
    The image's ``transformers`` knows the model type of a class that SGLang has.
    """
    name = subject.checkpoint.class_name
    if name is None or not has_ability("sglang", name, subject.release):
        return
    least = too_new_for_transformers("sglang", name, subject.release)
    if least is not None and "auto_map" not in subject.checkpoint.config:
        yield OLD_TRANSFORMERS.finding(
            f"{subject.title} has {name}, but its transformers package "
            f"{transformers_inside('sglang', subject.release)} does not know its "
            f"model type, which needs {least}",
            "take an image with a newer release",
        )


def sglang_stage_findings(subject: Subject) -> Iterator[Finding]:
    """
    The class can be split into stages where it is.
    """
    name = subject.checkpoint.class_name
    word = next((one for one in _STAGES if subject.has(one)), _STAGES[0])
    stages = subject.number(word) or 1
    if name is None or stages < 2:  # noqa: PLR2004 - one is none
        return
    if has_ability("sglang", name, subject.release, "unstaged"):
        yield NO_STAGES.finding(
            f"{subject.title} cannot split {name} into pipeline stages, got "
            f"{subject.word(word)}={stages}",
            "split it over devices alone",
        )


_STAGES = ("pp_size", "pipeline_parallel_size", "pp")


def sglang_code_findings(subject: Subject) -> Iterator[Finding]:
    """
    Code that only the model's repository has is trusted.
    """
    code = subject.checkpoint.config.get("auto_map")
    kind = subject.checkpoint.model_type
    version = transformers_inside("sglang", subject.release)
    if subject.flag("trust_remote_code"):
        return
    word = subject.word("trust_remote_code")
    if subject.checkpoint.facts.get("code") == "tokenizer":
        yield UNTRUSTED_CODE.finding(
            f"the tokenizer of {subject.checkpoint.name} is read by code in its "
            f"repository, which {subject.title} does not run by itself",
            f"read the code, and set {word}",
        )
        return
    if not isinstance(code, Mapping) or "AutoConfig" not in code or not kind:
        return
    if version is None:
        return
    answers = (
        knows_model_type(kind, version),
        brings_model_type("sglang", kind, subject.release),
    )
    if answers == (False, False):
        yield UNTRUSTED_CODE.finding(
            f"{subject.checkpoint.name} is read by code of its own, for neither "
            f"{subject.title} nor its transformers package knows the model type {kind}",
            f"read the code, and set {word}",
        )


def sglang_length_findings(subject: Subject) -> Iterator[Finding]:
    """
    The context that is asked for is within the checkpoint's.
    """
    length = asked_length(subject.arguments.get("context_length"))
    longest = sglang_longest(subject)
    if length is None or longest is None or length <= longest:
        return
    word = subject.word("context_length")
    text = (
        f"{word} must be at most {longest}, which {subject.checkpoint.name} was made "
        f"for, got {length}"
    )
    forced = "" if subject.is_at(_NOT_LONGER) else "true"
    if subject.environment.get(_LONGER, forced).lower() in _TRUE:
        yield LONGER_BY_FORCE.finding(
            f"{text}; {_LONGER} lets {subject.title} start all the same, and what is "
            "beyond may be wrong"
        )
    else:
        yield TOO_LONG.finding(
            text,
            f"write {longest}, or leave it out, or set {_LONGER}=1 if the model is "
            "known to take it",
        )


def sglang_longest(subject: Subject) -> int | None:
    """
    Return the context that SGLang derives from config.json; ``None`` where it is not
    known.
    """
    text = {**subject.checkpoint.text}
    value = subject.arguments.get("json_model_override_args")
    if value is not None:
        try:
            changed = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            return None
        inner = changed.get("text_config") if isinstance(changed, Mapping) else None
        if not isinstance(changed, Mapping) or isinstance(inner, Mapping):
            return None
        text |= changed
    found = (text[key] for key in _LENGTHS if type(text.get(key)) is int)
    longest: int | None = next(found, None)
    scaling = text.get("rope_scaling")
    if longest is None or not isinstance(scaling, Mapping):
        return longest
    factor = scaling.get("factor", 1)
    is_unscaled = (
        "original_max_position_embeddings" in scaling
        or scaling.get("rope_type") == "llama3"
    )
    if is_unscaled:
        return longest
    return int(longest * factor) if isinstance(factor, int | float) else None


def sglang_parser_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release has the parsers that are named.
    """
    for argument in ("tool_call_parser", "reasoning_parser"):
        name = subject.arguments.get(argument)
        row = find_argument("sglang", argument.replace("_", "-"), subject.release)
        if not isinstance(name, str) or row is None or not row.choices:
            continue
        if name not in row.choices:
            names = [str(one) for one in row.choices]
            yield UNKNOWN_PARSER.finding(
                f"{subject.title} has no parser named {name}, got "
                f"{subject.word(argument)}={name}",
                f"use {any_of(nearest(name, names) or names)}",
            )


def sglang_family_findings(subject: Subject) -> Iterator[Finding]:
    """
    The parser of tool calls is made for the model's family.
    """
    parser = subject.text("tool_call_parser") or ""
    name = subject.checkpoint.class_name or ""
    suited = _FAMILIES.get(parser)
    if (
        suited is None
        or not name.startswith(_FAMILY_PREFIXES)
        or name.startswith(suited)
    ):
        return
    yield OTHER_FAMILY.finding(
        f"{subject.word('tool_call_parser')}={parser} is not for "
        f"{subject.checkpoint.name}: calls of tools stay plain text"
    )
