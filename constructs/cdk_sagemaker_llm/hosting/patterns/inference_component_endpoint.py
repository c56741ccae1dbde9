"""
The pattern for copies of one or many models on shared instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import jsii
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.common.limits import least_findings
from cdk_sagemaker_llm.hosting.common.names import twice_findings
from cdk_sagemaker_llm.hosting.common.reporting import (
    annotate,
    at_synth,
    checked,
    report,
)
from cdk_sagemaker_llm.hosting.common.scope import (
    Connectable,
    belongs,
    is_defined,
    region_of,
)
from cdk_sagemaker_llm.hosting.components.component_checks import (
    COMPONENT_NAME,
    AvailabilityZoneBalance,
    ComponentDefinition,
    PlacementStrategy,
    Scheduling,
    define_component,
    reserved_findings,
)
from cdk_sagemaker_llm.hosting.components.inference_component import (
    DefinedInferenceComponent,
    InferenceComponent,
)
from cdk_sagemaker_llm.hosting.components.sizing import (
    Copies,
    by_type_findings,
    define_sized_models,
    distinct_findings,
    make_models,
    with_same_copies,
)
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
from cdk_sagemaker_llm.hosting.monitoring.spend import price_findings
from cdk_sagemaker_llm.hosting.patterns.endpoint_pattern import (
    EndpointPattern,
    pattern_findings,
)
from cdk_sagemaker_llm.hosting.roles.access import make_execution_role
from cdk_sagemaker_llm.hosting.roles.grants import HostGrants
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.scaling.counts import host_zero_findings
from cdk_sagemaker_llm.hosting.variants.capacity import (
    InstanceCapacity,
    PrefixAwareRouting,
    RoutingStrategy,
)
from cdk_sagemaker_llm.hosting.variants.variant import (
    UNSCALED_POLICY,
    ManagedInstanceScaling,
    MinimumNotChosen,
    ProductionVariant,
    ScaleInPolicy,
)
from cdk_sagemaker_llm.hosting.variants.variant_definition import define_variant

if TYPE_CHECKING:
    from aws_cdk import Duration, Size
    from aws_cdk import aws_ec2 as ec2
    from aws_cdk import aws_kms as kms

    from cdk_sagemaker_llm.demand import Assumptions
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import DataCapture
    from cdk_sagemaker_llm.hosting.updates.rollout import Rolling, Rollout
    from cdk_sagemaker_llm.models import ModelSource
    from cdk_sagemaker_llm.serving.base import ServingConfiguration


@jsii.implements(iam.IGrantable, Connectable)
class InferenceComponentEndpoint(HostGrants[InferenceComponent], EndpointPattern):
    """
    A real-time endpoint whose instances are shared by copies of models.

    Args:
        instance_type:
            The type's API name, or ``InstanceType.of(...)`` for a new one.
            If omitted, ``capacity`` names pools of types.

        instance_count:
            Instances at the start, and at least from then on, unless
            ``min_instance_count`` is less.

        max_instance_count:
            Up to how many instances SageMaker adds when copies need them.
            If omitted, the number is fixed.

        endpoint_name:
            A name of your own.
            If omitted, CloudFormation makes one.

        role:
            The execution role of the endpoint and all its models.
            If omitted, one is made.

        network:
            The VPC of the endpoint and all its models.
            If omitted, it is SageMaker's own network.

        container_startup_health_check_timeout:
            How long a container may take to answer, 60 to 3600 seconds.
            If omitted, it is 30 minutes.

        inference_ami_version:
            The host image, which decides the GPU driver, for all models that come and
            go.
            If omitted, it is derived from ``cuda_version`` or ``engine``.

        cuda_version:
            The CUDA version of the models' images, such as ``12.4``, from which the
            host image is derived.
            If omitted, it is that of ``engine``.

        engine:
            What most of the models are served with, such as ``Tgi("3.3.6")``; it
            stands for its image's CUDA version.
            If omitted, it is the library's default, ``Vllm()``.

        volume_size:
            The size of the EBS volume, for types without local NVMe storage, which
            holds the weights of all models; the others refuse it.
            If omitted, it is the service's 30 GiB.

        kms_key:
            The key for the instances' EBS volumes, which the role may then use; the
            key's policy must let the account's IAM policies decide.
            If omitted, it is SageMaker's own; types with NVMe storage encrypt in
            hardware.

        observability:
            Which metrics the endpoint publishes, such as
            ``Observability(detailed=True)``, and how often.
            If omitted, those that cost nothing come every minute.

        min_instance_count:
            Instances that always run; with 0 the last one goes when no component has
            a copy, which ``auto_scale_copy_count(min_capacity=0)`` lets happen.
            If omitted, it is ``instance_count``.

        rollout:
            How an update of the instances reaches the endpoint: ``AllAtOnce``,
            ``Canary``, ``Linear`` or ``Rolling``; that of a model is ``add_model``'s.
            If omitted, all requests go to a second fleet at once, and nothing is
            watched.

        capacity:
            Where instances come from, and how long to wait for them, such as
            ``InstanceCapacity(pools=[...])``.
            If omitted, they are of ``instance_type`` and start on demand.

        routing_strategy:
            How requests are spread, such as ``PrefixAwareRouting(...)``.
            If omitted, they go to the least busy copy.

        scale_in_policy:
            How instances are released that copies no longer need, where
            ``max_instance_count`` lets SageMaker add some.
            If omitted, the service's default applies.

        data_capture:
            Where requests and answers are kept; the guide does not document it for
            inference components.
            If omitted, they are not kept.

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
        ValueError: If the service would refuse it; all reasons at once.
    """

    endpoint: Endpoint
    """The endpoint."""

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | InstanceType | None = None,
        instance_count: int = 1,
        max_instance_count: int | None = None,
        endpoint_name: str | None = None,
        role: iam.IRole | None = None,
        network: Network | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        inference_ami_version: str | None = None,
        cuda_version: str | None = None,
        engine: ServingConfiguration | None = None,
        volume_size: Size | None = None,
        kms_key: kms.IKey | None = None,
        observability: Observability | None = None,
        min_instance_count: int | None = None,
        rollout: Rollout | None = None,
        capacity: InstanceCapacity | None = None,
        routing_strategy: RoutingStrategy
        | PrefixAwareRouting = RoutingStrategy.LEAST_OUTSTANDING_REQUESTS,
        scale_in_policy: ScaleInPolicy | None = None,
        data_capture: DataCapture | None = None,
        monthly_budget: float | None = None,
        hourly_prices: Mapping[str, float] | None = None,
    ) -> None:
        bounds = _bounds(
            instance_count, min_instance_count, max_instance_count, scale_in_policy
        )
        variant = ProductionVariant(
            instance_type=instance_type,
            initial_instance_count=instance_count,
            managed_instance_scaling=bounds,
            container_startup_health_check_timeout=container_startup_health_check_timeout,
            inference_ami_version=inference_ami_version,
            cuda_version=cuda_version,
            engine=engine,
            volume_size=volume_size,
            capacity=capacity,
            routing_strategy=routing_strategy,
        )
        config = define_endpoint_config(
            EndpointConfigDefinition(
                variants=(define_variant(variant),),
                network=network,
                kms_key=kms_key,
                observability=observability or Observability(),
                data_capture=data_capture,
            ),
            hosts_components=True,
        )
        findings = [
            *pattern_findings(scope, endpoint_name, role, rollout, config.variants),
            *config.findings,
            *config_place_findings(scope, config),
            *least_findings("monthly_budget", monthly_budget, 0),
            *price_findings(hourly_prices),
        ]
        if scale_in_policy is not None and bounds is None:
            findings.append(
                UNSCALED_POLICY.finding(
                    "scale_in_policy is for instances that SageMaker adds, and their "
                    "number is fixed",
                    "give max_instance_count",
                )
            )
        report(scope, id, findings)
        super().__init__(scope, id)
        belongs(self, scope)
        (self._host,) = config.variants
        self._hardware_by_type = {one.name: one.hardware for one in self._host.types}
        self._start_up = container_startup_health_check_timeout
        self.role = role or make_execution_role(self, "Role")
        """The execution role of the endpoint and all its models."""
        self._components, self._grants = [], []
        self.endpoint_config: EndpointConfig = DefinedEndpointConfig(
            self, "Config", replace(config, execution_role=self.role)
        )
        self.endpoint = Endpoint(
            self,
            "Endpoint",
            endpoint_config=self.endpoint_config,
            endpoint_name=endpoint_name,
            rollout=rollout,
        )
        self._keep_budget(monthly_budget, hourly_prices)
        if min_instance_count == 0:
            at_synth(self, lambda: host_zero_findings(self, self._remaining()))

    def _remaining(self) -> list[InferenceComponent]:
        return [one for one in self._components if is_defined(one)]

    @property
    def components(self) -> tuple[InferenceComponent, ...]:
        """
        The components that ``add_model`` has made until now.
        """
        return tuple(self._components)

    @property
    def connections(self) -> ec2.Connections:
        """
        The security groups of all models, where they run in a VPC.
        """
        return self.endpoint_config.network.connections

    @checked
    def add_model(
        self,
        id: str,
        *,
        model: ModelSource | None = None,
        serving: ServingConfiguration | None = None,
        resources: ResourceRequirements
        | Mapping[str, ResourceRequirements]
        | None = None,
        copies: Copies | None = None,
        inference_component_name: str | None = None,
        inference_component_name_prefix: str | None = None,
        environment: Mapping[str, str] | None = None,
        container_startup_health_check_timeout: Duration | None = None,
        model_data_download_timeout: Duration | None = None,
        rollout: Rolling | None = None,
        retain_copy_count: bool = False,
        placement_strategy: PlacementStrategy | None = None,
        availability_zone_balance: AvailabilityZoneBalance | None = None,
        data_caching: bool | None = None,
        assumptions: Assumptions | None = None,
    ) -> InferenceComponent:
        """
        Host copies of a model on the shared instances.

        Args:
            id: The construct's id, which names the model in messages.

            model:
                Where the weights come from.
                If omitted, the serving configuration's own files must name them.

            serving:
                Which backend serves the model, and how.
                If omitted, it is vLLM in AWS's own image.

            resources:
                What each copy reserves, and how many copies start; of instance pools,
                the same on all types, or a mapping of type to requirements.
                If omitted, it is what the plan for the model's size asks for on each
                type, if that is known.

            copies:
                How many copies start, or ``"fill"`` for as many as the instances
                hold beside the other models.
                If omitted, it is the number in ``resources``, or one.

            inference_component_name:
                A name of your own.
                If omitted, CloudFormation makes one.

            inference_component_name_prefix:
                In place of a name, the beginning of one: what follows changes where
                the component has to be replaced.

            environment:
                Further environment variables of the container.
                If omitted, there are none.

            container_startup_health_check_timeout:
                How long a copy may take to load, 60 to 3600 seconds.
                If omitted, it is the endpoint's; else 30 minutes, or more where the
                model's size asks for it.

            model_data_download_timeout:
                How long the download of the model data may take.
                If omitted, it follows the size of weights that SageMaker downloads;
                for a tarball alone the service's default applies.

            rollout:
                How an update reaches the copies: ``Rolling``, batch by batch.
                If omitted, all new copies start beside the old ones, or in their
                place where there is no room.

            retain_copy_count:
                Whether an update leaves alone how many copies run, which scaling may
                have changed: the template has no number of copies then.
                Set it from the second deployment on; what the service starts without
                a number is not documented.

            placement_strategy:
                Whether copies spread over instances, or share as few as possible.
                If omitted, the service's default applies.

            availability_zone_balance:
                How evenly copies are spread over zones, beside a placement strategy.
                If omitted, zones are balanced where capacity allows, as a strategy
                asks.

            data_caching:
                Whether instances keep image and model data for further copies.
                If omitted, the service decides by the instances' storage.

            assumptions:
                Figures for the memory that the engine needs, in place of the plan's
                cautious ones, where those refuse a model that is known to run.
                If omitted, the figures of the serving configuration apply.

        Raises:
            ValueError: If the definition could not start, or the instances cannot
                hold its copies beside those of other models; all reasons at once.
        """
        start_up = container_startup_health_check_timeout or self._start_up
        variant, types = self._host.variant.variant_name, self._hardware_by_type
        report(self, id, by_type_findings("resources", resources, list(types)))
        request = ModelRequest(
            serving=serving or default_serving(),
            model=model,
            environment=environment,
            role=self.role,
            network=self.endpoint_config.network,
            region=region_of(self),
            start_up=start_up,
        )
        sizes = define_sized_models(types, request, resources, assumptions)
        models = [one.definition for one in sizes]
        placements = self.endpoint.placements
        if copies == "fill":
            placements.forget_removed(variant)
        needs, faults = with_same_copies(
            [one.resources for one in sizes], copies, placements.fleets(variant)
        )
        placement = placements.beside(variant, id, *needs)
        definition = define_component(
            ComponentDefinition(
                resources=needs[0],
                by_type=dict(zip(types, needs, strict=True)) if len(needs) > 1 else {},
                variant_name=variant,
                inference_component_name=inference_component_name,
                inference_component_name_prefix=inference_component_name_prefix,
                start_up=start_up or models[0].start_up_timeout,
                download=model_data_download_timeout,
                rollout=rollout,
                retain_copy_count=retain_copy_count,
                scheduling=Scheduling(
                    placement_strategy=placement_strategy,
                    availability_zone_balance=availability_zone_balance,
                    data_caching=data_caching,
                ),
            ),
            models,
            host=self._host,
            placement=placement,
        )
        fit = [*dict.fromkeys(one for size in sizes for one in size.fit), *faults]
        if resources is not None:
            fit += reserved_findings(models, needs, types.values())
        findings = [
            *definition.findings,
            *twice_findings(self, COMPONENT_NAME, inference_component_name),
            *distinct_findings(models),
            *fit,
        ]
        places = place_findings(self, model, None, environment)
        findings += places
        report(self, id, findings)
        hosted = Construct(self, id)
        belongs(hosted, self)
        component = DefinedInferenceComponent(
            hosted,
            "Component",
            definition,
            endpoint=self.endpoint,
            models=dict(
                zip(types, make_models(hosted, models, list(types)), strict=True)
            ),
            placement=placement,
        )
        self._add_component(component)
        annotate(hosted, [*fit, *places])
        return component


def _bounds(
    start: int, least: int | None, most: int | None, scale_in: ScaleInPolicy | None
) -> ManagedInstanceScaling | None:
    if least is None and most is None:
        return None
    bounds = MinimumNotChosen if least is None else ManagedInstanceScaling
    # The number at the start is also the bound that nobody chose.
    return bounds(
        min_instance_count=start if least is None else least,
        max_instance_count=start if most is None else most,
        scale_in_policy=scale_in,
    )
