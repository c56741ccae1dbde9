"""
VLLM on AWS Inferentia2 and Trainium, in Hugging Face's image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from cdk_sagemaker_llm.catalog.engine_releases import EngineRelease
from cdk_sagemaker_llm.serving.engines.base import EngineServing, rule_of
from cdk_sagemaker_llm.serving.engines.overlaps import plain_name
from cdk_sagemaker_llm.serving.engines.parameters import (
    Told,
    argument,
)
from cdk_sagemaker_llm.serving.engines.untabled import PlainTelling
from cdk_sagemaker_llm.serving.engines.writing import ArgumentValue
from cdk_sagemaker_llm.serving.lmi.typed import COUNT

# The newest of the catalogue, by the version of optimum-neuron (images of 2026-10).
NEWEST = "0.4.5"


@dataclass(frozen=True, slots=True)
class VllmNeuron(EngineServing):
    """
    Serve with vLLM on AWS Inferentia2 and Trainium, by ``optimum-cli neuron serve``.

    ``VllmNeuron(tensor_parallel_size=8, sequence_length=4096, batch_size=4)``

    The image is in eleven regions. What the command does not know it hands on to vLLM.

    Args:
        version:
            The version of optimum-neuron, such as ``0.4.5``.
            If left out, it is the newest.

        tensor_parallel_size:
            Over how many NeuronCores one copy of the model is split; a chip has two.
            If left out, the command decides.

        batch_size: Requests that are answered at the same time.

        sequence_length: Tokens of prompt and answer together.

        data_parallel_size: How many engines answer side by side in one container.

        served_model_name: What requests call the model.
    """

    engine_name: ClassVar[str] = "vLLM on Neuron"

    version: str = NEWEST
    _: KW_ONLY
    tensor_parallel_size: int | None = argument("tensor-parallel-size", COUNT)
    batch_size: int | None = argument("batch-size", COUNT)
    sequence_length: int | None = argument("sequence-length", COUNT)
    data_parallel_size: int | None = argument("data-parallel-size", COUNT)
    served_model_name: str | None = argument("served-model-name")

    @property
    def container_family(self) -> str:
        """
        The image family of this version.
        """
        return "huggingface-vllm-neuronx"

    def _long_name(self, release: EngineRelease, spelling: str) -> str:  # noqa: ARG002 - the base's signature
        return plain_name(spelling)

    def _told(
        self, release: EngineRelease, arguments: Mapping[str, ArgumentValue]
    ) -> Told:
        telling = PlainTelling(rule_of(release), takes_dashes=False)
        return telling.tell(arguments, self.options, self._words(release))
