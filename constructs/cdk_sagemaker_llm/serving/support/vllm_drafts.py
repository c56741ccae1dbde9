"""
Drafts of vLLM against the model that they draft for: vocabulary, method, and devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.catalog.checkpoints import known_checkpoint
from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.checkpoint import checkpoint_of
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_SPECULATIVE = "vllm/config/speculative.py"

OTHER_VOCABULARY = Rule(
    "LLM951", "the draft model has another vocabulary than the model", _SPECULATIVE
)
NO_DRAFTS = Rule("LLM953", "the release does not draft with that", _SPECULATIVE)


def draft_findings(subject: Subject) -> Iterator[Finding]:
    """
    A draft model speaks the model's vocabulary, and the release drafts with it.
    """
    speculation = speculation_in(subject.arguments)
    model = speculation.get("model")
    method = speculation.get("method") or _method_of(model)
    yield from _draft_split_findings(subject, speculation)
    number = speculation.get("num_speculative_tokens") or subject.arguments.get(
        "spec_tokens"
    )
    is_told = number is not None or not subject.has("speculative_config")
    # Files of speculators say it themselves; published recipes leave it to them.
    is_told = is_told or "speculator" in str(model).lower()
    if method in _NUMBERED and not is_told and subject.is_at("0.8.4"):
        yield NO_DRAFTS.finding(
            f"{subject.title} is not told how many tokens to draft with {method}",
            "write num_speculative_tokens",
        )
    if method == "eagle3" and subject.is_at("0.10.0"):
        yield from _eagle_findings(subject)
    if isinstance(model, str) and method == "eagle" and subject.is_at("0.10.0"):
        yield from _eagle_class_findings(subject, checkpoint_of(model).class_name)
    if not isinstance(model, str) or method != "draft_model":
        return
    if subject.is_at("0.10.0", "0.14.1"):
        yield NO_DRAFTS.finding(
            f"{subject.title} does not draft with a model such as {model}",
            "use ngram, or EAGLE or multi-token prediction made for the model",
        )
        return
    own = subject.checkpoint.number("vocab_size")
    other = checkpoint_of(model).number("vocab_size")
    if own is None or other is None or own == other or not subject.is_at("0.4.2"):
        return
    if not speculation.get("use_heterogeneous_vocab"):
        yield OTHER_VOCABULARY.finding(
            f"the draft model {model} has a vocabulary of {other}, and "
            f"{subject.checkpoint.name} one of {own}: {subject.title} needs them to be "
            "the same",
            "take a draft model of the same vocabulary",
        )


def _draft_split_findings(
    subject: Subject, speculation: Mapping[str, Any]
) -> Iterator[Finding]:
    """
    A draft is split over devices as the release can, and its class into stages.
    """
    word = "draft_tensor_parallel_size"
    old = f"speculative_{word}"
    size = speculation.get(word) or subject.number(old)
    whole = subject.number("tensor_parallel_size") or 1
    fitting = {1} if subject.is_at("0.0", "0.7.0") else {1, whole}
    if isinstance(size, int) and size not in fitting:
        yield NO_DRAFTS.finding(
            f"{old if subject.has(old) else word} must be "
            f"{any_of([str(one) for one in sorted(fitting)])} at {subject.title}, got "
            f"{size}",
            "leave it out",
        )
    stages = subject.number("pipeline_parallel_size") or 1
    name = _OWN_DRAFTS.get(subject.checkpoint.class_name or "")
    is_own = str(speculation.get("method") or "").endswith("mtp")
    if stages < 2 or not is_own or name is None:  # noqa: PLR2004 - one is none
        return
    has = has_ability(subject.engine, name, subject.release)
    if has and has_ability(subject.engine, name, subject.release, "pp") is False:
        yield NO_DRAFTS.finding(
            f"{subject.title} cannot split {name}, which drafts for "
            f"{subject.checkpoint.name}, into pipeline stages, got "
            f"pipeline_parallel_size={stages}",
            "leave speculative_config out, or split the model over devices alone",
        )


# Others may say it in their config.json.
_NUMBERED = ("draft_model", "eagle", "eagle3", "ngram")
# The class that drafts, by that of the model (hf_config_override of the source).
_OWN_DRAFTS = {
    "DeepseekV3ForCausalLM": "DeepSeekMTPModel",
    "DeepseekV32ForCausalLM": "DeepSeekMTPModel",
    "GlmMoeDsaForCausalLM": "DeepSeekMTPModel",
    "DeepseekV4ForCausalLM": "DeepSeekV4MTPModel",
    "Glm4MoeForCausalLM": "Glm4MoeMTPModel",
    "MiMoForCausalLM": "MiMoMTPModel",
    "Qwen3NextForCausalLM": "Qwen3NextMTP",
    "Qwen3_5ForConditionalGeneration": "Qwen3_5MTP",
    "Qwen3_5MoeForConditionalGeneration": "Qwen3_5MoeMTP",
}


# Since when a class hands what EAGLE-3 drafts from (SupportsEagle3), before that was
# read at each release.
_HANDS_STATES_ON = {
    **dict.fromkeys(("Qwen2ForCausalLM", "Qwen3ForCausalLM"), "0.10.2"),
    **dict.fromkeys(
        (
            "Qwen3MoeForCausalLM",
            "Qwen2_5_VLForConditionalGeneration",
            "Llama4ForConditionalGeneration",
        ),
        "0.11.1",
    ),
    **dict.fromkeys(
        ("Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"),
        "0.12.0",
    ),
    **dict.fromkeys(
        (
            "Qwen2MoeForCausalLM",
            "Qwen2VLForConditionalGeneration",
            "Qwen3NextForCausalLM",
        ),
        "0.17.0",
    ),
}


def _eagle_findings(subject: Subject) -> Iterator[Finding]:
    name = subject.checkpoint.class_name
    if name is None or not has_ability(subject.engine, name, subject.release):
        return
    if not subject.is_at("0.17.0"):
        is_taken = _is_eagle_target(subject, name)
    else:
        is_taken = has_ability(subject.engine, name, subject.release, "eagle3")
    if is_taken is False:
        yield NO_DRAFTS.finding(
            f"{subject.title} does not take an EAGLE-3 draft for {name}"
        )


def _eagle_class_findings(subject: Subject, name: str | None) -> Iterator[Finding]:
    """
    A draft of the first EAGLE has a class that is named after the model's.
    """
    if name is None:
        return
    draft_class = name if name.startswith("Eagle") else f"Eagle{name}"
    if has_ability(subject.engine, draft_class, subject.release) is False:
        yield NO_DRAFTS.finding(
            f"{subject.title} drafts by EAGLE with a class named {draft_class}, which "
            "it does not have",
            "take a draft for EAGLE-3",
        )


def _is_eagle_target(subject: Subject, name: str) -> bool | None:
    inner = subject.checkpoint.config.get("text_config")
    own = inner.get("model_type") if isinstance(inner, Mapping) else None
    kind = own or subject.checkpoint.model_type
    # What a model that reads more than text calls its text part is not always known.
    is_known = own is not None or name.endswith("ForCausalLM")
    if kind is None or not (is_known or kind in {"gemma3", "mistral3"}):
        return None
    since = _HANDS_STATES_ON.get(name, "0.10.0")
    if not subject.is_at(since):
        return False
    kinds = ["llama", "qwen"]
    if subject.is_at("0.11.0"):
        kinds += ["minicpm", "gpt_oss"]
    if subject.is_at("0.16.0"):
        kinds += ["hunyuan_vl", "hunyuan_v1_dense", "afmoe"]
    return any(one in kind for one in kinds)


def _method_of(model: object) -> str | None:
    if not isinstance(model, str):
        return None
    name = model.lower()
    for word in (
        "ngram",
        "eagle3",
        "eagle",
        "medusa",
        "speculator",
        "accelerator",
        "mtp",
    ):
        if word in name:
            return word
    # Whether it is made to draft for another says its config.json.
    return None if known_checkpoint(model) is None else "draft_model"
