"""
Attention against the GPU: the backend, the KV cache's format, and the engine's
generation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.checkpoint import Checkpoint
from cdk_sagemaker_llm.serving.support.quantization import (
    is_gpt_oss,
    resolved_method,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject

TURING, AMPERE, ADA, HOPPER, BLACKWELL = 75, 80, 89, 90, 100
_SELECTOR = "vllm/platforms/cuda.py and vllm/v1/attention/backends"
_SPARSE = (
    "DeepseekV32ForCausalLM",
    "GlmMoeDsaForCausalLM",
    "DeepseekV4ForCausalLM",
)
# Their caches hold one latent vector for each token.
_LATENT = (
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "DeepseekVLV2ForCausalLM",
    "KimiVLForConditionalGeneration",
    "KimiK25ForConditionalGeneration",
    "Glm4MoeLiteForCausalLM",
    *_SPARSE,
)
# Their heads have two sizes, and one backend takes both (Gemma4Config of
# model_executor/models/config.py, from 0.19.1 on): FlashAttention 4 where there is one.
GEMMA_4 = (
    "Gemma4ForCausalLM",
    "Gemma4ForConditionalGeneration",
    "Gemma4UnifiedForConditionalGeneration",
)
# Made for a million tokens.
_OF_A_MILLION = re.compile(r"qwen/qwen2\.5-(?:7|14)b-instruct-1m\Z", re.IGNORECASE)
_IN_CHUNKS = "DUAL_CHUNK_FLASH_ATTN"
# Methods with a KVCacheMethod (vllm/model_executor/layers/quantization).
_WITH_SCALES = {
    "fp8": "0.5.3",
    "modelopt": "0.6.3",
    "compressed-tensors": "0.6.3",
    "quark": "0.8.4",
    "ptpc_fp8": "0.8.4",
}
# 0.22.0 refuses those without too, and 0.24.0 does not; between them nobody read.
_SCALES_ARE_SEEN = "0.23.0"
# What it forces on B200 whatever the model (check_and_update_config, issue 30214).
_CUTLASS_IS_FORCED = ("0.11.1", "0.12.0")
# Later ones take Triton by themselves where FlashAttention 3 is not there.
_SINKS_BY_FLASH_3 = ("0.10.0", "0.10.1.1")
_EIGHT_BITS = ("fp8", "fp8_e4m3", "fp8_e5m2")

CACHE_FORMAT = Rule("LLM933", "the GPU cannot keep the KV cache in 8 bits", _SELECTOR)
CACHE_FALLBACK = Rule(
    "LLM890",
    "a KV cache in 8 bits has slower attention, or was not seen to run",
    _SELECTOR,
)
NO_BACKEND = Rule(
    "LLM935", "no attention backend takes the model on the GPU", _SELECTOR
)
WRONG_BACKEND = Rule(
    "LLM937",
    "the attention backend asked for does not take the model or GPU",
    _SELECTOR,
)


def cache_findings(subject: Subject) -> Iterator[Finding]:
    """
    The KV cache's format is one that attention takes on the GPU.
    """
    kind, capability = subject.text("kv_cache_dtype"), subject.capability
    if kind is None and _is_cache_of_files(subject):
        kind = "fp8"
    if kind not in _EIGHT_BITS or capability is None:
        return
    word = subject.word("kv_cache_dtype")
    name = f"{word}={kind}"
    why = _refuses_cache(subject, kind, capability)
    if kind == "fp8_e5m2" and _brings_scales(subject):
        why = "such weights bring scales for fp8_e4m3, or may"
    # Newer ones lack it for other reasons than their age.
    newer = ", or take a GPU from L4 on" if capability < ADA else ""
    if why:
        yield CACHE_FORMAT.finding(
            f"{subject.title} cannot keep the KV cache in 8 bits on {subject.gpu}, got "
            f"{name}: {why}",
            f"leave {word} out{newer}",
        )
    elif subject.is_at("0.0", "0.7.3"):
        yield CACHE_FALLBACK.finding(
            f"{name} has {subject.title} leave FlashAttention for XFormers, which is "
            "slower"
        )
    elif subject.is_at("0.8.0", "0.10.2"):
        if not _is_taken_by_new_engine(subject, capability):
            yield CACHE_FALLBACK.finding(
                f"{name} has {subject.title} fall back to its old engine on "
                f"{subject.gpu}"
            )
    elif subject.is_at("0.11.1") and capability < ADA:
        yield CACHE_FALLBACK.finding(
            f"{name} has {subject.title} take FlashInfer on {subject.gpu}, by its "
            "tables; nobody was seen to run it"
        )


def _brings_scales(subject: Subject) -> bool:
    """
    Whether the method of the weights loads scales for a cache in 8 bits, be there any.
    """
    since = _WITH_SCALES.get(resolved_method(subject) or "")
    if since is None or not subject.is_at(since):
        return False
    is_compressed = subject.checkpoint.method == "compressed-tensors"
    values = subject.checkpoint.quantization or {}
    # From then on those without scales are told apart.
    is_lenient = is_compressed and subject.is_at(_SCALES_ARE_SEEN)
    return not is_lenient or isinstance(values.get("kv_cache_scheme"), Mapping)


def _is_cache_of_files(subject: Subject) -> bool:
    """
    Whether the files say that the cache has 8 bits, and the release heeds them.
    """
    is_of_4 = subject.checkpoint.method == "modelopt_fp4"
    is_known = subject.checkpoint.name.lower().startswith("nvidia/deepseek")
    return is_of_4 and is_known and subject.is_at("0.14.0")


def _refuses_cache(subject: Subject, kind: str, capability: int) -> str:
    if not subject.is_at("0.11.0"):
        is_forced = subject.environment.get("VLLM_USE_V1") == "1"
        is_forced = is_forced and subject.is_at("0.8.0")
        is_refused = is_forced and not _is_taken_by_new_engine(subject, capability)
        return "VLLM_USE_V1=1 forces the engine that lacks it" if is_refused else ""
    if not subject.is_at("0.11.1"):
        is_hit = AMPERE <= capability < ADA and kind != "fp8_e5m2"
        return "its kernel in Triton does not compile" if is_hit else ""
    return _lacks_cache(subject, kind, capability)


def _is_taken_by_new_engine(subject: Subject, capability: int) -> bool:
    if is_latent(subject) and subject.is_at("0.0", "0.9.2"):
        # FlashMLA and Triton said that they did not have it yet.
        return False
    is_blackwell = capability == BLACKWELL and subject.is_at("0.10.2")
    return capability == HOPPER or is_blackwell


def _lacks_cache(subject: Subject, kind: str, capability: int) -> str:
    is_of_8 = capability < HOPPER or capability == 120  # noqa: PLR2004 - RTX PRO 6000
    if subject.checkpoint.class_name in _LATENT:
        is_hit = is_of_8 and subject.is_at("0.11.1", "0.17.1")
        return "no backend for latent attention takes it there" if is_hit else ""
    is_native = kind != "fp8_e5m2" or subject.is_at("0.24.0")
    if capability >= ADA or not is_native:
        return ""
    if capability < TURING or (capability < AMPERE and subject.is_at("0.24.0")):
        # On the oldest nothing else runs.
        return "attention by Triton needs a compute capability of 8.9 for it"
    needing = _needs_triton(subject, kind)
    return f"{needing} need Triton, which has it from 8.9 on" if needing else ""


def _needs_triton(subject: Subject, kind: str) -> str:
    """
    Return what of a model FlashInfer does not take; empty for nothing.
    """
    if is_gpt_oss(subject):
        return "attention sinks"
    is_left = subject.checkpoint.class_name in GEMMA_4 and kind != "fp8_e5m2"
    if is_left and not asked_backend(subject)[0]:
        return "heads of two sizes"
    size = head_size_of(subject)
    sizes = {64, 128, 256} | ({512} if subject.is_at("0.22.0") else set())
    return f"heads of {size}" if size is not None and size not in sizes else ""


def attends_in_chunks(checkpoint: Checkpoint) -> bool:
    """
    Whether a model attends in two chunks, which its config.json says
    (dual_chunk_attention_config).
    """
    is_told = "dual_chunk_attention_config" in checkpoint.config
    return is_told or bool(_OF_A_MILLION.match(checkpoint.name))


def is_latent(subject: Subject) -> bool:
    """
    Whether the model's cache holds one latent vector for each token.
    """
    has_rank = subject.checkpoint.number("kv_lora_rank") is not None
    return subject.checkpoint.class_name in _LATENT or has_rank


def head_size_of(subject: Subject) -> int | None:
    """
    Return the size of an attention head; ``None`` where it is not known.
    """
    checkpoint = subject.checkpoint
    if checkpoint.class_name in _LATENT:
        return None
    size = checkpoint.number("head_dim")
    hidden = checkpoint.number("hidden_size", "n_embd", "d_model")
    heads = checkpoint.number("num_attention_heads", "n_head", "n_heads")
    if size is None and hidden and heads and hidden % heads == 0:
        return hidden // heads
    return size


def backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    Some attention backend takes the model on the GPU.
    """
    name, capability = subject.checkpoint.class_name, subject.capability
    if capability is None:
        return
    is_sparse_gpu = HOPPER <= capability < 110  # noqa: PLR2004 - 9.x and 10.x
    # From 0.24.0 on FlashInfer has it for 12.0 too.
    is_sparse_gpu |= capability >= 120 and subject.is_at("0.24.0")  # noqa: PLR2004
    if name in _SPARSE and not is_sparse_gpu and subject.is_at("0.11.0"):
        yield NO_BACKEND.finding(
            f"{subject.title} has no sparse attention for {name} on {subject.gpu}",
            "take H100, H200, B200 or B300",
        )
    backend = asked_backend(subject)[0]
    is_forced = capability == BLACKWELL and subject.is_at(*_CUTLASS_IS_FORCED)
    if name in _SPARSE and is_forced and not backend:
        yield NO_BACKEND.finding(
            f"{subject.title} takes CUTLASS_MLA on {subject.gpu}, which has no sparse "
            f"attention for {name}",
            "set VLLM_ATTENTION_BACKEND=FLASHMLA_SPARSE, or take an image with vLLM "
            "0.13 or newer",
        )
    is_wide = subject.text("dtype") in {"float32", "float"} and subject.is_at("0.11.1")
    is_off = bool(subject.environment.get("VLLM_MLA_DISABLE"))
    if is_wide and name in _LATENT and not backend and not is_off:
        yield NO_BACKEND.finding(
            f"{subject.title} has no latent attention in float32, which {name} needs",
            f"write {subject.word('dtype')}=bfloat16",
        )
    has_sinks = capability in (HOPPER, BLACKWELL) or bool(asked_backend(subject)[0])
    if is_gpt_oss(subject) and not has_sinks and subject.is_at(*_SINKS_BY_FLASH_3):
        yield NO_BACKEND.finding(
            f"{subject.title} takes FlashAttention for {subject.checkpoint.name}, "
            f"which has no attention sinks on {subject.gpu}",
            "set VLLM_ATTENTION_BACKEND=TRITON_ATTN_VLLM_V1, or take an image with "
            "vLLM 0.10.2 or newer",
        )


