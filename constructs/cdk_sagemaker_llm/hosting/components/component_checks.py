"""
What is checked of an inference component before it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.common.limits import (
    name_findings,
    prefix_findings,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.components.per_type import (
    WRONG_TYPES,
    Resources,
    by_type,
)
from cdk_sagemaker_llm.hosting.components.sizing import Scheduling, scheduling_findings
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.endpoints.endpoint_config_base import EndpointConfigBase
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    ROLE_OR_MODEL,
    VARIANT_NAMES,
)
from cdk_sagemaker_llm.hosting.endpoints.placements import Placement
from cdk_sagemaker_llm.hosting.models.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.models.model import Model, ModelBase
from cdk_sagemaker_llm.hosting.roles.given_roles import same_role
from cdk_sagemaker_llm.hosting.updates.rollout_checks import component_rollout_findings
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
    fit_on,
)
from cdk_sagemaker_llm.serving.rules import API, REPEATED
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.updates.rollout import Rolling

COMPONENT_NAME = "inference_component_name"

OTHER_ROLE = Rule(
    "LLM125",
    "a component's role or network is not its endpoint's",
    "SageMaker developer guide",
)
NO_DEVICES = Rule("LLM197", "a container that runs on accelerators reserves none", API)


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentDefinition:
    """
    An inference component as it will be.

    Args:
        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name: Its name; ``None`` if CloudFormation makes one.

        inference_component_name_prefix: What its name begins with, in place of it.

        start_up: How long a copy may take to answer; ``None`` for the default.

        download: How long the model data may take; ``None`` for the default.

        scheduling: How copies are placed, and whether instances keep their data.

        by_type: What each copy reserves on each type of instance, where pools have
            several; none where there is one.

        findings: All that was found of it, but not of its model.

        rollout: How an update reaches the copies; ``None`` for the service's own way.

        retain_copy_count: Whether updates leave alone how many copies run.
    """

    resources: ResourceRequirements
    variant_name: str
    inference_component_name: str | None
    inference_component_name_prefix: str | None
    start_up: Duration | None
    download: Duration | None
    scheduling: Scheduling
    by_type: Mapping[str, ResourceRequirements]
    findings: tuple[Finding, ...]
    rollout: Rolling | None = None
    retain_copy_count: bool = False


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
    scheduling: Scheduling,
    by_type: Mapping[str, ResourceRequirements] | None = None,
    further: Sequence[ModelDefinition | None] = (),
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
        scheduling: How copies are placed, and whether instances keep their data.

        by_type: What each copy reserves on each type of instance.
            If left out, there is one type.

        further: What each copy runs on further types.
            If left out, it runs the same on all.
    """
    name = inference_component_name or inference_component_name_prefix
    rolled = []
    if rollout is not None:
        rolled = component_rollout_findings(rollout, resources.copies, name)
    found = [
        *component_name_findings(
            inference_component_name, inference_component_name_prefix
        ),
        *timeout_findings("container_startup_health_check_timeout", start_up),
        *timeout_findings("model_data_download_timeout", download),
        *rolled,
        *scheduling_findings(scheduling),
    ]
    if placement is not None:
        found += placement.findings()
    if host is not None:
        found += host.model_findings(model, start_up, *further)
    return ComponentDefinition(
        resources=resources,
        variant_name=variant_name,
        inference_component_name=inference_component_name,
        inference_component_name_prefix=inference_component_name_prefix,
        start_up=start_up,
        download=download or (model.download_timeout if model else None),
        rollout=rollout,
        retain_copy_count=retain_copy_count,
        scheduling=scheduling,
        by_type=by_type or {},
        findings=tuple(found),
    )


def host_of(endpoint: EndpointBase, variant_name: str) -> VariantDefinition | None:
    """
    Return what is known of a variant's hosts.
    """
    if not isinstance(endpoint, Endpoint):
        return None
    return endpoint.endpoint_config.definition.variant(variant_name)


def models_by_type(
    host: VariantDefinition | None,
    model: ModelBase,
    resources: Resources,
    overrides: Mapping[str, ModelBase] | None,
) -> dict[str, ModelBase]:
    """
    Say what copies run on each type of instance, the first choice first.

    Args:
        host: The hosts; ``None`` if they are not known: what is given names the types
            then.

        model: What copies run, where nothing else is said.

        resources: What copies reserve.

        overrides: What copies run on some types.
    """
    if host is not None:
        names = [one.name for one in host.types]
    elif isinstance(resources, Mapping):
        names = list(resources)
    else:
        names = []
    return {name: (overrides or {}).get(name, model) for name in names or [""]}


def override_findings(
    host: VariantDefinition | None,
    overrides: Mapping[str, ModelBase] | None,
    types: Mapping[str, ModelBase],
) -> list[Finding]:
    """
    Check that models of their own are for types that the instances are of.
    """
    others = [name for name in overrides or {} if name not in types]
    if others and host is None and "" in types:
        return [
            WRONG_TYPES.finding(
                "model_overrides are by instance type, and nothing says the types of "
                "an imported endpoint",
                "give resources for each type",
            )
        ]
    return [
        WRONG_TYPES.finding(
            f"model_overrides must be for {', '.join(types)}, got {name}"
        )
        for name in others
    ]


def endpoint_findings(
    endpoint: EndpointBase, variant_name: str, *models: ModelBase
) -> list[Finding]:
    """
    Check that the endpoint hosts components, and that its models are like these.
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
    return next(
        filter(None, (_likeness_findings(model, config) for model in models)), []
    )


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


def resource_findings(
    given: Resources,
    host: VariantDefinition | None,
    models: Mapping[str, ModelDefinition | None],
) -> list[Finding]:
    """
    Check that what copies reserve on each type is what their model needs there.

    Args:
        given: What copies reserve: the same on all types, or for each of them.

        host: The hosts; ``None`` if they are not known.

        models: What copies run on each type; ``None`` where that was made elsewhere.
    """
    found: list[Finding] = []
    hardware = {} if host is None else {one.name: one.hardware for one in host.types}
    for name, resources in by_type(given, models).items():
        model = models[name]
        if model is None:
            continue
        found += device_findings(model, resources, hardware.get(name))
        devices = resources.accelerators
        if host is not None and devices is not None and not is_unresolved(devices):
            found += fit_on(hardware[name], model, devices)
    return list(dict.fromkeys(found))


def reserved_findings(
    models: Sequence[ModelDefinition],
    needs: Sequence[ResourceRequirements],
    types: Iterable[InstanceType | None],
) -> list[Finding]:
    """
    Check that copies of what runs on accelerators reserve some on each type.
    """
    return list(
        dict.fromkeys(
            finding
            for model, resources, hardware in zip(models, needs, types, strict=True)
            for finding in device_findings(model, resources, hardware)
        )
    )


def device_findings(
    model: ModelDefinition,
    resources: ResourceRequirements,
    hardware: InstanceType | None,
) -> list[Finding]:
    """
    Check that each copy of a container that runs on accelerators reserves some.

    Where there are none to reserve, the host's own check says so.
    """
    container = model.prepared.container
    if container is None or resources.accelerators is not None:
        return []
    if hardware is not None and not hardware.accelerators:
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
