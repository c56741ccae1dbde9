"""
What a plan is to take for granted of a serving configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cdk_sagemaker_llm.fit.memory import Assumptions
from cdk_sagemaker_llm.serving.configuration import ServingConfiguration
from cdk_sagemaker_llm.serving.folder import ServingFolder
from cdk_sagemaker_llm.serving.lmi_dist import LmiDist
from cdk_sagemaker_llm.serving.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.serving.tgi import Tgi
from cdk_sagemaker_llm.serving.values import as_int
from cdk_sagemaker_llm.serving.vllm import Vllm

# By what the engines call their methods: vLLM's, TGI's, TensorRT-LLM's and DeepSpeed's.
_FOUR_BITS = ("awq", "gptq", "marlin", "nf4", "fp4", "squeezellm", "bitsandbytes4")
_EIGHT_BITS = ("fp8", "int8", "smoothquant", "bitsandbytes", "eetq", "deepspeedfp")
# CUDA graphs came to TGI with 2.0.0, and to vLLM's LMI images with 0.27.
_TGI_WITHOUT_GRAPHS = ("0.", "1.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """
    What a serving configuration asks of a plan; ``None`` where it says nothing.

    Args:
        assumptions: What its engine takes of the memory.

        weight_bits: Bits of a weight, by its quantization.

        context_length: Tokens of the longest sequence that it accepts.

        batch_tokens: Tokens of all sequences together that it promises to hold.

        tensor_parallel_degree: Over how many accelerators it splits a copy.
    """

    assumptions: Assumptions
    weight_bits: int = 16
    context_length: int | None = None
    batch_tokens: int | None = None
    tensor_parallel_degree: int | None = None


def demand_of(serving: ServingConfiguration) -> Demand | None:
    """
    Read a configuration; ``None`` for one whose memory is not modelled.
    """
    if isinstance(serving, Vllm | LmiDist):
        return _of_vllm(serving)
    if isinstance(serving, TensorRtLlm):
        return _of_tensorrt_llm(serving)
    if isinstance(serving, ServingFolder):
        return _of_folder(serving)
    return _of_tgi(serving) if isinstance(serving, Tgi) else None


def weight_bits_of(quantize: str | None) -> int:
    """
    Return how many bits a quantization leaves of a weight; 16 without one.
    """
    method = (quantize or "").lower()
    if any(name in method for name in _FOUR_BITS):
        return 4
    return 8 if any(name in method for name in _EIGHT_BITS) else 16


def _of_vllm(serving: Vllm | LmiDist) -> Demand:
    taken = Assumptions()
    taken = replace(
        taken,
        gpu_memory_utilization=serving.gpu_memory_utilization
        or taken.gpu_memory_utilization,
        cuda_graphs_gib=0.0 if serving.enforce_eager else taken.cuda_graphs_gib,
        max_num_batched_tokens=serving.max_rolling_batch_prefill_tokens
        or taken.max_num_batched_tokens,
        max_num_seqs=serving.max_rolling_batch_size or taken.max_num_seqs,
        kv_cache_dtype_bytes=_cache_bytes(getattr(serving, "kv_cache_dtype", None)),
    )
    return Demand(
        assumptions=taken,
        weight_bits=weight_bits_of(serving.quantize),
        context_length=serving.max_model_len,
        tensor_parallel_degree=_degree(serving.tensor_parallel_degree),
    )


def _of_tensorrt_llm(serving: TensorRtLlm) -> Demand:
    # It takes a share of what the weights leave, and records no graphs.
    taken = replace(
        Assumptions(),
        gpu_memory_utilization=serving.kv_cache_free_gpu_mem_fraction or 0.95,
        cuda_graphs_gib=0.0,
        max_num_seqs=serving.max_rolling_batch_size or 256,
    )
    lengths = (serving.max_input_len, serving.max_output_len)
    method = "smoothquant" if serving.smoothquant else serving.quantize
    return Demand(
        assumptions=taken,
        weight_bits=weight_bits_of(method),
        context_length=sum(filter(None, lengths)) if all(lengths) else None,
        tensor_parallel_degree=_degree(serving.tensor_parallel_degree),
    )


def _of_folder(serving: ServingFolder) -> Demand:
    properties = serving.properties()
    compiled = serving.container_family == "djl-tensorrtllm"
    # An engine of whatever kind: the one with the more cautious figures is taken,
    # unless the image has TensorRT-LLM alone.
    engine = _of_tensorrt_llm(TensorRtLlm(serving.version)) if compiled else None
    return Demand(
        assumptions=engine.assumptions if engine else Assumptions(),
        weight_bits=weight_bits_of(properties.get("option.quantize")),
        context_length=as_int(properties.get("option.max_model_len")),
        tensor_parallel_degree=as_int(properties.get("option.tensor_parallel_degree")),
    )


def _of_tgi(serving: Tgi) -> Demand:
    graphs = not serving.version.startswith(_TGI_WITHOUT_GRAPHS)
    taken = replace(
        Assumptions(),
        # Weights, activations and cache share all of the memory but what
        # cuda_memory_fraction withholds.
        gpu_memory_utilization=serving.cuda_memory_fraction or 1.0,
        cuda_graphs_gib=Assumptions().cuda_graphs_gib if graphs else 0.0,
        max_num_batched_tokens=serving.max_batch_prefill_tokens or 4096,
    )
    return Demand(
        assumptions=taken,
        weight_bits=weight_bits_of(serving.quantize),
        context_length=serving.max_total_tokens,
        batch_tokens=serving.max_batch_total_tokens,
        tensor_parallel_degree=serving.num_gpus,
    )


def _degree(given: int | str | None) -> int | None:
    return given if isinstance(given, int) else None


def _cache_bytes(dtype: str | None) -> int:
    return 1 if dtype and dtype.startswith("fp8") else 2
