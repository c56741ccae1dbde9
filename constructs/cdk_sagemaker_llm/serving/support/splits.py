"""
A model over several devices: what tensor parallelism divides, and what it cannot cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.checks import uneven_heads
from cdk_sagemaker_llm.serving.support.attention import ADA, HOPPER
from cdk_sagemaker_llm.serving.support.checkpoint import Checkpoint
from cdk_sagemaker_llm.serving.support.quantization import (
    resolved_method,
    scheme_of,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_KERNELS = ("awq_marlin", "gptq_marlin")
# From here on blocks of experts are cut into smaller ones, down to 32
# (refine_fp8_moe_block_shape of fused_moe/oracle/fp8.py).
_FINER_BLOCKS = "0.29.0"
# From 0.25.0 on experts are padded to what Marlin takes at once
# (marlin_moe_padded_intermediate); it has taken them since 0.9.0.
_UNPADDED = ("0.9.0", "0.24.0")

# Two layers in one, whose second is narrower than a block (in_proj of qwen3_next.py,
# issue 25378).
_MERGED, _MERGED_AT = "Qwen3NextForCausalLM", ("0.10.2", "0.10.2")

UNEVEN_HEADS_OF_MODEL = Rule(
    "LLM945",
    "the devices do not divide the attention heads of the checkpoint",
    "vllm/config/model.py, verify_with_parallel_config",
)
UNEVEN_WEIGHTS = Rule(
    "LLM947",
    "the devices cut quantized weights within a block",
    "vllm/model_executor/layers/quantization",
)
# What sees has heads of its own, which are cut like the others (glm4_1v.py).
_VISION_HEADS = {
    "Glm4vForConditionalGeneration": 12,
    "Glm4vMoeForConditionalGeneration": 12,
}
_VISION_IS_READ = ("0.10.0", "0.28.0")
_WITHOUT_VISION = (
    *("limit_mm_per_prompt", "language_model_only"),
    "enable_multimodal_encoder_data_parallel",
)
# Without supports_encoder_tp_data, at the releases that were read.
_SEES_IN_PARTS = frozenset(
    {
        *("Gemma3ForConditionalGeneration", "Gemma4ForConditionalGeneration"),
        *("Mistral3ForConditionalGeneration", "PixtralForConditionalGeneration"),
        *("LlavaForConditionalGeneration", "LlavaNextForConditionalGeneration"),
        *("LlavaOnevisionForConditionalGeneration", "Phi3VForCausalLM"),
        *("Phi4MMForCausalLM", "Idefics3ForConditionalGeneration"),
    }
)
_PARTS_ARE_READ = ("0.10.2", "0.28.0")
UNEVEN_VISION = Rule(
    "LLM936",
    "the devices do not divide the heads of what sees",
    "vllm/model_executor/models/glm4_1v.py, 0.10.0 to 0.28.0",
)
PARTED_VISION = Rule(
    "LLM874",
    "each device is to have the whole of what sees, and the class cuts it",
    "vllm/config/model.py, 0.10.2 to 0.28.0",
)
UNSPLIT_METHOD = Rule(
    "LLM949",
    "weights of bitsandbytes cannot be split over devices",
    "vllm/model_executor/model_loader/bitsandbytes_loader.py",
)


def split_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices divide the attention heads.
    """
    size = subject.number("tensor_parallel_size") or 1
    checkpoint = subject.checkpoint.language
    word = subject.word("tensor_parallel_size")
    heads = checkpoint.number("num_attention_heads", "n_head", "n_heads")
    if size < 2 or not heads or _has_own_split(subject):  # noqa: PLR2004 - one device
        return
    if heads % size:
        yield uneven_heads(UNEVEN_HEADS_OF_MODEL, word, heads, size)
        return
    shared = checkpoint.number("num_key_value_heads", "num_kv_heads")
    is_latent = checkpoint.number("kv_lora_rank") is not None
    if shared and not is_latent and shared % size and size % shared:
        yield UNEVEN_HEADS_OF_MODEL.finding(
            f"{word} must divide the {shared} key and value heads or be a multiple of "
            f"them, got {size}"
        )


