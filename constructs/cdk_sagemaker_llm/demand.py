"""
What a serving configuration asks of an accelerator's memory.

What belongs here is agreed between who serves and who plans: the one knows its engine
and says it here, the other reads it from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import hold_kinds, hold_known

# By what the engines call their methods: vLLM's, TGI's, TensorRT-LLM's and DeepSpeed's.
_FOUR_BITS = ("awq", "gptq", "marlin", "nf4", "fp4", "squeezellm", "bitsandbytes4")
_EIGHT_BITS = ("fp8", "int8", "smoothquant", "bitsandbytes", "eetq", "deepspeedfp")


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumptions:
    """
    What a plan takes for granted of the engine.

    ``Assumptions(cuda_graphs_gib=0)`` for an engine that runs without CUDA graphs.

    Args:
        gpu_memory_utilization:
            The share of an accelerator that weights, activations, runtime and cache
            may take together: vLLM's ``gpu_memory_utilization``, 0.9 by default.

        runtime_gib:
            CUDA context, kernels and library workspaces of the process, per
            accelerator. On A100 and H100 a context with cuBLAS and PyTorch's kernels
            loaded takes 0.4 to 0.6 GiB.

        collectives_gib:
            Buffers of NCCL and of custom all-reduce kernels, per accelerator of a
            copy that is split. vLLM's start-up log reports up to 0.5 GiB of memory
            outside PyTorch for it.

        cuda_graphs_gib:
            Recorded CUDA graphs, beyond that share. vLLM up to 0.6 announces 1 to 3
            GiB when it records them; newer releases measure less.

        max_num_batched_tokens:
            Prompt tokens of one step, which the largest activations are for; a
            longer prompt is worked off in pieces. vLLM's default on large GPUs.

        max_num_seqs:
            Sequences whose next token is chosen in one step: vLLM's default.

        kv_cache_dtype_bytes: Bytes of a number in the cache: 2, or 1 for fp8.
    """

    gpu_memory_utilization: float = 0.9
    runtime_gib: float = 0.6
    collectives_gib: float = 0.5
    cuda_graphs_gib: float = 3.0
    max_num_batched_tokens: int = 8192
    max_num_seqs: int = 256
    kv_cache_dtype_bytes: int = 2

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)
        hold_known(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """
    What a serving configuration asks of a plan; ``None`` where it says nothing.

    Args:
        architecture: The model that is served, as far as its sizes are known.

        assumptions: What its engine takes of the memory.

        weight_bits: Bits of a weight, by its quantization.

        context_length: Tokens of the longest sequence that it accepts.

        batch_tokens: Tokens of all sequences together that it promises to hold.

        tensor_parallel_degree: Over how many accelerators it splits a copy.
    """

    architecture: ModelArchitecture | None
    assumptions: Assumptions
    weight_bits: int = 16
    context_length: int | None = None
    batch_tokens: int | None = None
    tensor_parallel_degree: int | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


def weight_bits_of(quantize: str | None) -> int:
    """
    Return how many bits a quantization leaves of a weight; 16 without one.
    """
    method = (quantize or "").lower()
    if any(name in method for name in _FOUR_BITS):
        return 4
    return 8 if any(name in method for name in _EIGHT_BITS) else 16
