"""
Transformers-NeuronX on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.lmi.typed import COUNT, option


@dataclass(frozen=True, slots=True)
class NeuronX(LmiServing):
    """
    Serve with Transformers-NeuronX on Inferentia2 and Trainium, up to LMI 0.30.

    ``NeuronX("0.29.0", tensor_parallel_degree=8, n_positions=4096)``

    ``tensor_parallel_degree`` counts NeuronCores, of which a chip has two.

    Args:
        rolling_batch:
            Which scheduler batches requests.
            If left out, it is ``auto``.

        n_positions:
            Tokens of prompt and answer together.
            If left out, it is 128 up to 0.29, then the model's context length.

        context_length_estimate: Prompt lengths to compile for, in tokens.

        group_query_attention: How key and value heads are spread over the cores.

        load_in_8bit: Whether weights are loaded as 8-bit integers.

        neuron_optimize_level: The compiler's level, 1 to 3.

        enable_mixed_precision_accumulation: Whether sums keep full precision.

        unroll: Whether the layers are unrolled when compiled.

        compiled_graph_path: A folder or S3 prefix with the compiled graphs.

        load_split_model: Whether the weights are split already.

        low_cpu_mem_usage: Whether to load with little host memory.

        batch_size: The batch the model is compiled for, without a rolling batch.

        speculative_draft_model: The small model that drafts tokens (0.28 and later).

        speculative_length: How many tokens it drafts.

        fuse_qkv: Whether query, key and value are one matrix (0.27 and later).

        model_loader: ``tnx``, ``optimum`` or ``vllm`` (0.27 and later).
    """

    family_name: ClassVar[str] = "djl-neuronx"
    backend: ClassVar[str] = "neuronx"

    _: KW_ONLY
    rolling_batch: str | None = None
    n_positions: int | None = option("n_positions", COUNT)
    context_length_estimate: Sequence[int] | None = option("context_length_estimate")
    group_query_attention: (
        Literal[
            "shard-over-heads",
            "shard-over-batch",
            "replicated-heads",
            "all-gather-heads",
        ]
        | None
    ) = option("group_query_attention")
    load_in_8bit: bool | None = option("load_in_8bit")
    neuron_optimize_level: Literal[1, 2, 3] | None = option("neuron_optimize_level")
    enable_mixed_precision_accumulation: bool | None = option(
        "enable_mixed_precision_accumulation"
    )
    unroll: str | None = option("unroll")
    compiled_graph_path: str | None = option("compiled_graph_path")
    load_split_model: bool | None = option("load_split_model")
    low_cpu_mem_usage: bool | None = option("low_cpu_mem_usage")
    batch_size: int | None = option("batch_size", COUNT)
    speculative_draft_model: str | None = option("speculative_draft_model")
    speculative_length: int | None = option("speculative_length", COUNT)
    fuse_qkv: bool | None = option("fuse_qkv")
    model_loader: str | None = option("model_loader")

    def _engine(self) -> str:
        return "Python"

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        default = "auto" if self.batch_size is None else "disable"
        batch = self.rolling_batch if self.rolling_batch is not None else default
        return {"option.rolling_batch": batch}
