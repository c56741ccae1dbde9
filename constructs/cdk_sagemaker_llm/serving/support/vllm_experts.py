"""
Devices that vLLM shares by experts, and by parts of the context.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import BLACKWELL, is_latent
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.support_subject import Subject

_CONFIG = "vllm/config/model.py, verify_with_parallel_config"
# Classes that have none, whatever else their files say.
_DENSE = frozenset(
    {
        "LlamaForCausalLM",
        "MistralForCausalLM",
        "Qwen2ForCausalLM",
        "Qwen3ForCausalLM",
        "Gemma2ForCausalLM",
        "Gemma3ForCausalLM",
        "Phi3ForCausalLM",
        "GraniteForCausalLM",
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen3VLForConditionalGeneration",
    }
)
_MEGA = "deep_gemm_mega_moe"
_OF_MEGA = frozenset({"DeepseekV4ForCausalLM"})

NO_EXPERTS = Rule(
    "LLM902", "a model without experts is split by them", f"{_CONFIG}, 0.8.4 to 0.33.0"
)
UNEVEN_CONTEXT = Rule(
    "LLM904",
    "the devices do not share the context as the key and value heads ask for",
    f"{_CONFIG}, 0.12.0 to 0.33.0",
)
NO_MEGA_KERNEL = Rule(
    "LLM906",
    "a kernel for experts is asked for that the GPU lacks",
    "vllm/models/deepseek_v4/nvidia/model.py, 0.20.0 to 0.30.0",
)


def expert_findings(subject: Subject) -> Iterator[Finding]:
    """
    Only a model with experts is split by them, with a kernel that the GPU has.
    """
    checkpoint, word = subject.checkpoint, subject.word("enable_expert_parallel")
    is_asked = subject.flag("enable_expert_parallel") and subject.is_at("0.8.4")
    if is_asked and not has_experts(checkpoint) and checkpoint.class_name in _DENSE:
        yield NO_EXPERTS.finding(
            f"{word} is for models with experts, and {checkpoint.class_name} has none: "
            f"{subject.title} does not start",
            "leave it out",
        )
    kernel, capability = subject.text("moe_backend"), subject.capability
    is_there = capability is None or capability // 10 == BLACKWELL // 10
    is_read = checkpoint.class_name in _OF_MEGA and subject.is_at("0.20.0")
    if kernel == _MEGA and is_read and not is_there:
        yield NO_MEGA_KERNEL.finding(
            f"{subject.word('moe_backend')}={kernel} needs a compute capability of "
            f"10.x, got {subject.gpu}",
            "leave it out, or take B200 or B300",
        )


def context_part_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices that share the context are those that would hold copies of the heads.
    """
    name = "decode_context_parallel_size"
    parts, size = subject.number(name) or 1, subject.number("tensor_parallel_size") or 1
    checkpoint, word = subject.checkpoint, subject.word(name)
    if parts < 2 or not subject.is_at("0.12.0") or is_latent(subject):  # noqa: PLR2004 - one has all
        return
    heads = checkpoint.number("num_attention_heads")
    shared = checkpoint.number("num_key_value_heads", "num_kv_heads")
    if not heads or not shared:
        return
    tensor = subject.word("tensor_parallel_size")
    if size <= shared:
        why = f"needs {tensor} above the {shared} key and value heads, got {size}"
    elif parts > size // shared:
        why = f"must be at most {size // shared}, {tensor} by key and value heads"
    elif heads // shared % parts:
        why = f"must divide the {heads // shared} heads of each key and value head"
    else:
        return
    yield UNEVEN_CONTEXT.finding(f"{word}={parts} {why}", "leave it out")
