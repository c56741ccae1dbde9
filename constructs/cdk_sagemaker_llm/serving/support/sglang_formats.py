"""
What SGLang asks of the GPU, and of how weights are quantized and split.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.catalog.gpu_formats import (
    find_method,
    lacks_method,
    method_spans,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.support.attention import ADA, AMPERE, TURING
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.number_formats import (
    DTYPE_FALLBACK,
    GPU_LACKS_METHOD,
    LACKS_METHOD,
    METHOD_DTYPE,
    WEIGHT_ONLY,
)
from cdk_sagemaker_llm.serving.support.quantization import (
    NOT_QUANTIZED,
    OTHER_METHOD,
    scheme_of,
)
from cdk_sagemaker_llm.serving.support.splits import (
    UNEVEN_HEADS_OF_MODEL,
    group_of,
    uneven_weights,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_RUNNER = "sglang/srt/model_executor/model_runner.py"

# What each method of weights can be asked for as (_verify_quantization, and the
# overrides of the methods, 0.5.5 to 0.5.23).
_TAKEN_AS = {
    "awq": ("awq_marlin", "marlin", "moe_wna16"),
    "gptq": ("gptq_marlin", "marlin", "moe_wna16"),
    "fp8": ("nvfp4_online", "modelopt_fp4", "w4afp8", "mxfp8", "humming"),
    "compressed-tensors": ("w8a8_int8", "w8a8_fp8", "auto-round-int8", "humming"),
    "mxfp4": ("quark", "humming", "mxfp_w4a8"),
    "bitsandbytes": (),
}

_NEEDS_FILES = frozenset(
    {
        *("awq", "awq_marlin", "gptq", "gptq_marlin", "compressed-tensors"),
        *("moe_wna16", "auto-round", "quark", "petit_nvfp4"),
    }
)

# Weights in fp8 are widened by vLLM's kernels, which no image has (fp8.py, and the
# schemes of compressed_tensors.py; issues 5135 and 11291).
_EIGHT_BY_VLLM = ("0.4.5", "0.5.5")
_PACKED_BY_VLLM = ("0.4.5", "0.5.3.post3")

# Its own Marlin widens what has no experts; those are left to Triton unless another
# runner is asked for (issues 5871, 13471 and 38291).
_EXPERTS_BY_TRITON = "0.4.5"
_TRITON = (None, "auto", "triton")

# From 0.5.6 on each device has the part as a whole (pull request 13856).
_SEEING = frozenset({"Glm4vMoeForConditionalGeneration"})

_SEEN_SPLIT = ("0.5.5", "0.5.5")

# Its first release does not map the layers that are quantized (pull request 20370).
_UNMAPPED, _FIRST = "Qwen3_5ForConditionalGeneration", ("0.5.9", "0.5.9")

OLD_GPU = Rule("LLM973", "SGLang does not run on the GPU", _RUNNER)

UNBUILT_GPU = Rule(
    "LLM850",
    "SGLang was reported to fail on the GPU, for which its kernels are not built",
    "SGLang issues 24224 and 24302",
)


def sglang_gpu_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU is one that SGLang runs on.
    """
    capability = subject.capability
    if capability is not None and capability < TURING:
        yield OLD_GPU.finding(
            f"{subject.title} needs a compute capability of 7.5, got {subject.gpu}",
            "take an instance type with A10G or newer",
        )
    elif capability == TURING:
        yield UNBUILT_GPU.finding(
            f"{subject.title} allows {subject.gpu}, but its kernels are not built for "
            "it, and starts were reported to fail",
            "take an instance type with A10G or newer",
        )
        if subject.text("dtype") == "bfloat16":
            yield DTYPE_FALLBACK.finding(
                f"{subject.title} takes float16 instead of bfloat16 on {subject.gpu}"
            )


