"""
Settings of vLLM that do not go together, at releases before those whose conditions are
kept as data: batches, adapters, drafts and pictures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.attention import HOPPER
from cdk_sagemaker_llm.serving.support.lengths import asked_length, longest_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of, nearest

# Longer ones are prefilled in parts where nothing else is asked for.
_LONG = 32768
_PICTURES_AT = ("0.19.0", "0.33.0")
# Which asked how pictures come (models/llava.py).
_FIRST_SEEING, _SEEING_IS_TOLD = "LlavaForConditionalGeneration", ("0.4.0", "0.4.3")
_SPLITS = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
_PARTS_ON_OLD_ENGINE = ("0.8.4", "0.10.2")
# Whose first files were not read so (_verify_load_format).
_NOT_BY_PT, _NOT_BY_PT_AT = "MixtralForCausalLM", ("0.2.7", "0.3.3")
# Which read text alone, as far as they were looked at.
OF_TEXT = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"),
        *("Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen3ForCausalLM"),
        *("GemmaForCausalLM", "Gemma2ForCausalLM", "Phi3ForCausalLM"),
        *("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "FalconForCausalLM"),
    }
)
_ENCODERS = ("Bert", "Roberta", "XLMRoberta", "ModernBert", "NomicBert", "Gte")
# With these a text may be read in parts after all.
_POOLERS = ("pooler_config", "override_pooler_config", "hf_overrides")
_UNLIMITED = ("baai/bge-m3", "baai/bge-reranker-v2-m3")
# Whose second half looks at what the first made of a text, a picture or a sound
# (worker/utils.py, assert_enc_dec_mr_supported_scenario).
_IN_TWO_HALVES = frozenset(
    {
        *("BartModel", "BartForConditionalGeneration"),
        *("MllamaForConditionalGeneration", "WhisperForConditionalGeneration"),
        *("Florence2ForConditionalGeneration", "DonutForConditionalGeneration"),
    }
)
_HALVES_AT = ("0.6.0", "0.8.5.post1")
_GUIDES = (
    *("auto", "outlines", "lm-format-enforcer", "xgrammar", "guidance"),
    *("no-fallback", "disable-any-whitespace", "no-additional-properties"),
)
# How weights are loaded; others may be registered by a plugin, and are not so called.
_LOADS = (
    *("auto", "bitsandbytes", "dummy", "fastsafetensors", "gguf", "hf", "mistral"),
    *("instanttensor", "ipc_cache", "modelexpress", "npcache", "pt", "tensorizer"),
    *("runai_streamer", "runai_streamer_sharded", "safetensors", "sharded_state"),
)
# Since the release after the last that was read and has none. Images of DJL's took
# sharded_state back into 0.4.2.
_LOADS_SINCE = {
    "bitsandbytes": "0.4.3",
    "gguf": "0.5.5",
    "mistral": "0.6.0",
    "runai_streamer": "0.6.4",
    "fastsafetensors": "0.8.0",
    "runai_streamer_sharded": "0.8.5",
    "instanttensor": "0.18.0",
}
_STRETCHES = (
    *("linear", "dynamic", "yarn", "su", "longrope", "llama3", "default", "mrope"),
    *("deepseek_yarn", "deepseek_llama_scaling", "mllama4", "ntk", "proportional"),
    *("bailing_mrope", "openpangu"),
)
# Which lengthen a sequence without saying where it began.
_UNSTRETCHED = ("su", "longrope", "llama3", "default", "mrope")
# What the KV cache is kept in, by the releases that were read.
_CACHES = (
    ("0.3.0", "0.3.3", ("fp8_e5m2",)),
    ("0.4.2", "0.4.2", ("fp8",)),
    ("0.5.3", "0.8.5", ("fp8", "fp8_e4m3", "fp8_e5m2")),
)
# Tokens of the longest video, and since when one is read at once where pictures are
# looked at in both directions (is_mm_prefix_lm of Gemma4ModelArchConfigConvertor).
_LONGEST_ITEM, _ITEMS_AT = 2496, ("0.20.0", "0.28.0")
# A batch of a server on a smaller GPU than H100 where nothing is asked for, which from
# 0.22.0 on is as large as an item.
_USUAL_BATCH, _UNRAISED = 2048, ("0.20.0", "0.21.0")
# AWS's tests of sequences up to here ran, in batches of 8192: they serve nobody.
_TESTED = 4096
# Embedders whose weights are named as no writer's (issue 43061; from 0.28.0 on the
# class maps the names).
_EMBEDDERS, _UNMAPPED = "qwen/qwen3-embedding", ("0.10.2", "0.21.0")
# How much of the host's memory may be set aside for sequences that wait.
_MOST_SWAPPED = 0.7
_SWAPS = 4

UNFIT_SETTINGS = Rule(
    "LLM914",
    "settings that the release does not take beside each other",
    "vllm/config.py, config/model.py and engine/arg_utils.py, 0.2.1.post1 to 0.33.0",
)
ITEM_ABOVE_BATCH = Rule(
    "LLM924",
    "a batch is smaller than a picture or video that is read at once",
    "vllm/v1/core/encoder_cache_manager.py, 0.20.0 to 0.28.0; issue 42687",
)


def item_findings(subject: Subject) -> Iterator[Finding]:
    """
    A batch holds what is read at once.
    """
    is_whole = subject.checkpoint.text.get("use_bidirectional_attention") == "vision"
    limits = ("limit_mm_per_prompt", "language_model_only", "performance_mode")
    is_limited = any(subject.has(one) for one in limits)
    if not is_whole or is_limited or not subject.is_at(*_ITEMS_AT):
        return
    word = subject.word("max_num_batched_tokens")
    tokens = subject.number("max_num_batched_tokens")
    batch = _usual_batch(subject) if tokens is None else tokens
    if batch is not None and batch < _LONGEST_ITEM:
        by_itself = " by itself" if tokens is None else ""
        yield ITEM_ABOVE_BATCH.finding(
            f"{subject.title} reads a video of {subject.checkpoint.name} at once, of "
            f"up to {_LONGEST_ITEM} tokens, and {word} is {batch}{by_itself}",
            f"write {word}={_TESTED}, or limit_mm_per_prompt without video",
        )


def _usual_batch(subject: Subject) -> int | None:
    """
    Return how many tokens a batch has where nothing is asked for, on GPUs where that is
    little; ``None`` for others.
    """
    length = asked_length(subject.arguments.get("max_model_len"))
    is_short = length is not None and length <= _TESTED
    is_small = subject.capability is not None and subject.capability < HOPPER
    is_parted = subject.arguments.get("enable_chunked_prefill") is not False
    is_usual = is_small and is_parted and not is_short
    return _USUAL_BATCH if is_usual and subject.is_at(*_UNRAISED) else None


def setting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The settings go together.
    """
    for why, way_out in (
        *_of_batches(subject),
        *_of_adapters(subject),
        *_of_drafts(subject),
        *_of_steps(subject),
        *_of_halves(subject),
        *_of_models(subject),
        *_of_files(subject),
        *_of_caches(subject),
        *_of_pictures(subject),
    ):
        yield UNFIT_SETTINGS.finding(f"{subject.title} does not start: {why}", way_out)


