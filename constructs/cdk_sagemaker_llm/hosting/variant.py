"""
A production variant: which instances an endpoint runs on, how many, how patiently.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.host_images import host_image_for
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.findings import Finding, error
from cdk_sagemaker_llm.hosting.naming import name_findings, range_findings
from cdk_sagemaker_llm.hosting.start_up import (
    host_findings,
    timeout_contradictions,
)

if TYPE_CHECKING:
    from aws_cdk import Duration, Size

    from cdk_sagemaker_llm.hosting.model import Model

VariantProperty = sagemaker.CfnEndpointConfig.ProductionVariantProperty

# The default time-out of the service is shorter than a model's download: a 7B model
# takes about 10 minutes from the Hub, 13B and larger 15 to 25.
START_UP_SECONDS = 1800
_TIMEOUT_SECONDS = (60, 3600)


class RoutingStrategy(enum.StrEnum):
    """
    How requests are spread over instances and copies.
    """

    LEAST_OUTSTANDING_REQUESTS = "LEAST_OUTSTANDING_REQUESTS"
    RANDOM = "RANDOM"


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedInstanceScaling:
    """
    Let SageMaker add and remove instances as inference components need them.

    ``ManagedInstanceScaling(min_instance_count=1, max_instance_count=4)``

    Args:
        min_instance_count: Instances that always run.

        max_instance_count: Instances that run at most.
    """

    min_instance_count: int
    max_instance_count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductionVariant:
    """
    The instances behind an endpoint.

    ``ProductionVariant(instance_type="ml.g5.12xlarge", model=model)``

    Args:
        instance_type: The type's API name, or ``InstanceType.of(...)`` for a new one.

        model:
            The model that fills the instances.
            Left out, the instances host inference components.

        variant_name: The name in metrics and scaling.

        initial_instance_count: Instances at the start.

        initial_variant_weight:
            The share of requests among several variants.
            Left out, all weigh the same.

        container_startup_health_check_timeout:
            How long a container may take to answer, 60 to 3600 seconds.
            Left out, 30 minutes.

        model_data_download_timeout:
            How long the download of the model data may take, 60 to 3600 seconds.
            Left out, the service's default: the tarball is small.

        instance_provision_timeout:
            How long to wait for instances, 300 to 3600 seconds.
            Left out, the service's default.

        managed_instance_scaling:
            Bounds for instances that follow the components.
            Left out, the number of instances is fixed or follows a policy.

        routing_strategy:
            Left out, to the least busy; generation times differ too much for chance.

        inference_ami_version:
            The host image, which decides the GPU driver.
            Left out, the type's default, or the oldest one whose driver runs the
            model's image.

        volume_size:
            The size of the EBS volume.
            Types with local NVMe storage refuse it.
    """

    instance_type: str | InstanceType
    model: Model | None = None
    variant_name: str = "AllTraffic"
    initial_instance_count: int = 1
    initial_variant_weight: float | None = None
    container_startup_health_check_timeout: Duration | None = None
    model_data_download_timeout: Duration | None = None
    instance_provision_timeout: Duration | None = None
    managed_instance_scaling: ManagedInstanceScaling | None = None
    routing_strategy: RoutingStrategy = RoutingStrategy.LEAST_OUTSTANDING_REQUESTS
    inference_ami_version: str | None = None
    volume_size: Size | None = None

    def hardware(self) -> InstanceType | None:
        """
        Look the instance type up; ``None`` for a placeholder.

        Raises:
            ValueError: If there is no such type.
        """
        if isinstance(self.instance_type, InstanceType):
            return self.instance_type
        if is_unresolved(self.instance_type):
            return None
        return find_instance_type(self.instance_type)

    @property
    def most_instances(self) -> int:
        """
        How many instances SageMaker may run for components.
        """
        bounds = self.managed_instance_scaling
        return bounds.max_instance_count if bounds else self.initial_instance_count

    def findings(self) -> list[Finding]:
        """
        Check the variant against what the API accepts.
        """
        return [
            *name_findings("variant_name", self.variant_name),
            *self._hardware_findings(),
            *self._scaling_findings(),
            *self._timeout_findings(),
        ]

    def with_model(self, model: Model) -> ProductionVariant:
        """
        Return this variant, filled by a model.
        """
        return replace(self, model=model)

    def host_image(self) -> str | None:
        """
        Return the host image to ask for, derived from the model's where none is given.
        """
        hardware = self.hardware()
        if self.inference_ami_version or self.model is None or hardware is None:
            return self.inference_ami_version
        return host_image_for(hardware, self.model.image.cuda_version)

    def model_findings(self) -> list[Finding]:
        """
        Check the model, if the variant has one, against its hosts.
        """
        if self.model is None:
            return []
        return self.findings_of(self.model, self.container_startup_health_check_timeout)

    def findings_of(self, model: Model, start_up: Duration | None) -> list[Finding]:
        """
        Check a model against these hosts.

        Args:
            model: The variant's model, or that of a component on it.

            start_up: How long it may take to answer; ``None`` for the default.
        """
        found = host_findings(self.hardware(), model.image, self.inference_ami_version)
        return found + timeout_contradictions(
            model.loading_seconds,
            seconds(start_up) or START_UP_SECONDS,
            was_chosen=bool(start_up),
        )

    def to_property(self, *, host_image: str | None = None) -> VariantProperty:
        """
        Render for the L1 class.

        Args:
            host_image: The host image that inference components turn out to need.
        """
        return VariantProperty(
            variant_name=self.variant_name,
            model_name=self.model.model_name if self.model else None,
            instance_type=str(self.instance_type),
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
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy=self.routing_strategy.value
            ),
            inference_ami_version=self.host_image() or host_image,
            volume_size_in_gb=self._gibibytes(),
        )

    def _weight(self) -> float:
        weight = self.initial_variant_weight
        return 1.0 if weight is None else weight

    def _gibibytes(self) -> float | None:
        return None if self.volume_size is None else self.volume_size.to_gibibytes()

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
        )

    def _hardware_findings(self) -> list[Finding]:
        try:
            hardware = self.hardware()
        except ValueError as fault:
            return [error("LLM101", str(fault))]
        if hardware is None or self.volume_size is None:
            return []
        if hardware.volume_size_supported:
            gibibytes = self.volume_size.to_gibibytes()
            return range_findings("volume_size", gibibytes, 1, 512, " GiB")
        return [
            error(
                "LLM121",
                f"{hardware} refuses volume_size: it has local NVMe storage",
                "leave it out; /opt/ml and /tmp are on the NVMe disks",
            )
        ]

    def _scaling_findings(self) -> list[Finding]:
        found = count_findings("initial_instance_count", self.initial_instance_count, 1)
        bounds = self.managed_instance_scaling
        if bounds is None:
            return found
        if self.model is not None:
            # CreateEndpointConfig refuses this since 2026-04.
            found.append(
                error(
                    "LLM122",
                    "managed_instance_scaling goes with inference components only",
                    "scale a model's instances with auto_scale_instance_count",
                )
            )
        return found + bounds_findings(
            "min_instance_count",
            bounds.min_instance_count,
            "max_instance_count",
            bounds.max_instance_count,
        )

    def _timeout_findings(self) -> list[Finding]:
        return [
            *timeout_findings(
                "container_startup_health_check_timeout",
                self.container_startup_health_check_timeout,
            ),
            *timeout_findings(
                "model_data_download_timeout", self.model_data_download_timeout
            ),
            *timeout_findings(
                "instance_provision_timeout", self.instance_provision_timeout, least=300
            ),
        ]


def timeout_findings(
    parameter: str, timeout: Duration | None, *, least: float = _TIMEOUT_SECONDS[0]
) -> list[Finding]:
    """
    Check a time-out against the API's bounds.
    """
    most = _TIMEOUT_SECONDS[1]
    return range_findings(parameter, seconds(timeout), least, most, " seconds")


def count_findings(parameter: str, value: float, least: int) -> list[Finding]:
    """
    Check a count against its lower bound.
    """
    if is_unresolved(value) or value >= least:
        return []
    return [error("LLM105", f"{parameter} must be at least {least}, got {value}")]


def bounds_findings(
    least_name: str, least: float, most_name: str, most: float
) -> list[Finding]:
    """
    Check that a lower bound is not above its upper one.
    """
    if is_unresolved(least) or is_unresolved(most) or least <= most:
        return []
    return [
        error(
            "LLM105",
            f"{most_name} must be at least {least_name}, got {most_name}={most} and "
            f"{least_name}={least}",
        )
    ]


def seconds(timeout: Duration | None) -> float | None:
    """
    Return a duration in seconds, as the API counts, or ``None`` for none.
    """
    return None if timeout is None else timeout.to_seconds()
