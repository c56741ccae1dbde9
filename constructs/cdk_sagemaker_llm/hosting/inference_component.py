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

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, error, warning
from cdk_sagemaker_llm.fit.packing import pack
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.hosting.endpoint import Endpoint, EndpointBase
from cdk_sagemaker_llm.hosting.naming import name_findings
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scaling import ScalableCopyCount
from cdk_sagemaker_llm.hosting.variant import (
    START_UP_SECONDS,
    ProductionVariant,
    seconds,
    timeout_findings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.model import Model

_Component = sagemaker.CfnInferenceComponent


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
            Left out, CloudFormation makes one.

        container_startup_health_check_timeout:
            How long a copy may take to answer, 60 to 3600 seconds.
            Left out, 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            Left out, the service's default: the tarball is small.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

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
        found = component_findings(
            inference_component_name,
            container_startup_health_check_timeout,
            model_data_download_timeout,
        )
        found += _endpoint_findings(endpoint, variant_name, model)
        found += fleet_findings(endpoint, variant_name, {id: resources})
        variant = _variant(endpoint, variant_name)
        if variant is not None:
            found += variant.findings_of(model, container_startup_health_check_timeout)
        warnings = report(scope, id, found)
        super().__init__(scope, id)
        self.endpoint = endpoint
        self.model = model
        self.resources = resources
        self.variant_name = variant_name
        self.cfn_inference_component = _Component(
            self,
            _resource_id(endpoint, inference_component_name),
            endpoint_name=endpoint.endpoint_name,
            variant_name=variant_name,
            inference_component_name=inference_component_name,
            specification=_Component.InferenceComponentSpecificationProperty(
                model_name=model.model_name,
                compute_resource_requirements=_requirements(resources),
                startup_parameters=_Component.InferenceComponentStartupParametersProperty(
                    container_startup_health_check_timeout_in_seconds=seconds(
                        container_startup_health_check_timeout
                    )
                    or START_UP_SECONDS,
                    model_data_download_timeout_in_seconds=seconds(
                        model_data_download_timeout
                    ),
                ),
            ),
            runtime_config=_Component.InferenceComponentRuntimeConfigProperty(
                copy_count=resources.copies
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.inference_component_arn: str = self.cfn_inference_component.ref
        # CloudFormation has no attribute for the name, which ends the ARN.
        self.inference_component_name = Fn.select(
            1, Fn.split("/", self.inference_component_arn)
        )
        if isinstance(endpoint, Endpoint):
            endpoint.endpoint_config.host_component(variant_name, model.image)
        annotate(self, warnings)

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
        variant = _variant(self.endpoint, self.variant_name)
        hardware = variant.hardware() if variant else None
        if variant is None or hardware is None or not self.resources.is_known:
            return []
        instances = variant.most_instances
        # Before the product: no copies on an unknown number of instances are zero.
        if is_unresolved(instances):
            return []
        most = Capacity.of(hardware).copies_of(self.resources) * instances
        if max_capacity <= most:
            return []
        return [
            warning(
                "LLM203",
                f"max_capacity is {max_capacity}, but at most {most} copies fit the "
                "instances even if no other model runs there",
                "raise max_instance_count",
            )
        ]


def component_findings(
    name: str | None, start_up: Duration | None, download: Duration | None
) -> list[Finding]:
    """
    Check what a component has of its own: its name and its time-outs.
    """
    return [
        *name_findings("inference_component_name", name),
        *timeout_findings("container_startup_health_check_timeout", start_up),
        *timeout_findings("model_data_download_timeout", download),
    ]


def fleet_findings(
    endpoint: EndpointBase,
    variant_name: str,
    models: Mapping[str, ResourceRequirements],
) -> list[Finding]:
    """
    Check that models can be placed on the most instances that an endpoint may have.
    """
    variant = _variant(endpoint, variant_name)
    hardware = variant.hardware() if variant else None
    if variant is None or hardware is None:
        return []
    instances = variant.most_instances
    if is_unresolved(instances):
        return []
    known = {name: needs for name, needs in models.items() if needs.is_known}
    packing = pack(known, Capacity.of(hardware), instances)
    return [error("LLM104", f"{reason} ({hardware})") for reason in packing.reasons]


def _variant(endpoint: EndpointBase, name: str) -> ProductionVariant | None:
    if not isinstance(endpoint, Endpoint):
        return None
    variants = endpoint.endpoint_config.variants
    return next((v for v in variants if v.variant_name == name), None)


def _endpoint_findings(
    endpoint: EndpointBase, variant_name: str, model: Model
) -> list[Finding]:
    if not isinstance(endpoint, Endpoint):
        return []
    config = endpoint.endpoint_config
    if config.execution_role is None:
        return [
            error(
                "LLM124",
                "the endpoint's variant has a model, which leaves no room for "
                "inference components",
                "define an EndpointConfig with execution_role and without model",
            )
        ]
    if _variant(endpoint, variant_name) is None:
        names = ", ".join(variant.variant_name for variant in config.variants)
        return [
            error(
                "LLM123", f"variant_name must be one of {names}, got {variant_name!r}"
            )
        ]
    # SageMaker guide, realtime-endpoints-deploy-models, on compatibility.
    if model.role is not config.execution_role or model.network != config.network:
        return [
            error(
                "LLM125",
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