def _of_batches(subject: Subject) -> Iterator[tuple[str, str]]:
    tokens, requests = (
        subject.number("max_num_batched_tokens"),
        subject.number("max_num_seqs"),
    )
    word = subject.word("max_num_batched_tokens")
    if tokens is not None and requests is not None and tokens < requests:
        if subject.is_at("0.0", "0.9.2"):
            yield f"{word} must be at least max_num_seqs, {requests}, got {tokens}", ""
        return
    limit = asked_length(subject.arguments.get("max_model_len"))
    length = limit or longest_of(subject)
    yield from _of_whole_texts(subject, tokens, limit or _longest_of_texts(subject))
    is_parted = subject.flag("enable_chunked_prefill")
    at_once = subject.number("max_num_partial_prefills") or 1
    is_whole = not is_parted and length is not None and length <= _LONG
    if at_once > 1 and is_whole and subject.is_at(*_PARTS_ON_OLD_ENGINE):
        why = f"max_num_partial_prefills={at_once} is left to the old engine, which "
        why += "reads no prompt in parts by itself"
        yield why, "set enable_chunked_prefill too, or leave it out"
    is_parted |= subject.environment.get("VLLM_USE_V1") == "1"
    if (
        tokens is None
        or length is None
        or is_parted
        or not subject.is_at("0.0", "0.7.3")
    ):
        return
    is_told = subject.has("enable_chunked_prefill") or subject.is_at("0.0", "0.4.2")
    if tokens < length and (is_told or length <= _LONG):
        parts = ", or enable_chunked_prefill" if subject.is_at("0.4.2") else ""
        why = f"{word} must be at least the longest sequence, {length}, got {tokens}"
        yield why, f"write a {subject.word('max_model_len')} of at most {tokens}{parts}"


