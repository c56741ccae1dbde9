"""
Attention of vLLM before 0.11.1, which had two generations of its engine: what the
backends of each take.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import (
    AMPERE,
    BLACKWELL,
    FLASH_SIZES,
    HOPPER,
    NO_BACKEND,
    WRONG_BACKEND,
    asked_backend,
    head_size_of,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.number_formats import resolved_dtype
from cdk_sagemaker_llm.serving.support.old_engine import (
    NEW_BACKENDS,
    old_engine_for,
    old_engine_of,
)
from cdk_sagemaker_llm.serving.support.quantization import (
    is_gpt_oss,
    resolved_method,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# The heads that attention without FlashAttention takes, by the first release.
_PAGED_SIZES = {
    "0.0": (64, 80, 96, 112, 128, 256),
    "0.5.3": (64, 80, 96, 112, 128, 192, 256),
    "0.6.2": (64, 80, 96, 112, 120, 128, 192, 256),
    "0.7.0": (32, 64, 80, 96, 112, 120, 128, 192, 256),
}
_BLOCK, _LATENT_BLOCK = 16, 64
_INFER_SIZES = (64, 128, 256)
# Their heads are of another size than files without head_dim tell.
_OWN_HEADS = ("Gemma", "Qwen3", "Mistral", "Nemotron", "Phi3Small")

HEADS_FALLBACK = Rule(
    "LLM872",
    "the size of the model's heads has slower attention",
    "vllm/attention/selector.py and platforms/cuda.py, 0.5.3 to 0.10.2",
)
# What the old engine of 0.10.2 has by name, and for latent attention.
_OF_OLD_ENGINE = {
    *("XFORMERS", "FLASH_ATTN", "DUAL_CHUNK_FLASH_ATTN", "DIFFERENTIAL_FLASH_ATTN")
}
_LATENT_OF_OLD_ENGINE = {"FLASHMLA", "TRITON_MLA"}
# Whose attention leans by distance (ALiBi), whatever their files say.
_LEANING = ("BloomForCausalLM", "MPTForCausalLM", "JAISLMHeadModel")


def head_findings(subject: Subject) -> Iterator[Finding]:
    """
    Some attention takes the size of the model's heads, and its soft capping.
    """
    name, capability = subject.checkpoint.class_name or "", subject.capability
    sizes, size = _sizes(subject), _size(subject)
    is_text = name.endswith(("ForCausalLM", "LMHeadModel"))
    if sizes and is_text and size and size not in sizes:
        yield NO_BACKEND.finding(
            f"{subject.title} has attention for heads of "
            f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]} numbers there, and "
            f"those of {subject.checkpoint.name} have {size}",
            "take an image with a newer release",
        )
    block = subject.number("block_size") or _BLOCK
    is_new = subject.is_at("0.8.4", "0.10.2") and not old_engine_for(subject)
    is_new = is_new and capability is not None and capability >= AMPERE
    is_new = is_new and asked_backend(subject)[0] in {"", "FLASH_ATTN", "TRITON_ATTN"}
    is_unfit = bool(block % _BLOCK) and not is_latent(subject)
    if is_unfit and is_new and capability != BLACKWELL:
        yield NO_BACKEND.finding(
            f"block_size must be a multiple of {_BLOCK} in the new engine of "
            f"{subject.title}, got {block}",
            "leave it out",
        )
    is_mla = is_latent(subject) and subject.is_at("0.7.1", "0.8.5")
    is_mla = is_mla and not subject.environment.get("VLLM_MLA_DISABLE")
    # At first only these weights were read so.
    method = resolved_method(subject) or "fp8"
    is_mla = is_mla and (method == "fp8" or subject.is_at("0.8.0"))
    if is_mla and capability is not None and capability < AMPERE:
        yield NO_BACKEND.finding(
            f"{subject.title} needs FlashAttention for the latent attention of {name}, "
            f"which it does not have on {subject.gpu}",
            "take a GPU from A10G on, or set VLLM_MLA_DISABLE=1",
        )
    is_capped = name == "Gemma2ForCausalLM" and subject.is_at("0.5.3", "0.6.6")
    if is_capped and capability is not None and not _is_by_flash(subject):
        yield NO_BACKEND.finding(
            f"{subject.title} has no soft capping of attention without FlashAttention, "
            f"which {name} needs: {subject.gpu}, or what is asked for, lacks it",
            "take a GPU from A10G on, no cache in 8 bits, and no backend by name, or "
            "an image with a newer release",
        )


def slower_head_findings(subject: Subject) -> Iterator[Finding]:
    """
    FlashAttention takes the size of the model's heads.
    """
    size, capability = _size(subject), subject.capability
    is_old = subject.is_at("0.5.3", "0.7.3") and _is_by_flash(subject)
    is_new = subject.is_at("0.10.2", "0.10.2") and not old_engine_of(subject)
    is_new = is_new and resolved_dtype(subject) != "float32"
    name = subject.checkpoint.class_name or ""
    is_told = name.endswith(("ForCausalLM", "LMHeadModel")) and size is not None
    is_told = is_told and capability is not None and capability >= AMPERE
    is_read = is_told and not asked_backend(subject)[0]
    if is_read and (is_old or is_new) and size not in FLASH_SIZES:
        if is_old and size not in _sizes(subject):
            return
        slower = "XFormers" if is_old else "FlexAttention"
        yield HEADS_FALLBACK.finding(
            f"{subject.title} takes {slower} for heads of {size} numbers, which those "
            f"of {subject.checkpoint.name} have: FlashAttention does not"
        )


def flex_findings(subject: Subject) -> Iterator[Finding]:
    """
    FlexAttention, which old GPUs are given, does what the model's attention asks for.
    """
    capability, backend = subject.capability, asked_backend(subject)[0]
    size = _size(subject)
    is_left = capability is not None and capability < AMPERE
    is_left |= size is not None and size not in FLASH_SIZES
    is_given = capability is not None and is_left and not backend
    is_given = is_given and subject.is_at("0.10.2", "0.11.0")
    is_taken = capability is not None and backend == "FLEX_ATTENTION"
    is_taken = is_taken and subject.is_at("0.10.0", "0.11.0")
    if not (is_given or is_taken) or is_latent(subject):
        return
    if subject.is_at("0.0", "0.10.2") and old_engine_of(subject):
        return
    lacks = _lacks_flex(subject)
    if lacks:
        is_old = capability is not None and capability < AMPERE
        way = "take a GPU from A10G on" if is_old else f"leave {backend} out"
        way = way if is_old or backend else "set VLLM_ATTENTION_BACKEND=XFORMERS"
        yield NO_BACKEND.finding(
            f"{subject.title} takes FlexAttention on {subject.gpu}, which has no "
            f"{lacks}, as {subject.checkpoint.name} needs",
            f"{way}, or take an image with vLLM 0.11.1 or newer",
        )


def _lacks_flex(subject: Subject) -> str:
    checkpoint = subject.checkpoint
    name, text = checkpoint.class_name or "", checkpoint.text
    is_wide = (checkpoint.number("hidden_size") or 4096) != 4096  # noqa: PLR2004
    is_leaning = name in _LEANING or (name == "BaichuanForCausalLM" and is_wide)
    is_leaning |= name == "FalconForCausalLM" and text.get("alibi") is True
    if is_leaning:
        return "ALiBi"
    if text.get("attn_logit_softcapping"):
        return "soft capping"
    window = text.get("sliding_window")
    is_on = text.get("use_sliding_window")
    is_off = is_on is False or subject.flag("disable_sliding_window")
    # Those of Qwen have none where it is not said.
    is_off |= (checkpoint.model_type or "").startswith("qwen") and not is_on
    is_windowed = isinstance(window, int) and not is_off
    return "sliding window" if is_windowed and not subject.is_at("0.11.0") else ""


def _size(subject: Subject) -> int | None:
    is_own = (subject.checkpoint.class_name or "").startswith(_OWN_HEADS)
    is_told = not is_own or subject.checkpoint.number("head_dim") is not None
    return head_size_of(subject) if is_told and not is_latent(subject) else None


def _sizes(subject: Subject) -> tuple[int, ...]:
    """
    Return the sizes of heads that attention takes; none where that is not known.
    """
    is_new = subject.is_at("0.8.0") and not old_engine_for(subject)
    if not subject.is_at("0.0", "0.8.5"):
        return ()
    if is_new:
        return FLASH_SIZES if subject.capability is not None else ()
    paged = next(
        sizes for first, sizes in reversed(_PAGED_SIZES.items()) if subject.is_at(first)
    )
    if subject.is_at("0.4.3", "0.5.2"):
        return ()
    if subject.is_at("0.5.3") and _is_by_flash(subject):
        return tuple(sorted({*paged, *FLASH_SIZES}))
    return paged


def _is_by_flash(subject: Subject) -> bool:
    """
    Whether FlashAttention may be taken; where it is not known, it may.
    """
    has_8_bits = (subject.text("kv_cache_dtype") or "").startswith("fp8")
    is_left = has_8_bits and subject.is_at("0.0", "0.7.3")
    is_left |= asked_backend(subject)[0] == "XFORMERS"
    is_left |= resolved_dtype(subject) == "float32"
    capability = subject.capability
    return not is_left and (capability is None or capability >= AMPERE)


def forced_old_backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend that is asked for takes the model on the GPU.
    """
    backend, word = asked_backend(subject)
    capability = subject.capability
    if not backend or capability is None or subject.is_at("0.11.1"):
        return
    why = _refuses_old_backend(subject, backend, capability)
    if why:
        yield WRONG_BACKEND.finding(
            f"{word}={backend} does not fit: {why}",
            f"leave {word} out: {subject.title} takes one that fits",
        )


