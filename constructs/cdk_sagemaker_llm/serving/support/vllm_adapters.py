"""
Adapters of vLLM against the model: their rank, its vocabulary, and its experts.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.catalog.model_classes import has_ability
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import AMPERE
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

# Whose last layer adapters may change too (supported_lora_modules), and the largest
# vocabulary that it had kernels for, by the releases that were read.
_TO_THE_LAST_LAYER = frozenset(
    {
        *("LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM"),
        "MixtralForCausalLM",
    }
)
_VOCABULARIES = (("0.3.3", "0.3.3", 33024), ("0.4.2", "0.5.4", 128512))
# From 0.11.1 on adapters reach experts, at first of models that say how these are
# named (get_expert_mapping), and on devices that share each expert.
_UNNAMED = {
    "Gemma4ForCausalLM": "0.19.0",
    "Gemma4ForConditionalGeneration": "0.19.0",
    "GraniteMoeForCausalLM": "0.11.1",
    "GraniteMoeSharedForCausalLM": "0.11.1",
}
_LAST_UNNAMED = "0.24.0"
_WHOLE_EXPERTS = ("0.11.1", "0.20.2")
# Until Triton's kernels came, the wheels had those of Punica for Ampere and newer, and
# adapters of nothing are run when the engine measures its memory.
_BY_PUNICA = ("0.3.0", "0.5.3.post1")

ADAPTER_RANK = Rule(
    "LLM957",
    "the highest rank of adapters is none of the release's",
    "vllm/config/lora.py",
)
UNFIT_ADAPTERS = Rule(
    "LLM928",
    "the release serves no adapters on the model's vocabulary or experts, or the GPU",
    "vllm/lora/layers.py, lora/layers/fused_moe.py, lora/utils.py and lora/punica.py, "
    "0.3.3 to 0.24.0",
)


def adapter_rank_findings(subject: Subject) -> Iterator[Finding]:
    """
    The highest rank of adapters is one that the release has.
    """
    rank = subject.number("max_lora_rank")
    if rank is None or not subject.flag("enable_lora"):
        return
    ranks: tuple[int, ...] = (1, 8, 16, 32, 64, 128, 256, 320, 512)
    if subject.is_at("0.3.3", "0.4.2"):
        ranks = (8, 16, 32, 64)
    elif subject.is_at("0.6.2", "0.8.4"):
        ranks = (8, 16, 32, 64, 128, 256)
    if rank not in ranks:
        yield ADAPTER_RANK.finding(
            f"{subject.word('max_lora_rank')} must be {any_of(map(str, ranks))}, got "
            f"{rank}"
        )


def adapter_fit_findings(subject: Subject) -> Iterator[Finding]:
    """
    Adapters fit the GPU, the model's vocabulary, and its experts.
    """
    name, word = subject.checkpoint.class_name, subject.word("enable_lora")
    if not subject.flag("enable_lora"):
        return
    capability = subject.capability
    if capability and capability < AMPERE and subject.is_at(*_BY_PUNICA):
        yield UNFIT_ADAPTERS.finding(
            f"{subject.title} has kernels for {word} from A100 and A10G on, and none "
            f"for {subject.gpu}",
            "take a GPU from A10G on, or an image with vLLM 0.6 or newer",
        )
    if name is None:
        return
    size = subject.checkpoint.number("vocab_size") or 0
    for first, last, most in _VOCABULARIES:
        is_hit = name in _TO_THE_LAST_LAYER and size > most
        if is_hit and subject.is_at(first, last):
            yield UNFIT_ADAPTERS.finding(
                f"{word} is for vocabularies of up to {most} at {subject.title}, and "
                f"{subject.checkpoint.name} has one of {size}",
                "take an image with vLLM 0.6 or newer",
            )
    if not has_experts(subject.checkpoint):
        return
    since = _UNNAMED.get(name)
    if since is not None and subject.is_at(since, _LAST_UNNAMED):
        yield UNFIT_ADAPTERS.finding(
            f"{subject.title} does not start with {word} for {name} with experts, of "
            "which it does not tell what adapters change",
            "take an image with vLLM 0.25 or newer",
        )
        return
    devices = subject.number("tensor_parallel_size") or 1
    devices *= subject.number("data_parallel_size") or 1
    is_shared = subject.flag("enable_expert_parallel") and devices > 1
    is_taken = has_ability(subject.engine, name, subject.release, "lora")
    if is_shared and is_taken and subject.is_at(*_WHOLE_EXPERTS):
        expert = subject.word("enable_expert_parallel")
        yield UNFIT_ADAPTERS.finding(
            f"{subject.title} does not start with {word} beside {expert}",
            f"leave {expert} out",
        )
