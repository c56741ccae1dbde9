"""
What a serving configuration asks of an accelerator's memory.

What belongs here is agreed between who serves and who plans: the one knows its engine
and says it here, the other reads it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.arguments import hold_kinds, hold_known
from cdk_sagemaker_llm.text import any_of

EngineName = Literal["vllm", "sglang", "tgi", "tensorrt-llm", "llama.cpp", "tei"]
"""
The engine whose memory is planned.
"""

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
            may take together; of SGLang, weights and cache alone.
            If omitted, it is the release's default: 0.9, or 0.92 from vLLM 0.20 on;
            SGLang's own sum, by the accelerator's memory.

        runtime_gib:
            What the process takes outside of PyTorch, per accelerator: kernels and
            library workspaces.
            If omitted, it is what start-up logs of such releases report.

        collectives_gib:
            Buffers of NCCL and of custom all-reduce kernels, per accelerator of a
            copy that is split.
            If omitted, it is what start-up logs of such GPUs report.

        cuda_graphs_gib:
            Recorded CUDA graphs; beyond the share in releases that do not count them.
            If omitted, they grow with the model's layers.

        max_num_batched_tokens:
            Prompt tokens of one step, which the largest activations are for; a
            longer prompt is worked off in pieces.
            If omitted, it is the release's default for such a GPU.

        max_num_seqs:
            Sequences whose next token is chosen in one step.
            If omitted, it is the release's default for such a GPU.

        kv_cache_dtype_bytes:
            Bytes of a number in the cache: 2 for the format that the model computes
            in, which takes 4 in 32 bits, or 1 for fp8; of llama.cpp's types, what
            ``kv_bytes_of_cache_type`` returns.
    """

    gpu_memory_utilization: float | None = None
    runtime_gib: float | None = None
    collectives_gib: float | None = None
    cuda_graphs_gib: float | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    kv_cache_dtype_bytes: float = 2

    def __post_init__(self) -> None:
        hold_kinds(self)
        hold_known(self)

    def hold_ranges(self) -> None:
        """
        Refuse figures that no engine can have. What a serving configuration is given
        is refused there, by the engine's own words.
        """
        share = self.gpu_memory_utilization
        if share is not None and not 0 < share <= 1:
            raise ValueError(
                f"gpu_memory_utilization must be above 0 and at most 1, got {share!r}"
            )
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not None and value < 0:
                raise ValueError(
                    f"{one.name} must be a number of at least 0, got {value!r}"
                )


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """
    What an engine, and what is set of it, is called where it was written.

    Args:
        engine: The engine's name.

        degree: Over how many accelerators a copy is split.

        context: Tokens of the longest sequence.

        batch: Tokens of all sequences together.

        share: The part of the memory that it takes.
    """

    engine: str = "vLLM"
    degree: str = "tensor_parallel_degree"
    context: str = "max_model_len"
    batch: str = "the batch"
    share: str = "gpu_memory_utilization"


# By vLLM's own arguments; LMI has words of its own, which are the usual ones.
VLLM_WORDS = Words(degree="tensor_parallel_size")
_WORDS: Mapping[EngineName, Words] = {
    "vllm": Words(),
    "sglang": Words(
        engine="SGLang",
        degree="tp_size",
        context="context_length",
        share="mem_fraction_static",
    ),
    "tgi": Words(
        engine="TGI",
        degree="num_gpus",
        context="max_total_tokens",
        batch="max_batch_total_tokens",
        share="cuda_memory_fraction",
    ),
    "tensorrt-llm": Words(
        engine="TensorRT-LLM",
        context="max_input_len and max_output_len",
        share="kv_cache_free_gpu_mem_fraction",
    ),
    # It has no share, and splits layers over all the GPUs that a copy has.
    "llama.cpp": Words(
        engine="llama.cpp", degree="the accelerators of a copy", context="ctx_size"
    ),
    "tei": Words(
        engine="TEI",
        degree="the accelerators of a copy",
        context="max_batch_tokens",
        batch="max_batch_tokens",
    ),
}


