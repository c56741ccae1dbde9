"""
What a serving configuration asks of an accelerator's memory.

What belongs here is agreed between who serves and who plans: the one knows its engine
and says it here, the other reads it from here.
"""

from __future__ import annotations

from typing import Literal

from cdk_sagemaker_llm._records import dataclass
from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import hold_kinds, hold_known

EngineName = Literal["vllm", "tgi", "tensorrt-llm"]

# By what the engines call their methods: vLLM's, TGI's, TensorRT-LLM's and DeepSpeed's.
_FOUR_BITS = ("awq", "gptq", "marlin", "nf4", "fp4", "squeezellm", "bitsandbytes4")
_EIGHT_BITS = ("fp8", "int8", "smoothquant", "bitsandbytes", "eetq", "deepspeedfp")


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumptions:
    """
    What a plan takes for granted of the engine, instead of what its release takes.

    ``Assumptions(cuda_graphs_gib=0)`` for an engine that runs without CUDA graphs.
    A figure that is given is taken in each case, the best and the cautious one.

    Args:
        gpu_memory_utilization:
            The share of an accelerator that weights, activations, runtime and cache
            may take together.
            If left out, it is the release's default: 0.9, or 0.92 from vLLM 0.20 on.

        runtime_gib:
            What the process takes outside of PyTorch, per accelerator: kernels and
            library workspaces.
            If left out, it is what start-up logs of such releases report.

        collectives_gib:
            Buffers of NCCL and of custom all-reduce kernels, per accelerator of a
            copy that is split.
            If left out, it is what start-up logs of such GPUs report.

        cuda_graphs_gib:
            Recorded CUDA graphs; beyond the share in releases that do not count them.
            If left out, they grow with the model's layers.

        max_num_batched_tokens:
            Prompt tokens of one step, which the largest activations are for; a
            longer prompt is worked off in pieces.
            If left out, it is the release's default for such a GPU.

        max_num_seqs:
            Sequences whose next token is chosen in one step.
            If left out, it is the release's default for such a GPU.

        kv_cache_dtype_bytes:
            Bytes of a number in the cache: 2 for the format that the model computes
            in, which takes 4 in 32 bits, or 1 for fp8.
    """

    gpu_memory_utilization: float | None = None
    runtime_gib: float | None = None
    collectives_gib: float | None = None
    cuda_graphs_gib: float | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
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

        assumptions: What is set of how its engine uses the memory.

        weight_bits:
            Bits of a weight, by the quantization that is asked for; ``None`` for
            those in which the model is published.

        context_length: Tokens of the longest sequence that it accepts.

        batch_tokens: Tokens of all sequences together that it promises to hold.

        tensor_parallel_degree: Over how many accelerators it splits a copy.

        engine: Which engine it is; vLLM's kin count as vLLM.

        engine_version: Which release of the engine, such as ``0.10.2``.
    """

    architecture: ModelArchitecture | None
    assumptions: Assumptions
    weight_bits: int | None = None
    context_length: int | None = None
    batch_tokens: int | None = None
    tensor_parallel_degree: int | None = None
    engine: EngineName = "vllm"
    engine_version: str | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


def weight_bits_of(quantize: str | None, dtype: str | None = None) -> int | None:
    """
    Return how many bits a configuration leaves of a weight.

    ``None`` if it says nothing, and the weights stay as they are published.

    Args:
        quantize: The engine's name of a quantization.

        dtype: The number format of weights that are not quantized.
    """
    method = (quantize or "").lower()
    if any(name in method for name in _FOUR_BITS):
        return 4
    if any(name in method for name in _EIGHT_BITS):
        return 8
    return 32 if dtype in ("fp32", "float32", "float") else None