def _of_whole_texts(
    subject: Subject, tokens: int | None, length: int | None
) -> Iterator[tuple[str, str]]:
    """
    What reads a text in both directions reads it at once, in both generations of the
    engine (is_chunked_prefill_supported of vllm/config/model.py).
    """
    name = subject.checkpoint.class_name or ""
    has_own = any(subject.has(one) for one in _POOLERS)
    is_forced = subject.flag("enable_chunked_prefill")
    if not name.startswith(_ENCODERS) or has_own or is_forced:
        return
    if tokens is None or length is None or not subject.is_at("0.8.0"):
        return
    if tokens < length:
        why = (
            f"{subject.word('max_num_batched_tokens')} must be at least the longest "
            f"text, {length}, which {name} reads at once, got {tokens}"
        )
        shorter = f"a {subject.word('max_model_len')} of at most {tokens}"
        yield why, f"leave it out, or write {shorter}"


def _longest_of_texts(subject: Subject) -> int | None:
    """
    Return the longest text of those whose repositories are known to limit it no
    further (sentence_bert_config.json).
    """
    longest = longest_of(subject)
    is_known = subject.checkpoint.name.lower().startswith(_UNLIMITED)
    # Two of the positions of a RoBERTa are not for a text.
    return longest - 2 if is_known and longest is not None else None


def _of_adapters(subject: Subject) -> Iterator[tuple[str, str]]:
    if not subject.flag("enable_lora") or not subject.is_at("0.3.0", "0.9.2"):
        return
    if subject.checkpoint.method and subject.is_at("0.3.0", "0.3.3"):
        own = subject.checkpoint.method
        yield f"adapters are not served on weights in {own}", "take a newer image"
    most, kept = subject.number("max_loras") or 1, subject.number("max_cpu_loras")
    if kept is not None and kept < most:
        yield f"max_cpu_loras must be at least max_loras, {most}, got {kept}", ""
    extra = subject.number("lora_extra_vocab_size")
    sizes = (256, 512) if subject.is_at("0.8.4") else (0, 256, 512)
    if extra is not None and extra not in sizes:
        yield f"lora_extra_vocab_size must be one of {sizes}, got {extra}", ""
    is_parted = subject.flag("enable_chunked_prefill")
    if is_parted and subject.is_at("0.5.3", "0.6.3.post1"):
        yield (
            "adapters are not served beside enable_chunked_prefill",
            "leave one of both out, or take an image with vLLM 0.7 or newer",
        )


def _of_drafts(subject: Subject) -> Iterator[tuple[str, str]]:
    model = subject.text("speculative_model")
    number = subject.number("num_speculative_tokens")
    if not subject.is_at("0.4.2", "0.7.3"):
        return
    if model is None:
        if number is not None:
            yield "num_speculative_tokens is given without a speculative_model", ""
        return
    is_manager = subject.flag("use_v2_block_manager")
    is_manager |= (subject.number("num_scheduler_steps") or 1) > 1
    if not is_manager and subject.is_at("0.0", "0.6.2"):
        yield "a speculative_model needs use_v2_block_manager", "set it"
    if subject.flag("enable_chunked_prefill") and subject.is_at("0.0", "0.6.3.post1"):
        yield "nothing is drafted beside enable_chunked_prefill", "leave it out"
    stages = subject.number("pipeline_parallel_size") or 1
    if stages > 1 and subject.is_at("0.7.0", "0.7.3"):
        yield "nothing is drafted over pipeline stages", "leave one of both out"
    is_by_words = model == "[ngram]" and subject.is_at("0.5.3")
    if is_by_words and not subject.number("ngram_prompt_lookup_max"):
        yield "[ngram] needs ngram_prompt_lookup_max", "write it, such as 4"
    yield from _of_draft_numbers(subject, model)


def _of_draft_numbers(subject: Subject, model: str) -> Iterator[tuple[str, str]]:
    number = subject.number("num_speculative_tokens")
    # Heads that were made for the model say it in their files.
    is_told = any(one in model for one in ("eagle", "medusa", "accelerator", "specul"))
    if number is None and not is_told:
        yield "a speculative_model needs num_speculative_tokens", "write it, such as 5"
    least, most = (
        subject.number(f"ngram_prompt_lookup_{one}") for one in ("min", "max")
    )
    is_by_words = model == "[ngram]" and subject.is_at("0.5.3")
    if is_by_words and least is not None and most is not None and least > most:
        why = "ngram_prompt_lookup_min must be at most ngram_prompt_lookup_max"
        yield f"{why}, {most}, got {least}", ""
    word = "speculative_disable_by_batch_size"
    threshold = subject.number(word)
    if threshold is not None and threshold < 2 and subject.is_at("0.5.0"):  # noqa: PLR2004
        yield f"{word} must be at least 2, got {threshold}", ""
    longest, length = (
        subject.number("speculative_max_model_len"),
        asked_length(subject.arguments.get("max_model_len")),
    )
    if longest is not None and length is not None and longest > length:
        yield f"speculative_max_model_len must be at most {length}, got {longest}", ""


