"""
What is checked of a rollout where it is given: whether the fleet is large enough, and
whether it is of a kind for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from aws_cdk import PhysicalName

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.rollback import (
    NAMELESS,
    RollbackAlarms,
    rollback_findings,
)
from cdk_sagemaker_llm.hosting.rollout import Rolling, batch_of
from cdk_sagemaker_llm.hosting.rollout_limits import own_findings
from cdk_sagemaker_llm.serving.rules import API

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.host_types import VariantDefinition
    from cdk_sagemaker_llm.hosting.rollout_base import Counted, Rollout

_GUARDRAILS = "SageMaker developer guide, deployment-guardrails-exclusions"

SMALL_FLEET = Rule(
    "LLM336", "a fleet has too few instances or copies for a rollout", API
)
EXCLUDED = Rule("LLM338", "a rollout is of a kind that the hosts exclude", _GUARDRAILS)
SHRINKING_FLEET = Rule(
    "LLM425", "scaling can leave a fleet of a size that a rollout is refused for", API
)
SILENT_HOST = Rule(
    "LLM428",
    "alarms are asked for on metrics that the hosts of components do not publish",
    "SageMaker developer guide, monitoring-cloudwatch",
)
RESET_COPIES = Rule(
    "LLM429", "the update of a scaled component may reset how many copies run"
)


def endpoint_rollout_findings(
    rollout: Rollout,
    variants: Sequence[VariantDefinition],
    endpoint_name: str | None,
) -> list[Finding]:
    """
    Check a rollout of an endpoint.

    Args:
        rollout: The rollout.

        variants: What is known of the endpoint's variants.

        endpoint_name: The endpoint's name; ``None`` if CloudFormation makes one.
    """
    found = own_findings(rollout, "instances")
    found += rollback_findings(
        rollout.rollback_on,
        name=_known_name(endpoint_name),
        remedy="pass endpoint_name; giving one to an endpoint that runs replaces it",
        subjects=len(variants),
    )
    found += _subject_findings(rollout, variants)
    found += _excluded_findings(rollout, variants)
    for each in variants:
        found += _variant_findings(rollout, each)
    return found


def component_rollout_findings(
    rollout: Rolling, copies: int, name: str | None
) -> list[Finding]:
    """
    Check a rollout of an inference component.

    Args:
        rollout: The rollout.

        copies: How many copies start.

        name: The component's name, or its beginning; ``None`` if CloudFormation makes
            one.
    """
    return [
        *own_findings(rollout, "copies"),
        *rollback_findings(
            rollout.rollback_on,
            name=_known_name(name),
            remedy="pass inference_component_name_prefix, or a whole name",
        ),
        *_count_findings(rollout, copies, "copies", SMALL_FLEET),
    ]


def scaled_findings(
    rollout: Rollout, least: int, most: int, counted: Counted
) -> list[Finding]:
    """
    Check a rollout of what is scaled, at both ends of its bounds.

    Args:
        rollout: The rollout.

        least: The fewest instances or copies.

        most: The most.

        counted: What they are.
    """
    if is_unresolved((least, most)):
        return []
    # What an update finds is known to be too small where every count is.
    certain = SMALL_FLEET if counted == "instances" else SHRINKING_FLEET
    found = _count_findings(rollout, least, counted, certain, "min_capacity")
    return found or _count_findings(
        rollout, most, counted, SHRINKING_FLEET, "max_capacity"
    )


def retained_findings(*, is_retained: bool) -> list[Finding]:
    """
    Check that the rollouts of a scaled component leave its copies alone.

    Args:
        is_retained: Whether the template has no number of copies.
    """
    if is_retained:
        return []
    return [
        RESET_COPIES.finding(
            "an update of what the copies run may set their number back from what "
            "scaling has reached to what the template says: AWS does not document it",
            "pass retain_copy_count=True from the second deployment on",
        )
    ]


def _known_name(name: str | None) -> str | None:
    """
    Return a name that alarms can have in their dimensions: one that the CDK makes only
    where another environment asks for it is none.
    """
    if not is_unresolved(name):
        return name
    return None if name == PhysicalName.GENERATE_IF_NEEDED else name


def _subject_findings(
    rollout: Rollout, variants: Sequence[VariantDefinition]
) -> list[Finding]:
    if not isinstance(rollout.rollback_on, RollbackAlarms):
        return []
    if not variants:
        return [
            NAMELESS.finding(
                "RollbackAlarms watch variants by their names, and those of an "
                "imported configuration are not known",
                "pass alarms of your own",
            )
        ]
    if all(each.has_model for each in variants):
        return []
    return [
        SILENT_HOST.finding(
            "RollbackAlarms of an endpoint that hosts components see nothing: "
            "requests count for the components",
            "pass alarms of your own, on the components' metrics",
        )
    ]


def _excluded_findings(
    rollout: Rollout, variants: Sequence[VariantDefinition]
) -> list[Finding]:
    found = []
    if rollout.batched and len(variants) > 1:
        found.append(
            EXCLUDED.finding(
                f"Rolling is for endpoints of one variant, got {len(variants)}",
                "use Canary, Linear or AllAtOnce",
            )
        )
    types = {str(each.hardware) for each in variants if each.hardware is not None}
    if batch_of(rollout) is not None:
        found += [
            EXCLUDED.finding(
                f"{type(rollout).__name__} is not for {name}: Inf1 moves all at once",
                "use AllAtOnce",
            )
            for name in sorted(types)
            if name.startswith("ml.inf1.")
        ]
    return found


def _variant_findings(rollout: Rollout, each: VariantDefinition) -> list[Finding]:
    variant = each.variant
    managed = variant.managed_instance_scaling
    if managed is None:
        count = variant.initial_instance_count
        return _count_findings(rollout, count, "instances", SMALL_FLEET)
    # How many run is for the components to say: only what never fits is certain.
    most = managed.max_instance_count
    least = managed.min_instance_count
    return _count_findings(
        rollout, most, "instances", SMALL_FLEET, "max_instance_count"
    ) or _count_findings(
        rollout, least, "instances", SHRINKING_FLEET, "min_instance_count"
    )


def _count_findings(
    rollout: Rollout, count: int, counted: Counted, rule: Rule, where: str = ""
) -> list[Finding]:
    """
    Check a batch against so many instances or copies.
    """
    batch = batch_of(rollout)
    if batch is None or len(batch.given) != 1 or is_unresolved(count):
        return []
    name, allowed = type(rollout).__name__, fitting(rollout, count)
    there = f"{where or 'there'} {'is' if where or count == 1 else 'are'} {count}"
    if not allowed:
        return [
            rule.finding(
                f"{name} moves at most half of the {counted} at a time, and {there}",
                f"have at least 2 {counted}, or {_way_out(counted)}",
            )
        ]
    value = batch.given.get(counted)
    if value is None or is_unresolved(value) or value in allowed or value < 1:
        return []
    least, most = rollout.bounds
    return [
        rule.finding(
            f"{counted} of {name} must be {least} to {most} percent of all, and "
            f"{there}, got {value}",
            f"pass {_spoken(allowed)}",
        )
    ]


def _way_out(counted: Counted) -> str:
    return "use AllAtOnce" if counted == "instances" else "leave rollout out"


def fitting(rollout: Rollout, count: int) -> range:
    """
    Return which numbers of instances or copies a rollout may move of so many.
    """
    least, most = rollout.bounds
    return range(max(1, math.ceil(count * least / 100)), count * most // 100 + 1)


def _spoken(allowed: Iterable[int]) -> str:
    numbers = list(allowed)
    first, last = numbers[0], numbers[-1]
    return str(first) if first == last else f"{first} to {last}"
