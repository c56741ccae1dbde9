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
from cdk_sagemaker_llm.serving.support.attention import (
    ADA,
    AMPERE,
    BLACKWELL,
    CACHE_FALLBACK,
    HOPPER,
    NO_BACKEND,
    TURING,
    WRONG_BACKEND,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
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
    scheme_of,
)
from cdk_sagemaker_llm.serving.support.splits import (
    UNEVEN_HEADS_OF_MODEL,
    group_of,
    uneven_weights,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_arguments import NO_DRAFTS
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
# DeepGEMM chooses their tokens, which knows 9.0 and 10.x (dsa_indexer.py); from 0.5.17
# on there is more for 12.0.
_SPARSE = frozenset({"DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"})
_SPARSE_ELSEWHERE = "0.5.17"
_OF_LATENT = frozenset({"trtllm_mla", "cutlass_mla", "flashmla"})

_GEMMA_4 = frozenset(
    {
        "Gemma4ForConditionalGeneration",
        "Gemma4ForCausalLM",
        "Gemma4UnifiedForConditionalGeneration",
    }
)
_LLAMA_4 = frozenset({"Llama4ForConditionalGeneration", "Llama4ForCausalLM"})
_OF_LLAMA_4 = ("fa3", "triton", "trtllm_mha")
# What a class does not run with, by the releases that were read to say so.
_NOT_WITH: Mapping[str, tuple[str, str, str]] = {
    "Olmo2ForCausalLM": ("flashinfer", "0.5.9", "0.5.23"),
    "NemotronHForCausalLM": ("triton", "0.5.9", "0.5.16"),
    "Lfm2ForCausalLM": ("triton", "0.5.9", "0.5.23"),
    "Lfm2MoeForCausalLM": ("triton", "0.5.20", "0.5.23"),
}
# Their scheduling was without a buffer unless asked for (server_args.py).
_NO_BUFFER = ("0.5.10", "0.5.12")
_STATEFUL = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
        "NemotronHForCausalLM",
        "FalconH1ForCausalLM",
        "JetNemotronForCausalLM",
    }
)
# What they have beside their attention proper runs with two backends on Blackwell
# (attention_registry.py; issue 35080 has what came later).
_DELTA_NET = frozenset(
    {
        "Qwen3NextForCausalLM",
        "Qwen3_5ForConditionalGeneration",
        "Qwen3_5MoeForConditionalGeneration",
    }
)
_DELTA_NET_AT = ("0.5.5", "0.5.9")
_OF_DELTA_NET = ("triton", "trtllm_mha")
# From 0.5.6 on each device has the part as a whole (pull request 13856).
_SEEING = frozenset({"Glm4vMoeForConditionalGeneration"})
_SEEN_SPLIT = ("0.5.5", "0.5.5")

# Its first release does not map the layers that are quantized (pull request 20370).
_UNMAPPED, _FIRST = "Qwen3_5ForConditionalGeneration", ("0.5.9", "0.5.9")

# The last release whose class has no set_eagle3_layers_to_capture.
_NO_TARGETS = {
    "Qwen3VLForConditionalGeneration": "0.5.10",
    "Qwen3VLMoeForConditionalGeneration": "0.5.10",
    "Gemma3ForCausalLM": "0.5.11",
    "Gemma3ForConditionalGeneration": "0.5.11",
    "Qwen3NextForCausalLM": "0.5.8",
    "MiniMaxM2ForCausalLM": "0.5.5",
}
DRAFTS_WITHOUT_BUFFER = Rule(
    "LLM908",
    "SGLang does not draft for a model that keeps a state beside its radix cache",
    "_handle_mamba_radix_cache of SGLang 0.5.10 to 0.5.12",
)
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


def sglang_sparse_findings(subject: Subject) -> Iterator[Finding]:
    """
    The GPU has what chooses the tokens of sparse attention.
    """
    name, capability = subject.checkpoint.class_name, subject.capability
    if name not in _SPARSE or capability is None or subject.is_at(_SPARSE_ELSEWHERE):
        return
    if capability < HOPPER or capability >= 120:  # noqa: PLR2004 - 12.0
        yield NO_BACKEND.finding(
            f"{subject.title} has no sparse attention for {name} on {subject.gpu}",
            "take H100, H200, B200 or B300",
        )


