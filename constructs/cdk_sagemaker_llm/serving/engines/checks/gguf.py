"""
Checks of GGUF files: who reads them, and who is given something else.

VLLM reads them itself up to 0.23: with 0.24.0 its loader became a package of its own
(vLLM pull request 39612; ``vllm/transformers_utils/gguf_utils.py`` of 0.13.0, and its
absence in 0.30.0), which AWS's supervised images install from a ``requirements.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from cdk_sagemaker_llm.catalog.engine_arguments import is_release_between
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.engines.checks.engine_models import (
    REQUIREMENTS,
    named_model,
)
from cdk_sagemaker_llm.serving.engines.checks.engine_subject import EngineSubject

GGUF_SUFFIX = ".gguf"
_TYPE = re.compile(
    r"(?:\A|[-._/:])"
    r"(?P<type>F32|F16|BF16|MXFP4(?:_MOE)?|NVFP4|TQ[12]_0"
    r"|I?Q\d(?:_\d|_K(?:_(?:XXS|XS|XL|S|M|L))?|_(?:XXS|XS|NL|S|M)))"
    r"(?=\Z|[-._])",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(r"(?:\A|[-._/])gguf(?=\Z|[-._:/])", re.IGNORECASE)
PLUGIN = "vllm-gguf-plugin"
_PLUGIN_SINCE = "0.24.0"
_SOURCE = "vLLM pull request 39612; the wheels of vLLM 0.13.0 and 0.30.0"
_LLAMA_CPP = "serve it with LlamaCpp"

NO_GGUF_LOADER = Rule(
    "LLM525", "vLLM is given a GGUF file that its release cannot load", _SOURCE
)
MAY_LACK_LOADER = Rule(
    "LLM632", "vLLM is given a GGUF file for which its release needs a package", _SOURCE
)
SAYS_GGUF = Rule(
    "LLM629", "vLLM or SGLang is given a repository that says it is of GGUF files"
)


def gguf_type_of(*names: str | None) -> str | None:
    """
    Return the quantization type that a file or a repository names, such as
    ``Q4_K_M``; ``None`` where none does.

    Args:
        names: What may name it, what goes first standing first: a file such as
            ``qwen3-8b-Q4_K_M-00001-of-00002.gguf``, or a repository with its type such
            as ``Qwen/Qwen3-8B-GGUF:Q4_K_M``. What is left out is ``None``.
    """
    for name in names:
        # Of a path the file counts, and of it what stands last.
        found = list(_TYPE.finditer(_last_part(name))) if name else []
        if found:
            return found[-1]["type"].upper()
    return None


def names_gguf(name: str) -> bool:
    """
    Whether a file, or a repository on the Hub, says of itself that it is of GGUF.
    """
    return name.lower().endswith(GGUF_SUFFIX) or _SAYS_SO.search(name) is not None


def _last_part(name: str) -> str:
    if name.lower().endswith(GGUF_SUFFIX):
        return name.rpartition("/")[2][: -len(GGUF_SUFFIX)]
    _, mark, behind = name.rpartition(":")
    return mark + behind if mark else name.rpartition("/")[2]


def check_gguf_model(subject: EngineSubject) -> Iterator[Finding]:
    """
    VLLM and SGLang are given what they load.
    """
    named = named_model(subject) if subject.table == subject.image.engine else None
    if named is None:
        return
    variable, model = named
    word = subject.word(variable)
    if needs_plugin(subject, model):
        if not _may_install(subject.model_data):
            yield MAY_LACK_LOADER.finding(
                f"{word}={model} is a GGUF file, and {subject.title} has no loader of "
                "its own for it",
                f"{_LLAMA_CPP}, or bring a {REQUIREMENTS} with {PLUGIN}, or take a "
                f"version with vLLM before {_PLUGIN_SINCE}",
            )
    elif names_gguf(model) and not is_gguf_file(subject, model):
        yield SAYS_GGUF.finding(
            f"{word}={model} says that it is of GGUF files, and {subject.title} looks "
            "for a config.json and safetensors files there",
            _LLAMA_CPP,
        )


def needs_plugin(subject: EngineSubject, model: str) -> bool:
    """
    Whether a model is a GGUF file for which this release of vLLM needs a package.
    """
    is_of_vllm = subject.image.engine == "vllm"
    is_later = is_of_vllm and is_release_between(subject.release, _PLUGIN_SINCE)
    return is_later and is_gguf_file(subject, model)


def is_gguf_file(subject: EngineSubject, model: str) -> bool:
    """
    Whether a model is one file, by its path or, for vLLM, by its type.
    """
    repository, mark, _ = model.partition(":")
    is_typed = bool(mark) and "/" in repository and gguf_type_of(model) is not None
    is_path = model.lower().endswith(GGUF_SUFFIX)
    return is_path or (is_typed and subject.image.engine == "vllm")


def certain(finding: Finding) -> Finding:
    """
    Return a finding of an image that is known to have no such package: an error.
    """
    if finding.code != MAY_LACK_LOADER.code:
        return finding
    return NO_GGUF_LOADER.finding(finding.message, finding.remedy)


def _may_install(model_data: Collection[str] | None) -> bool:
    return model_data is not None and REQUIREMENTS in model_data
