"""
What is checked of where instances come from, and of how requests and copies spread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import minute_findings, range_findings
from cdk_sagemaker_llm.hosting.variants.capacity import (
    CapacityReservation,
    InstancePool,
    PrefixAwareRouting,
    RoutingStrategy,
    ScaleInPolicy,
    ScaleInStrategy,
)
from cdk_sagemaker_llm.hosting.variants.variant import (
    ManagedInstanceScaling,
    ProductionVariant,
)
from cdk_sagemaker_llm.serving.rules import API
from cdk_sagemaker_llm.tokens import is_unresolved

_GUIDE = "SageMaker developer guide, realtime-endpoints-heterogeneous"
_PRIORITIES = (1, 5)
_POOLS = (2, 5)
_STEPS = (1, 100)
_COOLDOWN_MINUTES = (5, 1440)
_PREFIX = (1024, 65536)
_THRESHOLD = (1, 1024)
# botocore 1.44.5, MlReservationArn.
_RESERVATION = re.compile(
    r"arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:[a-z0-9\-]{1,14}/.*\Z"
)
_LONGEST_RESERVATION = 258

TYPE_OR_POOLS = Rule(
    "LLM311", "a variant has both an instance type and pools of types, or neither", API
)
WRONG_POOLS = Rule(
    "LLM312", "instance pools are too few, too many, or of the same type", _GUIDE
)
NO_RESERVATION = Rule("LLM314", "a capacity reservation is no ARN of one", API)
UNSCALED_POLICY = Rule(
    "LLM317", "a scale-in policy is for a number of instances that is fixed", API
)
OTHER_ROUTING = Rule(
    "LLM411",
    "instances of several types get requests by another routing than the least busy",
    "aws-samples/sagemaker-genai-hosting-examples",
)
DOUBTFUL_RESERVATION = Rule(
    "LLM412", "capacity may be reserved for no endpoint on such a type"
)
UNUSED_SETTING = Rule("LLM414", "a setting has no effect beside the others", API)


def pool_findings(variant: ProductionVariant) -> list[Finding]:
    """
    Check how many pools there are, of which types, and in which order.
    """
    pools = variant.instance_pools
    if (variant.instance_type is None) != (pools is None):
        return [] if pools is None else _pools_findings(variant, pools)
    return [
        TYPE_OR_POOLS.finding(
            "instance_type and instance_pools exclude each other"
            if pools is not None
            else "neither instance_type nor instance_pools is given",
            "give one of them",
        )
    ]


def _pools_findings(
    variant: ProductionVariant, pools: Sequence[InstancePool]
) -> list[Finding]:
    least, most = _POOLS
    found = []
    if not least <= len(pools) <= most:
        found.append(
            WRONG_POOLS.finding(
                f"instance_pools must be {least} to {most}, got {len(pools)}",
                "give one type as instance_type" if len(pools) == 1 else "",
            )
        )
    names = [str(pool.instance_type) for pool in pools]
    found += [
        WRONG_POOLS.finding(f"instance_pools name {name} more than once")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    for pool in pools:
        parameter = f"priority of {pool.instance_type}"
        found += range_findings(parameter, pool.priority, *_PRIORITIES)
    if variant.model is None and any(pool.model is not None for pool in pools):
        found.append(
            WRONG_POOLS.finding(
                "a pool's model stands in place of the variant's, which has none",
                "leave it out, or give a ProductionVariant both",
            )
        )
    if variant.routing_strategy is RoutingStrategy.LEAST_OUTSTANDING_REQUESTS:
        return found
    return [
        *found,
        OTHER_ROUTING.finding(
            "AWS's samples say that instance_pools need the least busy instance to be "
            "chosen: types are not equally fast",
            "leave routing_strategy out",
        ),
    ]


def reservation_findings(
    reservation: CapacityReservation | None,
    types: Sequence[InstanceType | None],
) -> list[Finding]:
    """
    Check that a capacity reservation is one, and what is known of its types.

    Args:
        reservation: What was reserved; ``None`` for nothing.

        types: The types of the instances; ``None`` where one is not known.
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


def scale_in_findings(bounds: ManagedInstanceScaling | None) -> list[Finding]:
    """
    Check a scale-in policy, if managed scaling has one.
    """
    policy = None if bounds is None else bounds.scale_in_policy
    if policy is None:
        return []
    return [
        *range_findings("maximum_step_size", policy.maximum_step_size, *_STEPS),
        *_cooldown_findings(policy),
        *_idle_findings(policy),
    ]


def _cooldown_findings(policy: ScaleInPolicy) -> list[Finding]:
    wrong = minute_findings("cooldown", policy.cooldown)
    return wrong or range_findings(
        "cooldown", policy.cooldown_minutes, *_COOLDOWN_MINUTES, " minutes"
    )


def _idle_findings(policy: ScaleInPolicy) -> list[Finding]:
    if policy.strategy is not ScaleInStrategy.IDLE_RELEASE:
        return []
    given = [
        name
        for name in ("maximum_step_size", "cooldown")
        if getattr(policy, name) is not None
    ]
    return [
        UNUSED_SETTING.finding(
            f"{name} is of a consolidation, and IDLE_RELEASE consolidates nothing",
            "leave it out, or use ScaleInStrategy.CONSOLIDATION",
        )
        for name in given
    ]


def fixed_number_findings(
    policy: ScaleInPolicy | None, bounds: ManagedInstanceScaling | None
) -> list[Finding]:
    """
    Check that a pattern's scale-in policy has something to scale in.
    """
    if policy is None or bounds is not None:
        return []
    return [
        UNSCALED_POLICY.finding(
            "scale_in_policy is for instances that SageMaker adds, and their number is "
            "fixed",
            "give max_instance_count",
        )
    ]


def routing_findings(
    routing: RoutingStrategy | PrefixAwareRouting, most_instances: float | None
) -> list[Finding]:
    """
    Check the numbers of prefix-aware routing, and whether it has an effect.

    Args:
        routing: How requests are spread.

        most_instances: The most instances there may be; ``None`` if a policy may add
            some.
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
