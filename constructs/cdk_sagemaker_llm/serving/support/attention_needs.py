"""
What a model's attention needs, against the backend that is asked for by name: ALiBi,
soft capping, pictures that are looked at in both directions, sounds; and the blocks of
the KV cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import (
    GEMMA_4,
    NO_BACKEND,
    WRONG_BACKEND,
    asked_backend,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

# Before, attention by FlexAttention is told of by old_attention.py.
_SINCE = "0.11.1"
# Whose attention leans by distance (ALiBi), whatever their files say.
_LEANING = frozenset({"BloomForCausalLM", "MPTForCausalLM", "JAISLMHeadModel"})
_CAPPED = frozenset({"Gemma2ForCausalLM"})
# Which look at a picture in both directions (is_mm_prefix_lm), and since when a backend
# is asked whether it can.
_WHOLE_PICTURES: Mapping[str, str] = {
    "Gemma3ForConditionalGeneration": "0.13.0",
    "PaliGemmaForConditionalGeneration": "0.14.0",
    "Molmo2ForConditionalGeneration": "0.17.0",
}
_SEES_WHOLE = ("TRITON_ATTN", "FLEX_ATTENTION")
# From here on FlashAttention does by its fourth version.
_SEES_BY_FLASH = "0.24.0"
_WITHOUT_PICTURES = ("limit_mm_per_prompt", "language_model_only")
# Which look from one half at the other (AttentionType.ENCODER_DECODER).
_IN_TWO_HALVES = frozenset({"WhisperForConditionalGeneration"})
_HALVES_BY_TRITON = "0.14.0"
# What latent attention keeps its cache in where a size is asked for, before these
# sizes were set by the backend.
_BLOCK, _BLOCKS_ARE_ASKED = 16, "0.18.0"
_LATENT_BLOCKS: Mapping[str, int] = {
    "FLASHMLA": 64,
    "CUTLASS_MLA": 128,
    "FLASHINFER_MLA": 32,
    "FLASHMLA_SPARSE": 64,
}
# The last release in which FlexAttention took blocks of any size.
_FLEX_BLOCKS = "0.20.2"
# What sees may attend by these (get_supported_vit_attn_backends of platforms/cuda.py).
_SEEN_BY = ("FLASH_ATTN", "TORCH_SDPA", "TRITON_ATTN", "FLASHINFER")
_SEEN_SINCE = "0.13.0"
# How many tokens a picture may have in the smallest of these, by its processor.
_LARGE_PICTURES = frozenset(
    {
        *("Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
        *("Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"),
    }
)
_PICTURE, _WHOLE_SINCE = 16384, "0.8.4"

CACHE_BLOCKS = Rule(
    "LLM868",
    "blocks of the KV cache have slower attention",
    "supports_block_size of vllm/v1/attention/backends, 0.11.1 to 0.20.2",
)


def needed_attention_findings(subject: Subject) -> Iterator[Finding]:
    """
    The backend that is asked for does what the model's attention needs.
    """
    backend, word = asked_backend(subject)
    if not backend or not subject.is_at(_SINCE):
        return
    why = _lacks(subject, backend)
    if why:
        yield WRONG_BACKEND.finding(
            f"{word}={backend} does not fit: {why}",
            f"leave {word} out: {subject.title} takes one that fits",
        )


def _lacks(subject: Subject, backend: str) -> str:
    name, text = subject.checkpoint.class_name or "", subject.checkpoint.text
    if backend == "FLEX_ATTENTION" and name in _LEANING:
        return f"it has no ALiBi, which {name} needs"
    is_capped = name in _CAPPED or bool(text.get("attn_logit_softcapping"))
    if backend == "FLEX_ATTENTION" and is_capped:
        return f"it has no soft capping of attention, which {name} needs"
    if name in _IN_TWO_HALVES:
        halves = ["FLASH_ATTN", *_by_triton(subject)]
        return "" if backend in halves else f"{name} needs {any_of(halves)}"
    seeing = [*_SEES_WHOLE]
    if subject.is_at(_SEES_BY_FLASH):
        seeing.append("FLASH_ATTN")
    if _sees_whole(subject, name) and backend not in seeing:
        return f"{name} looks at a picture in both directions, which it does not"
    return ""


def _by_triton(subject: Subject) -> tuple[str, ...]:
    return ("TRITON_ATTN",) if subject.is_at(_HALVES_BY_TRITON) else ()


def _sees_whole(subject: Subject, name: str) -> bool:
    if any(subject.has(one) for one in _WITHOUT_PICTURES):
        return False
    is_told = subject.checkpoint.text.get("use_bidirectional_attention") == "vision"
    since = "0.19.1" if name in GEMMA_4 and is_told else _WHOLE_PICTURES.get(name)
    return since is not None and subject.is_at(since)


def block_size_findings(subject: Subject) -> Iterator[Finding]:
    """
    Blocks of the KV cache have a size that attention takes.
    """
    size, (backend, _) = subject.number("block_size"), asked_backend(subject)
    name, word = subject.checkpoint.class_name, subject.word("block_size")
    if size is None or name is None or subject.capability is None:
        return
    unit = _LATENT_BLOCKS.get(backend)
    if is_latent(subject):
        if unit is not None and size % unit and subject.is_at(_BLOCKS_ARE_ASKED):
            yield NO_BACKEND.finding(
                f"{word} must be a multiple of {unit} with {backend}, got {size}",
                "leave it out",
            )
        return
    if size % _BLOCK == 0 or not subject.is_at(_SINCE):
        return
    is_by_flex = subject.is_at(_SINCE, _FLEX_BLOCKS)
    if is_by_flex and backend in {"", "FLEX_ATTENTION"}:
        yield CACHE_BLOCKS.finding(
            f"{word}={size} has {subject.title} fall back to FlexAttention: other "
            f"attention takes multiples of {_BLOCK}",
            "leave it out",
        )
    else:
        yield NO_BACKEND.finding(
            f"{word} must be a multiple of {_BLOCK} at {subject.title}, got {size}",
            "leave it out",
        )


def seeing_attention_findings(subject: Subject) -> Iterator[Finding]:
    """
    The part that sees attends by what there is for it.
    """
    argument = "mm_encoder_attn_backend"
    backend = (subject.text(argument) or "").upper()
    name = subject.checkpoint.class_name or ""
    is_seeing = name.endswith("ForConditionalGeneration")
    if not backend or not is_seeing or not subject.is_at(_SEEN_SINCE):
        return
    # Which came later than the first two was not read at each release.
    if backend not in _SEEN_BY:
        yield WRONG_BACKEND.finding(
            f"{subject.word(argument)}={backend} does not fit: what sees attends by "
            f"{any_of(_SEEN_BY)}",
            "leave it out",
        )


def whole_picture_findings(subject: Subject) -> Iterator[Finding]:
    """
    Pictures that are not read in parts fit into a batch.
    """
    argument, tokens = (
        "disable_chunked_mm_input",
        subject.number("max_num_batched_tokens"),
    )
    is_other = any(map(subject.has, ("mm_processor_kwargs", *_WITHOUT_PICTURES)))
    is_large = subject.checkpoint.class_name in _LARGE_PICTURES and not is_other
    if not subject.flag(argument) or not is_large or not subject.is_at(_WHOLE_SINCE):
        return
    if tokens is not None and tokens < _PICTURE:
        yield NO_BACKEND.finding(
            f"max_num_batched_tokens must be at least {_PICTURE}, a whole picture of "
            f"{subject.checkpoint.name}, with {subject.word(argument)}, got {tokens}",
            f"leave {subject.word(argument)} out, or write max_pixels into "
            "mm_processor_kwargs",
        )
