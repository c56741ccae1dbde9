"""
Where a variant's instances come from, and how requests are spread over them.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import range_findings
from cdk_sagemaker_llm.hosting.common.rules import TYPE_OR_POOLS, WRONG_POOLS
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.models.model import ModelBase

_Config = sagemaker.CfnEndpointConfig

_GUIDE = "SageMaker developer guide, realtime-endpoints-heterogeneous"
_PRIORITIES = (1, 5)
_POOLS = (2, 5)
_PREFIX = (1024, 65536)
_THRESHOLD = (1, 1024)
# botocore 1.44.5, MlReservationArn.
_RESERVATION = re.compile(
    r"arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:[a-z0-9\-]{1,14}/.*\Z"
)
_LONGEST_RESERVATION = 258

NO_RESERVATION = Rule("LLM314", "a capacity reservation is no ARN of one", API)
OTHER_ROUTING = Rule(
    "LLM411",
    "instances of several types get requests by another routing than the least busy",
    "aws-samples/sagemaker-genai-hosting-examples",
)
DOUBTFUL_RESERVATION = Rule(
    "LLM412", "capacity may be reserved for no endpoint on such a type"
)
UNUSED_SETTING = Rule("LLM414", "a setting has no effect beside the others", API)


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
            If omitted, it is the variant's.
    """

    instance_type: str | InstanceType
    priority: int = field(kw_only=True)
    model: ModelBase | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
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
    InstanceCapacity that was reserved by a training plan; instances start nowhere else.

    ``CapacityReservation("arn:aws:sagemaker:us-east-1:111111111111:...")``

    Args:
        ml_reservation_arn: The ARN of the ML capacity reservation.
    """

    ml_reservation_arn: str

    def __post_init__(self) -> None:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceCapacity:
    """
    Where a variant's instances come from, and how long to wait for them.

    ``InstanceCapacity(pools=[InstancePool("ml.g6e.2xlarge", priority=1),
    InstancePool("ml.g5.2xlarge", priority=2)])``
    ``InstanceCapacity(reservation=CapacityReservation(arn))``
    ``InstanceCapacity(provision_timeout=Duration.minutes(30))``

    Args:
        pools:
            In place of ``instance_type``, two to five types: where the first has no
            capacity, instances of the next one start.
            If omitted, all instances are of ``instance_type``.

        reservation:
            Reserved capacity that instances start in, and nowhere else.
            If omitted, they start on demand.

        provision_timeout:
            How long to wait for instances, 300 to 3600 seconds; with pools, for all
            of them together.
            If omitted, the service's default applies.
    """

    pools: Sequence[InstancePool] | None = None
    reservation: CapacityReservation | None = None
    provision_timeout: Duration | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def pools_in_order(self) -> list[InstancePool]:
        """
        The pools in the order in which they are tried; none without pools.

        Where a priority is not known at synth, they stay as they are.
        """
        pools = list(self.pools or ())
        if any(is_unresolved(pool.priority) for pool in pools):
            return pools
        return sorted(pools, key=lambda pool: pool.priority)


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
    Send requests that begin alike to the same instance and copy, whose cache has their
    beginning.

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


def pool_findings(
    instance_type: str | InstanceType | None,
    pools: Sequence[InstancePool] | None,
    routing: RoutingStrategy | PrefixAwareRouting,
    *,
    has_model: bool,
) -> list[Finding]:
    """
    Check how many pools there are, of which types, and in which order.
    """
    if (instance_type is None) == (pools is None):
        return [
            TYPE_OR_POOLS.finding(
                "instance_type and capacity.pools exclude each other"
                if pools is not None
                else "neither instance_type nor capacity.pools is given",
                "give one of them",
            )
        ]
    if pools is None:
        return []
    least, most = _POOLS
    found = []
    if not least <= len(pools) <= most:
        found.append(
            WRONG_POOLS.finding(
                f"capacity.pools must be {least} to {most}, got {len(pools)}",
                "give one type as instance_type" if len(pools) == 1 else "",
            )
        )
    names = [str(pool.instance_type) for pool in pools]
    found += [
        WRONG_POOLS.finding(f"capacity.pools name {name} more than once")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    for pool in pools:
        parameter = f"priority of {pool.instance_type}"
        found += range_findings(parameter, pool.priority, *_PRIORITIES)
    if not has_model and any(pool.model is not None for pool in pools):
        found.append(
            WRONG_POOLS.finding(
                "a pool's model stands in place of the variant's, which has none",
                "leave it out, or give a ProductionVariant both",
            )
        )
    if routing is not RoutingStrategy.LEAST_OUTSTANDING_REQUESTS:
        found.append(
            OTHER_ROUTING.finding(
                "AWS's samples say that capacity.pools need the least busy instance to "
                "be chosen: types are not equally fast",
                "leave routing_strategy out",
            )
        )
    return found


def reservation_findings(
    reservation: CapacityReservation | None,
    types: Sequence[InstanceType | None],
) -> list[Finding]:
    """
    Check that a capacity reservation is one, and what is known of its types.
    """
    if reservation is None:
        return []
    arn = reservation.ml_reservation_arn
    found = []
    if not is_unresolved(arn) and not (
        len(arn) <= _LONGEST_RESERVATION and _RESERVATION.match(arn)
    ):
        found.append(
            NO_RESERVATION.finding(
                f"ml_reservation_arn must be the ARN of a reservation, got {arn!r}",
                "copy it from the training plan: arn:aws:sagemaker:<region>:<account>:"
                "...",
            )
        )
    others = [str(one) for one in types if one and not one.family.startswith("p")]
    return found + [
        DOUBTFUL_RESERVATION.finding(
            f"capacity for endpoints is known to be reserved on types of the p family "
            f"only, got {name}"
        )
        for name in others
    ]


def routing_findings(
    routing: RoutingStrategy | PrefixAwareRouting, most_instances: float | None
) -> list[Finding]:
    """
    Check the numbers of prefix-aware routing, and whether it has an effect;
    ``most_instances`` is ``None`` if a policy may add some.
    """
    if isinstance(routing, RoutingStrategy):
        return []
    found = [
        *range_findings("prefix_length", routing.prefix_length, *_PREFIX),
        *range_findings(
            "concurrency_threshold", routing.concurrency_threshold, *_THRESHOLD
        ),
    ]
    if most_instances is None or is_unresolved(most_instances) or most_instances > 1:
        return found
    return [
        *found,
        UNUSED_SETTING.finding(
            "requests are routed by their prefix among two or more instances, and "
            f"there is at most {most_instances}",
            "leave PrefixAwareRouting out, or let there be more instances",
        ),
    ]
