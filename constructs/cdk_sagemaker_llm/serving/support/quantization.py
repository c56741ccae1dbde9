"""
Which quantization method vLLM comes to for a checkpoint and what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.checkpoint import (
    Checkpoint,
    checkpoint_of,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_CONFIG = "vllm/config/model.py, _verify_quantization"
_AMPERE, _TURING = 80, 75
_GPTQ_KERNELS = ("gptq_marlin", "marlin", "auto_gptq")
_AWQ_KERNELS = ("awq_marlin", "marlin", "auto_awq")
# Which of them files tell of and nothing else can stand for.
_STRICT = frozenset(
    {
        "awq",
        "gptq",
        "fp8",
        "compressed-tensors",
        "bitsandbytes",
        "mxfp4",
        "fbgemm_fp8",
        "modelopt",
        "modelopt_fp4",
        "aqlm",
        "squeezellm",
        "auto-round",
    }
)
_OTHERS = {
    "awq": ("ipex", "cpu_awq", "cpu_wna16", "inc", "humming", "bitblas"),
    "gptq": (
        "ipex",
        "cpu_gptq",
        "cpu_wna16",
        "inc",
        "humming",
        "bitblas",
        "gptq_bitblas",
        "gptq_marlin_24",
    ),
    "fp8": ("deepseek_v4_fp8", "humming", "petit_nvfp4"),
    "mxfp4": ("humming", "quark"),
    "modelopt": ("humming", "petit_nvfp4"),
    "modelopt_fp4": ("humming", "petit_nvfp4"),
}
# What its files are called, and since when INC takes them, whatever is asked for
# (override_quantization_method of quantization/inc.py, modelopt.py and mxfp4.py).
_ROUNDED, _BY_INC = "auto-round", "0.15.0"
_OF_MODELOPT, _BY_ALGORITHM = ("modelopt", "modelopt_fp4"), "0.10.0"
_BY_FAMILY = "0.20.0"
_UNTIED = ("0.24.0", "0.24.0")
# What takes the weights of a method, and in which releases.
_CALLED: Mapping[str, tuple[str, ...]] = {
    _ROUNDED: ("inc", _BY_INC),
    "modelopt_fp4": ("nvfp4", "0.8.0", "0.8.5"),
}
_NEEDS_FILES = frozenset(
    {
        "awq",
        "awq_marlin",
        "auto_awq",
        "gptq",
        "gptq_marlin",
        "auto_gptq",
        "marlin",
        "squeezellm",
        "aqlm",
        # Their settings stand in the files alone.
        "hqq",
        "compressed-tensors",
        "auto-round",
        "fbgemm_fp8",
        "moe_wna16",
        "modelopt",
        "modelopt_fp4",
        "modelopt_mxfp8",
        "modelopt_mixed",
        "nvfp4",
        "quark",
        "qqq",
        "bitblas",
        "gptq_bitblas",
        "gptq_marlin_24",
    }
)

OTHER_METHOD = Rule(
    "LLM925", "the quantization asked for is not that of the weights", _CONFIG
)
NOT_QUANTIZED = Rule(
    "LLM927",
    "a quantization is asked for that needs weights made for it",
    "vllm/model_executor/model_loader/weight_utils.py",
)
UNTIED_WEIGHTS = Rule(
    "LLM922",
    "the release cannot share a weight between layers beside quantized ones",
    "vllm/model_executor/layers/quantization/base_config.py and inc/inc.py, 0.24.0",
)


def is_gpt_oss(subject: Subject) -> bool:
    """
    Whether the model is of OpenAI's open-weight family.
    """
    return subject.checkpoint.class_name == "GptOssForCausalLM"


def scheme_of(checkpoint: Checkpoint) -> str | None:
    """
    Return the scheme of weights in compressed-tensors, as vLLM calls it; ``None`` for
    other weights, or where it is not known.
    """
    values = checkpoint.quantization
    if not values or checkpoint.method != "compressed-tensors":
        return None
    named = values.get("scheme")
    if isinstance(named, str):
        return _SCHEMES.get(named)
    groups = values.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(first.get("weights"), Mapping):
        return None
    weights, activations = first["weights"], first.get("input_activations")
    return _scheme(weights, activations)


_SCHEMES = {
    "w4a16": "CompressedTensorsWNA16",
    "w8a16": "CompressedTensorsWNA16",
    "w8a8": "CompressedTensorsW8A8Int8",
    # What has no kernel for it is served by this one instead.
    "fp8": "CompressedTensorsW8A16Fp8",
    "nvfp4": "CompressedTensorsW4A16Fp4",
}


def _scheme(weights: Mapping[str, Any], activations: object) -> str | None:
    bits, kind = weights.get("num_bits"), weights.get("type")
    if kind == "float":
        return {8: _SCHEMES["fp8"], 4: _SCHEMES["nvfp4"]}.get(bits or 0)
    if kind == "int" and not activations and bits == 4:  # noqa: PLR2004 - bits
        return _SCHEMES["w4a16"]
    if kind == "int" and activations and bits == 8:  # noqa: PLR2004 - bits
        return _SCHEMES["w8a8"]
    return None


def method_of(subject: Subject) -> str | None:
    """
    Return the quantization method of the files; where nothing is known of them, what
    is only asked for of files that have it.
    """
    own, choice = subject.checkpoint.method, subject.text("quantization")
    is_meant = choice is not None and choice.replace("_", "-") == _ROUNDED
    return _ROUNDED if own is None and is_meant and subject.is_at(_BY_INC) else own


def asked_method(subject: Subject) -> str | None:
    """
    Return the method that is asked for; ``None`` for none, or where the release takes
    that of the files in its place, whatever it is.
    """
    choice = subject.text("quantization")
    if choice in {None, "none", ""}:
        return None
    values = subject.checkpoint.quantization or {}
    own = method_of(subject)
    algorithm = str(values.get("quant_algo", "")).upper()
    is_replaced = (
        (own == _ROUNDED and subject.is_at(_BY_INC))
        or (own in _OF_MODELOPT and "FP" in algorithm and subject.is_at(_BY_ALGORITHM))
        or (own == "mxfp4" and is_gpt_oss(subject) and subject.is_at(_BY_FAMILY))
    )
    # Humming is asked first from its release on.
    return None if is_replaced and choice != "humming" else choice


def resolved_method(subject: Subject) -> str | None:
    """
    Return the method that is used; empty for none, ``None`` where it is not known.
    """
    own, choice = method_of(subject), asked_method(subject)
    if not own:
        return choice or own
    if own == "gptq":
        return _kernel(subject, choice, own, _GPTQ_KERNELS, "0.4.2", "0.22.0")
    if own == "awq":
        return _kernel(subject, choice, own, _AWQ_KERNELS, "0.5.3", "0.24.0")
    if own == "mxfp4" and is_gpt_oss(subject) and subject.is_at(_BY_FAMILY):
        return "gpt_oss_mxfp4"
    name, *span = _CALLED.get(own, (own, "0.0"))
    return name if subject.is_at(*span) else own


def _kernel(  # noqa: PLR0917 - what differs between the two formats
    subject: Subject,
    choice: str | None,
    own: str,
    kernels: tuple[str, ...],
    since: str,
    merged: str,
) -> str:
    marlin, _, auto = kernels
    if choice == "moe_wna16":
        return choice
    if subject.is_at(merged):
        return auto
    if choice == own or not subject.is_at(since) or not _fits_marlin(subject):
        return own
    return marlin


def _fits_marlin(subject: Subject) -> bool:
    least = _TURING if subject.is_at("0.14.0") else _AMPERE
    values = subject.checkpoint.quantization or {}
    if subject.capability is not None and subject.capability < least:
        return False
    if values.get("group_size") not in {None, -1, 32, 64, 128}:
        return False
    if subject.checkpoint.method == "gptq":
        return bool(values.get("bits", 4) in {4, 8}) and values.get("sym") is not False
    # Without zero points it takes none of AWQ's (check_marlin_supported, issue 28857).
    has_zeros = values.get("zero_point") is not False
    return bool(values.get("bits", 4) == 4) and has_zeros  # noqa: PLR2004 - bits


def quantization_findings(subject: Subject) -> Iterator[Finding]:
    """
    What is asked for is what the weights are, or can be made of them.
    """
    own, choice = method_of(subject), asked_method(subject)
    if not choice or own is None or not subject.is_at("0.2.7"):
        return
    word = subject.word("quantization")
    if not own:
        needs_files = choice in _NEEDS_FILES
        # Before, that name was of what Gaudi does by itself.
        needs_files |= choice == "inc" and subject.is_at(_BY_INC)
        # It takes the first of many files for its own, unless it is told how.
        needs_files |= choice == "torchao" and not subject.has("hf_overrides")
        if needs_files:
            yield NOT_QUANTIZED.finding(
                f"{word}={choice} needs weights that were quantized so, and those of "
                f"{subject.checkpoint.name} are not quantized",
                "leave it out, or name a model that was quantized",
            )
    elif own in _STRICT and not _is_same(subject, own, choice):
        yield OTHER_METHOD.finding(
            f"{word} must be left out or be that of the weights, {own}, got {choice}",
            f"leave {word} out: {subject.title} reads it from the weights",
        )


def config_elsewhere_findings(subject: Subject) -> Iterator[Finding]:
    """
    The config.json that is named for a GGUF file is not that of other weights.
    """
    named = subject.arguments.get("hf_config_path")
    choice, own = subject.text("quantization"), subject.checkpoint.method
    is_gguf = "gguf" in {choice, own} and subject.is_at("0.8.4", "0.10.2")
    if not is_gguf or not isinstance(named, str):
        return
    other = checkpoint_of(named).method
    if other in _STRICT:
        yield OTHER_METHOD.finding(
            f"{subject.word('hf_config_path')} names {named}, whose weights are in "
            f"{other}, and {subject.title} takes GGUF for another quantization",
            "name a folder whose config.json has no quantization_config",
        )


def tied_findings(subject: Subject) -> Iterator[Finding]:
    """
    What the first and the last layer share can be shared beside the other weights.
    """
    tied = subject.checkpoint.text.get("tie_word_embeddings")
    is_of_gemma = (subject.checkpoint.class_name or "").startswith("Gemma")
    is_tied = tied is True or (tied is None and is_of_gemma)
    is_rounded = method_of(subject) == _ROUNDED
    if is_tied and is_rounded and subject.is_at(*_UNTIED):
        yield UNTIED_WEIGHTS.finding(
            f"{subject.title} does not share one weight between the first and the last "
            f"layer beside weights in {_ROUNDED}, as {subject.checkpoint.name} does",
            "take an image with another release, or weights in another format",
        )


def _is_same(subject: Subject, own: str, choice: str) -> bool:
    if choice == own or choice in _OTHERS.get(own, ()):
        return True
    if own == "gptq":
        return _is_kernel(subject, choice, _GPTQ_KERNELS, "0.4.2", "0.22.0")
    if own == "awq":
        return _is_kernel(subject, choice, _AWQ_KERNELS, "0.5.3", "0.24.0")
    if own.startswith("modelopt"):
        return choice.startswith("modelopt") or choice == "nvfp4"
    if own == "mxfp4":
        return choice == "gpt_oss_mxfp4" and subject.is_at("0.20.0")
    return False


def _is_kernel(
    subject: Subject, choice: str, kernels: tuple[str, ...], since: str, merged: str
) -> bool:
    if choice == "moe_wna16":
        return subject.is_at("0.6.3")
    if choice not in kernels or not subject.is_at(since):
        return False
    if choice == kernels[-1]:
        return subject.is_at(merged)
    return subject.is_at(merged) or _fits_marlin(subject)