_ELSEWHERE = ("TORCH_SDPA", "IPEX", "OPENVINO", "PALLAS")
_FIRST_BACKENDS = {*_ELSEWHERE, "FLASH_ATTN", "XFORMERS", "ROCM_FLASH", "FLASHINFER"}
# What the old engine has a name for from 0.7.0 on, and no attention on these GPUs.
_NAMES = {
    *("TORCH_SDPA", "IPEX", "ROCM_FLASH", "HPU_ATTN", "NO_ATTENTION", "TRITON_MLA"),
    *("FLASHMLA", "PALLAS", "BLOCK_SPARSE_FLASH_ATTN"),
}
_FULL_BACKENDS = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", "FLEX_ATTENTION")


def _refuses_old_backend(subject: Subject, backend: str, capability: int) -> str:
    is_forced = subject.environment.get("VLLM_USE_V1") == "1"
    if is_forced and backend not in NEW_BACKENDS.get(subject.release, (backend,)):
        return "the new engine, which VLLM_USE_V1=1 forces, does not have it"
    # It prefills by FlashAttention 2, which others are left for.
    if backend == "FLASHINFER" and capability < AMPERE and subject.is_at("0.6.0"):
        return f"it needs a GPU from Ampere on, got {subject.gpu}"
    if _is_of_others(subject, backend):
        return f"{subject.title} has none of that name for GPUs of NVIDIA"
    size = _size(subject)
    sizes: dict[str, tuple[int, ...]] = {"FLASHINFER": _INFER_SIZES}
    if subject.is_at("0.10.2"):
        sizes["FLASH_ATTN"] = FLASH_SIZES
    is_unfit = size is not None and size not in sizes.get(backend, (size,))
    if is_unfit and subject.is_at("0.4.2"):
        return f"it does not take heads of {size}"
    if backend == "FLASHINFER" and subject.is_at("0.5.3", "0.6.3.post1"):
        return _refuses_window(subject)
    return _refuses_new_backend(subject, backend, capability)


