"""
Kernels for experts that are asked for by name, against how the experts' weights are
kept and the GPU; and which experts may have copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.support.attention import ADA, AMPERE
from cdk_sagemaker_llm.serving.support.checkpoint import has_experts
from cdk_sagemaker_llm.serving.support.number_formats import (
    GPU_LACKS_METHOD,
    LACKS_METHOD,
)
from cdk_sagemaker_llm.serving.support.quantization import (
    is_gpt_oss,
    resolved_method,
    scheme_of,
)
from cdk_sagemaker_llm.serving.support.support_subject import Subject
from cdk_sagemaker_llm.text import any_of

_ANY = (7, 8, 9, 10, 12)
_NEW, _TEN = (9, 10, 12), (10,)
# Since when a kernel is looked for by how weights are kept, the kernels there are for
# them, and the first numbers of the compute capabilities that these are made for
# (map_..._backend of fused_moe/oracle, _supports_current_device of fused_moe/experts).
_KERNELS: Mapping[str, tuple[str, Mapping[str, tuple[int, ...]]]] = {
    "16 bits": (
        "0.17.0",
        {"triton": _ANY, "flashinfer_trtllm": _TEN, "flashinfer_cutlass": _NEW},
    ),
    "fp8": (
        "0.17.0",
        {
            "triton": _ANY,
            "marlin": _ANY,
            "deep_gemm": (9, 10),
            "cutlass": _NEW,
            "flashinfer_trtllm": _TEN,
            "flashinfer_cutlass": _NEW,
        },
    ),
    "NVFP4": (
        "0.17.0",
        {
            "marlin": _ANY,
            "emulation": _ANY,
            "cutlass": (10, 12),
            "flashinfer_cutlass": (10, 12),
            "flashinfer_trtllm": _TEN,
            "flashinfer_cutedsl": _TEN,
        },
    ),
    "MXFP4": (
        "0.19.0",
        {
            "marlin": _ANY,
            "emulation": _ANY,
            "triton": (9, 10),
            "triton_unfused": (9, 10),
            "flashinfer_cutlass": _NEW,
            "flashinfer_trtllm": _TEN,
            "deep_gemm": _TEN,
        },
    ),
    "whole numbers": (
        "0.25.0",
        {"marlin": _ANY, "emulation": _ANY, "triton": _ANY, "flashinfer_trtllm": _TEN},
    ),
}
# What was the same for each of them at the releases that were read; others came later,
# for some of them.
_LOOKED_AT = frozenset(
    {
        *("triton", "deep_gemm", "cutlass", "flashinfer_trtllm", "marlin", "aiter"),
        *("flashinfer_cutlass", "flashinfer_cutedsl"),
    }
)
# From here on DeepGEMM is for 12.0 too.
_DEEP_GEMM_WIDER = "0.22.0"
# Whose layers hand on that copies are asked for (enable_eplb of models/*.py), at each
# release that was read.
_BALANCED = frozenset(
    {
        *("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeForCausalLM"),
        *("Qwen3MoeForCausalLM", "Qwen3NextForCausalLM"),
    }
)
# Without supports_eplb, or with a check of their own before.
_UNBALANCED = (
    *("awq", "awq_marlin", "auto_awq", "gptq", "gptq_marlin", "auto_gptq"),
    *("moe_wna16", "bitsandbytes", "gguf"),
)
_BALANCED_AT = ("0.10.0", "0.28.0")
_MEGA, _OF_MEGA, _MEGA_AT = "deep_gemm_mega_moe", "DeepseekV4ForCausalLM", "0.20.2"

# Since when a method of packed weights has experts (FusedMoE of get_quant_method), and
# the classes whose experts are such, as far as they were read; Mixtral has others.
_EXPERTS_SINCE: Mapping[str, str] = {
    "gptq_marlin": "0.6.0",
    "awq_marlin": "0.6.3",
    "awq": "0.9.0",
    "gptq": "0.10.1",
}
_FUSED = frozenset(
    {
        *("Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "DeepseekV2ForCausalLM"),
        *("DeepseekV3ForCausalLM", "OlmoeForCausalLM", "PhiMoEForCausalLM"),
        *("GraniteMoeForCausalLM", "JambaForCausalLM", "Glm4MoeForCausalLM"),
    }
)
# Then the kernels are Marlin's, on any GPU, until they came to Turing (issue 22004).
_BY_MARLIN = ("0.9.0", "0.13.0")

UNFIT_KERNEL = Rule(
    "LLM940",
    "a kernel for experts is asked for that their weights or the GPU do not fit",
    "vllm/model_executor/layers/fused_moe/oracle, 0.17.0 to 0.28.0",
)
UNFIT_COPIES = Rule(
    "LLM942",
    "copies of experts are asked for that the release does not make",
    "vllm/model_executor/layers/fused_moe/layer.py, 0.9.2 to 0.33.0",
)


def expert_kernel_findings(subject: Subject) -> Iterator[Finding]:
    """
    The kernel that is asked for takes the experts on the GPU.
    """
    kernel, capability = subject.text("moe_backend"), subject.capability
    kept, word = _kept_in(subject), subject.word("moe_backend")
    is_mega = kernel == _MEGA and subject.checkpoint.class_name == _OF_MEGA
    is_alone = is_mega and not subject.flag("enable_expert_parallel")
    if is_alone and subject.is_at(_MEGA_AT):
        yield UNFIT_KERNEL.finding(
            f"{word}={kernel} is for experts that devices share, at {subject.title}",
            "set enable_expert_parallel, or leave it out",
        )
    if kernel not in _LOOKED_AT or not kept or not has_experts(subject.checkpoint):
        return
    # Adapters have a kernel of their own, and parallel replicas are served otherwise.
    is_other = subject.flag("enable_lora")
    is_other |= (subject.number("data_parallel_size") or 1) > 1
    since, kernels = _KERNELS[kept]
    if is_other or not subject.is_at(since):
        return
    if kernel not in kernels:
        yield UNFIT_KERNEL.finding(
            f"{subject.title} has no {word}={kernel} for experts in {kept}",
            f"leave it out, or write {any_of(sorted(kernels))}",
        )
    elif capability is not None and not _is_for(subject, kernel, kept, capability):
        yield UNFIT_KERNEL.finding(
            f"{word}={kernel} does not run experts in {kept} on {subject.gpu}",
            f"leave it out: {subject.title} takes one that fits",
        )


def packed_expert_kernel_findings(subject: Subject) -> Iterator[Finding]:
    """
    The method that packed weights come to has experts, and kernels for them.
    """
    name, method = subject.checkpoint.class_name, resolved_method(subject) or ""
    since, capability = _EXPERTS_SINCE.get(method), subject.capability
    if name not in _FUSED or since is None or not has_experts(subject.checkpoint):
        return
    is_old = capability is not None and capability < AMPERE
    if subject.is_at("0.5.0") and not subject.is_at(since):
        yield LACKS_METHOD.finding(
            f"{subject.title} does not keep the experts of {name} in {method}",
            f"take an image with vLLM {since} or newer",
        )
    elif method == "awq" and is_old and subject.is_at(*_BY_MARLIN):
        yield GPU_LACKS_METHOD.finding(
            f"{subject.title} runs experts in {method} by Marlin, which {subject.gpu} "
            "lacks",
            "take a GPU from A10G on",
        )


def _is_for(subject: Subject, kernel: str, kept: str, capability: int) -> bool:
    if kept == "fp8" and kernel == "triton":
        return capability >= ADA
    blocks = (subject.checkpoint.quantization or {}).get("weight_block_size")
    if kept == "fp8" and kernel in {"deep_gemm", "cutlass"}:
        is_packed = subject.checkpoint.method == "compressed-tensors"
        # One is for blocks alone, and the other for none.
        if bool(blocks) is (kernel == "cutlass") and not is_packed:
            return False
    majors = _KERNELS[kept][1][kernel]
    if kernel == "deep_gemm" and subject.is_at(_DEEP_GEMM_WIDER):
        majors = (*majors, 12)
    return capability // 10 in majors


def _kept_in(subject: Subject) -> str:
    """
    Return how the weights of the experts are kept; empty where it is not known.
    """
    method, scheme = resolved_method(subject), scheme_of(subject.checkpoint)
    # The files of one say nothing of its experts, which are in another format.
    is_mixed = subject.checkpoint.class_name == _OF_MEGA
    if not method or is_mixed:
        return "" if method is None or is_mixed else "16 bits"
    if method in {"mxfp4", "gpt_oss_mxfp4"} and is_gpt_oss(subject):
        return "MXFP4"
    algorithm = (subject.checkpoint.quantization or {}).get("quant_algo")
    is_eight = method == "fp8" or scheme == "CompressedTensorsW8A16Fp8"
    if is_eight or (method == "modelopt" and algorithm == "FP8"):
        return "fp8"
    if method in {"modelopt_fp4", "nvfp4"} or scheme == "CompressedTensorsW4A16Fp4":
        return "NVFP4"
    is_whole = scheme == "CompressedTensorsWNA16"
    is_whole |= method in {"auto_awq", "auto_gptq"}
    return "whole numbers" if is_whole else ""


def expert_copy_findings(subject: Subject) -> Iterator[Finding]:
    """
    Experts that have copies are kept in weights that can be moved, and shared evenly.
    """
    name, word = subject.checkpoint.class_name, subject.word("enable_eplb")
    if not subject.flag("enable_eplb") or name not in _BALANCED:
        return
    method = resolved_method(subject)
    if method in _UNBALANCED and subject.is_at(*_BALANCED_AT):
        yield UNFIT_COPIES.finding(
            f"{subject.title} makes no copies of experts in {method}, got {word}",
            "leave it out",
        )
    experts = subject.checkpoint.number(
        "num_experts", "n_routed_experts", "num_local_experts"
    )
    values = subject.arguments.get("eplb_config")
    copies = values.get("num_redundant_experts") if isinstance(values, Mapping) else 0
    copies = copies or subject.number("num_redundant_experts") or 0
    devices = subject.number("tensor_parallel_size") or 1
    devices *= subject.number("data_parallel_size") or 1
    is_shared = subject.flag("enable_expert_parallel") and subject.is_at("0.9.2")
    if experts and is_shared and (experts + copies) % devices:
        yield UNFIT_COPIES.finding(
            f"{devices} devices must share {experts} experts and {copies} copies "
            f"evenly with {word}",
            f"write num_redundant_experts={-experts % devices}",
        )
