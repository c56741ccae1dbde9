"""
What the registry knows of TGI's images: their checks, that they take no adapters, and
how they want requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.adapters import NO_ADAPTERS, TAKE_VLLM, AdapterHost
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import Dialect, Environment, Family, heads_of
from cdk_sagemaker_llm.serving.parameters import MISSPELT, NO_WEIGHTS, usual_mistake
from cdk_sagemaker_llm.serving.tgi.checks import check_environment
from cdk_sagemaker_llm.serving.tgi.neuron import neuron_findings

# TGI 2.4.0: compat_generate.
_CHATS_SINCE = (2, 4)
_CHATS = "MESSAGES_API_ENABLED"


def _gpu_findings(environment: Environment) -> list[Finding]:
    return _without_model(environment) or [
        *check_environment(
            environment.variables,
            version=environment.version,
            accelerators=environment.accelerators,
            attention_heads=heads_of(environment.architecture),
        ),
        *_misspelt(environment),
    ]


def _neuron_findings(environment: Environment) -> list[Finding]:
    return _without_model(environment) or [
        *neuron_findings(environment.variables, environment.version),
        *_misspelt(environment),
    ]


def _without_model(environment: Environment) -> list[Finding]:
    """
    Find a container that no model is named to, of which there is no more to say.
    """
    if environment.container is None or "HF_MODEL_ID" in environment.variables:
        return []
    return [
        NO_WEIGHTS.finding(
            "HF_MODEL_ID is missing, which TGI's entry point asks for",
            "name the model, or /opt/ml/model for weights that SageMaker puts there",
        )
    ]


def _misspelt(environment: Environment) -> list[Finding]:
    return [
        MISSPELT.finding(
            f"{name} is no variable of {environment.family}: it is ignored",
            f"did you mean {usual_mistake(name)}?",
        )
        for name in environment.variables
        if usual_mistake(name)
    ]


def _adapter_host(
    container: Container,
    variables: Mapping[str, str],  # noqa: ARG001 - what every family is asked with
    architecture: str | None,  # noqa: ARG001 - as above
) -> AdapterHost:
    image = container.image
    refusal = NO_ADAPTERS.finding(
        f"image {image.family} {image.version} takes no adapter components: TGI loads "
        "those that its own lora_adapters name",
        TAKE_VLLM,
    )
    return AdapterHost(image=image, refusals=(refusal,))


def _dialect(
    container: Container,
    variables: Mapping[str, str],
    architecture: ModelArchitecture | str | None,  # noqa: ARG001 - what every family is asked with
) -> Dialect:
    if variables.get(_CHATS) == "true":
        return Dialect("tgi", takes_chats=True)
    # The newer images for Neuron have TGI's number in the place of optimum's.
    image = container.image
    number = image.tag.partition("optimum")[2] or image.version
    parts = number.partition("-")[0].split(".")[:2]
    release = tuple(int(part) for part in parts if part.isdigit())
    return Dialect("tgi", takes_chats=release >= _CHATS_SINCE)


TGI = Family(
    findings=_gpu_findings,
    adapters=_adapter_host,
    dialect=_dialect,
    needs_catalogue=False,
    takes_variables=False,
)
TGI_NEURON = replace(TGI, findings=_neuron_findings)
