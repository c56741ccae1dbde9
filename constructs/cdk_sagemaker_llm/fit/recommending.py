"""
Choosing a backend for a model, an instance type and a kind of traffic.

The rules are LMI's guidance of its newest documentation, narrowed by what is still
released: vLLM for uneven traffic such as chat and code; TensorRT-LLM where prompts and
answers are of even length, such as summaries; NeuronX on AWS's own chips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.fit.planning import plan
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.serving.engines.vllm import Vllm
from cdk_sagemaker_llm.serving.lmi.neuronx import NeuronX
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import TensorRtLlm, compiled_since
from cdk_sagemaker_llm.serving.support_check import check_support

Traffic = Literal["uneven", "even"]
"""
Whether lengths differ from request to request: ``uneven``, as in chat, or ``even``.
"""
# The models of LMI's NeuronX tests (0.27 to 0.29).
_ON_NEURON = ("Llama", "Mistral", "Mixtral", "GPTNeoX", "GPTJ", "Bloom", "GPT2", "OPT")
_CORES_PER_CHIP = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """
    A backend to begin with, and why.

    Args:
        serving: The configuration, ready to be passed on.

        reasons: Why, by what was chosen: ``backend``, ``version``, and parameters.

        plan: How the model fits; ``None`` on Neuron, whose memory is not modelled.
    """

    serving: Vllm | TensorRtLlm | NeuronX
    reasons: Mapping[str, str]
    plan: Plan | None = None

    def explain(self) -> str:
        """
        Write the choice and each reason, one a line.
        """
        lines = [f"{name}: {reason}" for name, reason in self.reasons.items()]
        return "\n".join([type(self.serving).__name__, *lines])


@held
def recommend(
    architecture: ModelArchitecture | str,
    instance_type: InstanceType | str,
    *,
    traffic: Traffic = "uneven",
    context_length: int | None = None,
) -> Recommendation:
    """
    Choose backend, version and starting parameters, with the reason for each.

    ``recommend("mistralai/Mistral-7B-v0.1", "ml.g5.12xlarge").serving``

    Args:
        architecture: The model, or its name in the catalogue.

        instance_type: The instance type, or its API name.

        traffic: ``uneven`` where lengths differ from request to request, as in chat;
            ``even`` where they do not, as in summaries.

        context_length:
            Tokens of prompt and answer together that must be possible.
            If omitted, it is as in ``plan``.

    Raises:
        ValueError: If the model does not fit, or no backend runs it there: memory is
            too small, or the engine does not load its class on that GPU.
    """
    if traffic not in ("uneven", "even"):
        raise ValueError(f"traffic must be 'uneven' or 'even', got {traffic!r}")
    hardware = instance_type
    if not isinstance(hardware, InstanceType):
        hardware = find_instance_type(hardware)
    model = architecture
    if not isinstance(model, ModelArchitecture):
        model = ModelArchitecture.of(model)
    if hardware.has_neuron_cores:
        return _on_neuron(model, hardware, context_length)
    newest = Vllm()
    release = find_engine_release(newest.container_family, newest.version)
    version = None if release is None else release.engine_version
    if traffic == "uneven" and version is not None:
        _hold_support(hardware, architecture, version)
    found = plan(model, hardware, context_length=context_length, engine_version=version)
    if not found.may_fit:
        raise ValueError(
            f"{model.architecture} does not fit {hardware} in {found.weight_bits} "
            f"bits, by {found.limit}; sagemaker-llm plan ranks the types that it fits"
        )
    if traffic == "even" and compiled_since(model.architecture):
        return _on_tensorrt_llm(found)
    return _on_vllm(model, found, traffic)


def _hold_support(
    hardware: InstanceType, model: ModelArchitecture | str, release: str
) -> None:
    refused = errors_of(
        check_support(model, engine="vllm", release=release, instance_type=hardware)
    )
    if refused:
        raise ValueError(
            f"{refused[0].message}; sagemaker-llm support lists what loads it"
        )


def _on_vllm(model: ModelArchitecture, found: Plan, traffic: Traffic) -> Recommendation:
    batch = max(1, found.largest_batch)
    backend = (
        "vLLM mixes requests of any length, which uneven traffic needs"
        if traffic == "uneven"
        else f"TensorRT-LLM on LMI does not compile {model.architecture} at start-up"
    )
    return Recommendation(
        serving=Vllm(
            tensor_parallel_size=found.tensor_parallel_degree,
            max_model_len=found.context_length,
            max_num_seqs=batch,
        ),
        reasons={
            "backend": backend,
            "version": "the newest of AWS's images of vLLM that does not move",
            **_sizes(found, batch, "tensor_parallel_size", "max_num_seqs"),
        },
        plan=found,
    )


def _on_tensorrt_llm(found: Plan) -> Recommendation:
    batch = max(1, found.largest_batch)
    answer = found.context_length // 4
    return Recommendation(
        serving=TensorRtLlm(
            image_versions(TensorRtLlm.family_name)[-1],
            tensor_parallel_degree=found.tensor_parallel_degree,
            max_rolling_batch_size=batch,
            max_input_len=found.context_length - answer,
        ),
        reasons={
            "backend": "TensorRT-LLM compiles for fixed lengths, as even traffic has",
            "version": "the last LMI image with TensorRT-LLM; it gets no more fixes",
            "max_input_len": "three quarters of the context, the rest for the answer",
            **_sizes(found, batch, "tensor_parallel_degree", "max_rolling_batch_size"),
        },
        plan=found,
    )


def _on_neuron(
    model: ModelArchitecture, hardware: InstanceType, context_length: int | None
) -> Recommendation:
    if not model.architecture.startswith(_ON_NEURON):
        raise ValueError(
            f"NeuronX on LMI does not run {model.architecture}; choose an instance "
            "type with GPUs"
        )
    cores = hardware.accelerators * _CORES_PER_CHIP
    degree = max(d for d in model.tensor_parallel_degrees if d <= cores)
    tokens = min(context_length or 4096, model.context_length)
    return Recommendation(
        serving=NeuronX(
            image_versions(NeuronX.family_name)[-1],
            tensor_parallel_degree=degree,
            n_positions=tokens,
            max_rolling_batch_size=4,
        ),
        reasons={
            "backend": f"{hardware} has {hardware.accelerator_model}",
            "version": "the newest NeuronX image that the SageMaker SDK lists",
            "tensor_parallel_degree": f"the largest that the heads allow of {cores} "
            "NeuronCores",
            "n_positions": "the sequence length that is compiled",
            "max_rolling_batch_size": "a small batch, which compiles in minutes",
        },
    )


def _sizes(found: Plan, batch: int, degree: str, size: str) -> dict[str, str]:
    return {
        degree: f"{found.tensor_parallel_degree} is the smallest that fits",
        size: f"{batch} whole sequences of {found.context_length} "
        "tokens fit the KV cache",
    }
