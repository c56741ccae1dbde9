"""
Attention against the GPU: the backend, the KV cache's format, and the engine's
generation.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.quantization import (
    is_gpt_oss,
    resolved_method,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject

TURING, AMPERE, ADA, HOPPER, BLACKWELL = 75, 80, 89, 90, 100
_SELECTOR = "vllm/platforms/cuda.py and vllm/v1/attention/backends"
_SPARSE = ("DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM")
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
_PAGED_SIZES = (64, 80, 96, 112, 128, 256)
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
OLD_ENGINE = Rule(
    "LLM939",
    "the new engine is forced where it does not run",
    "vllm/engine/arg_utils.py",
)
OLD_ENGINE_FALLBACK = Rule(
    "LLM892", "the old engine runs instead of the new one", "vllm/engine/arg_utils.py"
)


def cache_findings(subject: Subject) -> Iterator[Finding]:
    """
    The KV cache's format is one that attention takes on the GPU.
    """
    kind, capability = subject.text("kv_cache_dtype"), subject.capability
    if kind not in _EIGHT_BITS or capability is None:
        return
    word = subject.word("kv_cache_dtype")
    name = f"{word}={kind}"
    why = _refuses_cache(subject, kind, capability)
    is_of_8 = resolved_method(subject) in {"fp8", "modelopt"}
    if kind == "fp8_e5m2" and is_of_8 and subject.is_at("0.5.3"):
        why = "weights in fp8 bring scales for fp8_e4m3"
    if why:
        yield CACHE_FORMAT.finding(
            f"{subject.title} cannot keep the KV cache in 8 bits on {subject.gpu}, got "
            f"{name}: {why}",
            f"leave {word} out, or take a GPU from L4 on",
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
    if capability < AMPERE and subject.is_at("0.24.0"):
        return "attention by Triton needs a compute capability of 8.9 for it"
    if is_gpt_oss(subject):
        return "attention sinks need Triton, which has it from 8.9 on"
    size = head_size_of(subject)
    sizes = {64, 128, 256} | ({512} if subject.is_at("0.22.0") else set())
    if size is not None and size not in sizes:
        return f"heads of {size} need Triton, which has it from 8.9 on"
    return ""


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
    size = head_size_of(subject)
    is_text = (name or "").endswith(("ForCausalLM", "LMHeadModel"))
    if subject.is_at("0.0", "0.2.7") and is_text and size and size not in _PAGED_SIZES:
        yield NO_BACKEND.finding(
            f"{subject.title} has attention for heads of 64, 80, 96, 112, 128 and 256 "
            f"numbers, and those of {subject.checkpoint.name} have {size}",
            "take an image with a newer release",
        )
    if capability is None:
        return
    is_sparse_gpu = HOPPER <= capability < 110  # noqa: PLR2004 - 9.x and 10.x
    if name in _SPARSE and not is_sparse_gpu and subject.is_at("0.11.0"):
        yield NO_BACKEND.finding(
            f"{subject.title} has no sparse attention for {name} on {subject.gpu}",
            "take H100, H200, B200 or B300",
        )
    is_capped = name == "Gemma2ForCausalLM"
    if is_capped and capability < AMPERE and subject.is_at("0.5.3", "0.6.6"):
        yield NO_BACKEND.finding(
            f"{subject.title} has no soft capping of attention on {subject.gpu}, which "
            f"{name} needs",
            "take a GPU from A10G on, or an image with a newer release",
        )


def forced_backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend that is asked for takes the model on the GPU.
    """
    asked = subject.text("attention_backend")
    word = subject.word("attention_backend")
    if asked is None:
        asked = subject.environment.get("VLLM_ATTENTION_BACKEND", "").lower() or None
        word = "VLLM_ATTENTION_BACKEND"
    capability = subject.capability
    if asked is None or capability is None:
        return
    asked = asked.upper().removesuffix("_VLLM_V1")
    why = _refuses_backend(subject, asked, capability)
    if why:
        yield WRONG_BACKEND.finding(
            f"{word}={asked} does not fit: {why}",
            f"leave {word} out: {subject.title} takes one that fits",
        )


def _refuses_backend(subject: Subject, asked: str, capability: int) -> str:
    is_flash = asked in {"FLASH_ATTN", "FLASHINFER"}
    if not subject.is_at("0.11.1"):
        # It prefills by FlashAttention 2, which others are left for.
        is_old = asked == "FLASHINFER" and capability < AMPERE
        is_old = is_old and subject.is_at("0.6.0")
        return f"it needs a GPU from Ampere on, got {subject.gpu}" if is_old else ""
    size, name = head_size_of(subject), subject.checkpoint.class_name
    sizes = {64, 128, 256} | ({512} if subject.is_at("0.22.0") else set())
    least = AMPERE if asked == "FLASH_ATTN" or subject.is_at("0.24.0") else TURING
    if is_flash and capability < least:
        return f"it needs a compute capability of {least / 10}, got {subject.gpu}"
    if is_flash and name in _LATENT:
        return f"{name} has latent attention"
    if asked == "FLASHINFER" and size is not None and size not in sizes:
        return f"it does not take heads of {size}"
    if is_gpt_oss(subject) and is_flash:
        return _refuses_sinks(subject, asked, capability)
    return ""


def _refuses_sinks(subject: Subject, asked: str, capability: int) -> str:
    if asked == "FLASH_ATTN":
        is_unfit = capability < HOPPER
    else:
        is_newer = subject.is_at("0.28.0")
        is_unfit = capability < HOPPER or (capability >= 110 and not is_newer)  # noqa: PLR2004 - 12.0
        is_unfit = is_unfit or (capability == HOPPER and not subject.is_at("0.30.0"))
    return f"it has no attention sinks on {subject.gpu}" if is_unfit else ""


def generation_findings(subject: Subject) -> Iterator[Finding]:
    """
    The generation of the engine that is forced runs on the GPU.
    """
    capability, name = subject.capability, subject.checkpoint.class_name
    is_forced = subject.environment.get("VLLM_USE_V1") == "1"
    is_old = bool(name) and has_ability("vllm", name or "", subject.release, "v0only")
    if is_forced and is_old:
        yield OLD_ENGINE.finding(
            f"VLLM_USE_V1=1 forces an engine of {subject.title} that does not run "
            f"{name}",
            "leave it out",
        )
        return
    if capability is None or capability >= AMPERE:
        return
    if is_forced and subject.is_at("0.7.0", "0.10.1"):
        yield OLD_ENGINE.finding(
            f"VLLM_USE_V1=1 forces an engine of {subject.title} that does not run on "
            f"{subject.gpu}",
            "leave it out",
        )
    elif not is_forced and subject.is_at("0.8.0", "0.10.1"):
        yield OLD_ENGINE_FALLBACK.finding(
            f"{subject.title} falls back to its old engine on {subject.gpu}"
        )
