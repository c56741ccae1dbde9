"""
What is checked of a rollout by itself: its sizes and its times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import (
    count_findings,
    range_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.hosting.rollout import (
    AllAtOnce,
    Rolling,
    batch_of,
    rollback_batch_of,
)
from cdk_sagemaker_llm.hosting.rollout_base import wait_seconds
from cdk_sagemaker_llm.serving.rules import API

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.rollout_base import Batch, Counted, Rollout

_WAIT = (0, 3600)
_WHOLE = (600, 28800)

BATCH_SIZE = Rule(
    "LLM335", "the part that a rollout moves at a time has no size, or two", API
)
WAITS_TOO_LONG = Rule(
    "LLM337", "a rollout waits longer than the whole of it may take", API
)
UNWATCHED = Rule(
    "LLM426",
    "a rollout watches alarms for no time",
    "SageMaker developer guide, deployment-guardrails-configuration",
)


def own_findings(rollout: Rollout, counted: Counted) -> list[Finding]:
    """
    Check sizes, waits and the time-out of the whole.

    Args:
        rollout: The rollout.

        counted: What it moves.
    """
    found = []
    batch = batch_of(rollout)
    if batch is not None:
        found += _size_findings(batch, counted) or _value_findings(
            batch, rollout.bounds
        )
    back = rollback_batch_of(rollout) if isinstance(rollout, Rolling) else None
    if back is not None:
        found += _size_findings(back, counted) or _value_findings(back, (1, 100))
    times = _time_findings(rollout)
    return [*found, *(times or _whole_findings(rollout)), *_unwatched(rollout)]


def _size_findings(batch: Batch, counted: Counted) -> list[Finding]:
    other = "copies" if counted == "instances" else "instances"
    given = batch.given
    if other in given:
        what = "an endpoint" if counted == "instances" else "a component"
        return [
            BATCH_SIZE.finding(
                f"{batch.name} counts the {counted} of {what}, got "
                f"{other}={given[other]}",
                f"pass {counted}, or percent",
            )
        ]
    if len(given) == 1:
        return []
    got = " and ".join(f"{k}={v}" for k, v in given.items()) or "neither"
    return [
        BATCH_SIZE.finding(
            f"{batch.name} must have either percent or {counted}, got {got}",
            "pass one of them",
        )
    ]


def _value_findings(batch: Batch, bounds: tuple[int, int]) -> list[Finding]:
    ((unit, value),) = batch.given.items()
    if unit == "percent":
        return range_findings(f"percent of {batch.name}", value, *bounds)
    return count_findings(f"{unit} of {batch.name}", value, 1)


def _time_findings(rollout: Rollout) -> list[Finding]:
    found = []
    whole = "maximum_execution_timeout"
    times = {**rollout.waits, whole: rollout.maximum_execution_timeout}
    for name, time in times.items():
        least, most = _WHOLE if name == whole else _WAIT
        found += time_findings(name, time) or range_findings(
            name, seconds(time), least, most, " seconds"
        )
    return found


def _whole_findings(rollout: Rollout) -> list[Finding]:
    limit = seconds(rollout.maximum_execution_timeout)
    waits = waited_seconds(rollout)
    if limit is None or is_unresolved([limit, waits]) or limit > waits:
        return []
    return [
        WAITS_TOO_LONG.finding(
            f"maximum_execution_timeout must be above the {waits:g} seconds that the "
            f"rollout waits, got {limit:g}",
            "leave time for instances to start as well, or wait less",
        )
    ]


def waited_seconds(rollout: Rollout) -> float:
    """
    Return how long a rollout waits at least, from its first step to its end.
    """
    if isinstance(rollout, AllAtOnce):
        return wait_seconds(rollout.termination_wait)
    waits = rollout.waits
    between = rollout.steps * wait_seconds(waits["wait_interval"])
    return between + (seconds(waits.get("termination_wait")) or 0)


def _unwatched(rollout: Rollout) -> list[Finding]:
    if rollout.rollback_on is None or waited_seconds(rollout) != 0:
        return []
    return [
        UNWATCHED.finding(
            "rollback_on is watched while the rollout waits, and it waits 0 seconds",
            "wait for some minutes: alarms see what happened a few minutes later",
        )
    ]