def _is_of_others(subject: Subject, backend: str) -> bool:
    if subject.is_at("0.5.3", "0.6.3.post1"):
        return backend in _ELSEWHERE or backend not in _FIRST_BACKENDS
    if subject.is_at("0.10.2", "0.10.2"):
        others = ("DUAL_CHUNK_FLASH_ATTN", "DIFFERENTIAL_FLASH_ATTN")
        return backend not in {*NEW_BACKENDS["0.10.2"], *others}
    if not subject.is_at("0.7.0", "0.8.5") or is_latent(subject):
        return False
    is_old = subject.is_at("0.0", "0.7.3") or bool(old_engine_for(subject))
    names = _NAMES | ({"TRITON_ATTN"} if subject.is_at("0.8.0") else set())
    return backend in names and (is_old or backend not in NEW_BACKENDS["0.8.4"])


def _refuses_window(subject: Subject) -> str:
    window = subject.checkpoint.text.get("sliding_window")
    is_off = subject.checkpoint.text.get("use_sliding_window") is False
    is_off |= subject.flag("disable_sliding_window")
    # They have it in some layers, or in none, where it is not said.
    is_off |= (subject.checkpoint.model_type or "").startswith(("gemma2", "qwen2"))
    is_hit = isinstance(window, int) and not is_off
    return f"it looks at no window, and the model has one of {window}" if is_hit else ""


def _refuses_new_backend(subject: Subject, backend: str, capability: int) -> str:
    if not subject.is_at("0.10.2"):
        return ""
    is_off = bool(subject.environment.get("VLLM_MLA_DISABLE"))
    name = subject.checkpoint.class_name
    if backend in _FULL_BACKENDS and is_latent(subject) and not is_off:
        return f"{name} has latent attention"
    if _is_for_hopper(subject, backend, capability) and not is_off:
        return f"it does not run on {subject.gpu}"
    why = old_engine_of(subject) if subject.is_at("0.0", "0.10.2") else ""
    backends = _OF_OLD_ENGINE
    if is_latent(subject) and not is_off:
        backends = backends | _LATENT_OF_OLD_ENGINE
    if why and backend not in backends:
        return f"the old engine, which {why} has {subject.title} take, lacks it"
    is_unfit = backend == "FLEX_ATTENTION"
    is_unfit |= backend == "FLASH_ATTN" and capability != HOPPER
    # What has them on B200 is fetched from NVIDIA.
    is_unfit |= backend == "FLASHINFER" and capability != BLACKWELL
    if is_gpt_oss(subject) and is_unfit:
        return f"it has no attention sinks on {subject.gpu}"
    return ""


def _is_for_hopper(subject: Subject, backend: str, capability: int) -> bool:
    """
    Whether a backend for latent vectors that is made for H100 is asked for elsewhere.
    """
    if capability == HOPPER or not is_latent(subject):
        return False
    # With blocks of its own size it is taken, and fails later than the start.
    is_taken = subject.number("block_size") == _LATENT_BLOCK and capability < BLACKWELL
    return backend == "FLASH_ATTN_MLA" or (backend == "FLASHMLA" and not is_taken)