def _of_steps(subject: Subject) -> Iterator[tuple[str, str]]:
    """
    Several steps at once, and what they do not run beside.
    """
    steps = subject.number("num_scheduler_steps")
    if steps is None or not subject.is_at("0.6.0", "0.9.2"):
        return
    word, is_parted = "num_scheduler_steps", subject.flag("enable_chunked_prefill")
    stages = subject.number("pipeline_parallel_size") or 1
    if steps < 1:
        yield f"{word} must be at least 1, got {steps}", ""
    elif steps > 1 and _is_drafted(subject):
        yield f"nothing is drafted beside {word}={steps}", "leave one of both out"
    elif steps > 1 and is_parted and (stages > 1 or subject.is_at("0.0", "0.6.2")):
        also = " over pipeline stages" if stages > 1 else ""
        yield (
            f"prompts are not prefilled in parts beside {word}={steps}{also}",
            "leave enable_chunked_prefill out",
        )


def _is_drafted(subject: Subject) -> bool:
    return bool(speculation_in(subject.arguments))


def _of_halves(subject: Subject) -> Iterator[tuple[str, str]]:
    name = subject.checkpoint.class_name or ""
    if name not in _IN_TWO_HALVES or not subject.is_at(*_HALVES_AT):
        return
    steps = subject.number("num_scheduler_steps") or 1
    uses = {
        "enable_prefix_caching": subject.flag("enable_prefix_caching"),
        "enable_chunked_prefill": subject.flag("enable_chunked_prefill"),
        "num_scheduler_steps": steps > 1,
        "a draft": _is_drafted(subject),
    }
    for word, is_asked in uses.items():
        if is_asked:
            yield f"{name} does not run with {word}", f"leave {word} out"


def _of_files(subject: Subject) -> Iterator[tuple[str, str]]:
    """
    How the files are read, and what is set aside on the host.
    """
    loaded, own = subject.text("load_format"), subject.checkpoint.method
    word = subject.word("load_format")
    method = subject.text("quantization")
    is_split = loaded == "bitsandbytes" and method != "bitsandbytes"
    if is_split and subject.is_at("0.5.0", "0.7.3"):
        yield (
            f"{word}=bitsandbytes needs quantization=bitsandbytes, got {method}",
            "write both",
        )
    is_packed = own == "bitsandbytes" and loaded != own and method is None
    if is_packed and subject.is_at("0.5.0", "0.7.3"):
        why = (
            f"weights in bitsandbytes need {word}=bitsandbytes, got {loaded or 'none'}"
        )
        yield why, "write it, and quantization=bitsandbytes"
    is_of_pt = loaded == "pt" and subject.checkpoint.class_name == _NOT_BY_PT
    if is_of_pt and subject.is_at(*_NOT_BY_PT_AT):
        yield f"{word}=pt is not for {_NOT_BY_PT}", "write safetensors"
    since = _LOADS_SINCE.get(loaded or "")
    if since is not None and not subject.is_at(since) and subject.is_at("0.4.2"):
        yield f"{word}={loaded} is not there yet", "take an image with a newer release"
    near = nearest(loaded or "", _LOADS, count=1)
    if loaded is not None and loaded not in _LOADS and near:
        yield f"there is no {word}={loaded}", f"did you mean {near[0]}?"
    if loaded == "gguf" and own is not None and own != "gguf":
        yield f"{word}=gguf needs the path of a GGUF file", "leave it out"
    scaling = _scaling(subject)
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if subject.has("rope_scaling") and kind not in _STRETCHES:
        yield f"there is no rope_scaling of the type {kind}", "write yarn, or linear"
    is_off = subject.flag("disable_sliding_window") and kind not in _UNSTRETCHED
    is_gemma = "gemma3" in (subject.checkpoint.model_type or "")
    if is_off and not is_gemma and subject.is_at("0.5.3", "0.11.2"):
        yield (
            f"disable_sliding_window is not for positions that are scaled, as {kind}",
            "leave it out",
        )
    space = subject.arguments.get("swap_space")
    memory, size = subject.memory_gib, subject.number("tensor_parallel_size") or 1
    is_number = isinstance(space, int | float) and not isinstance(space, bool)
    is_kept = is_number and memory is not None and subject.is_at("0.0", "0.17.1")
    if is_kept and float(str(space)) * size > _MOST_SWAPPED * (memory or 0):
        why = (
            f"swap_space={space} on each of {size} devices is more than 70% of the "
            f"{memory:g} GiB that the host has"
        )
        yield why, f"write {_SWAPS}, or leave it out"


