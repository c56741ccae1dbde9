"""
What a plan is to take for granted of a serving configuration.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.demand import Assumptions, Demand, weight_bits_of
from cdk_sagemaker_llm.serving.configuration import ServingConfiguration
from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
from cdk_sagemaker_llm.serving.lmi.lmi_dist import LmiDist
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm
from cdk_sagemaker_llm.serving.lmi.values import as_int
from cdk_sagemaker_llm.serving.lmi.vllm import Vllm
from cdk_sagemaker_llm.serving.tgi.gpu import Tgi

# CUDA graphs came to TGI with 2.0.0, and to vLLM's LMI images with 0.27.
_TGI_WITHOUT_GRAPHS = ("0.", "1.")


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
