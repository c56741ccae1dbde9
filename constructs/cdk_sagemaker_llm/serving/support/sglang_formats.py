"""
What SGLang asks of the GPU, and of how weights are quantized and split.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.gpu_formats import (
    find_method,
    lacks_method,
    method_spans,
)
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.support.attention import (
    ADA,
    AMPERE,
    BLACKWELL,
    CACHE_FALLBACK,
    HOPPER,
    TURING,
    WRONG_BACKEND,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.number_formats import (
    DTYPE_FALLBACK,
    GPU_LACKS_METHOD,
    LACKS_METHOD,
    METHOD_DTYPE,
)
from cdk_sagemaker_llm.serving.support.quantization import (
    NOT_QUANTIZED,
    OTHER_METHOD,
    is_gpt_oss,
)
from cdk_sagemaker_llm.serving.support.splits import (
    UNEVEN_HEADS_OF_MODEL,
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
_NEEDS_FILES = frozenset({"awq", "awq_marlin", "gptq", "gptq_marlin"})
_OF_GPT_OSS = frozenset({"triton", "trtllm_mha", "fa3", "fa4"})
_ON_BLACKWELL = frozenset({"trtllm_mla", "cutlass_mla"})
_OF_LATENT = frozenset({"trtllm_mla", "cutlass_mla", "flashmla"})

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
    own, asked = subject.checkpoint.method, subject.text("quantization")
    method = asked or own
    if (
        method
        and lacks_method("sglang", method, subject.release)
        and not _is_marlin(subject, method)
    ):
        of = subject.word("quantization") if asked else subject.checkpoint.name
        spans = method_spans("sglang", method)
        if asked or not spans:
            yield LACKS_METHOD.finding(
                f"{subject.title} does not have the quantization method {method}, "
                f"which {of} asks for",
                "take weights in another format",
            )
        return
    if not asked or own is None:
        return
    word = subject.word("quantization")
    if not own and asked in _NEEDS_FILES:
        yield NOT_QUANTIZED.finding(
            f"{word}={asked} needs weights that were quantized so, and those of "
            f"{subject.checkpoint.name} are not quantized",
            "leave it out, or name a model that was quantized",
        )
    elif own in _TAKEN_AS and asked != own and asked not in _TAKEN_AS[own]:
        yield OTHER_METHOD.finding(
            f"{word} must be left out or be that of the weights, {own}, got {asked}",
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
    known = method and find_method("sglang", method, subject.release)
    if not known:
        return
    capability, least = subject.capability, known.capability
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
    if known.types and dtype and not is_cast and dtype not in known.types:
        if dtype == "float32" and subject.text("dtype") in {None, "auto"}:
            return
        yield METHOD_DTYPE.finding(
            f"{subject.title} takes {any_of(known.types)} with weights in {method}, "
            f"got {dtype}",
            f"set {subject.word('dtype')}={known.types[0]}",
        )


def _method(subject: Subject) -> str | None:
    """
    Return the method that SGLang comes to; ``None`` where that is not known.
    """
    own, asked = subject.checkpoint.method, subject.text("quantization")
    if own in {"awq", "gptq"} and asked not in {own, "moe_wna16"}:
        is_new = subject.capability is not None and subject.capability >= AMPERE
        return f"{own}_marlin" if is_new else None
    return asked or own


def sglang_backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend that is asked for takes the model on the GPU.
    """
    for argument in (
        "attention_backend",
        "prefill_attention_backend",
        "decode_attention_backend",
    ):
        asked = subject.text(argument)
        why = asked and _refuses_backend(subject, asked, argument)
        if why:
            word = subject.word(argument)
            yield WRONG_BACKEND.finding(
                f"{word}={asked} does not fit: {why}",
                f"leave {word} out: {subject.title} takes one that fits",
            )


def _refuses_backend(subject: Subject, asked: str, argument: str) -> str:
    if is_gpt_oss(subject) and asked not in _OF_GPT_OSS:
        return f"gpt-oss needs {any_of(sorted(_OF_GPT_OSS))}"
    capability = subject.capability
    if capability is None:
        return ""
    is_hopper = HOPPER <= capability < BLACKWELL
    is_of_8 = AMPERE <= capability < HOPPER
    is_of_decoding = argument.startswith("decode") and is_hopper
    is_known = is_of_decoding and subject.is_at("0.5.10")
    unfit = {
        "fa3": not is_hopper and (not is_of_8 or is_latent(subject)),
        "trtllm_mha": capability < BLACKWELL and not is_known,
        **dict.fromkeys(_ON_BLACKWELL, capability < BLACKWELL),
    }
    if unfit.get(asked):
        return f"it does not run on {subject.gpu}"
    is_told = subject.checkpoint.is_whole and subject.checkpoint.class_name is not None
    if asked in _OF_LATENT and is_told and not is_latent(subject):
        return f"{subject.checkpoint.class_name} has no latent attention"
    return ""


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
    blocks = (checkpoint.quantization or {}).get("weight_block_size")
    width = checkpoint.number("moe_intermediate_size")
    if checkpoint.method != "fp8" or not blocks or not width or _is_by_expert(subject):
        return
    block = blocks[0]
    if isinstance(block, int):
        otherwise = f", or ep_size={size}"
        yield from uneven_weights(
            called, size, width, block, of="blocks", otherwise=otherwise
        )


_SIZES = ("tensor_parallel_size", "tp_size", "tp")
_EXPERTS = ("ep_size", "ep", "expert_parallel_size", "enable_ep_moe", "moe_a2a_backend")


def _is_by_expert(subject: Subject) -> bool:
    return any(subject.has(one) for one in _EXPERTS)


def sglang_cache_findings(subject: Subject) -> Iterator[Finding]:
    """
    The KV cache's format is one that attention by Triton compiles on the GPU.
    """
    kind, capability = subject.text("kv_cache_dtype"), subject.capability
    is_triton = subject.text("attention_backend") == "triton" or (
        not subject.has("attention_backend")
        and (is_gpt_oss(subject) or is_latent(subject))
    )
    is_old = capability is not None and capability < ADA
    if kind == "fp8_e4m3" and is_old and is_triton:
        yield CACHE_FALLBACK.finding(
            f"{subject.word('kv_cache_dtype')}={kind} needs a compute capability "
            f"of 8.9 for attention by Triton, got {subject.gpu}: nobody was seen to "
            "run it",
            "leave it out",
        )
