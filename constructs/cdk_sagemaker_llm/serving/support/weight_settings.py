"""
What files say of how their weights were quantized, against what a release of vLLM
reads: numbers of bits, algorithms and forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import AMPERE
from cdk_sagemaker_llm.serving.support.quantization import (
    asked_method,
    method_of,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

# Later ones read GPTQ by Marlin alone (auto_gptq.py, TYPE_MAP).
_BY_MARLIN_ALONE = "0.22.0"
_FOUR, _EIGHT = 4, 8
_MARLIN_FORMAT = ("0.3.3", "0.10.0")
# When Marlin's kernels took AWQ of 8 bits (query_marlin_supported_quant_types).
_AWQ_OF_EIGHT = ("0.5.3", "0.9.1")
# Since when ModelOpt's algorithms are read (QUANT_ALGOS of modelopt.py).
_ALGORITHMS: Mapping[str, str] = {
    "FP8": "0.6.1",
    "NVFP4": "0.8.0",
    "FP8_PER_CHANNEL_PER_TOKEN": "0.14.0",
    "FP8_PB_WO": "0.14.0",
    "MXFP8": "0.16.0",
    "MIXED_PRECISION": "0.18.0",
    "W4A16_NVFP4": "0.24.0",
}
_ROUNDED_BITS = (2, 3, _FOUR, _EIGHT)
# Since when weights of other numbers than integers are read of AutoRound, and those
# that are packed as llm-compressor does.
_ROUNDED_FLOATS = "0.27.0"
# From here on two zeros in four numbers are refused, in any release read (0.22.0 has no
# code for them any more).
_NOT_SPARSE = "0.19.0"

# What these files say of themselves, and no name of a method.
_OF_MLX = frozenset({"group_size", "bits", "mode"})

UNREAD_WEIGHTS = Rule(
    "LLM938",
    "the files say of their weights what the release does not read",
    "vllm/model_executor/layers/quantization, __init__ of each configuration, 0.2.7 to "
    "0.28.0",
)


def weight_setting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release reads what the files say of their weights.
    """
    values, own = subject.checkpoint.quantization, method_of(subject)
    if is_of_mlx(subject) and subject.is_at("0.2.7"):
        yield UNREAD_WEIGHTS.finding(
            f"the weights of {subject.checkpoint.name} are quantized for MLX, which "
            f"{subject.title} does not read",
            "name the model that they were made of",
        )
    if not values or not own or asked_method(subject) == "humming":
        return
    find = {
        "awq": _of_awq,
        "gptq": _of_gptq,
        "fp8": _of_fp8,
        "modelopt": _of_modelopt,
        "modelopt_fp4": _of_modelopt,
        "auto-round": _of_auto_round,
        "compressed-tensors": _of_compressed,
        "bitsandbytes": _of_bitsandbytes,
    }.get(own)
    why = find(subject, values) if find else ""
    if why:
        yield UNREAD_WEIGHTS.finding(
            f"{subject.title} does not read the weights of {subject.checkpoint.name}: "
            f"{why}",
            "take weights in another format, or an image with another release",
        )


def is_of_mlx(subject: Subject) -> bool:
    """
    Whether weights are quantized for MLX, whose files name no method.
    """
    values = subject.checkpoint.quantization
    return bool(values) and not method_of(subject) and {*(values or {})} <= _OF_MLX


def second_quantization_findings(subject: Subject) -> Iterator[Finding]:
    """
    How weights are to be quantized is written for weights that are not.
    """
    word, own = subject.word("quantization_config"), method_of(subject)
    if subject.has("quantization_config") and own and subject.is_at("0.20.0"):
        yield UNREAD_WEIGHTS.finding(
            f"{word} is for weights in 16 bits, and those of "
            f"{subject.checkpoint.name} are in {own}",
            "leave it out",
        )


def _of_awq(subject: Subject, values: Mapping[str, Any]) -> str:
    bits = values.get("bits", values.get("w_bit", _FOUR))
    is_known = bits == _FOUR or not isinstance(bits, int)
    is_known = is_known or (bits == _EIGHT and subject.is_at(*_AWQ_OF_EIGHT))
    return "" if is_known else f"AWQ has 4 bits, got {bits}"


def _of_gptq(subject: Subject, values: Mapping[str, Any]) -> str:
    bits, is_even = values.get("bits", _FOUR), values.get("sym")
    is_old = subject.capability is not None and subject.capability < AMPERE
    if values.get("is_marlin_format") and is_old and subject.is_at(*_MARLIN_FORMAT):
        return f"they are packed for Marlin, which {subject.gpu} lacks"
    allowed: tuple[int, ...] = (2, 3, _FOUR, _EIGHT)
    if not subject.is_at("0.3.0"):
        allowed = (_FOUR,)
    elif subject.is_at(_BY_MARLIN_ALONE):
        allowed = (_FOUR, _EIGHT)
    if isinstance(bits, int) and bits not in allowed:
        return f"GPTQ has {any_of(map(str, allowed))} bits, got {bits}"
    if is_even is False and subject.is_at(_BY_MARLIN_ALONE):
        return "its one kernel for GPTQ takes symmetric weights, got sym=false"
    return ""


def _of_fp8(subject: Subject, values: Mapping[str, Any]) -> str:
    is_static = values.get("activation_scheme") == "static"
    if values.get("weight_block_size") and is_static and subject.is_at("0.7.1"):
        return "beside blocks of fp8 activations are dynamic, got static"
    return ""


def _of_modelopt(subject: Subject, values: Mapping[str, Any]) -> str:
    inner = values.get("quantization")
    inner_algorithm = inner.get("quant_algo") if isinstance(inner, Mapping) else None
    algorithm = str(values.get("quant_algo") or inner_algorithm or "").upper()
    since = _ALGORITHMS.get(algorithm)
    if not algorithm or (since is not None and subject.is_at(since)):
        return ""
    return f"it does not have quant_algo={algorithm} of ModelOpt"


def _of_auto_round(subject: Subject, values: Mapping[str, Any]) -> str:
    bits, kind = values.get("bits", _FOUR), str(values.get("data_type", "int"))
    form = str(values.get("packing_format", "auto_round:auto_gptq"))
    if isinstance(bits, int) and bits not in _ROUNDED_BITS:
        return f"AutoRound has {any_of(map(str, _ROUNDED_BITS))} bits, got {bits}"
    if subject.is_at(_ROUNDED_FLOATS):
        return ""
    if kind != "int":
        return f"AutoRound has whole numbers, got data_type={kind}"
    if form.endswith("llm_compressor"):
        return f"it does not have packing_format={form} of AutoRound"
    return ""


def _of_compressed(subject: Subject, values: Mapping[str, Any]) -> str:
    sparsity = values.get("sparsity_config")
    form = sparsity.get("format") if isinstance(sparsity, Mapping) else None
    is_sparse = form == "sparse-24-bitmask" or values.get("format") == "marlin-24"
    if is_sparse and subject.is_at(_NOT_SPARSE):
        return "it no longer takes weights with two zeros in four numbers"
    return ""


def _of_bitsandbytes(subject: Subject, values: Mapping[str, Any]) -> str:
    kept = values.get("bnb_4bit_quant_storage", "uint8")
    if kept != "uint8" and subject.is_at("0.7.0", "0.27.1"):
        return f"it has bnb_4bit_quant_storage=uint8 alone, got {kept}"
    return ""