def sglang_draft_findings(subject: Subject) -> Iterator[Finding]:
    """
    A model that keeps a state drafts without the radix cache, or with a buffer.
    """
    name, strategy = subject.checkpoint.class_name, "mamba_scheduler_strategy"
    last = _NO_TARGETS.get(name or "")
    is_eagle = subject.text("speculative_algorithm") == "eagle3"
    if last is not None and is_eagle and subject.is_at("0.5.5", last):
        yield NO_DRAFTS.finding(
            f"{subject.title} does not take an EAGLE-3 draft for {name}",
            f"take an image with SGLang after {last}",
        )
    yield from _branch_findings(subject)
    is_off = subject.flag("disable_radix_cache")
    is_plain = subject.text(strategy) in {None, "auto", "no_buffer"}
    is_asked = subject.has("speculative_algorithm") and subject.is_at(*_NO_BUFFER)
    if name in _STATEFUL and is_asked and is_plain and not is_off:
        yield DRAFTS_WITHOUT_BUFFER.finding(
            f"{subject.title} does not draft for {name} beside its radix cache, got "
            f"{subject.word('speculative_algorithm')}="
            f"{subject.arguments['speculative_algorithm']}",
            f"set {strategy}=extra_buffer with SGLANG_ENABLE_SPEC_V2=1, or "
            "disable_radix_cache",
        )


def _branch_findings(subject: Subject) -> Iterator[Finding]:
    """
    How many branches an EAGLE draft has is written where how many steps it has is.
    """
    kind = subject.text("speculative_algorithm") or ""
    steps, branches = "speculative_num_steps", "speculative_eagle_topk"
    if kind in _BRANCHING and subject.has(steps) and not subject.has(branches):
        yield NO_DRAFTS.finding(
            f"{subject.word(steps)} is given without {subject.word(branches)}, and "
            f"{subject.title} stops there",
            "write both, such as 1, or leave both out",
        )


_BRANCHING = ("eagle", "eagle3", "nextn", "standalone")


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


def _of_gemma(subject: Subject) -> tuple[str, ...]:
    newer = (("0.5.19", "intel_amx"), ("0.5.20", "aiter"), ("0.5.21", "fa4"))
    more = (name for since, name in newer if subject.is_at(since))
    return ("trtllm_mha", "triton", "ascend", "intel_xpu", *more)


def _model_needs(subject: Subject, argument: str) -> tuple[str, tuple[str, ...]]:
    """
    Return a model that not every backend takes, and those that do.
    """
    name = subject.checkpoint.class_name
    if name in _GEMMA_4 and subject.is_at("0.5.14"):
        return "Gemma 4", _of_gemma(subject)
    if is_gpt_oss(subject):
        return "gpt-oss", tuple(sorted(_OF_GPT_OSS))
    if name in _LLAMA_4 and argument == "attention_backend":
        return "Llama 4", _OF_LLAMA_4
    is_new = subject.capability is not None and subject.capability >= BLACKWELL
    # What is named for one half alone is not looked at.
    is_net = name in _DELTA_NET and argument == "attention_backend"
    if is_net and is_new and subject.is_at(*_DELTA_NET_AT):
        return f"{name} on {subject.gpu}", _OF_DELTA_NET
    return "", ()


def _refuses_backend(subject: Subject, asked: str, argument: str) -> str:
    model, backends = _model_needs(subject, argument)
    if model and asked not in backends:
        return f"{model} needs {any_of(backends)}"
    name = subject.checkpoint.class_name or ""
    unfit_one, *span = _NOT_WITH.get(name, ("", "", ""))
    if asked == unfit_one and argument == "attention_backend" and subject.is_at(*span):
        return f"{name} does not run with it"
    if asked == "torch_native" and subject.has("speculative_algorithm"):
        return "nothing is drafted with it"
    capability = subject.capability
    if capability is None:
        return ""
    is_hopper = HOPPER <= capability < BLACKWELL
    is_of_8 = AMPERE <= capability < HOPPER
    # It decodes elsewhere too from 0.5.10 on, and prefills there from 0.5.19 on.
    is_wide = subject.is_at("0.5.10" if argument.startswith("decode") else "0.5.19")
    is_elsewhere = is_wide and (is_hopper or capability >= 120)  # noqa: PLR2004 - 12.0
    unfit = {
        "fa3": not is_hopper and (not is_of_8 or is_latent(subject)),
        "trtllm_mha": capability // 10 != 10 and not is_elsewhere,  # noqa: PLR2004 - 10.x
        **dict.fromkeys(_ON_BLACKWELL, capability < BLACKWELL),
    }
    # Its prefill is for 10.x (sgl-project/sglang issue 24633).
    is_120 = capability >= 120 and subject.is_at("0.0", "0.5.10")  # noqa: PLR2004 - 12.0
    if unfit.get(asked) or (asked == "trtllm_mla" and is_120):
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
    for key in _WIDTHS:
        width = checkpoint.number(key)
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
