"""
The SageMaker InferenceComponent: copies of a model on an endpoint's shared instances.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from aws_cdk import Fn
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.fleet import Fleet
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.definitions import ComponentDefinition, ModelDefinition
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.hosts import (
    ROLE_OR_MODEL,
    VARIANT_NAMES,
    VariantDefinition,
)
from cdk_sagemaker_llm.hosting.limits import (
    name_findings,
    seconds,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scaling import ScalableCopyCount
from cdk_sagemaker_llm.hosting.taken import take_name, twice_findings
from cdk_sagemaker_llm.hosting.variant import START_UP_SECONDS
from cdk_sagemaker_llm.serving.rules import API

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.model import Model

_Component = sagemaker.CfnInferenceComponent
COMPONENT_NAME = "inference_component_name"

NO_PLACE = Rule(
    "LLM104", "copies do not fit the most instances the endpoint may have", API
)
OTHER_ROLE = Rule(
    "LLM125",
    "a component's role or network is not its endpoint's",
    "SageMaker developer guide",
)
SCALES_PAST_ROOM = Rule("LLM203", "scaling can ask for more copies than fit")


class InferenceComponent(Construct):
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

        container_startup_health_check_timeout:
            How long a copy may take to answer, 60 to 3600 seconds.
            If left out, it is 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If left out, the service's default applies: the tarball is small.

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
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
    ) -> None:
        host = _host(endpoint, variant_name)
        fleet = None if host is None else host.fleet
        definition = define_component(
            model=model.definition,
            host=host,
            fleet=None if fleet is None else fleet.with_model(id, resources),
            resources=resources,
            variant_name=variant_name,
            inference_component_name=inference_component_name,
            start_up=container_startup_health_check_timeout,
            download=model_data_download_timeout,
        )
        found = _endpoint_findings(endpoint, variant_name, model)
        found += twice_findings(scope, COMPONENT_NAME, inference_component_name)
        report(scope, id, [*found, *definition.findings])
        super().__init__(scope, id)
        take_name(scope, COMPONENT_NAME, inference_component_name)
        self._write(definition, endpoint, model)

    def _write(
        self, definition: ComponentDefinition, endpoint: EndpointBase, model: Model
    ) -> None:
        self.definition = definition
        """What was checked, and is written here."""
        self.endpoint = endpoint
        self.model = model
        self.resources = definition.resources
        self.variant_name = definition.variant_name
        self.cfn_inference_component = _Component(
            self,
            _resource_id(endpoint, definition.inference_component_name),
            endpoint_name=endpoint.endpoint_name,
            variant_name=definition.variant_name,
            inference_component_name=definition.inference_component_name,
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
        if isinstance(endpoint, Endpoint):
            endpoint.endpoint_config.host_component(self.variant_name, model.image)
        annotate(self, definition.findings)

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal invoke the component, plain and with a response stream.

        A call names endpoint and component; the guide does not say which of the two
        is checked, so that both are granted.
        """
        return iam.Grant.add_to_principal(
            grantee=grantee,
            actions=["sagemaker:InvokeEndpoint"],
            resource_arns=[self.endpoint.endpoint_arn, self.inference_component_arn],
        )

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
    ) -> None:
        Construct.__init__(self, scope, id)
        take_name(scope, COMPONENT_NAME, definition.inference_component_name)
        self._write(definition, endpoint, model)


def define_component(
    *,
    model: ModelDefinition,
    host: VariantDefinition | None,
    fleet: Fleet | None,
    resources: ResourceRequirements,
    variant_name: str,
    inference_component_name: str | None,
    start_up: Duration | None,
    download: Duration | None,
) -> ComponentDefinition:
    """
    Check a component: its name and time-outs, its model on these hosts, and whether
    all copies have a place.

    Args:
        model: What each copy runs.

        host: The hosts; ``None`` if they are not known.

        fleet: The hosts' instances with all models on them, this one included;
            ``None`` if they are not known.

        resources: What each copy reserves, and how many copies start.

        variant_name: The variant whose instances are shared.

        inference_component_name: Its name; ``None`` if CloudFormation makes one.

        start_up: How long a copy may take to answer; ``None`` for the default.

        download: How long the model data may take; ``None`` for the default.
    """
    found = [
        *name_findings(COMPONENT_NAME, inference_component_name),
        *timeout_findings("container_startup_health_check_timeout", start_up),
        *timeout_findings("model_data_download_timeout", download),
    ]
    if fleet is not None:
        found += [
            NO_PLACE.finding(f"{reason} ({fleet.instance_type})")
            for reason in fleet.pack().reasons
        ]
    if host is not None:
        found += host.model_findings(model, start_up)
    return ComponentDefinition(
        resources=resources,
        variant_name=variant_name,
        inference_component_name=inference_component_name,
        start_up=start_up,
        download=download,
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
    if model.role is not config.execution_role or model.network != config.network:
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


def _resource_id(endpoint: EndpointBase, name: str | None) -> str:
    """
    Choose an id that changes with the names that the service cannot change in place.

    UpdateInferenceComponent knows no new name and no other endpoint, while
    CloudFormation's schema allows both; another id makes it delete and create.
    """
    endpoint_name = endpoint.chosen_name if isinstance(endpoint, Endpoint) else None
    fixed = "/".join(filter(None, (endpoint_name, name)))
    suffix = hashlib.sha256(fixed.encode()).hexdigest()[:8] if fixed else ""
    return f"Resource{suffix}"
