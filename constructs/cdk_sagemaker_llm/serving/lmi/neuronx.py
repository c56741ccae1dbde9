"""
Transformers-NeuronX on Large Model Inference (LMI) images.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, Self

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import (
    NEURONX,
    AheadOfTime,
    CompiledServing,
)
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue
from cdk_sagemaker_llm.serving.parameters import COUNT, option

NOT_COMPILED = Rule(
    "LLM793",
    "NeuronX is compiled ahead of time in a way that LMI's script does not",
    "djl-serving, serving/docker/partition and neuron_utils/model_loader.py",
)
GRAPHS_ON_THE_HUB = Rule(
    "LLM795",
    "precompiled graphs of NeuronX are not on S3",
    "LMI documentation, NeuronX ahead-of-time compilation",
)

# Up to 0.26 the script splits the weights into the folder that it reads them from, and
# the loader has no name.
_SINCE = "0.27"
_LOADER = "tnx"
# With any other way of quantizing, the script quantizes for GPUs in its place.
_IN_WHOLE_NUMBERS = "static_int8"


@dataclass(frozen=True, slots=True)
class NeuronX(CompiledServing):
    """
    Serve with Transformers-NeuronX on Inferentia2 and Trainium, up to LMI 0.30.

    ``NeuronX("0.29.0", tensor_parallel_degree=8, n_positions=4096)``

    ``tensor_parallel_degree`` counts NeuronCores, of which a chip has two.

    Args:
        rolling_batch:
            Which scheduler batches requests.
            If omitted, it is ``auto``.

        n_positions:
            Tokens of prompt and answer together.
            If omitted, it is 128 up to 0.29, then the model's context length.

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

        model_loader:
            ``tnx``, ``optimum`` or ``vllm`` (0.27 and later).
            If omitted, it is the container's choice; ``tnx`` for what was compiled
            ahead of time, which no other loads.

        precompiled:
            Whether the model was compiled ahead of time: an ``S3Model`` whose prefix
            holds what the partition script wrote, for the same chips and degree (0.27
            and later).
            If omitted, the container compiles.
    """

    family_name: ClassVar[str] = "djl-neuronx"
    backend: ClassVar[str] = "neuronx"
    ahead_of_time: ClassVar[AheadOfTime] = NEURONX
    devices_each: ClassVar[int] = 2

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
    precompiled: bool = False

    def compiling(self, accelerators: int) -> Self:
        """
        Return the configuration that is compiled on so many chips, with its degree in
        numbers.

        Args:
            accelerators: How many devices each copy has.
        """
        degree = self._settled_degree(accelerators)
        return replace(
            self,
            tensor_parallel_degree=degree,
            model_loader=_LOADER,
            precompiled=False,
        )

    def compiling_findings(self) -> list[Finding]:
        """
        Return what the script would not compile.
        """
        found = [
            NOT_COMPILED.finding(f"{name} {why}", f"leave {name} out")
            for name, why in self._not_compiled()
        ]
        if not self._at_least(_SINCE):
            too_old = NOT_COMPILED.finding(
                f"LMI {self._image_version} compiles NeuronX ahead of time in the "
                "folder of its input",
                f"choose LMI {_SINCE} or later",
            )
            return [too_old, *found]
        return found

    def _not_compiled(self) -> Iterator[tuple[str, str]]:
        if self.model_loader not in (None, _LOADER):
            yield "model_loader", f"must be {_LOADER!r}, got {self.model_loader!r}"
        if self.quantize not in (None, _IN_WHOLE_NUMBERS):
            yield "quantize", f"must be {_IN_WHOLE_NUMBERS!r}, got {self.quantize!r}"
        for name in ("load_split_model", "compiled_graph_path"):
            if getattr(self, name):
                yield name, "is of weights or graphs that are there already"
        for name in ("speculative_draft_model", "speculative_length"):
            if getattr(self, name) is not None:
                yield name, "is nothing that LMI's script compiles"

    def _engine(self) -> str:
        return "Python"

    def _more(self) -> Mapping[str, PropertyValue]:
        if not self.precompiled or self.model_loader is not None:
            return {}
        return {"option.model_loader": _LOADER}

    def _own_findings(self, model: ModelSource | None) -> list[Finding]:
        return list(self._loading_findings(model)) if self.precompiled else []

    def _loading_findings(self, model: ModelSource | None) -> Iterator[Finding]:
        if not self._at_least(_SINCE):
            yield NOT_COMPILED.finding(
                f"precompiled is known from LMI {_SINCE} on, got {self._image_version}",
                "choose a later version",
            )
        if self.model_loader not in (None, _LOADER):
            yield NOT_COMPILED.finding(
                f"model_loader must be {_LOADER!r} for what was compiled ahead of "
                f"time, got {self.model_loader!r}",
                "leave model_loader out",
            )
        if isinstance(model, HuggingFaceModel):
            yield GRAPHS_ON_THE_HUB.finding(
                "what was compiled ahead of time is loaded from S3, got a "
                "HuggingFaceModel",
                "pass S3Model('s3://bucket/prefix/'), which holds compiled/",
            )

    def _scheduling(self) -> Mapping[str, PropertyValue]:
        default = "auto" if self.batch_size is None else "disable"
        batch = self.rolling_batch if self.rolling_batch is not None else default
        return {"option.rolling_batch": batch}