def sglang_quantization_findings(subject: Subject) -> Iterator[Finding]:
    """
    The quantization asked for is that of the weights, and the release has it.
    """
    own, choice = subject.checkpoint.method, subject.text("quantization")
    method = choice or own
    if (
        method
        and lacks_method("sglang", method, subject.release)
        and not _is_marlin(subject, method)
    ):
        of = subject.word("quantization") if choice else subject.checkpoint.name
        spans = method_spans("sglang", method)
        if choice or not spans:
            yield LACKS_METHOD.finding(
                f"{subject.title} does not have the quantization method {method}, "
                f"which {of} asks for",
                "take weights in another format",
            )
        return
    if not choice or own is None:
        return
    word = subject.word("quantization")
    if not own and choice in _NEEDS_FILES:
        yield NOT_QUANTIZED.finding(
            f"{word}={choice} needs weights that were quantized so, and those of "
            f"{subject.checkpoint.name} are not quantized",
            "leave it out, or name a model that was quantized",
        )
    elif own in _TAKEN_AS and choice != own and choice not in _TAKEN_AS[own]:
        yield OTHER_METHOD.finding(
            f"{word} must be left out or be that of the weights, {own}, got {choice}",
            f"leave {word} out: {subject.title} reads it from the weights",
        )


def _is_marlin(subject: Subject, method: str) -> bool:
    # The plain kernel went, and Marlin takes such weights.
    return method == "gptq" and (subject.capability or AMPERE) >= AMPERE


def sglang_method_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU and the data type are among those of the quantization method.
    """
    method = _method(subject)
    support = method and find_method("sglang", method, subject.release)
    if not support:
        return
    capability, least = subject.capability, support.capability
    if capability is not None and least is not None and capability < least:
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} needs a compute capability of {least / 10} for weights "
            f"in {method}, got {subject.gpu}",
            "take a newer GPU, or weights in another format",
        )
    dtype = subject.text("dtype")
    dtype = subject.checkpoint.dtype if dtype in {None, "auto"} else dtype
    dtype = {"half": "float16", "float": "float32"}.get(dtype or "", dtype)
    is_cast = capability is not None and capability < AMPERE
    if support.types and dtype and not is_cast and dtype not in support.types:
        if dtype == "float32" and subject.text("dtype") in {None, "auto"}:
            return
        yield METHOD_DTYPE.finding(
            f"{subject.title} takes {any_of(support.types)} with weights in {method}, "
            f"got {dtype}",
            f"set {subject.word('dtype')}={support.types[0]}",
        )


def sglang_class_findings(subject: Subject) -> Iterator[Finding]:
    """
    The kernels for packed weights take all layers of the class.
    """
    checkpoint = subject.checkpoint
    is_packed = scheme_of(checkpoint) == "CompressedTensorsWNA16"
    is_packed |= (checkpoint.quantization or {}).get("format") == "pack-quantized"
    is_hit = checkpoint.class_name == _UNMAPPED and is_packed
    if is_hit and checkpoint.method == "compressed-tensors" and subject.is_at(*_FIRST):
        yield LACKS_METHOD.finding(
            f"{subject.title} cuts the small layers of {_UNMAPPED} for kernels that do "
            "not take them in compressed-tensors of 4 bits",
            "take an image with a newer release, or weights in another format",
        )


def sglang_eight_bit_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU computes in fp8, or the release widens the weights.
    """
    is_packed = scheme_of(subject.checkpoint) == "CompressedTensorsW8A16Fp8"
    is_eight = is_packed or _method(subject) == "fp8"
    capability, runner = subject.capability, subject.text("moe_runner_backend")
    if not is_eight or capability is None or not AMPERE <= capability < ADA:
        return
    is_by_triton = has_experts(subject.checkpoint) and runner in _TRITON
    if subject.is_at(*(_PACKED_BY_VLLM if is_packed else _EIGHT_BY_VLLM)):
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} leaves weights in fp8 to vLLM on {subject.gpu}, and vLLM "
            "is not in its images",
            "take a GPU from L4 on, or an image with SGLang 0.5.6 or newer",
        )
    elif is_by_triton and subject.is_at(_EXPERTS_BY_TRITON):
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} runs experts in fp8 by Triton, which does not compile "
            f"them for {subject.gpu}",
            "take a GPU from L4 on, or weights in another format",
        )
    elif not has_experts(subject.checkpoint) and subject.is_at(_EIGHT_BY_VLLM[0]):
        yield WEIGHT_ONLY.finding(
            f"{subject.gpu} does not compute in fp8: {subject.title} falls back to "
            "keeping only the weights in it, which is slower for long prompts"
        )


