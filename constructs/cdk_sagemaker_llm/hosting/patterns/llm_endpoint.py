"""
The pattern for one model that fills the instances of an endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import jsii
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.hosting.common.limits import least_findings
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import Connectable, belongs, region_of
from cdk_sagemaker_llm.hosting.components.sizing import (
    define_models_by_type,
    look_up_types,
    make_models,
)
from cdk_sagemaker_llm.hosting.endpoints.connection import Connected, Connection
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.endpoints.endpoint_config import (
    DefinedEndpointConfig,
    EndpointConfig,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
    Observability,
    config_place_findings,
    define_endpoint_config,
)
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelRequest,
    default_serving,
    place_findings,
)
from cdk_sagemaker_llm.hosting.models.model import DefinedModel, Model
from cdk_sagemaker_llm.hosting.monitoring.canned_metrics import AsyncMetrics
from cdk_sagemaker_llm.hosting.monitoring.spend import price_findings
from cdk_sagemaker_llm.hosting.patterns.endpoint_pattern import (
    EndpointPattern,
    pattern_findings,
)
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.variants.capacity import (
    InstanceCapacity,
    PrefixAwareRouting,
    RoutingStrategy,
)
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant

if TYPE_CHECKING:
    from aws_cdk import Duration, Size
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_kms as kms

    from cdk_sagemaker_llm.demand import Assumptions
    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import AsyncInference
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import DataCapture
    from cdk_sagemaker_llm.hosting.endpoints.shadow import ShadowVariant
    from cdk_sagemaker_llm.hosting.scaling.counts import ScalableInstanceCount
    from cdk_sagemaker_llm.hosting.updates.rollout import Rollout
    from cdk_sagemaker_llm.models import ModelSource
    from cdk_sagemaker_llm.serving.base import ServingConfiguration


@jsii.implements(iam.IGrantable, Connectable)
class LlmEndpoint(EndpointPattern, AsyncMetrics, Connected):
    """
    A real-time endpoint that serves one language model, which fills its instances.

    Args:
        instance_type:
            The type's API name, or ``InstanceType.of(...)`` for a new one.
            If omitted, ``capacity`` names pools of types.

        serving:
            Which backend serves the model, and how.
            If omitted, it is vLLM in AWS's own image.

        model:
            Where the weights come from.
            If omitted, the serving configuration's own files must name them.

        instance_count: Instances at the start.

        endpoint_name:
            A name of your own.
            If omitted, CloudFormation makes one.

        environment:
            Further environment variables of the container.
            If omitted, there are none.

        role:
            The execution role, which gets the permissions that the model needs.
            If omitted, one is made.

        network:
            The VPC to run in, and whether the container is cut off from it.
            If omitted, it is SageMaker's own network.

        container_startup_health_check_timeout:
            How long the model may take to load, 60 to 3600 seconds.
            If omitted, it is 30 minutes, or more where the model's size needs it.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If omitted, it follows the size of weights that SageMaker downloads; for
            a tarball alone the service's default applies.

        inference_ami_version:
            The host image, where the container needs another GPU driver.
            If omitted, it follows the CUDA version of the image.

        volume_size:
            The size of the EBS volume, for types without local NVMe storage; the
            others refuse it.
            If omitted, it follows the model's size, or is the service's 30 GiB.

        kms_key:
            The key for the instances' EBS volumes, which the role may then use; the
            key's policy must let the account's IAM policies decide.
            If omitted, it is SageMaker's own; types with NVMe storage encrypt in
            hardware.

        observability:
            Which metrics the endpoint publishes, such as
            ``Observability(detailed=True)``, and how often.
            If omitted, those that cost nothing come every minute.

        rollout:
            How an update reaches the endpoint: ``AllAtOnce``, ``Canary``, ``Linear`` or
            ``Rolling``.
            If omitted, all requests go to a second fleet at once, and nothing is
            watched.

        capacity:
            Where instances come from, and how long to wait for them, such as
            ``InstanceCapacity(pools=[...])``.
            If omitted, they are of ``instance_type`` and start on demand.

        routing_strategy:
            How requests are spread, such as ``PrefixAwareRouting(...)``.
            If omitted, they go to the least busy instance.

        async_inference:
            Where requests and answers lie, so that requests wait in a queue and
            instances may go to zero.
            If omitted, requests are answered at once.

        shadow:
            Another model, serving or instance type, which gets copies of the requests;
            its answers are dropped.
            If omitted, there is none.

        data_capture:
            Where requests and answers are kept.
            If omitted, they are not.

        assumptions:
            Figures for the memory that the engine needs, in place of the plan's
            cautious ones, where those refuse a model that is known to run.
            If omitted, the figures of the serving configuration apply.

        monthly_budget:
            US dollars that the instances may cost in a month of 730 hours; a warning
            says so where scaling's upper bounds allow more.
            If omitted, nothing is held against a budget.

        hourly_prices:
            US dollars for an hour of an instance, by type, for the budget, alarms and
            dashboards.
            If omitted, they are those of the package's list: the region's, or those of
            us-east-1 where the region is known only at deployment.

    Raises:
        ValueError: If the definition could not start; all reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | InstanceType | None = None,
        serving: ServingConfiguration | None = None,
        model: ModelSource | None = None,
        instance_count: int = 1,
        endpoint_name: str | None = None,
        environment: Mapping[str, str] | None = None,
        role: iam.IRole | None = None,
        network: Network | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
        inference_ami_version: str | None = None,
        volume_size: Size | None = None,
        kms_key: kms.IKey | None = None,
        observability: Observability | None = None,
        rollout: Rollout | None = None,
        capacity: InstanceCapacity | None = None,
        routing_strategy: RoutingStrategy
        | PrefixAwareRouting = RoutingStrategy.LEAST_OUTSTANDING_REQUESTS,
        async_inference: AsyncInference | None = None,
        shadow: ShadowVariant | None = None,
        data_capture: DataCapture | None = None,
        assumptions: Assumptions | None = None,
        monthly_budget: float | None = None,
        hourly_prices: Mapping[str, float] | None = None,
    ) -> None:
        instance_type, capacity = look_up_types(instance_type, capacity)
        variant = ProductionVariant(
            instance_type=instance_type,
            initial_instance_count=instance_count,
            model_data_download_timeout=model_data_download_timeout,
            inference_ami_version=inference_ami_version,
            volume_size=volume_size,
            capacity=capacity,
            routing_strategy=routing_strategy,
        )
        request = ModelRequest(
            serving=serving or default_serving(),
            model=model,
            environment=environment,
            role=role,
            network=network,
            region=region_of(scope),
            start_up=container_startup_health_check_timeout,
        )
        filling = define_models_by_type(variant.instance_types, request, assumptions)
        first, *further = filling.models
        variant = replace(
            variant,
            container_startup_health_check_timeout=(
                container_startup_health_check_timeout or first.start_up_timeout
            ),
        )
        shadowing = None
        if shadow is not None:
            from cdk_sagemaker_llm.hosting.endpoints.shadow import define_shadow  # noqa: PLC0415 - who has one has it

            shadowing = define_shadow(shadow, request, variant.instance_types[0])
        config = define_endpoint_config(
            EndpointConfigDefinition(
                variants=(define_variant(variant, model=first, further=further),),
                shadows=() if shadowing is None else (shadowing.variant,),
                kms_key=kms_key,
                observability=observability or Observability(),
                async_inference=async_inference,
                data_capture=data_capture,
            ),
            hosts_components=False,
        )
        findings = [
            *pattern_findings(scope, endpoint_name, role, rollout, config.variants),
            *config.findings,
            *filling.findings,
            *filling.fit,
            *config_place_findings(scope, config),
            *least_findings("monthly_budget", monthly_budget, 0),
            *price_findings(hourly_prices),
        ]
        places = place_findings(scope, model, network, environment)
        findings += places
        if shadowing is not None:
            findings += shadowing.findings
        report(scope, id, findings)
        super().__init__(scope, id)
        belongs(self, scope)
        types = [str(one) for one in variant.instance_types]
        self.models: tuple[Model, ...] = make_models(self, filling.models, types)
        """The model on each type of instance; the same where its container is."""
        self.model: Model = self.models[0]
        """The model on instances of the first choice."""
        self.role = self.model.role
        """The model's execution role."""
        self.shadow_model: Model | None = None
        """The model of the shadow variant; ``None`` without one."""
        config = config.filled_by(*self.models)
        if shadowing is not None:
            # What is granted to the endpoint, or may reach it, counts for both.
            shared = shadowing.model.within(self.model.network, self.model.role)
            self.shadow_model = DefinedModel(self, "ShadowModel", shared)
            shadow_variant = shadowing.variant.filled_by(self.shadow_model)
            config = replace(config, shadows=(shadow_variant,))
            annotate(self.shadow_model, shadowing.fit)
        self.endpoint_config: EndpointConfig = DefinedEndpointConfig(
            self, "Config", config
        )
        self.endpoint = Endpoint(
            self,
            "Endpoint",
            endpoint_config=self.endpoint_config,
            endpoint_name=endpoint_name,
            rollout=rollout,
        )
        self._keep_budget(monthly_budget, hourly_prices)
        annotate(self, [*filling.fit, *places])

    @property
    def connection(self) -> Connection:
        """
        How an application reaches the endpoint.

        Raises:
            ValueError: If its requests lie on S3, so that no client gets an answer.
        """
        return self.endpoint.connection

    @property
    def connections(self) -> ec2.Connections:
        """
        The model's security groups, where it runs in a VPC.
        """
        return self.model.network.connections

    @checked
    def auto_scale_instance_count(
        self, *, max_capacity: int, min_capacity: int | None = None
    ) -> ScalableInstanceCount:
        """
        Let the number of instances follow the load.

        To change the instance type later, deploy once without scaling, then with
        scaling and the new type: SageMaker refuses such an update of what is scaled.

        Args:
            max_capacity: Instances that run at most.

            min_capacity:
                Instances that always run; 0 with ``async_inference`` alone.
                If omitted, it is ``instance_count``.
        """
        return self.endpoint.auto_scale_instance_count(
            min_capacity=min_capacity, max_capacity=max_capacity
        )

    @checked
    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal see the endpoint's state, instances and configuration.
        """
        return self.endpoint.grant_describe(grantee)

    @checked
    def grant_invoke_async(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal upload requests, invoke the endpoint, and fetch the answers.

        Raises:
            ValueError: If the endpoint was not defined with ``async_inference``.
        """
        return self.endpoint.grant_invoke_async(grantee)
