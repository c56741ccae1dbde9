"""
Where a variant's instances come from, and how requests reach them.

What belongs here is what users write, and how the service's resources say it; what is
wrong with it is found by ``capacity_checks``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.hosting.common.limits import minutes

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.models.model import ModelBase

_Config = sagemaker.CfnEndpointConfig


@dataclass(frozen=True, slots=True)
class InstancePool:
    """
    One of several types that a variant's instances may be of.

    ``[InstancePool("ml.g6e.2xlarge", priority=1), InstancePool("ml.g5.2xlarge",
    priority=2)]``

    Args:
        instance_type: The type's API name, or ``InstanceType.of(...)`` for a new one.

        priority: When it is tried: 1 is the first, 5 the last.

        model:
            The model that fills instances of this type, in place of the variant's.
            If left out, it is the variant's.
    """

    instance_type: str | InstanceType
    priority: int = field(kw_only=True)
    model: ModelBase | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    def to_property(self) -> sagemaker.CfnEndpointConfig.InstancePoolProperty:
        """
        Render for the L1 class.
        """
        return _Config.InstancePoolProperty(
            instance_type=str(self.instance_type),
            priority=self.priority,
            model_name_override=self.model.model_name if self.model else None,
        )


@dataclass(frozen=True, slots=True)
class CapacityReservation:
    """
    Capacity that was reserved by a training plan; instances start nowhere else.

    ``CapacityReservation("arn:aws:sagemaker:us-east-1:111111111111:...")``

    Args:
        ml_reservation_arn: The ARN of the ML capacity reservation.
    """

    ml_reservation_arn: str

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    def to_property(
        self,
    ) -> sagemaker.CfnEndpointConfig.CapacityReservationConfigProperty:
        """
        Render for the L1 class.
        """
        return _Config.CapacityReservationConfigProperty(
            # The only preference that the API has.
            capacity_reservation_preference="capacity-reservations-only",
            ml_reservation_arn=self.ml_reservation_arn,
        )


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
            If left out, it is the service's 1.

        cooldown:
            How long after the endpoint's last operation a consolidation waits, 5 to
            1440 minutes.
            If left out, it is the service's 20 minutes.
    """

    strategy: ScaleInStrategy
    maximum_step_size: int | None = None
    cooldown: Duration | None = None

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
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


class RoutingStrategy(enum.StrEnum):
    """
    How requests are spread over instances and copies.

    Routing by a prompt's prefix is ``PrefixAwareRouting(...)``. The API's ``KV_AWARE``
    is not among CloudFormation's values.
    """

    LEAST_OUTSTANDING_REQUESTS = "LEAST_OUTSTANDING_REQUESTS"
    RANDOM = "RANDOM"


@dataclass(frozen=True, kw_only=True, slots=True)
class PrefixAwareRouting:
    """
    Send requests that begin alike to the same instance and copy, whose cache knows
    the beginning.

    ``PrefixAwareRouting(prefix_length=4096, concurrency_threshold=16)``

    Args:
        prefix_length: How much of a request is compared, 1024 to 65536: bytes of its
            body, or characters of its messages where the API is OpenAI's.

        concurrency_threshold: From how many requests in flight on, 1 to 1024, another
            instance or copy is taken.
    """

    prefix_length: int
    concurrency_threshold: int

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)


def routing_property(
    routing: RoutingStrategy | PrefixAwareRouting,
) -> sagemaker.CfnEndpointConfig.RoutingConfigProperty:
    """
    Render how requests are spread for the L1 class.
    """
    if isinstance(routing, RoutingStrategy):
        return _Config.RoutingConfigProperty(routing_strategy=routing.value)
    return _Config.RoutingConfigProperty(
        routing_strategy="PREFIX_AWARE",
        prefix_aware_routing_config=_Config.PrefixAwareRoutingConfigProperty(
            prefix_length=routing.prefix_length,
            concurrency_threshold=routing.concurrency_threshold,
        ),
    )
