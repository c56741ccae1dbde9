"""
A production variant: which instances an endpoint runs on, how many, how patiently.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import (
    gibibytes,
    minute_findings,
    minutes,
    range_findings,
    seconds,
)
from cdk_sagemaker_llm.hosting.variants.capacity import (
    UNUSED_SETTING,
    InstanceCapacity,
    InstancePool,
    PrefixAwareRouting,
    RoutingStrategy,
    routing_property,
)
from cdk_sagemaker_llm.serving.parameters import API

if TYPE_CHECKING:
    from aws_cdk import Duration, Size

    from cdk_sagemaker_llm.hosting.models.model import ModelBase
    from cdk_sagemaker_llm.serving.base import ServingConfiguration

_Config = sagemaker.CfnEndpointConfig
VariantProperty = _Config.ProductionVariantProperty

# The default time-out of the service is shorter than a model's download: a 7B model
# takes about 10 minutes from the Hub, 13B and larger 15 to 25.
START_UP_SECONDS = 1800
_STEPS = (1, 100)
_COOLDOWN_MINUTES = (5, 1440)

UNSCALED_POLICY = Rule(
    "LLM317", "a scale-in policy is for a number of instances that is fixed", API
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductionVariant:
    """
    The instances behind an endpoint.

    ``ProductionVariant(instance_type="ml.g5.12xlarge", model=model)``

    Args:
        instance_type:
            The type's API name, or ``InstanceType.of(...)`` for a new one.
            If omitted, ``capacity`` names pools of types.

        model:
            The model that fills the instances, defined here or imported.
            If omitted, the instances host inference components.

        variant_name: The name in metrics and scaling.

        initial_instance_count: Instances at the start.

        initial_variant_weight:
            The share of requests among several variants.
            If omitted, all weigh the same.

        container_startup_health_check_timeout:
            How long a container may take to answer, 60 to 3600 seconds.
            If omitted, it is 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If omitted, it follows the size of weights that SageMaker downloads; for
            a tarball alone the service's default applies.

        managed_instance_scaling:
            Bounds for instances that follow the components.
            If omitted, the number of instances is fixed or follows a policy.

        routing_strategy:
            How requests are spread, such as ``PrefixAwareRouting(...)``.
            If omitted, they go to the least busy: generation times differ too much
            for chance.

        inference_ami_version:
            The host image, which decides the GPU driver.
            If omitted, it is the type's default, or, where that is too old, the one
            for the CUDA version of the model's image; for hosts of components it
            follows ``cuda_version`` or ``engine``.

        cuda_version:
            The CUDA version of the images that inference components bring, such as
            ``12.4``; the host image is derived from it, and stays whatever models come
            and go.
            If omitted, it is that of ``engine``.

        engine:
            What most of the inference components are served with, which stands for
            its image's CUDA version.
            If omitted, it is the library's default, ``Vllm()``.

        volume_size:
            The size of the EBS volume; types with local NVMe storage refuse it.
            If omitted, it follows the model's size, or is the service's 30 GiB.

        capacity:
            Where instances come from, and how long to wait for them, such as
            ``InstanceCapacity(pools=[...])``.
            If omitted, they are of ``instance_type`` and start on demand.
    """

    instance_type: str | InstanceType | None = None
    model: ModelBase | None = None
    variant_name: str = "AllTraffic"
    initial_instance_count: int = 1
    initial_variant_weight: float | None = None
    container_startup_health_check_timeout: Duration | None = None
    model_data_download_timeout: Duration | None = None
    managed_instance_scaling: ManagedInstanceScaling | None = None
    routing_strategy: RoutingStrategy | PrefixAwareRouting = (
        RoutingStrategy.LEAST_OUTSTANDING_REQUESTS
    )
    inference_ami_version: str | None = None
    cuda_version: str | None = None
    engine: ServingConfiguration | None = None
    volume_size: Size | None = None
    capacity: InstanceCapacity | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def most_instances(self) -> int:
        """
        How many instances SageMaker may run for components.
        """
        bounds = self.managed_instance_scaling
        return bounds.max_instance_count if bounds else self.initial_instance_count

    @property
    def pools(self) -> list[InstancePool]:
        """
        The pools of its instances in the order in which they are tried; none if all
        are of one type.
        """
        return [] if self.capacity is None else self.capacity.pools_in_order

    @property
    def instance_types(self) -> tuple[str | InstanceType | None, ...]:
        """
        The types of its instances, the first choice first; ``None`` where none was
        chosen.
        """
        types = tuple(pool.instance_type for pool in self.pools)
        return types or (self.instance_type,)

    @property
    def models(self) -> Iterator[ModelBase]:
        """
        The models that fill the instances, of whatever type.
        """
        pools = [] if self.capacity is None else self.capacity.pools or ()
        every = (self.model, *(pool.model for pool in pools))
        return (model for model in every if model is not None)

    def with_model(self, model: ModelBase, *further: ModelBase) -> ProductionVariant:
        """
        Return this variant, filled by a model, or by one for each type of pools.

        Args:
            model: The model of the variant, or of its first pool.

            further: The models of the other pools, in the order in which those are
                tried.
        """
        if self.capacity is None or not further:
            return replace(self, model=model)
        pools = [
            pool if own is model else replace(pool, model=own)
            for pool, own in zip(self.pools, (model, *further), strict=True)
        ]
        return replace(self, model=model, capacity=replace(self.capacity, pools=pools))

    def to_property(self, *, host_image: str | None) -> VariantProperty:
        """
        Render for the L1 class; without a host image the type's default runs.

        Args:
            host_image: The host image that was chosen.
        """
        capacity = self.capacity or InstanceCapacity()
        weight = self.initial_variant_weight
        start_up = seconds(self.container_startup_health_check_timeout)
        return VariantProperty(
            variant_name=self.variant_name,
            model_name=self.model.model_name if self.model else None,
            instance_type=None
            if self.instance_type is None
            else str(self.instance_type),
            instance_pools=None
            if capacity.pools is None
            else [pool.to_property() for pool in capacity.pools],
            capacity_reservation_config=None
            if capacity.reservation is None
            else capacity.reservation.to_property(),
            initial_instance_count=self.initial_instance_count,
            initial_variant_weight=1.0 if weight is None else weight,
            container_startup_health_check_timeout_in_seconds=start_up
            or START_UP_SECONDS,
            model_data_download_timeout_in_seconds=seconds(
                self.model_data_download_timeout
            ),
            variant_instance_provision_timeout_in_seconds=seconds(
                capacity.provision_timeout
            ),
            managed_instance_scaling=None
            if self.managed_instance_scaling is None
            else self.managed_instance_scaling.to_property(),
            routing_config=routing_property(self.routing_strategy),
            inference_ami_version=host_image,
            volume_size_in_gb=gibibytes(self.volume_size),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedInstanceScaling:
    """
    Let SageMaker add and remove instances as inference components need them.

    ``ManagedInstanceScaling(min_instance_count=1, max_instance_count=4)``

    Args:
        min_instance_count:
            Instances that always run; none with 0, once no component has a copy.

        max_instance_count: Instances that run at most.

        scale_in_policy:
            How instances are released that are no longer needed.
            If omitted, the service's default applies.
    """

    min_instance_count: int
    max_instance_count: int
    scale_in_policy: ScaleInPolicy | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    def to_property(self) -> sagemaker.CfnEndpointConfig.ManagedInstanceScalingProperty:
        """
        Render for the L1 class.
        """
        policy = self.scale_in_policy
        return _Config.ManagedInstanceScalingProperty(
            status="ENABLED",
            min_instance_count=self.min_instance_count,
            max_instance_count=self.max_instance_count,
            scale_in_policy=None if policy is None else policy.to_property(),
        )


class MinimumNotChosen(ManagedInstanceScaling):
    """
    Bounds whose minimum nobody chose: it is the number that starts.
    """

    __slots__ = ()


class ScaleInStrategy(enum.StrEnum):
    """
    Which instances SageMaker releases when components need fewer.

    ``IDLE_RELEASE`` takes those without a copy; ``CONSOLIDATION`` moves copies together
    to have more of these.
    """

    IDLE_RELEASE = "IDLE_RELEASE"
    CONSOLIDATION = "CONSOLIDATION"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleInPolicy:
    """
    How SageMaker releases instances that components no longer need.

    ``ScaleInPolicy(strategy=ScaleInStrategy.CONSOLIDATION, maximum_step_size=2)``

    Args:
        strategy: Which instances are released.

        maximum_step_size:
            How many instances a consolidation releases at a time, 1 to 100.
            If omitted, it is the service's 1.

        cooldown:
            How long after the endpoint's last operation a consolidation waits, 5 to
            1440 minutes.
            If omitted, it is the service's 20 minutes.
    """

    strategy: ScaleInStrategy
    maximum_step_size: int | None = None
    cooldown: Duration | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def cooldown_minutes(self) -> float | None:
        """
        The cooldown in minutes, as the API counts.

        ``None`` for none, and for a placeholder in another unit.
        """
        return minutes(self.cooldown)

    def to_property(self) -> sagemaker.CfnEndpointConfig.ScaleInPolicyProperty:
        """
        Render for the L1 class.
        """
        return _Config.ScaleInPolicyProperty(
            strategy=self.strategy.value,
            maximum_step_size=self.maximum_step_size,
            cooldown_in_minutes=self.cooldown_minutes,
        )


def scale_in_findings(policy: ScaleInPolicy) -> list[Finding]:
    """
    Check a scale-in policy.
    """
    name = "cooldown"
    wrong_unit = minute_findings(name, policy.cooldown)
    found = [
        *range_findings("maximum_step_size", policy.maximum_step_size, *_STEPS),
        *(
            wrong_unit
            or range_findings(
                name, policy.cooldown_minutes, *_COOLDOWN_MINUTES, " minutes"
            )
        ),
    ]
    if policy.strategy is not ScaleInStrategy.IDLE_RELEASE:
        return found
    return found + [
        UNUSED_SETTING.finding(
            f"{parameter} is of a consolidation, and IDLE_RELEASE consolidates nothing",
            "leave it out, or use ScaleInStrategy.CONSOLIDATION",
        )
        for parameter in ("maximum_step_size", name)
        if getattr(policy, parameter) is not None
    ]
