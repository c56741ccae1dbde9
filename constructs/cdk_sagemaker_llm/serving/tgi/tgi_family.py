"""
What the registry knows of TGI's images: the checks of their environments, that they
take no adapters, and how they want requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.architectures import ModelArchitecture, find_architecture
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.base import Container
from cdk_sagemaker_llm.serving.checks import (
    Dialect,
    Environment,
    Family,
    checks_of,
    heads_of,
)
from cdk_sagemaker_llm.serving.parameters import MISSPELT, NO_WEIGHTS, usual_mistake
from cdk_sagemaker_llm.serving.tgi import tgi_variables, variable_combinations
from cdk_sagemaker_llm.serving.tgi.tgi_support import model_support_findings
from cdk_sagemaker_llm.serving.tgi.tgi_variables import TgiSubject
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.serving.adapters import AdapterHost

_CHECKS = checks_of(tgi_variables, variable_combinations)

# TGI 2.4.0: compat_generate.
_CHATS_SINCE = (2, 4)
_CHATS = "MESSAGES_API_ENABLED"


def tgi_findings(
    environment: Mapping[str, str],
    *,
    version: str,
    accelerators: int | None = None,
    attention_heads: int | None = None,
) -> list[Finding]:
    """
    Check the environment of a TGI container on GPUs.

    The model's attention heads are what the catalogue knows of the model that
    HF_MODEL_ID names, if omitted.
    """
    if attention_heads is None:
        model = find_architecture(environment.get("HF_MODEL_ID") or "")
        attention_heads = model.num_attention_heads if model else None
    subject = TgiSubject(
        environment, version, accelerators, attention_heads=attention_heads
    )
    return subject_findings(subject)


def subject_findings(subject: TgiSubject) -> list[Finding]:
    """
    Run every check of a TGI environment.
    """
    if is_unresolved(subject.accelerators):
        return subject_findings(replace(subject, accelerators=None))
    return [finding for check in _CHECKS for finding in check(subject)]


def _environment_findings(
    environment: Environment, *, on_neuron: bool = False
) -> list[Finding]:
    variables = environment.variables
    if environment.container is not None and "HF_MODEL_ID" not in variables:
        # There is no more to say.
        return [
            NO_WEIGHTS.finding(
                "HF_MODEL_ID is missing, which TGI's entry point asks for",
                "name the model, or /opt/ml/model for weights that SageMaker puts "
                "there",
            )
        ]
    if on_neuron:
        from cdk_sagemaker_llm.serving.tgi.neuron import neuron_findings  # noqa: PLC0415 - who has Inferentia has it

        found = neuron_findings(variables, environment.version)
    else:
        found = tgi_findings(
            variables,
            version=environment.version,
            accelerators=environment.accelerators,
            attention_heads=heads_of(environment.architecture),
        )
    found += _host_findings(environment, on_neuron=on_neuron)
    return found + [
        MISSPELT.finding(
            f"{name} is no variable of {environment.family}: it is ignored",
            f"did you mean {usual_mistake(name)}?",
        )
        for name in variables
        if usual_mistake(name)
    ]


def _host_findings(
    environment: Environment, *, on_neuron: bool = False
) -> list[Finding]:
    """
    Find what a release, and a GPU, have against the model that a container asks for.
    """
    return model_support_findings(
        environment.variables,
        engine="tgi-neuron" if on_neuron else "tgi",
        release=environment.version,
        kind=environment.architecture,
        instance_type=environment.instance_type,
    )


def _adapter_host(
    container: Container,
    variables: Mapping[str, str],  # noqa: ARG001 - what every family is asked with
    architecture: str | None,  # noqa: ARG001 - as above
) -> AdapterHost:
    from cdk_sagemaker_llm.serving.adapters import without_adapters  # noqa: PLC0415 - who has an adapter has it

    return without_adapters(
        container.image, "TGI loads those that its own lora_adapters name"
    )


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
    findings=_environment_findings,
    adapters=_adapter_host,
    dialect=_dialect,
    needs_catalogue=False,
    takes_variables=False,
    on_host=_host_findings,
)
TGI_NEURON = TGI._replace(
    findings=partial(_environment_findings, on_neuron=True), on_host=None
)
