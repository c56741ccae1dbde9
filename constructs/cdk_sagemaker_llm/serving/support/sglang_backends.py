"""
Which attention backends and drafts SGLang runs a model with, on which GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import (
    ADA,
    AMPERE,
    BLACKWELL,
    CACHE_FALLBACK,
    CACHE_FORMAT,
    HOPPER,
    NO_BACKEND,
    WRONG_BACKEND,
    attends_in_chunks,
    is_latent,
)
from cdk_sagemaker_llm.serving.support.quantization import (
    is_gpt_oss,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_classes import NO_STAGES
from cdk_sagemaker_llm.serving.support.vllm_drafts import NO_DRAFTS
from cdk_sagemaker_llm.text import any_of

_OF_GPT_OSS = frozenset({"triton", "trtllm_mha", "fa3", "fa4"})

_ON_BLACKWELL = frozenset({"trtllm_mla", "cutlass_mla"})

# DeepGEMM chooses their tokens, which knows 9.0 and 10.x (dsa_indexer.py); from 0.5.17
# on there is more for 12.0.
_SPARSE = frozenset({"DeepseekV32ForCausalLM", "GlmMoeDsaForCausalLM"})

_SPARSE_ELSEWHERE = "0.5.17"

_OF_LATENT = frozenset(
    {"trtllm_mla", "cutlass_mla", "flashmla", "tokenspeed_mla", "cutedsl_mla"}
)

_PLAINLY_LATENT = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "KimiK25ForConditionalGeneration",
    }
)

_GEMMA_4 = frozenset(
    {
        "Gemma4ForConditionalGeneration",
        "Gemma4ForCausalLM",
        "Gemma4UnifiedForConditionalGeneration",
    }
)

_LLAMA_4 = frozenset({"Llama4ForConditionalGeneration", "Llama4ForCausalLM"})

_OF_LLAMA_4 = ("fa3", "triton", "trtllm_mha")

_EXAONE = frozenset({"Exaone4ForCausalLM", "ExaoneMoEForCausalLM"})

_EXAONE_AT = ("0.5.9", "0.5.23")

# What a class does not run with, by the releases that were read to say so.
_NOT_WITH: Mapping[str, tuple[str, str, str]] = {
    "MllamaForConditionalGeneration": ("triton", "0.5.5", "0.5.23"),
    "WhisperForConditionalGeneration": ("triton", "0.5.5", "0.5.23"),
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

# The last release whose class has no set_eagle3_layers_to_capture.
_NO_TARGETS = {
    "Qwen3VLForConditionalGeneration": "0.5.10",
    "Qwen3VLMoeForConditionalGeneration": "0.5.10",
    "Gemma3ForCausalLM": "0.5.11",
    "Gemma3ForConditionalGeneration": "0.5.11",
    "Qwen3NextForCausalLM": "0.5.8",
    "MiniMaxM2ForCausalLM": "0.5.5",
}

# Whose part that sees attends by mm_attention_backend (layers/attention/vision.py),
# from the first release that was read to say so.
_SEEING = {
    **dict.fromkeys(
        (
            *("Glm4vForConditionalGeneration", "InternVLChatModel"),
            *("Llama4ForConditionalGeneration", "MllamaForConditionalGeneration"),
            *("Qwen2VLForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
            *("Qwen3VLForConditionalGeneration", "Step3VLForConditionalGeneration"),
            *("Qwen3VLMoeForConditionalGeneration", "Glm4vMoeForConditionalGeneration"),
            *("Qwen3OmniMoeForConditionalGeneration", "MultiModalityCausalLM"),
        ),
        "0.5.5",
    ),
    "PixtralForConditionalGeneration": "0.5.7",
    "PaddleOCRVLForConditionalGeneration": "0.5.7",
    "KimiK25ForConditionalGeneration": "0.5.9",
    "GlmOcrForConditionalGeneration": "0.5.9",
    "Ernie4_5_VLMoeForConditionalGeneration": "0.5.9",
}

# What its conditions kept as data do not tell of drafts, since they are in hooks of
# their own (arg_groups/speculative_hook.py and lora_hook.py).
_IN_HOOKS = "0.5.12"

# Later ones draft by EAGLE for adapters too.
_ADAPTERS_BY_WORDS = ("0.5.12", "0.5.18")

# A cache in fp4 is one that these attend to (_handle_kv4_compatibility).
_FOUR_BITS_AT = ("0.5.7", "0.5.20")

_IN_FOUR_BITS = ("triton", "torch_native", "flex_attention", "trtllm_mha")

_LATENT_IN_FOUR_BITS = ("cutlass_mla", "flashinfer", "trtllm_mla", "flashmla")

# Of which the backend is known that they come to by themselves: FlashAttention 3, or
# FlashInfer, where there is no TensorRT-LLM (_get_default_attn_backend).
_PLAIN = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"),
        *("Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"),
    }
)

DRAFTS_WITHOUT_BUFFER = Rule(
    "LLM908",
    "SGLang does not draft for a model that keeps a state beside its radix cache",
    "_handle_mamba_radix_cache of SGLang 0.5.10 to 0.5.12",
)


def sglang_backend_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend that is asked for takes the model on the GPU.
    """
    for argument in (
        "attention_backend",
        "prefill_attention_backend",
        "decode_attention_backend",
    ):
        backend = subject.text(argument)
        why = backend and _refuses_backend(subject, backend, argument)
        if why:
            word = subject.word(argument)
            yield WRONG_BACKEND.finding(
                f"{word}={backend} does not fit: {why}",
                f"leave {word} out: {subject.title} takes one that fits",
            )