def vision_split_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices divide the heads of the part that sees, or each of them has it whole.
    """
    size, name = (
        subject.number("tensor_parallel_size") or 1,
        subject.checkpoint.class_name,
    )
    word, mode = subject.word("tensor_parallel_size"), "mm_encoder_tp_mode"
    is_whole = subject.text(mode) == "data"
    if is_whole and name in _SEES_IN_PARTS and subject.is_at(*_PARTS_ARE_READ):
        yield PARTED_VISION.finding(
            f"{subject.title} does not give each device the whole of what sees in "
            f"{name}, and falls back to {mode}=weights",
            "leave it out",
        )
    vision = subject.checkpoint.config.get("vision_config")
    heads = vision.get("num_heads") if isinstance(vision, Mapping) else None
    heads = heads if isinstance(heads, int) else _VISION_HEADS.get(name or "")
    # Without pictures it is not made, or with an older word given to each device.
    is_other = any(subject.has(one) for one in _WITHOUT_VISION)
    if not heads or name not in _VISION_HEADS or is_whole or is_other:
        return
    if size > 1 and heads % size and subject.is_at(*_VISION_IS_READ):
        yield UNEVEN_VISION.finding(
            f"{word} must divide the {heads} heads of what sees in "
            f"{subject.checkpoint.name}, got {size}",
            f"set {mode}=data",
        )


def _has_own_split(subject: Subject) -> bool:
    name = subject.checkpoint.class_name or ""
    return "Mamba" in name or name.endswith("ForSequenceClassification")


def block_findings(subject: Subject) -> Iterator[Finding]:
    """
    Quantized weights are cut between their blocks.
    """
    size = subject.number("tensor_parallel_size") or 1
    checkpoint = subject.checkpoint.language
    values = checkpoint.quantization or {}
    word, method = subject.word("tensor_parallel_size"), resolved_method(subject) or ""
    expert = checkpoint.number("moe_intermediate_size")
    dense = checkpoint.number("intermediate_size")
    if dense and checkpoint.class_name == "QWenLMHeadModel":
        # Its files count the two halves of the layer.
        dense //= 2
    is_split = not subject.flag("enable_expert_parallel")
    block: int | None
    is_alone = size < 2  # noqa: PLR2004 - one device
    if is_alone and (method not in _KERNELS or not expert):
        return
    if method == "fp8" and values.get("weight_block_size") and subject.is_at("0.7.1"):
        width = expert if expert and is_split else None
        width = dense if expert is None else width
        block, of = 128, "blocks"
        shared = checkpoint.number("shared_expert_intermediate_size")
        if expert and is_split and subject.is_at(_FINER_BLOCKS):
            # An expert that all tokens go through keeps its blocks.
            width, block = (shared, 128) if shared else (expert, 32)
        common = checkpoint.number("share_expert_dim")
        if common and common // size % block:
            # Experts that all tokens go through, in a width of their own.
            width = common
    elif method in _KERNELS and expert and subject.is_at("0.0", "0.7.3"):
        # The first layers have no experts, and the kernel takes 128 at once.
        width, block, of = dense, 128, "steps of the kernel"
    elif method.startswith(("awq", "gptq", "auto_awq", "auto_gptq")) and expert is None:
        width, of = dense, "groups"
        block = values.get("group_size", group_of(subject.checkpoint))
    elif method == "compressed-tensors" and expert is None and subject.is_at("0.5.1"):
        width, of, block = dense, "groups", _packed_group(subject)
    else:
        return
    if not isinstance(block, int) or block < 2 or not width:  # noqa: PLR2004 - a group
        return
    own = method.removesuffix("_marlin")
    kernel = f", or write quantization={own}" if method in _KERNELS else ""
    by_expert = ", or enable_expert_parallel" if expert and of == "blocks" else ""
    yield from uneven_weights(
        word,
        size,
        width,
        block,
        of=of,
        otherwise=by_expert,
        kernel=kernel,
    )


def merged_block_findings(subject: Subject) -> Iterator[Finding]:
    """
    Layers that are merged are cut between their blocks.
    """
    size = subject.number("tensor_parallel_size") or 1
    values = subject.checkpoint.quantization or {}
    is_blocked = resolved_method(subject) == "fp8" and values.get("weight_block_size")
    is_merged = subject.checkpoint.class_name == _MERGED and subject.is_at(*_MERGED_AT)
    if size > 1 and is_blocked and is_merged:
        yield UNEVEN_WEIGHTS.finding(
            f"{subject.title} cuts a layer of {_MERGED} within a block of the weights, "
            f"got {subject.word('tensor_parallel_size')}={size}",
            "take an image with vLLM 0.11 or newer",
        )


def uneven_weights(
    word: str,
    size: int,
    width: int,
    block: int,
    *,
    of: str,
    otherwise: str,
    kernel: str = "",
) -> Iterator[Finding]:
    """
    Find quantized weights that devices cut within a block, or a group.
    """
    if width % size == 0 and width // size % block == 0:
        return
    fitting = [
        str(one)
        for one in (1, 2, 4, 8)
        if width % one == 0 and width // one % block == 0
    ]
    yield UNEVEN_WEIGHTS.finding(
        f"{word}={size} cuts layers of {width} into parts of {width / size:g}, which "
        f"are no multiple of the {block} that the quantized weights have in {of}",
        f"use {any_of(fitting)}{otherwise}"
        if fitting
        else f"take weights in another format{kernel}",
    )


def group_of(checkpoint: Checkpoint) -> int | None:
    """
    Return the size of the groups that weights of AWQ or GPTQ usually have, where their
    files do not say it; ``None`` where it is not known.
    """
    # What these publish in groups of another size they do not call so.
    is_usual = checkpoint.name.lower().startswith(("qwen/", "thebloke/"))
    return 128 if is_usual or checkpoint.method == "awq" else None


def narrow_expert_findings(subject: Subject) -> Iterator[Finding]:
    """
    The devices cut experts into what Marlin takes, where it widens their numbers.
    """
    size = subject.number("tensor_parallel_size") or 1
    checkpoint = subject.checkpoint.language
    width = checkpoint.number("moe_intermediate_size")
    blocks = (checkpoint.quantization or {}).get("weight_block_size")
    is_eight = resolved_method(subject) == "fp8" and not blocks
    is_eight |= scheme_of(checkpoint) == "CompressedTensorsW8A16Fp8"
    is_old = subject.capability is not None and subject.capability < ADA
    is_split = size > 1 and not subject.flag("enable_expert_parallel")
    if width and is_eight and is_old and is_split and subject.is_at(*_UNPADDED):
        yield from uneven_weights(
            subject.word("tensor_parallel_size"),
            size,
            width,
            64,
            of="steps of the kernel",
            otherwise=", or enable_expert_parallel",
        )


def _packed_group(subject: Subject) -> int | None:
    """
    Return what the width of integers in compressed-tensors is a multiple of on each
    device: their groups, or for whole channels the steps of Marlin, before others came.
    """
    if scheme_of(subject.checkpoint) != "CompressedTensorsWNA16":
        return None
    values = subject.checkpoint.quantization or {}
    groups = values.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    if isinstance(first, Mapping) and isinstance(first.get("weights"), Mapping):
        size = first["weights"].get("group_size")
        return size if isinstance(size, int) and size > 0 else None
    if values.get("scheme") == "w4a16":
        return 128
    is_by_marlin = subject.is_at("0.0", "0.7.3")
    is_old = subject.capability is not None and subject.capability < HOPPER
    return 128 if is_by_marlin and is_old else None


def bitsandbytes_findings(subject: Subject) -> Iterator[Finding]:
    """
    Weights of bitsandbytes are on one device, and loaded as such.
    """
    size = subject.number("tensor_parallel_size") or 1
    is_asked = subject.text("quantization") == "bitsandbytes"
    own = subject.checkpoint.method
    word = subject.word("tensor_parallel_size")
    if size > 1 and own == "bitsandbytes" and subject.is_at("0.5.0"):
        yield UNSPLIT_METHOD.finding(
            f"{word} must be 1 for weights of bitsandbytes, got {size}",
            "use pipeline_parallel_size, or weights in another format",
        )
    elif size > 1 and is_asked and subject.is_at("0.5.0", "0.6.1.post2"):
        yield UNSPLIT_METHOD.finding(
            f"{word} must be 1 with quantization=bitsandbytes at {subject.title}, got "
            f"{size}",
            "take an image with a newer release",
        )
    is_plain = subject.text("load_format") != "bitsandbytes"
    if is_asked and is_plain and subject.is_at("0.5.0", "0.7.3"):
        yield UNSPLIT_METHOD.finding(
            f"quantization=bitsandbytes needs load_format=bitsandbytes at "
            f"{subject.title}, got {subject.text('load_format') or 'auto'}",
            "write both",
        )