def engine_title(engine: EngineName) -> str:
    """
    Return an engine's name as messages write it.
    """
    return _WORDS[engine].engine


# Bytes of a number, by llama.cpp's type of a cache: a block of 32 has a scale in 16
# bits, and some have an offset of 16 beside, or a fifth bit each (ggml-common.h).
_CACHE_TYPES: Mapping[str, float] = {
    "f32": 4,
    "f16": 2,
    "bf16": 2,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}


@dataclass(frozen=True, slots=True)
class DraftModel:
    """
    What drafts tokens that the model then checks (speculative decoding).

    ``DraftModel("Qwen/Qwen3-0.6B")``

    Args:
        name: Its name on the Hub, or what it is called else.

        tensor_parallel_degree:
            Over how many accelerators it is split, 1 or as many as the model.
            If omitted, it is as many as the model.

        weight_bits:
            Bits of a weight.
            If omitted, its weights are as they are published.

        is_model:
            Whether it is a model of its own; heads that were made for one, such as
            EAGLE's, are none.
    """

    name: str
    tensor_parallel_degree: int | None = None
    weight_bits: int | None = None
    is_model: bool = True

    def __post_init__(self) -> None:
        hold_kinds(self)

    def drafting_for(self, model: ModelArchitecture) -> ModelArchitecture | None:
        """
        Return its sizes; ``None`` if they are not known. One as large as the model is
        the model itself, named for its own heads (multi-token prediction).

        Args:
            model: The model whose tokens it drafts.
        """
        found = find_architecture(self.name) if self.is_model else None
        if found is None or found.parameter_count >= model.parameter_count:
            return None
        return found


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

        context_length: Tokens of the longest sequence that it accepts; of llama.cpp,
            those of its whole context, which its slots share.

        batch_tokens: Tokens of all sequences together that it promises to hold.

        tensor_parallel_degree: Over how many accelerators it splits a copy.

        engine: Which engine it is; vLLM's kin count as vLLM.

        engine_version: Which release of the engine, such as ``0.10.2``.

        gguf_type: The type of a GGUF file's weights, such as ``Q4_K_M``.

        words: What messages call its parameters; ``None`` for the engine's usual ones.

        draft: What drafts tokens for it; ``None`` if nothing does.
    """

    architecture: ModelArchitecture | None
    assumptions: Assumptions
    weight_bits: int | None = None
    context_length: int | None = None
    batch_tokens: int | None = None
    tensor_parallel_degree: int | None = None
    engine: EngineName = "vllm"
    engine_version: str | None = None
    gguf_type: str | None = None
    words: Words | None = None
    draft: DraftModel | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def spoken(self) -> Words:
        """
        What messages call its parameters.
        """
        return self.words or _WORDS[self.engine]


def kv_bytes_of_cache_type(key: str | None = None, value: str | None = None) -> float:
    """
    Return the bytes of a number in llama.cpp's cache, on average of keys and values.

    ``kv_bytes_of_cache_type("q8_0", "q4_0")``

    Args:
        key: The type of the keys, ``cache_type_k``. If omitted, it is ``f16``.

        value: The type of the values, ``cache_type_v``. If omitted, it is ``f16``.

    Raises:
        ValueError: If a type is unknown.
    """
    found = []
    for name, kind_name in (("cache_type_k", key), ("cache_type_v", value)):
        kind = "f16" if kind_name is None else kind_name.lower()
        if kind not in _CACHE_TYPES:
            types = any_of(_CACHE_TYPES)
            raise ValueError(f"{name} must be {types}, got {kind_name!r}")
        found.append(_CACHE_TYPES[kind])
    return sum(found) / 2


def weight_bits_of(quantize: str | None, dtype: str | None = None) -> int | None:
    """
    Return how many bits a configuration leaves of a weight.

    ``None`` if it says nothing, and the weights stay as they are published.
    """
    method = (quantize or "").lower()
    if any(name in method for name in _FOUR_BITS):
        return 4
    if any(name in method for name in _EIGHT_BITS):
        return 8
    return 32 if dtype in ("fp32", "float32", "float") else None
