"""
Settings of vLLM that do not go together, at releases before those whose conditions are
kept as data: batches, adapters, drafts and pictures.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.lengths import asked_length, longest_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject

# Longer ones are prefilled in parts where nothing else is asked for.
_LONG = 32768
# Which read text alone, as far as they were looked at.
_OF_TEXT = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"),
        *("Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen3ForCausalLM"),
        *("GemmaForCausalLM", "Gemma2ForCausalLM", "Phi3ForCausalLM"),
        *("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "FalconForCausalLM"),
    }
)
_ENCODERS = ("Bert", "Roberta", "XLMRoberta", "ModernBert", "NomicBert", "Gte")

UNFIT_SETTINGS = Rule(
    "LLM914",
    "settings that the release does not take beside each other",
    "vllm/config.py, 0.2.1.post1 to 0.8.4",
)


def setting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The settings go together.
    """
    for why, way_out in (
        *_of_batches(subject),
        *_of_adapters(subject),
        *_of_drafts(subject),
        *_of_models(subject),
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
    asked = asked_length(subject.arguments.get("max_model_len"))
    length = asked or longest_of(subject)
    is_parted = subject.flag("enable_chunked_prefill")
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


def _of_adapters(subject: Subject) -> Iterator[tuple[str, str]]:
    if not subject.flag("enable_lora") or not subject.is_at("0.3.0", "0.9.2"):
        return
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
    if not subject.is_at("0.4.2", "0.7.1"):
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
    is_by_words = model == "[ngram]" and subject.is_at("0.5.3")
    if is_by_words and not subject.number("ngram_prompt_lookup_max"):
        yield "[ngram] needs ngram_prompt_lookup_max", "write it, such as 4"


def _of_models(subject: Subject) -> Iterator[tuple[str, str]]:
    name = subject.checkpoint.class_name or ""
    share = subject.text("gpu_memory_utilization") or ""
    is_number = share.replace(".", "", 1).isdigit()
    if is_number and float(share) > 1 and subject.is_at("0.0", "0.9.2"):
        yield f"gpu_memory_utilization must be at most 1, got {share}", ""
    limit = subject.arguments.get("limit_mm_per_prompt")
    if limit and name in _OF_TEXT and subject.is_at("0.6.2", "0.8.5"):
        yield f"limit_mm_per_prompt is not for {name}, which reads text alone", ""
    backend = subject.text("guided_decoding_backend")
    is_known = backend in {None, "outlines", "lm-format-enforcer"}
    if not is_known and subject.is_at("0.4.2", "0.6.2"):
        yield f"guided_decoding_backend={backend} is not there yet", "write outlines"
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
    is_heard = subject.text("task") == "transcription"
    if is_heard and name in _OF_TEXT and subject.is_at("0.8.4", "0.12.0"):
        yield f"{name} hears nothing, which task=transcription asks for", "leave it out"