def chunk_findings(subject: Subject) -> Iterator[Finding]:
    """
    A model that attends in two chunks is given the backend that does.
    """
    is_asked = asked_backend(subject)[0] == _IN_CHUNKS
    if not attends_in_chunks(subject.checkpoint) or not subject.is_at("0.9.0"):
        return
    if not is_asked and subject.is_at("0.0", "0.10.2"):
        yield NO_BACKEND.finding(
            f"{subject.title} runs {subject.checkpoint.name} by {_IN_CHUNKS} alone",
            f"set VLLM_ATTENTION_BACKEND={_IN_CHUNKS} and enforce_eager",
        )
    elif is_asked and not subject.flag("enforce_eager"):
        yield NO_BACKEND.finding(
            f"{subject.title} captures no CUDA graphs with {_IN_CHUNKS}",
            "set enforce_eager",
        )


def forced_backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend that is asked for takes the model on the GPU.
    """
    backend, word = asked_backend(subject)
    capability = subject.capability
    if not backend or capability is None or not subject.is_at("0.11.1"):
        return
    why = _refuses_backend(subject, backend, capability)
    if why:
        yield WRONG_BACKEND.finding(
            f"{word}={backend} does not fit: {why}",
            f"leave {word} out: {subject.title} takes one that fits",
        )


def asked_backend(subject: Subject) -> tuple[str, str]:
    """
    Return the attention backend that is asked for, and by which word; empty for none.
    """
    backend, word = subject.text("attention_backend"), subject.word("attention_backend")
    if backend is None and not subject.is_at("0.15.0"):
        # Nothing reads it from then on.
        backend, word = (
            subject.environment.get("VLLM_ATTENTION_BACKEND"),
            "VLLM_ATTENTION_BACKEND",
        )
    return (backend or "").upper().removesuffix("_VLLM_V1"), word


# The compute capabilities' first numbers that attention for latent vectors is made for.
_LATENT_BACKENDS: Mapping[str, tuple[int, ...]] = {
    "CUTLASS_MLA": (10,),
    "FLASHINFER_MLA": (10,),
    "FLASHMLA": (9, 10),
    "FLASH_ATTN_MLA": (9,),
    "TRITON_MLA": (),
}
_PLAIN_BACKENDS = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION")
# These take numbers in 16 bits alone (supported_dtypes).
_IN_HALVES = frozenset({"FLASH_ATTN", "FLASHINFER", *_LATENT_BACKENDS})
# Those with EncoderOnlyAttention; a model that generates has none.
_ENCODERS = ("Bert", "Roberta", "XLMRoberta", "ModernBert", "NomicBert", "GteModel")


def _refuses_backend(subject: Subject, backend: str, capability: int) -> str:
    name = subject.checkpoint.class_name
    is_off = bool(subject.environment.get("VLLM_MLA_DISABLE"))
    least = AMPERE if backend == "FLASH_ATTN" or subject.is_at("0.24.0") else TURING
    if backend in {"FLASH_ATTN", "FLASHINFER"} and capability < least:
        return f"it needs a compute capability of {least / 10}, got {subject.gpu}"
    if backend in _PLAIN_BACKENDS and name in _LATENT and not is_off:
        return f"{name} has latent attention"
    if backend in _IN_HALVES and subject.text("dtype") in {"float32", "float"}:
        return "it has no float32"
    if backend in _LATENT_BACKENDS:
        majors = _LATENT_BACKENDS[backend]
        if majors and capability // 10 not in majors:
            return f"it does not run on {subject.gpu}"
        if subject.checkpoint.is_whole and name and not is_latent(subject):
            return f"{name} has no latent attention"
    return (
        _refuses_heads(subject, backend)
        or _refuses_cache_of_backend(subject, backend, capability)
        or _refuses_kind(subject, backend)
        or (_refuses_sinks(subject, backend, capability) if is_gpt_oss(subject) else "")
    )


def _refuses_heads(subject: Subject, backend: str) -> str:
    # Some layers of Gemma 4 have larger heads.
    size = subject.checkpoint.number("global_head_dim") or head_size_of(subject)
    if size is None:
        return ""
    is_unfit = False
    if backend == "FLASHINFER":
        sizes = {64, 128, 256} | ({512} if subject.is_at("0.22.0") else set())
        is_unfit = size not in sizes
    elif backend == "FLASH_ATTN" and not subject.is_at("0.12.0"):
        is_unfit = size not in FLASH_SIZES
    elif backend == "FLASH_ATTN":
        # From 0.20.0 on its fourth version may have larger ones.
        is_large = size > FLASH_SIZES[-1] and not subject.is_at("0.20.0")
        is_unfit = bool(size % 8) or is_large
    return f"it does not take heads of {size}" if is_unfit else ""


FLASH_SIZES = (32, 64, 96, 128, 160, 192, 224, 256)


def _refuses_cache_of_backend(subject: Subject, backend: str, capability: int) -> str:
    """
    Tell why a backend does not take the KV cache in 8 bits that is asked for
    (supports_kv_cache_dtype).
    """
    kind = subject.text("kv_cache_dtype")
    if kind not in _EIGHT_BITS:
        return ""
    is_unfit = backend in {"FLASH_ATTN_MLA", "FLEX_ATTENTION"}
    is_unfit |= backend == "TRITON_MLA" and not subject.is_at("0.18.0")
    is_of_ada = kind != "fp8_e5m2" and capability < ADA
    is_unfit |= backend == "TRITON_ATTN" and is_of_ada
    if backend == "FLASH_ATTN":
        # By its third version alone, and from 0.27.0 on by its fourth.
        majors = (9, 10) if subject.is_at("0.27.0") else (9,)
        is_unfit = capability // 10 not in majors
        is_unfit |= kind == "fp8_e5m2" and subject.is_at("0.12.0")
    is_unfit |= backend in _LATENT_BACKENDS and kind == "fp8_e5m2"
    word = subject.word("kv_cache_dtype")
    return f"it has no {word}={kind} on {subject.gpu}" if is_unfit else ""


def _refuses_kind(subject: Subject, backend: str) -> str:
    name = subject.checkpoint.class_name or ""
    is_by_triton = backend == "TRITON_ATTN" and not subject.is_at("0.14.0")
    if name.startswith(_ENCODERS) and (backend == "FLASHINFER" or is_by_triton):
        return f"{name} reads texts in both directions, which it does not"
    return ""


def _refuses_sinks(subject: Subject, backend: str, capability: int) -> str:
    if backend not in {"FLASH_ATTN", "FLASHINFER", "FLEX_ATTENTION"}:
        return ""
    if backend == "FLEX_ATTENTION":
        is_unfit = True
    elif backend == "FLASH_ATTN":
        is_unfit = capability < HOPPER
    else:
        is_newer = subject.is_at("0.28.0")
        is_unfit = capability < HOPPER or (capability >= 110 and not is_newer)  # noqa: PLR2004 - 12.0
        is_unfit = is_unfit or (capability == HOPPER and not subject.is_at("0.30.0"))
    return f"it has no attention sinks on {subject.gpu}" if is_unfit else ""
