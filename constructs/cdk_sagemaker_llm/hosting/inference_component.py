"""
The SageMaker InferenceComponent: copies of a model on an endpoint's shared instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsii
from aws_cdk import Fn, Resource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.component_base import InferenceComponentBase
from cdk_sagemaker_llm.hosting.component_identity import (
    ComponentIdentity,
    derived_name,
)
from cdk_sagemaker_llm.hosting.definitions import ComponentDefinition, ModelDefinition
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.hosts import (
    ROLE_OR_MODEL,
    VARIANT_NAMES,
    VariantDefinition,
)
from cdk_sagemaker_llm.hosting.interfaces import Connectable
from cdk_sagemaker_llm.hosting.limits import (
    name_findings,
    prefix_findings,
    seconds,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.placements import Placement
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.roles import same_role
from cdk_sagemaker_llm.hosting.scaling import ScalableCopyCount
from cdk_sagemaker_llm.hosting.taken import take_name, twice_findings
from cdk_sagemaker_llm.hosting.variant import START_UP_SECONDS
from cdk_sagemaker_llm.serving.rules import API, REPEATED

if TYPE_CHECKING:
    from aws_cdk import Duration, RemovalPolicy
    from aws_cdk import aws_ec2 as ec2

    from cdk_sagemaker_llm.hosting.model import Model

_Component = sagemaker.CfnInferenceComponent
COMPONENT_NAME = "inference_component_name"

OTHER_ROLE = Rule(
    "LLM125",
    "a component's role or network is not its endpoint's",
    "SageMaker developer guide",
)
NO_DEVICES = Rule("LLM197", "a container that runs on accelerators reserves none", API)
SCALES_PAST_ROOM = Rule("LLM203", "scaling can ask for more copies than fit")


@jsii.implements(iam.IGrantable, Connectable)
class InferenceComponent(InferenceComponentBase):
    """
    A SageMaker InferenceComponent.

    Args:
        endpoint: The endpoint, defined here or imported; it must host components.

        model: What each copy runs; its role and network must be the endpoint's.

        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name:
            A name of at most 63 letters, digits and inner hyphens.
            If left out, CloudFormation makes one.
            The service can change neither name nor endpoint nor variant of a
            component, so that a new one is created before the old is deleted: with
            the same name that fails.

        inference_component_name_prefix:
            In place of a name, the beginning of one, of at most 54 characters: what
            follows changes with endpoint and variant, and with nothing else, so that
            the component can be moved.

        container_startup_health_check_timeout:
            How long a copy may take to answer, 60 to 3600 seconds.
            If left out, it is 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If left out, it follows the size of weights that SageMaker downloads; for
            a tarball alone the service's default applies.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint: EndpointBase,
        model: Model,
        resources: ResourceRequirements,
        variant_name: str = "AllTraffic",
        inference_component_name: str | None = None,
        inference_component_name_prefix: str | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
    ) -> None:
        found = _endpoint_findings(endpoint, variant_name, model)
        placement = None
        if isinstance(endpoint, Endpoint):
            placement = endpoint.placements.beside(variant_name, id, resources)
        definition = define_component(
            model=model.definition,
            host=_host(endpoint, variant_name),
            placement=placement,
            resources=resources,
            variant_name=variant_name,
            inference_component_name=inference_component_name,
            inference_component_name_prefix=inference_component_name_prefix,
            start_up=container_startup_health_check_timeout,
            download=model_data_download_timeout,
        )
        found += device_findings(model.definition, resources)
        found += twice_findings(scope, COMPONENT_NAME, inference_component_name)
        report(scope, id, [*found, *definition.findings])
        super().__init__(scope, id)
        take_name(scope, COMPONENT_NAME, inference_component_name)
        self._write(definition, endpoint, model, is_part=False)
        self._take_place(placement)

    def _write(
        self,
        definition: ComponentDefinition,
        endpoint: EndpointBase,
        model: Model,
        *,
        is_part: bool,
    ) -> None:
        self.definition = definition
        """What was checked, and is written here."""
        self.endpoint = endpoint
        self.model = model
        self.resources = definition.resources
        self.variant_name = definition.variant_name
        identity = ComponentIdentity(
            endpoint=endpoint,
            variant_name=definition.variant_name,
            name=definition.inference_component_name,
            is_part=is_part,
        )
        prefix = definition.inference_component_name_prefix
        self.cfn_inference_component = _Component(
            self,
            identity.resource_id(self),
            endpoint_name=endpoint.endpoint_name,
            variant_name=definition.variant_name,
            inference_component_name=definition.inference_component_name
            if prefix is None
            else derived_name(prefix, self, identity),
            specification=_Component.InferenceComponentSpecificationProperty(
                model_name=model.model_name,
                compute_resource_requirements=_requirements(definition.resources),
                startup_parameters=_Component.InferenceComponentStartupParametersProperty(
                    container_startup_health_check_timeout_in_seconds=seconds(
                        definition.start_up
                    )
                    or START_UP_SECONDS,
                    model_data_download_timeout_in_seconds=seconds(definition.download),
                ),
            ),
            runtime_config=_Component.InferenceComponentRuntimeConfigProperty(
                copy_count=definition.resources.copies
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.inference_component_arn: str = self.cfn_inference_component.ref
        # CloudFormation has no attribute for the name, which ends the ARN.
        self.inference_component_name = Fn.select(
            1, Fn.split("/", self.inference_component_arn)
        )
        annotate(self, definition.findings)

    def _take_place(self, placement: Placement | None) -> None:
        if isinstance(self.endpoint, Endpoint):
            placements = self.endpoint.placements
            annotate(self, placements.keep(self.variant_name, placement))

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        Its model's execution role, so that other constructs can grant to it.
        """
        return self.model.grant_principal

    @property
    def connections(self) -> ec2.Connections:
        """
        Its model's security groups, where it runs in a VPC.
        """
        return self.model.connections

    def apply_removal_policy(self, policy: RemovalPolicy) -> None:
        """
        Say what becomes of the component when it is no longer defined.
        """
        # Its resource has no fixed id, by which the CDK would find it.
        self.cfn_inference_component.apply_removal_policy(policy)

    @checked
    def auto_scale_copy_count(
        self, *, max_capacity: int, min_capacity: int = 1
    ) -> ScalableCopyCount:
        """
        Let the number of copies follow their load.

        Args:
            max_capacity: Copies that run at most.

            min_capacity: Copies that always run.

        Raises:
            ValueError: If the bounds are wrong.
        """
        scalable = ScalableCopyCount(
            self,
            "Scaling",
            inference_component_name=self.inference_component_name,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        annotate(self, self._room_findings(max_capacity))
        return scalable

    def _room_findings(self, max_capacity: int) -> list[Finding]:
        host = _host(self.endpoint, self.variant_name)
        fleet = None if host is None else host.fleet
        if fleet is None or not self.resources.is_known:
            return []
        most = fleet.alone(self.resources)
        if max_capacity <= most:
            return []
        return [
            SCALES_PAST_ROOM.finding(
                f"max_capacity is {max_capacity}, but at most {most} copies fit the "
                "instances even if no other model runs there",
                "raise max_instance_count",
            )
        ]


class DefinedInferenceComponent(InferenceComponent):
    """
    A component whose definition was made and reported by a pattern.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        definition: ComponentDefinition,
        *,
        endpoint: EndpointBase,
        model: Model,
        placement: Placement | None,
    ) -> None:
        Resource.__init__(self, scope, id)
        take_name(scope, COMPONENT_NAME, definition.inference_component_name)
        self._write(definition, endpoint, model, is_part=True)
        self._take_place(placement)


def define_component(
    *,
    model: ModelDefinition,
    host: VariantDefinition | None,
    placement: Placement | None,
    resources: ResourceRequirements,
    variant_name: str,
    inference_component_name: str | None,
    inference_component_name_prefix: str | None,
    start_up: Duration | None,
    download: Duration | None,
) -> ComponentDefinition:
    """
    Check a component: its name and time-outs, its model on these hosts, and whether
    all copies have a place.

    Args:
        model: What each copy runs.

        host: The hosts; ``None`` if they are not known.

        placement: Its place beside the others; ``None`` if the hosts' instances are
            not known.

        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name: Its name; ``None`` if CloudFormation makes one.

        inference_component_name_prefix: What its name begins with, in place of it.

        start_up: How long a copy may take to answer; ``None`` for the default.

        download: How long the model data may take; ``None`` for the default.
    """
    found = [
        *_name_findings(inference_component_name, inference_component_name_prefix),
        *timeout_findings("container_startup_health_check_timeout", start_up),
        *timeout_findings("model_data_download_timeout", download),
    ]
    if placement is not None:
        found += placement.findings()
    if host is not None:
        found += host.model_findings(model, start_up)
    return ComponentDefinition(
        resources=resources,
        variant_name=variant_name,
        inference_component_name=inference_component_name,
        inference_component_name_prefix=inference_component_name_prefix,
        start_up=start_up,
        download=download or model.download_timeout,
        findings=tuple(found),
    )


def _host(endpoint: EndpointBase, variant_name: str) -> VariantDefinition | None:
    if not isinstance(endpoint, Endpoint):
        return None
    return endpoint.endpoint_config.definition.variant(variant_name)


def _endpoint_findings(
    endpoint: EndpointBase, variant_name: str, model: Model
) -> list[Finding]:
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
    if _host(endpoint, variant_name) is None:
        names = ", ".join(variant.variant_name for variant in config.variants)
        return [
            VARIANT_NAMES.finding(
                f"variant_name must be one of {names}, got {variant_name!r}"
            )
        ]
    # SageMaker guide, realtime-endpoints-deploy-models, on compatibility.
    if (
        not same_role(model.role, config.execution_role)
        or model.network != config.network
    ):
        return [
            OTHER_ROLE.finding(
                "a component's model must have the role and network of its endpoint",
                "define the Model with role=config.execution_role and "
                "network=config.network",
            )
        ]
    return []


def _requirements(
    resources: ResourceRequirements,
) -> _Component.InferenceComponentComputeResourceRequirementsProperty:
    return _Component.InferenceComponentComputeResourceRequirementsProperty(
        number_of_accelerator_devices_required=resources.accelerators,
        number_of_cpu_cores_required=resources.cpus,
        min_memory_required_in_mb=resources.memory_mib,
    )


def _name_findings(name: str | None, prefix: str | None) -> list[Finding]:
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