def _of_pictures(subject: Subject) -> Iterator[tuple[str, str]]:
    """
    How pictures are read and handed on.
    """
    name = subject.checkpoint.class_name or ""
    is_first = name == _FIRST_SEEING and subject.is_at(*_SEEING_IS_TOLD)
    if is_first and not subject.has("image_input_type"):
        yield f"{name} needs image_input_type", "take an image with vLLM 0.6 or newer"
    is_seeing = name.endswith("ForConditionalGeneration")
    if not is_seeing or not subject.is_at(*_PICTURES_AT):
        return
    workers = subject.number("renderer_num_workers") or 1
    kept = subject.arguments.get("mm_processor_cache_gb")
    is_kept = kept is None or (isinstance(kept, int | float) and kept > 0)
    if workers > 1 and is_kept:
        why = f"renderer_num_workers={workers} is not for {name} while what is read of "
        why += "pictures is kept"
        yield why, "write mm_processor_cache_gb=0, or leave it out"
    devices = [subject.number(one) or 1 for one in _SPLITS]
    if subject.text("mm_tensor_ipc") == "torch_shm" and max(devices) > 1:
        yield "mm_tensor_ipc=torch_shm is for one device", "leave it out"


def _scaling(subject: Subject) -> Mapping[str, object]:
    value = subject.checkpoint.text.get("rope_scaling")
    return value if isinstance(value, Mapping) else {}


def _of_caches(subject: Subject) -> Iterator[tuple[str, str]]:
    """
    How the cache is kept.
    """
    size = subject.number("block_size")
    sizes = (8, 16, 32, 128) if subject.is_at("0.3.0", "0.3.3") else (8, 16, 32)
    is_narrow = subject.is_at("0.2.0", "0.5.4") or subject.is_at("0.6.0", "0.6.2")
    if size is not None and size not in sizes and is_narrow:
        word = subject.word("block_size")
        yield f"{word} must be {any_of(map(str, sizes))}, got {size}", "leave it out"
    kind = subject.text("kv_cache_dtype") or "auto"
    for first, last, kinds in _CACHES:
        if subject.is_at(first, last) and kind not in {"auto", *kinds}:
            word = subject.word("kv_cache_dtype")
            yield f"{word} must be {any_of(('auto', *kinds))}, got {kind}", ""


def _of_models(subject: Subject) -> Iterator[tuple[str, str]]:
    name = subject.checkpoint.class_name or ""
    share = subject.text("gpu_memory_utilization") or ""
    is_number = share.replace(".", "", 1).isdigit()
    if is_number and float(share) > 1 and subject.is_at("0.0", "0.9.2"):
        yield f"gpu_memory_utilization must be at most 1, got {share}", ""
    limit = subject.arguments.get("limit_mm_per_prompt")
    if limit and name in OF_TEXT and subject.is_at("0.6.2", "0.8.5"):
        yield f"limit_mm_per_prompt is not for {name}, which reads text alone", ""
    backend = subject.text("guided_decoding_backend")
    is_known = backend in {None, "outlines", "lm-format-enforcer"}
    if not is_known and subject.is_at("0.4.2", "0.6.2"):
        yield f"guided_decoding_backend={backend} is not there yet", "write outlines"
    is_there = backend is None or backend.partition(":")[0] in _GUIDES
    if not is_there and subject.is_at("0.6.3", "0.9.2"):
        yield f"there is no guided_decoding_backend={backend}", "leave it out"
    for word, value, span in (
        ("runner", "generate", ("0.10.2", "")),
        ("task", "generate", ("0.7.1", "0.12.0")),
    ):
        is_writer = subject.text(word) == value and subject.is_at(*span)
        if is_writer and name.startswith(_ENCODERS):
            yield (
                f"{name} writes no text, which {word}={value} asks for",
                "leave it out",
            )
    runner = subject.text("runner")
    is_embedder = subject.checkpoint.name.lower().startswith(_EMBEDDERS)
    if is_embedder and runner in {"generate", "draft"} and subject.is_at(*_UNMAPPED):
        why = f"{subject.checkpoint.name} has no weights for runner={runner}"
        yield why, "leave it out, or write pooling"
    is_heard = subject.text("task") == "transcription"
    if is_heard and name in OF_TEXT and subject.is_at("0.8.4", "0.12.0"):
        yield f"{name} hears nothing, which task=transcription asks for", "leave it out"
