"""
The pattern for copies of one or many models on shared instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.fit.checking import FIT_CODES, fit_findings
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.hosting.access import make_execution_role
from cdk_sagemaker_llm.hosting.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoint_config import EndpointConfig, config_findings
from cdk_sagemaker_llm.hosting.inference_component import (
    InferenceComponent,
    component_findings,
    fleet_findings,
)
from cdk_sagemaker_llm.hosting.model import Model, model_findings
from cdk_sagemaker_llm.hosting.naming import name_findings
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.scope import region_of
from cdk_sagemaker_llm.hosting.sizing import (
    Copies,
    resources_of,
    start_up_timeout,
    with_copies,
)
from cdk_sagemaker_llm.hosting.variant import (
    ManagedInstanceScaling,
    ProductionVariant,
)
from cdk_sagemaker_llm.serving.lmi.vllm import Vllm

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_kms as kms

    from cdk_sagemaker_llm.demand import Assumptions
    from cdk_sagemaker_llm.models import ModelSource
    from cdk_sagemaker_llm.serving.configuration import ServingConfiguration


class InferenceComponentEndpoint(Construct):
    """
    A real-time endpoint whose instances are shared by copies of models.

    Args:
        instance_type: The type's API name, or ``InstanceType.of(...)`` for a new one.

        instance_count: Instances at the start, and at least from then on.

        max_instance_count:
            Up to how many instances SageMaker adds when copies need them.
            Left out, the number is fixed.

        endpoint_name:
            A name of your own.
            Left out, CloudFormation makes one.

        role:
            The execution role of the endpoint and all its models.
            Left out, one is made.

        network:
            The VPC of the endpoint and all its models.
            Left out, SageMaker's own network.

        container_startup_health_check_timeout:
            How long a container may take to answer, 60 to 3600 seconds.
            Left out, 30 minutes.

        instance_provision_timeout:
            How long to wait for instances, 300 to 3600 seconds.
            Left out, the service's default.

        inference_ami_version:
            The host image, where a container needs a newer GPU driver.
            Left out, the type's default.

        kms_key:
            The key for the instances' EBS volumes.
            Left out, SageMaker's own; types with NVMe storage encrypt in hardware.

        detailed_observability:
            Whether GPU, host and container metrics go to CloudWatch, at extra cost.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | InstanceType,
        instance_count: int = 1,
        max_instance_count: int | None = None,
        endpoint_name: str | None = None,
        role: iam.IRole | None = None,
        network: Network | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        instance_provision_timeout: Duration | None = None,
        inference_ami_version: str | None = None,
        kms_key: kms.IKey | None = None,
        detailed_observability: bool = False,
    ) -> None:
        variant = ProductionVariant(
            instance_type=instance_type,
            initial_instance_count=instance_count,
            managed_instance_scaling=_bounds(instance_count, max_instance_count),
            container_startup_health_check_timeout=container_startup_health_check_timeout,
            instance_provision_timeout=instance_provision_timeout,
            inference_ami_version=inference_ami_version,
        )
        found = name_findings("endpoint_name", endpoint_name)
        found += config_findings(
            [variant], hosts_components=True, has_key=kms_key is not None
        )
        report(scope, id, found)
        super().__init__(scope, id)
        self._models: dict[str, ResourceRequirements] = {}
        self._start_up = container_startup_health_check_timeout
        self.role: iam.IRole = role or make_execution_role(self, "Role")
        """The execution role of the endpoint and all its models."""
        self.endpoint_config = EndpointConfig(
            self,
            "Config",
            variants=[variant],
            execution_role=self.role,
            network=network,
            kms_key=kms_key,
            detailed_observability=detailed_observability,
        )
        self.endpoint = Endpoint(
            self,
            "Endpoint",
            endpoint_config=self.endpoint_config,
            endpoint_name=endpoint_name,
        )

    @property
    def endpoint_name(self) -> str:
        """
        The name that applications call, beside a component's.
        """
        return self.endpoint.endpoint_name

    @property
    def connections(self) -> ec2.Connections:
        """
        The security groups of all models, where they run in a VPC.
        """
        return self.endpoint_config.network.connections

    def add_model(
        self,
        id: str,
        *,
        model: ModelSource | None = None,
        serving: ServingConfiguration | None = None,
        resources: ResourceRequirements | None = None,
        copies: Copies | None = None,
        inference_component_name: str | None = None,
        environment: Mapping[str, str] | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
        assumptions: Assumptions | None = None,
    ) -> InferenceComponent:
        """
        Host copies of a model on the shared instances.

        Args:
            id: The construct's id, which names the model in messages.

            model:
                Where the weights come from.
                Left out, the serving configuration's own files must name them.

            serving:
                Which backend serves the model, and how.
                Left out, vLLM on the newest LMI.

            resources:
                What each copy reserves, and how many copies start.
                Left out, what the plan for the model's size asks for, if it is known.

            copies:
                How many copies start, or ``"fill"`` for as many as the instances
                hold beside the other models.
                Left out, what ``resources`` say, or one.

            inference_component_name:
                A name of your own.
                Left out, CloudFormation makes one.

            environment: Further environment variables of the container.

            container_startup_health_check_timeout:
                How long a copy may take to load, 60 to 3600 seconds.
                Left out, the endpoint's; else 30 minutes, or more where the model's
                size asks for it.

            model_data_download_timeout:
                How long the download of the model data may take.
                Left out, the service's default: the tarball is small.

            assumptions:
                What to take for granted of the memory that the engine needs, where
                the cautious figures of the plan refuse what is known to run.
                Left out, what the serving configuration says.

        Raises:
            ValueError: If the definition could not start, or the instances cannot
                hold its copies beside those of other models; all reasons at once.
        """
        serving = serving or Vllm()
        start_up = (
            container_startup_health_check_timeout
            or self._start_up
            or start_up_timeout(serving, model)
        )
        variant = self.endpoint_config.variants[0]
        hardware = variant.hardware()
        needs, missing = resources_of(
            serving, model, hardware, resources, assumptions=assumptions
        )
        needs = self._with_copies(needs, copies)
        found = component_findings(
            inference_component_name, start_up, model_data_download_timeout
        )
        network = self.endpoint_config.network
        found += model_findings(
            region_of(self),
            serving,
            model,
            network,
            environment or {},
            accelerators=needs.accelerators,
            hardware=hardware,
        )
        found += missing
        if needs.accelerators is not None and not is_unresolved(needs.accelerators):
            found += fit_findings(
                serving, model, hardware, needs.accelerators, assumptions=assumptions
            )
        found += self._placement_findings(id, needs)
        warnings = [f for f in report(self, id, found) if f.code in FIT_CODES]
        hosted = Construct(self, id)
        component = InferenceComponent(
            hosted,
            "Component",
            endpoint=self.endpoint,
            model=Model(
                hosted,
                "Model",
                serving=serving,
                model=model,
                accelerators=needs.accelerators,
                environment=environment,
                role=self.role,
                network=network,
            ),
            resources=needs,
            inference_component_name=inference_component_name,
            container_startup_health_check_timeout=start_up,
            model_data_download_timeout=model_data_download_timeout,
        )
        self._models[id] = needs
        # The others are said where they are found again: at the model and its hosts.
        annotate(hosted, warnings)
        return component

    def _with_copies(
        self, needs: ResourceRequirements, copies: Copies | None
    ) -> ResourceRequirements:
        variant = self.endpoint_config.variants[0]
        hardware = variant.hardware()
        return with_copies(
            needs,
            copies,
            capacity=None if hardware is None else Capacity.of(hardware),
            instances=variant.most_instances,
            others=self._models,
        )

    def _placement_findings(
        self, id: str, resources: ResourceRequirements
    ) -> list[Finding]:
        variant = self.endpoint_config.variants[0]
        models = {**self._models, id: resources}
        return fleet_findings(self.endpoint, variant.variant_name, models)


def _bounds(least: int, most: int | None) -> ManagedInstanceScaling | None:
    if most is None:
        return None
    return ManagedInstanceScaling(min_instance_count=least, max_instance_count=most)
