"""
What is checked of a rollout: its sizes and times by themselves, and then whether the
fleet is large enough for it and of a kind that allows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import PhysicalName

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import (
    count_findings,
    range_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.hosting.common.rules import (
    EXCLUDED,
    ROLLOUT_SECONDS,
    SMALL_FLEET,
    UNWATCHED,
    WAIT_SECONDS,
    WAITS_TOO_LONG,
)
from cdk_sagemaker_llm.hosting.updates.rollback import (
    NAMELESS,
    RollbackAlarms,
    rollback_findings,
)
from cdk_sagemaker_llm.hosting.updates.rollout import (
    AllAtOnce,
    batch_of,
    rollback_batch_of,
    wait_seconds,
)
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.updates.rollout import (
        Batch,
        Counted,
        Rolling,
        Rollout,
    )
    from cdk_sagemaker_llm.hosting.variants.variant_definition import VariantDefinition

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

BATCH_SIZE = Rule(
    "LLM335", "the part that a rollout moves at a time has no size, or two", API
)
UNHEARD = Rule(
    "LLM365",
    "somebody is to be told of the rollback of a component, of which no event tells",
    "EventBridge events reference, SageMaker",
)


def endpoint_rollout_findings(
    rollout: Rollout,
    variants: Sequence[VariantDefinition],
    endpoint_name: str | None,
) -> list[Finding]:
    """
    Check a rollout of an endpoint; the name is ``None`` if CloudFormation makes it.
    """
    found = _own_findings(rollout, "instances")
    found += rollback_findings(
        rollout.rollback_on,
        name=known_name(endpoint_name),
        remedy="pass endpoint_name; giving one to an endpoint that runs replaces it",
        subjects=len(variants),
    )
    if rollout.notify is not None and known_name(endpoint_name) is None:
        found.append(
            NAMELESS.finding(
                "notify needs a name that is known before the endpoint is updated, and "
                "CloudFormation is to make it",
                "pass endpoint_name; giving one to an endpoint that runs replaces it",
            )
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
    Check a rollout of an inference component that starts with so many copies; its name
    is ``None`` if CloudFormation makes it.
    """
    unheard = [] if rollout.notify is None else [_unheard()]
    return [
        *unheard,
        *_own_findings(rollout, "copies"),
        *rollback_findings(
            rollout.rollback_on,
            name=known_name(name),
            remedy="pass inference_component_name_prefix, or a whole name",
        ),
        *_count_findings(rollout, copies, "copies", SMALL_FLEET),
    ]


def _unheard() -> Finding:
    return UNHEARD.finding(
        "notify is for updates of endpoints: SageMaker sends no event of a component's",
        "leave it out, and give alarms of your own in rollback_on an action: "
        "alarm.add_alarm_action(SnsAction(topic))",
    )


def scaled_findings(
    rollout: Rollout, least: int, most: int, counted: Counted
) -> list[Finding]:
    """
    Check a rollout of what is scaled, at both ends of its bounds.
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
    Check that the rollouts of a scaled component leave its copies alone: that the
    template has no number of them.
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


def fitting(rollout: Rollout, count: int) -> range:
    """
    Return which numbers of instances or copies a rollout may move of so many.
    """
    least, most = rollout.bounds
    return range(max(1, math.ceil(count * least / 100)), count * most // 100 + 1)


def _own_findings(rollout: Rollout, counted: Counted) -> list[Finding]:
    found = []
    batch, back = batch_of(rollout), rollback_batch_of(rollout)
    if batch is not None:
        found += _size_findings(batch, counted, rollout.bounds)
    if back is not None:
        found += _size_findings(back, counted, (1, 100))
    times = _time_findings(rollout)
    return [*found, *(times or _whole_findings(rollout)), *_unwatched_findings(rollout)]


def known_name(name: str | None) -> str | None:
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
    batch = batch_of(rollout)
    if batch is None or len(batch.sizes) != 1 or is_unresolved(count):
        return []
    name, allowed = type(rollout).__name__, fitting(rollout, count)
    there = f"{where or 'there'} {'is' if where or count == 1 else 'are'} {count}"
    if not allowed:
        way_out = "use AllAtOnce" if counted == "instances" else "leave rollout out"
        return [
            rule.finding(
                f"{name} moves at most half of the {counted} at a time, and {there}",
                f"have at least 2 {counted}, or {way_out}",
            )
        ]
    value = batch.sizes.get(counted)
    if value is None or is_unresolved(value) or value in allowed or value < 1:
        return []
    least, most = rollout.bounds
    first, last = allowed[0], allowed[-1]
    return [
        rule.finding(
            f"{counted} of {name} must be {least} to {most} percent of all, and "
            f"{there}, got {value}",
            f"pass {first}" if first == last else f"pass {first} to {last}",
        )
    ]


def _size_findings(
    batch: Batch, counted: Counted, bounds: tuple[int, int]
) -> list[Finding]:
    other = "copies" if counted == "instances" else "instances"
    sizes = batch.sizes
    if other in sizes:
        what = "an endpoint" if counted == "instances" else "a component"
        return [
            BATCH_SIZE.finding(
                f"{batch.name} counts the {counted} of {what}, got "
                f"{other}={sizes[other]}",
                f"pass {counted}, or percent",
            )
        ]
    if len(sizes) != 1:
        got = " and ".join(f"{k}={v}" for k, v in sizes.items()) or "neither"
        return [
            BATCH_SIZE.finding(
                f"{batch.name} must have either percent or {counted}, got {got}",
                "pass one of them",
            )
        ]
    ((unit, value),) = sizes.items()
    if unit == "percent":
        return range_findings(f"percent of {batch.name}", value, *bounds)
    return count_findings(f"{unit} of {batch.name}", value, 1)


def _time_findings(rollout: Rollout) -> list[Finding]:
    found = []
    whole = "maximum_execution_timeout"
    times = {**rollout.waits, whole: rollout.maximum_execution_timeout}
    for name, time in times.items():
        least, most = ROLLOUT_SECONDS if name == whole else WAIT_SECONDS
        found += time_findings(name, time) or range_findings(
            name, seconds(time), least, most, " seconds"
        )
    return found


def _whole_findings(rollout: Rollout) -> list[Finding]:
    limit = seconds(rollout.maximum_execution_timeout)
    waits = _waited_seconds(rollout)
    if limit is None or is_unresolved([limit, waits]) or limit > waits:
        return []
    return [
        WAITS_TOO_LONG.finding(
            f"maximum_execution_timeout must be above the {waits:g} seconds that the "
            f"rollout waits, got {limit:g}",
            "leave time for instances to start as well, or wait less",
        )
    ]


def _unwatched_findings(rollout: Rollout) -> list[Finding]:
    if rollout.rollback_on is None or _waited_seconds(rollout) != 0:
        return []
    return [
        UNWATCHED.finding(
            "rollback_on is watched while the rollout waits, and it waits 0 seconds",
            "wait for some minutes: alarms see what happened a few minutes later",
        )
    ]


def _waited_seconds(rollout: Rollout) -> float:
    if isinstance(rollout, AllAtOnce):
        return wait_seconds(rollout.termination_wait)
    waits = rollout.waits
    between = rollout.steps * wait_seconds(waits["wait_interval"])
    return between + (seconds(waits.get("termination_wait")) or 0)
