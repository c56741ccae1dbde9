"""
The KV cache of vLLM: formats that some attention alone keeps it in, and when prefixes
of prompts are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.attention import (
    AMPERE,
    CACHE_FORMAT,
    GEMMA_4,
    HOPPER,
    head_size_of,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.lengths import asked_length, longest_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# Only some of their layers have a window.
_INTERLEAVED = ("gemma", "cohere")
# Which said so when they were made, and in which releases they did.
_KEEP_NO_PREFIXES: Mapping[str, tuple[str, str]] = {
    "Qwen2VLForConditionalGeneration": ("0.6.1", "0.6.6.post1"),
    "JambaForCausalLM": ("0.5.4", "0.9.2"),
    "MambaForCausalLM": ("0.6.3", "0.9.2"),
    "FalconMambaForCausalLM": ("0.6.4", "0.9.2"),
    "Mamba2ForCausalLM": ("0.7.3", "0.9.2"),
    "BambaForCausalLM": ("0.7.3", "0.9.2"),
    "Plamo2ForCausalLM": ("0.8.5", "0.9.2"),
    "Zamba2ForCausalLM": ("0.8.5", "0.9.2"),
    "FalconH1ForCausalLM": ("0.9.2", "0.9.2"),
    "GraniteMoeHybridForCausalLM": ("0.9.2", "0.9.2"),
    "NemotronHForCausalLM": ("0.9.2", "0.9.2"),
}
# Which keep a state beside their attention (IsHybrid), and the releases in which
# TurboQuant was for attention alone (engine/arg_utils.py; 0.21.0 has it for them too).
_HYBRID = frozenset(
    {
        *("Qwen3NextForCausalLM", "Qwen3_5ForConditionalGeneration"),
        *("Qwen3_5MoeForConditionalGeneration", "NemotronHForCausalLM"),
        *("NemotronHPuzzleForCausalLM", "NemotronH_Nano_VL_V2", "JambaForCausalLM"),
        *("BambaForCausalLM", "FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM"),
        *("KimiLinearForCausalLM", "Lfm2ForCausalLM", "Lfm2MoeForCausalLM"),
        *("Lfm2VlForConditionalGeneration", "BailingMoeV2_5ForCausalLM"),
        *("MiniMaxForCausalLM", "MiniMaxText01ForCausalLM", "MiniMaxM1ForCausalLM"),
        *("OlmoHybridForCausalLM", "Plamo2ForCausalLM", "Zamba2ForCausalLM"),
    }
)
_TURBOQUANT_FOR_ATTENTION = ("0.20.0", "0.20.2")
# There every layer asked it for a plain cache (_reshape_kv_cache_tensors of
# v1/worker/gpu_model_runner.py, issue 50709), whatever the model.
_TURBOQUANT_FOR_NONE = ("0.25.0", "0.26.0")
# Scales beside each head, whose sizes then have no common measure in Gemma 4
# (unify_kv_cache_spec_page_size; from 0.24.0 on what is smaller is padded).
_BY_HEAD, _UNPADDED = "_per_token_head", ("0.20.0", "0.23.1")
# Which keep prefixes of their states too (SupportsMambaPrefixCaching), but not while
# they draft; from 0.20.0 on that is left off by itself (mamba_attn.py, issue 39809).
_STATES_WITH_PREFIXES = frozenset(
    {
        *("BambaForCausalLM", "FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM"),
        *("JambaForCausalLM", "Mamba2ForCausalLM", "MambaForCausalLM"),
        *("NemotronHForCausalLM", "Zamba2ForCausalLM"),
    }
)
_MADE_OF_THEM = frozenset({"NemotronHPuzzleForCausalLM"})
_NOT_DRAFTED = ("0.17.1", "0.19.1")
# What others keep is cut where prompts are (mamba_cache_mode=align of
# model_executor/models/config.py), at first without drafts.
_ALIGNED, _ALIGNED_ALONE = ("0.15.0", "0.28.0"), ("0.15.0", "0.16.0")
_BLOCKS_OF_STATES = "0.11.1"

NO_PREFIXES = Rule(
    "LLM969",
    "the release keeps no prefixes beside a sliding window or drafts, or in 8 bits",
    "vllm/config.py, _verify_prefix_caching, and v1/attention/backends/mamba_attn.py",
)
UNFIT_STATES = Rule(
    "LLM930",
    "prefixes of states are asked for beside what they are not kept with",
    "vllm/model_executor/models/config.py, MambaModelConfig, and config/vllm.py, "
    "0.11.1 to 0.33.0",
)


def special_cache_findings(subject: Subject) -> Iterator[Finding]:
    """
    A format that some attention alone has is for a model and a GPU with it.
    """
    kind, capability = subject.text("kv_cache_dtype") or "", subject.capability
    word, name = subject.word("kv_cache_dtype"), subject.checkpoint.name
    is_told = subject.checkpoint.class_name is not None and not is_latent(subject)
    if kind == "fp8_ds_mla" and is_told and subject.is_at("0.11.0"):
        yield CACHE_FORMAT.finding(
            f"{word}={kind} is for models with sparse latent attention, and {name} has "
            "none",
            "write fp8, or leave it out",
        )
    is_plain = kind == "bfloat16" and not is_latent(subject)
    if kind == "fp8_inc" and subject.is_at("0.12.0"):
        yield CACHE_FORMAT.finding(
            f"{word}={kind} is for Gaudi alone", "write fp8, or leave it out"
        )
    elif is_plain and subject.is_at("0.12.0", "0.14.1"):
        yield CACHE_FORMAT.finding(
            f"no attention of {subject.title} takes {word}={kind}", "leave it out"
        )
    elif kind == "fp8_e5m2" and _is_by_flash_3(subject):
        yield CACHE_FORMAT.finding(
            f"{subject.title} takes FlashAttention 3 for {word}={kind} on "
            f"{subject.gpu}, which reads fp8_e4m3 alone",
            "write fp8, or leave it out",
        )
    if kind.startswith("nvfp4") and is_latent(subject) and subject.is_at("0.22.0"):
        yield CACHE_FORMAT.finding(
            f"{word}={kind} is not for latent attention, which {name} has",
            "write fp8, or leave it out",
        )
    is_old = capability is not None and capability < AMPERE
    if kind.startswith("turboquant") and is_old:
        yield CACHE_FORMAT.finding(
            f"{subject.title} needs FlashAttention for {word}={kind}, which it does "
            f"not have on {subject.gpu}",
            "write auto, or take a GPU from A10G on",
        )
    elif kind.startswith("turboquant") and subject.is_at(*_TURBOQUANT_FOR_NONE):
        yield CACHE_FORMAT.finding(
            f"{subject.title} does not start with {word}={kind}: its layers ask for a "
            "cache in no such format",
            "write fp8, or take an image with another release",
        )
    elif kind.startswith("turboquant") and _is_refused_hybrid(subject):
        yield CACHE_FORMAT.finding(
            f"{subject.title} has {word}={kind} for attention alone, and "
            f"{subject.checkpoint.class_name} keeps a state beside it",
            "write fp8, or take an image with vLLM 0.21 or newer",
        )


def scale_findings(subject: Subject) -> Iterator[Finding]:
    """
    Heads of one size keep scales beside each of them.
    """
    kind, word = subject.text("kv_cache_dtype") or "", subject.word("kv_cache_dtype")
    is_hit = kind.endswith(_BY_HEAD) and subject.checkpoint.class_name in GEMMA_4
    if is_hit and subject.is_at(*_UNPADDED):
        yield CACHE_FORMAT.finding(
            f"{subject.title} does not keep heads of two sizes in {word}={kind}, and "
            f"{subject.checkpoint.class_name} has them",
            f"leave {word} out, or take an image with vLLM 0.24 or newer",
        )


def state_findings(subject: Subject) -> Iterator[Finding]:
    """
    States are kept at the ends of blocks, where prompts are read in parts.
    """
    word, name = subject.word("enable_prefix_caching"), subject.checkpoint.class_name
    size, length = subject.number("mamba_block_size"), _length(subject)
    is_off = subject.has("enable_prefix_caching") and not subject.flag(
        "enable_prefix_caching"
    )
    is_sized = size is not None and length is not None and size != length
    if is_off and is_sized and subject.is_at(_BLOCKS_OF_STATES):
        yield UNFIT_STATES.finding(
            f"mamba_block_size is for states that are kept, got {size} beside "
            f"{word}=false",
            f"leave one of both out, or write {length}",
        )
    is_hybrid = name in _HYBRID - _STATES_WITH_PREFIXES - _MADE_OF_THEM
    if not subject.flag("enable_prefix_caching") or not is_hybrid:
        return
    is_told = subject.has("enable_chunked_prefill")
    is_whole = is_told and not subject.flag("enable_chunked_prefill")
    if is_whole and subject.is_at(*_ALIGNED):
        yield UNFIT_STATES.finding(
            f"{subject.title} keeps prefixes for {name} only where prompts are read in "
            f"parts, got {word} beside enable_chunked_prefill=false",
            "leave one of both out",
        )
    if subject.flag("disable_chunked_mm_input") and subject.is_at(*_ALIGNED):
        yield UNFIT_STATES.finding(
            f"{subject.title} keeps prefixes for {name} only where pictures are read "
            f"in parts, got {word} beside disable_chunked_mm_input",
            "leave one of both out",
        )
    if speculation_in(subject.arguments) and subject.is_at(*_ALIGNED_ALONE):
        yield UNFIT_STATES.finding(
            f"{subject.title} does not draft for {name} while it keeps prefixes",
            f"leave {word} or the draft out",
        )


def _length(subject: Subject) -> int | None:
    length = asked_length(subject.arguments.get("max_model_len"))
    return longest_of(subject) if length is None else length


def _is_refused_hybrid(subject: Subject) -> bool:
    layers = subject.checkpoint.config.get("layer_types")
    # Some files of the class of Granite have no other layers.
    has_state = not isinstance(layers, list) or {*layers} != {"attention"}
    is_hybrid = subject.checkpoint.class_name in _HYBRID and has_state
    return is_hybrid and subject.is_at(*_TURBOQUANT_FOR_ATTENTION)


def _is_by_flash_3(subject: Subject) -> bool:
    """
    Whether the first attention that takes a cache in 8 bits is one that reads a single
    kind of it (get_fp8_dtype_for_flashattn, 0.12.0 to 0.21.0).
    """
    is_named = subject.has("attention_backend")
    is_named |= "VLLM_ATTENTION_BACKEND" in subject.environment
    size = subject.checkpoint.number("global_head_dim") or head_size_of(subject)
    is_one = subject.checkpoint.class_name is not None and not is_latent(subject)
    is_one = is_one and size is not None and size <= 256  # noqa: PLR2004
    is_hopper = subject.capability == HOPPER and subject.is_at("0.12.0", "0.21.0")
    return is_one and is_hopper and not is_named


def prefix_findings(subject: Subject) -> Iterator[Finding]:
    """
    Prefixes are kept only where attention looks at all of them.
    """
    if not subject.flag("enable_prefix_caching"):
        return
    text, kind = subject.checkpoint.text, subject.checkpoint.model_type or ""
    is_windowed = isinstance(text.get("sliding_window"), int)
    is_windowed = is_windowed and text.get("use_sliding_window") is not False
    is_windowed = is_windowed and not kind.startswith(_INTERLEAVED)
    is_off = subject.flag("disable_sliding_window")
    word = subject.word("enable_prefix_caching")
    if is_windowed and not is_off and subject.is_at("0.4.0", "0.7.3"):
        yield NO_PREFIXES.finding(
            f"{subject.title} does not keep prefixes for {subject.checkpoint.name}, "
            f"whose attention looks at a window of {text['sliding_window']}",
            f"leave {word} out, or set disable_sliding_window, with which no sequence "
            "is longer than the window",
        )
    name = subject.checkpoint.class_name or ""
    if name in _KEEP_NO_PREFIXES and subject.is_at(*_KEEP_NO_PREFIXES[name]):
        yield NO_PREFIXES.finding(
            f"{subject.title} does not keep prefixes for {name}",
            f"leave {word} out, or take an image with a newer release",
        )
    is_of_8 = subject.text("kv_cache_dtype") == "fp8"
    if is_of_8 and subject.is_at("0.5.0", "0.5.3.post1"):
        yield NO_PREFIXES.finding(
            f"{subject.title} does not keep prefixes in 8 bits, got kv_cache_dtype=fp8",
            f"leave {word} or kv_cache_dtype out",
        )
    is_whole = subject.text("mamba_cache_mode") in {None, "none", "all"}
    is_drafted = bool(speculation_in(subject.arguments)) and is_whole
    if name in _STATES_WITH_PREFIXES and is_drafted and subject.is_at(*_NOT_DRAFTED):
        yield NO_PREFIXES.finding(
            f"{subject.title} does not draft for {name} while it keeps prefixes",
            f"leave {word} or the draft out, or set mamba_cache_mode=align",
        )
