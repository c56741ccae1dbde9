"""
A production variant: which instances an endpoint runs on, how many, how patiently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.hosting.common.limits import gibibytes, seconds
from cdk_sagemaker_llm.hosting.variants.capacity import (
    CapacityReservation,
    InstancePool,
    PrefixAwareRouting,
    RoutingStrategy,
    ScaleInPolicy,
    routing_property,
)
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration, Size

    from cdk_sagemaker_llm.hosting.models.model import ModelBase
    from cdk_sagemaker_llm.serving.configuration import ServingConfiguration

VariantProperty = sagemaker.CfnEndpointConfig.ProductionVariantProperty

# The default time-out of the service is shorter than a model's download: a 7B model
# takes about 10 minutes from the Hub, 13B and larger 15 to 25.
START_UP_SECONDS = 1800


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
            If left out, the service's default applies.
    """

    min_instance_count: int
    max_instance_count: int
    scale_in_policy: ScaleInPolicy | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


class MinimumNotChosen(ManagedInstanceScaling):
    """
    Bounds whose minimum nobody chose: it is what the instances start with.
    """

    __slots__ = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductionVariant:
    """
    The instances behind an endpoint.

    ``ProductionVariant(instance_type="ml.g5.12xlarge", model=model)``

    Args:
        instance_type:
            The type's API name, or ``InstanceType.of(...)`` for a new one.
            If left out, ``instance_pools`` say the types.

        model:
            The model that fills the instances, defined here or imported.
            If left out, the instances host inference components.

        variant_name: The name in metrics and scaling.

        initial_instance_count: Instances at the start.

        initial_variant_weight:
            The share of requests among several variants.
            If left out, all weigh the same.

        container_startup_health_check_timeout:
            How long a container may take to answer, 60 to 3600 seconds.
            If left out, it is 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            If left out, it follows the size of weights that SageMaker downloads; for
            a tarball alone the service's default applies.

        instance_provision_timeout:
            How long to wait for instances, 300 to 3600 seconds; of pools, for all of
            them together.
            If left out, the service's default applies.

        managed_instance_scaling:
            Bounds for instances that follow the components.
            If left out, the number of instances is fixed or follows a policy.

        routing_strategy:
            How requests are spread, such as ``PrefixAwareRouting(...)``.
            If left out, they go to the least busy: generation times differ too much
            for chance.

        inference_ami_version:
            The host image, which decides the GPU driver.
            If left out, it is the type's default, or, where that is too old, the one
            for the CUDA version of the model's image; hosts of components say what
            they are for with ``cuda_version`` or ``engine``.

        cuda_version:
            The CUDA version of the images that inference components bring, such as
            ``12.4``; the host image is derived from it, and stays whatever models come
            and go.
            If left out, it is that of ``engine``.

        engine:
            What most of the inference components are served with, which stands for
            its image's CUDA version.
            If left out, it is the library's default, ``Vllm()``.

        volume_size:
            The size of the EBS volume; types with local NVMe storage refuse it.
            If left out, it follows the model's size, or is the service's 30 GiB.

        instance_pools:
            In place of ``instance_type``, two to five types: where the first has no
            capacity, instances of the next one start.
            If left out, all instances are of one type.

        capacity_reservation:
            Reserved capacity that instances start in, and nowhere else.
            If left out, they start on demand.
    """

    instance_type: str | InstanceType | None = None
    model: ModelBase | None = None
    variant_name: str = "AllTraffic"
    initial_instance_count: int = 1
    initial_variant_weight: float | None = None
    container_startup_health_check_timeout: Duration | None = None
    model_data_download_timeout: Duration | None = None
    instance_provision_timeout: Duration | None = None
    managed_instance_scaling: ManagedInstanceScaling | None = None
    routing_strategy: RoutingStrategy | PrefixAwareRouting = (
        RoutingStrategy.LEAST_OUTSTANDING_REQUESTS
    )
    inference_ami_version: str | None = None
    cuda_version: str | None = None
    engine: ServingConfiguration | None = None
    volume_size: Size | None = None
    instance_pools: Sequence[InstancePool] | None = None
    capacity_reservation: CapacityReservation | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @property
    def most_instances(self) -> int:
        """
        How many instances SageMaker may run for components.
        """
        bounds = self.managed_instance_scaling
        return bounds.max_instance_count if bounds else self.initial_instance_count

    @property
    def instance_types(self) -> tuple[str | InstanceType | None, ...]:
        """
        The types of its instances, the first choice first; ``None`` where it was
        forgotten.
        """
        if not self.instance_pools:
            return (self.instance_type,)
        return tuple(pool.instance_type for pool in in_order(self.instance_pools))

    @property
    def models(self) -> Iterator[ModelBase]:
        """
        The models that fill the instances, of whatever type.
        """
        overrides = (pool.model for pool in self.instance_pools or ())
        return (model for model in (self.model, *overrides) if model is not None)

    def with_model(self, model: ModelBase, *further: ModelBase) -> ProductionVariant:
        """
        Return this variant, filled by a model, or by one for each type of pools.
        """
        if not further:
            return replace(self, model=model)
        pools = [
            pool if own is model else replace(pool, model=own)
            for pool, own in zip(
                in_order(self.instance_pools or ()), (model, *further), strict=True
            )
        ]
        return replace(self, model=model, instance_pools=pools)

    def to_property(self, *, host_image: str | None) -> VariantProperty:
        """
        Render for the L1 class.

        Args:
            host_image: The host image; ``None`` for the type's default.
        """
        return VariantProperty(
            variant_name=self.variant_name,
            model_name=self.model.model_name if self.model else None,
            instance_type=None
            if self.instance_type is None
            else str(self.instance_type),
            instance_pools=None
            if self.instance_pools is None
            else [pool.to_property() for pool in self.instance_pools],
            capacity_reservation_config=None
            if self.capacity_reservation is None
            else self.capacity_reservation.to_property(),
            initial_instance_count=self.initial_instance_count,
            initial_variant_weight=self._weight(),
            container_startup_health_check_timeout_in_seconds=seconds(
                self.container_startup_health_check_timeout
            )
            or START_UP_SECONDS,
            model_data_download_timeout_in_seconds=seconds(
                self.model_data_download_timeout
            ),
            variant_instance_provision_timeout_in_seconds=seconds(
                self.instance_provision_timeout
            ),
            managed_instance_scaling=self._managed_scaling(),
            routing_config=routing_property(self.routing_strategy),
            inference_ami_version=host_image,
            volume_size_in_gb=self._gibibytes(),
        )

    def _weight(self) -> float:
        weight = self.initial_variant_weight
        return 1.0 if weight is None else weight

    def _gibibytes(self) -> float | None:
        return gibibytes(self.volume_size)

    def _managed_scaling(
        self,
    ) -> sagemaker.CfnEndpointConfig.ManagedInstanceScalingProperty | None:
        bounds = self.managed_instance_scaling
        if bounds is None:
            return None
        return sagemaker.CfnEndpointConfig.ManagedInstanceScalingProperty(
            status="ENABLED",
            min_instance_count=bounds.min_instance_count,
            max_instance_count=bounds.max_instance_count,
            scale_in_policy=None
            if bounds.scale_in_policy is None
            else bounds.scale_in_policy.to_property(),
        )


def in_order(pools: Sequence[InstancePool]) -> list[InstancePool]:
    """
    Sort pools by when they are tried; one that is not known at synth stays where it is.
    """
    if any(is_unresolved(pool.priority) for pool in pools):
        return list(pools)
    return sorted(pools, key=lambda pool: pool.priority)
