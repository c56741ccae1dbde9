"""
What vLLM does not do beside speculation, overlapped scheduling or balanced experts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.drafts import speculation_in
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.serving.support.vllm_drafts import NO_DRAFTS

# What no release drafts with beside it; of others it depends on the release. Up to
# 0.11.0 it was refused beside any, as the conditions that were read tell already.
_NOT_OVERLAPPED = ("ngram", "medusa", "mlp_speculator", "suffix")

# Where the conditions that were read say it of the arguments alone.
_TOLD_ELSEWHERE = ("0.12.0", "0.16.0")

# Classes without layers that predict several tokens (hf_config_override and
# __post_init__ of vllm/config/speculative.py, 0.8.4 to 0.33.0).
_OF_ONE_TOKEN = frozenset(
    {
        *("LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM"),
        *("Qwen2ForCausalLM", "Qwen2MoeForCausalLM", "Qwen3ForCausalLM"),
        *("Qwen3MoeForCausalLM", "GptOssForCausalLM", "Phi3ForCausalLM"),
        *("Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"),
        *("Llama4ForConditionalGeneration", "Qwen2_5_VLForConditionalGeneration"),
        *("Qwen3VLForConditionalGeneration", "Qwen3VLMoeForConditionalGeneration"),
    }
)

NOT_OVERLAPPED = Rule(
    "LLM910",
    "overlapped scheduling beside drafts that do not overlap",
    "vllm/config/vllm.py, 0.12.0 to 0.33.0",
)
NOT_BALANCED = Rule(
    "LLM912",
    "copies of experts are asked for, and no balance of them",
    "vllm/config/parallel.py, 0.10.2 to 0.33.0",
)


def overlap_findings(subject: Subject) -> Iterator[Finding]:
    """
    Scheduling is overlapped beside what drafts with it.
    """
    method = speculation_in(subject.arguments).get("method")
    word = subject.word("async_scheduling")
    is_asked = subject.flag("async_scheduling") and subject.is_at("0.11.1")
    if is_asked and method in _NOT_OVERLAPPED:
        yield NOT_OVERLAPPED.finding(
            f"{subject.title} does not start with {word} and drafts by {method}",
            f"leave {word} out",
        )


def balance_findings(subject: Subject) -> Iterator[Finding]:
    """
    There are copies of experts only where these are balanced.
    """
    values = _mapping(subject.arguments.get("eplb_config"))
    copies = values.get("num_redundant_experts")
    is_told = subject.is_at(*_TOLD_ELSEWHERE) or not subject.is_at("0.10.2")
    if not copies or subject.flag("enable_eplb") or is_told:
        return
    yield NOT_BALANCED.finding(
        f"num_redundant_experts of {subject.word('eplb_config')} is {copies}, and "
        f"{subject.word('enable_eplb')} is not set: {subject.title} does not start",
        f"set {subject.word('enable_eplb')}, or leave it out",
    )


def prediction_findings(subject: Subject) -> Iterator[Finding]:
    """
    Only a model that was made to predict several tokens drafts by that.
    """
    speculation, name = speculation_in(subject.arguments), subject.checkpoint.class_name
    method = str(speculation.get("method") or "")
    is_asked = method.endswith("mtp") and not speculation.get("model")
    if is_asked and name in _OF_ONE_TOKEN and subject.is_at("0.8.4"):
        yield NO_DRAFTS.finding(
            f"{name} predicts one token at a time, got method={speculation['method']}: "
            f"{subject.title} does not start",
            "write ngram, or name an EAGLE draft that was made for the model",
        )


def speculation_findings(subject: Subject) -> Iterator[Finding]:
    """
    The settings of speculation fit each other, and the size of a batch.
    """
    speculation = _mapping(subject.arguments.get("speculative_config"))
    least, most = (
        speculation.get("prompt_lookup_min"),
        speculation.get("prompt_lookup_max"),
    )
    is_turned = isinstance(least, int) and isinstance(most, int) and least > most
    if is_turned and subject.is_at("0.8.4"):
        yield NO_DRAFTS.finding(
            f"prompt_lookup_min must be at most prompt_lookup_max, got {least} and "
            f"{most}"
        )
    is_by_words = speculation.get("method") in {"ngram", "[ngram]"}
    ends = [one for one in (least, most) if isinstance(one, int)]
    if is_by_words and any(one < 1 for one in ends) and subject.is_at("0.8.4"):
        yield NO_DRAFTS.finding(
            "prompt_lookup_min and prompt_lookup_max must be at least 1, got "
            f"{' and '.join(map(str, ends))}"
        )
    if speculation.get("tensor_parallel_size") is not None and subject.is_at("0.15.1"):
        yield NO_DRAFTS.finding(
            "speculative_config takes no tensor_parallel_size",
            "write draft_tensor_parallel_size",
        )
    method = str(speculation.get("method") or "")
    is_of_states = method.startswith("eagle") or method.endswith("mtp")
    is_shared = subject.flag("kv_sharing_fast_prefill") and is_of_states
    if is_shared and subject.is_at("0.10.2"):
        yield NO_DRAFTS.finding(
            f"{subject.title} does not draft by {method} beside "
            f"{subject.word('kv_sharing_fast_prefill')}",
            "leave one of both out",
        )
    tokens, number = (
        subject.number("max_num_batched_tokens"),
        speculation.get("num_speculative_tokens"),
    )
    requests = subject.number("max_num_seqs")
    is_read = subject.flag("enable_lora") and subject.is_at("0.12.0")
    if not is_read or not tokens or not requests or not isinstance(number, int):
        return
    if tokens < requests * (number + 1):
        yield NO_DRAFTS.finding(
            f"{subject.word('max_num_batched_tokens')} must be at least "
            f"{requests * (number + 1)} beside adapters, for {requests} requests with "
            f"{number} tokens drafted each, got {tokens}"
        )


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, Mapping) else {}
