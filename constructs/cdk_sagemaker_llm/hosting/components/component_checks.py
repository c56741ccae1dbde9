"""
How an inference component is placed and scheduled, and its checks.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.common.limits import (
    name_findings,
    prefix_findings,
    range_findings,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.common.rules import (
    NO_DEVICES,
    ROLE_OR_MODEL,
    VARIANT_NAMES,
)
from cdk_sagemaker_llm.hosting.components.sizing import (
    WRONG_TYPES,
    ResourcesByType,
    by_type,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import EndpointBase
from cdk_sagemaker_llm.hosting.endpoints.placements import Placement
from cdk_sagemaker_llm.hosting.models.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.models.model import Model, ModelBase
from cdk_sagemaker_llm.hosting.roles.given_roles import same_role
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
    device_fit_findings,
)
from cdk_sagemaker_llm.serving.parameters import API, REPEATED
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
NO_STRATEGY = Rule(
    "LLM316", "copies are balanced over zones without a placement strategy", API
)

_Component = sagemaker.CfnInferenceComponent
_IMBALANCE = (0, 100)


class PlacementStrategy(enum.StrEnum):
    """
    How a component's copies are placed: evenly, or on as few instances as possible.
    """

    SPREAD = "SPREAD"
    BINPACK = "BINPACK"


@dataclass(frozen=True, kw_only=True, slots=True)
class AvailabilityZoneBalance:
    """
    Spread a component's copies over availability zones as far as capacity allows.

    ``AvailabilityZoneBalance(max_imbalance=1)``

    Args:
        max_imbalance:
            By how many copies zones may differ, 0 to 100.
            If omitted, the service's default applies.
    """

    max_imbalance: int | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduling:
    """
    How a component's copies are placed, and whether instances keep its data.
    """

    placement_strategy: PlacementStrategy | None = None
    availability_zone_balance: AvailabilityZoneBalance | None = None
    data_caching: bool | None = None

    def scheduling_property(
        self,
    ) -> _Component.InferenceComponentSchedulingConfigProperty | None:
        """
        Render for the L1 class; ``None`` where the service's default applies.
        """
        if self.placement_strategy is None:
            return None
        # CloudFormation asks for a balance beside every strategy, with its only mode.
        balance = self.availability_zone_balance or AvailabilityZoneBalance()
        return _Component.InferenceComponentSchedulingConfigProperty(
            placement_strategy=self.placement_strategy.value,
            availability_zone_balance=_Component.InferenceComponentAvailabilityZoneBalanceProperty(
                enforcement_mode="PERMISSIVE", max_imbalance=balance.max_imbalance
            ),
        )

    def caching_property(
        self,
    ) -> _Component.InferenceComponentDataCacheConfigProperty | None:
        """
        Render for the L1 class; ``None`` where the service's default applies.
        """
        if self.data_caching is None:
            return None
        return _Component.InferenceComponentDataCacheConfigProperty(
            enable_caching=self.data_caching
        )


def scheduling_findings(scheduling: Scheduling) -> list[Finding]:
    """
    Check how a component's copies are to be placed.
    """
    balance = scheduling.availability_zone_balance
    if balance is None:
        return []
    found = range_findings("max_imbalance", balance.max_imbalance, *_IMBALANCE)
    if scheduling.placement_strategy is not None:
        return found
    return [
        *found,
        NO_STRATEGY.finding(
            "availability_zone_balance needs a placement_strategy, which applies "
            "within each zone",
            "give PlacementStrategy.SPREAD or PlacementStrategy.BINPACK",
        ),
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class ComponentDefinition:
    """
    An inference component as it will be.

    Args:
        by_type: What each copy reserves on each type of instance, where pools have
            several; none where there is one.

        inference_component_name_prefix: What its name begins with, in place of it.

        start_up: How long a copy may take to answer; ``None`` for the default.

        retain_copy_count: Whether updates leave alone how many copies run.

        findings: All findings of the component, without those of its model.
    """

    resources: ResourceRequirements
    by_type: Mapping[str, ResourceRequirements]
    variant_name: str
    inference_component_name: str | None
    inference_component_name_prefix: str | None
    start_up: Duration | None
    download: Duration | None
    rollout: Rolling | None
    retain_copy_count: bool
    scheduling: Scheduling
    findings: tuple[Finding, ...] = ()


def define_component(
    component: ComponentDefinition,
    models: Sequence[ModelDefinition | None],
    *,
    host: VariantDefinition | None,
    placement: Placement | None,
) -> ComponentDefinition:
    """
    Check a component: its name and time-outs, its model on these hosts, and whether
    all copies have a place; return it with the findings.
    """
    name = component.inference_component_name
    prefix = component.inference_component_name_prefix
    found = [
        *component_name_findings(name, prefix),
        *timeout_findings("container_startup_health_check_timeout", component.start_up),
        *timeout_findings("model_data_download_timeout", component.download),
    ]
    if component.rollout is not None:
        from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - who has a rollout has it
            component_rollout_findings,
        )

        found += component_rollout_findings(
            component.rollout, component.resources.copies, name or prefix
        )
    found += scheduling_findings(component.scheduling)
    if placement is not None:
        found += placement.findings()
    if host is not None:
        found += host.model_findings(models, component.start_up)
    first = models[0]
    download = None if first is None else first.download_timeout
    return replace(
        component, download=component.download or download, findings=tuple(found)
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
    resources: ResourcesByType,
    overrides: Mapping[str, ModelBase] | None,
) -> dict[str, ModelBase]:
    """
    Return what copies run on each type of instance, the first choice first: ``model``,
    or another by ``overrides``. Where no host is known, resources name the types.
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
    # What must be equal: SageMaker guide, realtime-endpoints-deploy-models.
    are_alike = all(
        same_role(model.role, config.execution_role) and model.network == config.network
        for model in models
        if isinstance(model, Model)
    )
    if are_alike:
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
    Check a name, or the beginning of one, and that not both are there.
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
    resources: ResourcesByType,
    host: VariantDefinition | None,
    models: Mapping[str, ModelDefinition | None],
) -> list[Finding]:
    """
    Check that what copies reserve on each type is what their model needs there.
    """
    found: list[Finding] = []
    hardware = {} if host is None else {one.name: one.hardware for one in host.types}
    for name, needs in by_type(resources, models).items():
        model = models[name]
        if model is None:
            continue
        found += reserved_device_findings(model, needs, hardware.get(name))
        devices = needs.accelerators
        if host is not None and devices is not None and not is_unresolved(devices):
            found += device_fit_findings(hardware[name], model, devices)
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
            for finding in reserved_device_findings(model, resources, hardware)
        )
    )


def reserved_device_findings(
    model: ModelDefinition,
    resources: ResourceRequirements,
    hardware: InstanceType | None,
) -> list[Finding]:
    """
    Check that each copy of a container that runs on accelerators reserves some.

    Where the host has none to reserve, its own check reports that.
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
