"""
What is checked of an inference component before it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.definitions import ComponentDefinition, ModelDefinition
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.endpoint_config_base import EndpointConfigBase
from cdk_sagemaker_llm.hosting.hosts import (
    ROLE_OR_MODEL,
    VARIANT_NAMES,
    VariantDefinition,
)
from cdk_sagemaker_llm.hosting.limits import (
    name_findings,
    prefix_findings,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.model import Model
from cdk_sagemaker_llm.hosting.model_base import ModelBase
from cdk_sagemaker_llm.hosting.placements import Placement
from cdk_sagemaker_llm.hosting.roles import same_role
from cdk_sagemaker_llm.hosting.rollout_checks import component_rollout_findings
from cdk_sagemaker_llm.serving.rules import API, REPEATED

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.rollout import Rolling

COMPONENT_NAME = "inference_component_name"

OTHER_ROLE = Rule(
    "LLM125",
    "a component's role or network is not its endpoint's",
    "SageMaker developer guide",
)
NO_DEVICES = Rule("LLM197", "a container that runs on accelerators reserves none", API)


def define_component(
    *,
    model: ModelDefinition | None,
    host: VariantDefinition | None,
    placement: Placement | None,
    resources: ResourceRequirements,
    variant_name: str,
    inference_component_name: str | None,
    inference_component_name_prefix: str | None,
    start_up: Duration | None,
    download: Duration | None,
    rollout: Rolling | None = None,
    retain_copy_count: bool = False,
) -> ComponentDefinition:
    """
    Check a component: its name and time-outs, its model on these hosts, and whether
    all copies have a place.

    Args:
        model: What each copy runs; ``None`` if that was made elsewhere.

        host: The hosts; ``None`` if they are not known.

        placement: Its place beside the others; ``None`` if the hosts' instances are
            not known.

        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name: Its name; ``None`` if CloudFormation makes one.

        inference_component_name_prefix: What its name begins with, in place of it.

        start_up: How long a copy may take to answer; ``None`` for the default.

        download: How long the model data may take; ``None`` for the default.

        rollout: How an update reaches the copies; ``None`` for the service's own way.

        retain_copy_count: Whether updates leave alone how many copies run.
    """
    name = inference_component_name or inference_component_name_prefix
    found = [
        *component_name_findings(
            inference_component_name, inference_component_name_prefix
        ),
        *timeout_findings("container_startup_health_check_timeout", start_up),
        *timeout_findings("model_data_download_timeout", download),
        *component_rollout_findings(rollout, resources.copies, name),
    ]
    if placement is not None:
        found += placement.findings()
    if host is not None and model is not None:
        found += host.model_findings(model, start_up)
    return ComponentDefinition(
        resources=resources,
        variant_name=variant_name,
        inference_component_name=inference_component_name,
        inference_component_name_prefix=inference_component_name_prefix,
        start_up=start_up,
        download=download or (model.download_timeout if model else None),
        rollout=rollout,
        retain_copy_count=retain_copy_count,
        findings=tuple(found),
    )


def host_of(endpoint: EndpointBase, variant_name: str) -> VariantDefinition | None:
    """
    Return what is known of a variant's hosts.
    """
    if not isinstance(endpoint, Endpoint):
        return None
    return endpoint.endpoint_config.definition.variant(variant_name)


def endpoint_findings(
    endpoint: EndpointBase, variant_name: str, model: ModelBase
) -> list[Finding]:
    """
    Check that the endpoint hosts components, and that its models are like this one.
    """
    if not isinstance(endpoint, Endpoint):
        return []
    config = endpoint.endpoint_config
    if config.is_imported:
        return []
    if config.execution_role is None:
        return [
            ROLE_OR_MODEL.finding(
                "the endpoint's variant has a model, which leaves no room for "
                "inference components",
                "define an EndpointConfig with execution_role and without model",
            )
        ]
    if host_of(endpoint, variant_name) is None:
        names = ", ".join(variant.variant_name for variant in config.variants)
        return [
            VARIANT_NAMES.finding(
                f"variant_name must be one of {names}, got {variant_name!r}"
            )
        ]
    return _likeness_findings(model, config)


def _likeness_findings(model: ModelBase, config: EndpointConfigBase) -> list[Finding]:
    """
    Compare what must be equal (SageMaker guide, realtime-endpoints-deploy-models, on
    compatibility).
    """
    if not isinstance(model, Model) or config.execution_role is None:
        return []
    if same_role(model.role, config.execution_role) and model.network == config.network:
        return []
    return [
        OTHER_ROLE.finding(
            "a component's model must have the role and network of its endpoint",
            "define the Model with role=config.execution_role and "
            "network=config.network",
        )
    ]


def component_name_findings(name: str | None, prefix: str | None) -> list[Finding]:
    """
    Check a name, or the beginning of one; not both are given.
    """
    found = name_findings(COMPONENT_NAME, name)
    if prefix is None:
        return found
    if name is not None:
        found.append(
            REPEATED.finding(
                "inference_component_name and inference_component_name_prefix exclude "
                "each other",
            )
        )
    return found + prefix_findings("inference_component_name_prefix", prefix)


def split_findings(
    model: ModelDefinition,
    host: VariantDefinition | None,
    resources: ResourceRequirements,
) -> list[Finding]:
    """
    Check that a model which was defined by itself fits the devices of its copies.
    """
    devices = resources.accelerators
    if host is None or devices is None or is_unresolved(devices):
        return []
    return host.fit_findings(model, devices)


def device_findings(
    model: ModelDefinition, resources: ResourceRequirements
) -> list[Finding]:
    """
    Check that each copy of a container that runs on accelerators reserves some.
    """
    container = model.prepared.container
    if container is None or resources.accelerators is not None:
        return []
    image = container.image
    if image.cuda_version is None and not image.is_for_neuron:
        return []
    return [
        NO_DEVICES.finding(
            f"image {image.family} {image.version} runs on accelerators, and resources "
            "reserve none for a copy",
            "pass resources=ResourceRequirements(accelerators=...)",
        )
    ]