def _method(subject: Subject) -> str | None:
    """
    Return the method that SGLang comes to; ``None`` where that is not known.
    """
    own, choice = subject.checkpoint.method, subject.text("quantization")
    if own in {"awq", "gptq"} and choice not in {own, "moe_wna16"}:
        is_new = subject.capability is not None and subject.capability >= AMPERE
        return f"{own}_marlin" if is_new else None
    return choice or own


def sglang_vision_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices divide the heads of the part that sees.
    """
    word = next((one for one in _SIZES if subject.has(one)), _SIZES[0])
    size = subject.number(word) or 1
    part = subject.checkpoint.config.get("vision_config")
    heads = part.get("num_heads") if isinstance(part, Mapping) else None
    is_split = subject.checkpoint.class_name in _SEEING and subject.is_at(*_SEEN_SPLIT)
    if is_split and isinstance(heads, int) and heads % size:
        yield uneven_heads(UNEVEN_HEADS_OF_MODEL, subject.word(word), heads, size)


def sglang_split_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices divide the attention heads, and cut quantized weights at their blocks.
    """
    word = next((one for one in _SIZES if subject.has(one)), _SIZES[0])
    size = subject.number(word) or 1
    has_copies = subject.flag("enable_dp_attention")
    if size < 2 or has_copies or subject.has("json_model_override_args"):  # noqa: PLR2004 - one device
        return
    checkpoint, called = subject.checkpoint, subject.word(word)
    heads = checkpoint.number("num_attention_heads")
    is_of_heads = "Mamba" not in (checkpoint.class_name or "")
    if heads and heads % size and is_of_heads:
        yield uneven_heads(UNEVEN_HEADS_OF_MODEL, called, heads, size)
        return
    values = checkpoint.quantization or {}
    if checkpoint.method in {"awq", "gptq"} and not has_experts(checkpoint):
        group = values.get("group_size", group_of(checkpoint))
        dense = checkpoint.number(_DENSE)
        if isinstance(group, int) and group > 1 and dense:
            yield from uneven_weights(
                called, size, dense, group, of="groups", otherwise=""
            )
        return
    blocks = values.get("weight_block_size")
    if checkpoint.method != "fp8" or not blocks:
        return
    block, is_by_expert = blocks[0], _is_by_expert(subject)
    parts = _expert_parts(subject)
    for key in _WIDTHS:
        width = checkpoint.number(key)
        if key == _WIDTHS[0] and width and parts and isinstance(block, int):
            yield from _over_groups(called, size, parts, width, block)
        is_of_experts = checkpoint.number(_WIDTHS[0]) is not None
        if (key == _WIDTHS[0] and is_by_expert) or (key == _DENSE and is_of_experts):
            continue
        if isinstance(block, int) and width and width // size % block:
            otherwise = "" if key != _WIDTHS[0] else f", or ep_size={size}"
            yield from uneven_weights(
                called, size, width, block, of="blocks", otherwise=otherwise
            )
            return


# Experts, those that all tokens go through, and layers of models without any.
_DENSE = "intermediate_size"

_WIDTHS = ("moe_intermediate_size", "share_expert_dim", _DENSE)

_SIZES = ("tensor_parallel_size", "tp_size", "tp")

_EXPERTS = (
    *("ep_size", "ep", "expert_parallel_size", "moe_a2a_backend"),
    *("enable_ep_moe", "enable_deepep_moe"),
)


def _expert_parts(subject: Subject) -> int | None:
    """
    Return over how many groups of devices whole experts are shared; ``None`` where that
    is not said, or left to a way of sending tokens around.
    """
    if subject.text("moe_a2a_backend") not in {None, "none"}:
        return None
    names = ("ep_size", "ep", "expert_parallel_size")
    return next((n for n in map(subject.number, names) if n is not None), None)


def _over_groups(
    word: str, size: int, parts: int, width: int, block: int
) -> Iterator[Finding]:
    if parts < 2 or parts > size or size % parts:  # noqa: PLR2004 - one has all
        return
    if width // (size // parts) % block:
        yield from uneven_weights(
            f"{word}/ep_size", size // parts, width, block, of="blocks", otherwise=""
        )


def _is_by_expert(subject: Subject) -> bool:
    return any(subject.has(one) for one in _EXPERTS)
