"""
What SGLang stops at when it sets to work: backends of other devices, drafts that are
not named, and files that are not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.checkpoints import known_checkpoint
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import WRONG_BACKEND
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.splits import UNSPLIT_METHOD
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_starting import GGUF_ALONE
from cdk_sagemaker_llm.serving.support.weight_settings import (
    UNREAD_WEIGHTS,
    is_of_mlx,
)

_SINCE = "0.5.1"
# Whose packages no image for GPUs of NVIDIA has (attention_registry.py).
_OF_OTHERS = frozenset({"aiter", "wave", "ascend", "intel_amx", "intel_xpu"})
# Which have no layers that draft, so that a draft has files of its own.
_WITHOUT_DRAFTS = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"),
        *("Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"),
        *("GptOssForCausalLM", "Phi3ForCausalLM", "Gemma3ForConditionalGeneration"),
    }
)
# The model is then loaded as its own draft, which lacks what is read of one
# (hot_token_id, speculative/eagle_worker.py); other algorithms take it.
_DRAFT_ALONE = "eagle3"
_PATHS = ("speculative_draft_model_path", "speculative_draft_model")
_FORMS = {
    "sharded_state": "files that were cut for the devices before",
    "gguf": "a GGUF file",
}
_SIZES = ("tensor_parallel_size", "tp_size", "tp")
_PARTS = ("ep_size", "ep", "expert_parallel_size")

UNFIT_START_OF_SGLANG = Rule(
    "LLM948",
    "what is asked for does not start with the model's files or its class",
    "sglang/srt/server_args.py, model_loader/loader.py and "
    "model_executor/model_runner.py, 0.5.1 to 0.5.23",
)


def sglang_starting_findings(subject: Subject) -> Iterator[Finding]:
    """
    The release starts with what is asked for.
    """
    if not subject.is_at(_SINCE):
        return
    for why, way_out in (
        *_of_files(subject),
        *_of_drafts(subject),
        *_of_experts(subject),
    ):
        yield UNFIT_START_OF_SGLANG.finding(
            f"{subject.title} does not start: {why}", way_out
        )


def sglang_device_findings(subject: Subject) -> Iterator[Finding]:
    """
    The attention backend is one for GPUs of NVIDIA.
    """
    for argument in (
        "attention_backend",
        "prefill_attention_backend",
        "decode_attention_backend",
    ):
        backend, is_gpu = subject.text(argument), subject.capability is not None
        if backend in _OF_OTHERS and is_gpu and subject.is_at(_SINCE):
            word = subject.word(argument)
            yield WRONG_BACKEND.finding(
                f"{word}={backend} does not fit: it is not made for {subject.gpu}",
                f"leave {word} out: {subject.title} takes one that fits",
            )


def sglang_bits_findings(subject: Subject) -> Iterator[Finding]:
    """
    Weights of bitsandbytes are on one device, and those of MLX on none.
    """
    word = next((one for one in _SIZES if subject.has(one)), _SIZES[0])
    size = subject.number(word) or 1
    is_packed = subject.checkpoint.method == "bitsandbytes"
    if is_packed and size > 1 and subject.is_at(_SINCE):
        yield UNSPLIT_METHOD.finding(
            f"{subject.word(word)} must be 1 for weights of bitsandbytes, got {size}",
            "take weights in another format",
        )
    if is_of_mlx(subject) and subject.is_at(_SINCE):
        yield UNREAD_WEIGHTS.finding(
            f"the weights of {subject.checkpoint.name} are quantized for MLX, which "
            f"{subject.title} does not read",
            "name the model that they were made of",
        )


def _of_files(subject: Subject) -> Iterator[tuple[str, str]]:
    loaded, name = subject.text("load_format") or "", subject.checkpoint.name
    word, needed = subject.word("load_format"), _FORMS.get(loaded)
    is_of_gguf = subject.checkpoint.method == "gguf"
    if needed and known_checkpoint(name) is not None and not is_of_gguf:
        yield f"{word}={loaded} looks for {needed}, and {name} has none", "leave it out"
    if is_of_gguf and GGUF_ALONE.match(name):
        yield (
            f"{name} has a GGUF file for each format, and no other weights",
            "name one of its files, or serve it with LlamaCpp",
        )


def _of_drafts(subject: Subject) -> Iterator[tuple[str, str]]:
    algorithm, argument = subject.text("speculative_algorithm"), "speculative_algorithm"
    is_without = subject.checkpoint.class_name in _WITHOUT_DRAFTS
    if algorithm == _DRAFT_ALONE and is_without and not any(map(subject.has, _PATHS)):
        yield (
            f"{subject.word(argument)}={algorithm} needs speculative_draft_model_path",
            "name a draft that was made for the model, or write NGRAM",
        )


def _of_experts(subject: Subject) -> Iterator[tuple[str, str]]:
    word = next((one for one in _SIZES if subject.has(one)), _SIZES[0])
    part = next((one for one in _PARTS if subject.has(one)), _PARTS[0])
    size, parts = subject.number(word) or 1, subject.number(part) or 1
    blocks = (subject.checkpoint.quantization or {}).get("weight_block_size")
    is_read = blocks and has_experts(subject.checkpoint) and subject.is_at("0.5.5")
    if is_read and size % parts:
        why = f"{subject.word(word)} must be a multiple of {subject.word(part)}"
        yield f"{why}, {parts}, got {size}", ""