def sglang_seeing_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention of the part that sees runs on the GPU.
    """
    argument, capability = "mm_attention_backend", subject.capability
    since = _SEEING.get(subject.checkpoint.class_name or "")
    is_new = capability is not None and capability >= BLACKWELL
    is_asked = subject.text(argument) == "fa3"
    if is_asked and is_new and since is not None and subject.is_at(since):
        word = subject.word(argument)
        yield WRONG_BACKEND.finding(
            f"{word}=fa3 does not fit: it does not run on {subject.gpu}",
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


def sglang_hook_findings(subject: Subject) -> Iterator[Finding]:
    """
    Drafts are asked for with what they need, and beside what they run with.
    """
    algorithm, argument = subject.text("speculative_algorithm"), "speculative_algorithm"
    has_path = any(map(subject.has, _DRAFTS))
    has_adapters = subject.flag("enable_lora") or bool(
        subject.arguments.get("lora_paths")
    )
    why = ""
    if algorithm == "standalone" and subject.flag("enable_dp_attention"):
        why = "does not run beside enable_dp_attention"
    elif algorithm == "dflash" and not has_path:
        why = "needs speculative_draft_model_path"
    elif (
        algorithm in _BRANCHING and has_adapters and subject.is_at(*_ADAPTERS_BY_WORDS)
    ):
        why = "does not run beside LoRA adapters"
    if why and subject.is_at(_IN_HOOKS):
        yield NO_DRAFTS.finding(
            f"{subject.word(argument)}={algorithm} {why} at {subject.title}",
            "name the draft"
            if "needs" in why
            else "leave one of both out, or write NGRAM",
        )


_DRAFTS = ("speculative_draft_model_path", "speculative_draft_model")


def sglang_four_bit_findings(subject: Subject) -> Iterator[Finding]:
    """
    A KV cache in fp4 is one that the attention reads.
    """
    name, capability = subject.checkpoint.class_name, subject.capability
    kind, word = subject.text("kv_cache_dtype"), subject.word("kv_cache_dtype")
    backend = subject.text("attention_backend")
    halves = ("prefill_attention_backend", "decode_attention_backend")
    is_halved = any(map(subject.has, halves)) or backend == "fa4"
    if kind != "fp4_e2m1" or is_halved or not subject.is_at(*_FOUR_BITS_AT):
        return
    backends = _LATENT_IN_FOUR_BITS if is_latent(subject) else _IN_FOUR_BITS
    is_known = name in _PLAIN or name in _PLAINLY_LATENT
    is_older = capability is not None and capability < BLACKWELL
    is_unfit = backend not in backends if backend else is_known and is_older
    if name is not None and capability is not None and is_unfit:
        yield CACHE_FORMAT.finding(
            f"{word}={kind} needs an attention of {any_of(backends)}, and "
            f"{subject.title} has {backend or 'another'} on {subject.gpu}",
            f"leave {word} out, or set attention_backend={backends[0]}",
        )


def sglang_together_findings(subject: Subject) -> Iterator[Finding]:
    """
    Drafts and stages are not asked for beside what they do not run with.
    """
    algorithm = subject.text("speculative_algorithm")
    word = next((one for one in _STAGES if subject.has(one)), _STAGES[0])
    is_staged = (subject.number(word) or 1) > 1
    is_mixed = subject.flag("enable_mixed_chunk") and subject.is_at("0.0", "0.5.10")
    beside = ""
    if is_staged and algorithm and subject.is_at("0.5.5", _NO_STAGED_DRAFTS):
        beside = f"{subject.word(word)}={subject.number(word)}"
    elif subject.text("attention_backend") == "flex_attention" and algorithm:
        beside = "attention_backend=flex_attention"
    if beside:
        yield NO_DRAFTS.finding(
            f"{subject.title} drafts nothing beside {beside}, got "
            f"{subject.word('speculative_algorithm')}={algorithm}",
            "leave one of both out",
        )
    elif is_staged and is_mixed and subject.is_at("0.5.5"):
        yield NO_STAGES.finding(
            f"{subject.title} does not mix prompts into batches over pipeline stages, "
            f"got enable_mixed_chunk and {subject.word(word)}={subject.number(word)}",
            "leave enable_mixed_chunk out",
        )


_STAGES = ("pp_size", "pipeline_parallel_size", "pp")
_NO_STAGED_DRAFTS = "0.5.20"


def _branch_findings(subject: Subject) -> Iterator[Finding]:
    """
    How many branches an EAGLE draft has is written where how many steps it has is.
    """
    kind = subject.text("speculative_algorithm") or ""
    steps, branches = "speculative_num_steps", "speculative_eagle_topk"
    is_told = subject.has(steps) and not subject.has(branches)
    if kind in _BRANCHING and is_told and subject.is_at("0.5.1"):
        yield NO_DRAFTS.finding(
            f"{subject.word(steps)} is given without {subject.word(branches)}, and "
            f"{subject.title} stops there",
            "write both, such as 1, or leave both out",
        )


_BRANCHING = ("eagle", "eagle3", "nextn", "standalone")


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
    has_windows = subject.checkpoint.text.get("sliding_window_pattern") is not None
    is_windowed = name in _EXAONE and has_windows and argument == "attention_backend"
    if is_windowed and subject.is_at(*_EXAONE_AT):
        return "EXAONE with sliding windows", _OF_LLAMA_4
    is_new = subject.capability is not None and subject.capability >= BLACKWELL
    # What is named for one half alone is not looked at.
    is_net = name in _DELTA_NET and argument == "attention_backend"
    if is_net and is_new and subject.is_at(*_DELTA_NET_AT):
        return f"{name} on {subject.gpu}", _OF_DELTA_NET
    return "", ()


def _refuses_beside(subject: Subject, backend: str, argument: str) -> str:
    """
    Return why a class, or drafting, does not go with a backend, whatever the GPU.
    """
    name = subject.checkpoint.class_name or ""
    unfit_one, *span = _NOT_WITH.get(name, ("", "", ""))
    if (
        backend == unfit_one
        and argument == "attention_backend"
        and subject.is_at(*span)
    ):
        return f"{name} does not run with it"
    if attends_in_chunks(subject.checkpoint) and backend != "dual_chunk_flash_attn":
        return "the model attends in two chunks, by dual_chunk_flash_attn alone"
    if backend == "torch_native" and subject.has("speculative_algorithm"):
        return "nothing is drafted with it"
    if backend == "trtllm_mha" and name in _PLAINLY_LATENT:
        return f"{name} has latent attention"
    return ""


def _refuses_backend(subject: Subject, backend: str, argument: str) -> str:
    model, backends = _model_needs(subject, argument)
    if model and backend not in backends:
        return f"{model} needs {any_of(backends)}"
    why = _refuses_beside(subject, backend, argument)
    if why:
        return why
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
    if unfit.get(backend) or (backend == "trtllm_mla" and is_120):
        return f"it does not run on {subject.gpu}"
    is_told = subject.checkpoint.is_whole and subject.checkpoint.class_name is not None
    if backend in _OF_LATENT and is_told and not is_latent(subject):
        return f"{subject.checkpoint.class_name} has no latent attention"
    return ""


def sglang_cache_findings(subject: Subject) -> Iterator[Finding]:
    """
    The KV cache's format is one that attention by Triton compiles on the GPU.
    """
    kind, capability = subject.text("kv_cache_dtype"), subject.capability
    backend = subject.text("attention_backend")
    if backend == "fa3" and kind == "fp8_e5m2" and subject.is_at("0.5.5"):
        yield CACHE_FALLBACK.finding(
            f"{subject.word('kv_cache_dtype')}={kind} has {subject.title} take "
            f"attention by Triton instead of {subject.word('attention_backend')}=fa3, "
            "which reads fp8_e4m3 alone",
            "write fp8_e4m3, or leave it out",
        )
        return
    is_triton = backend == "triton" or (
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
