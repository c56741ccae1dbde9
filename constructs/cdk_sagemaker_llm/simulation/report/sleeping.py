"""
What a report says of zero: how a model went to sleep, and how it woke.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.report.moments import Way, way_of
from cdk_sagemaker_llm.simulation.report.words import count, moment, span
from cdk_sagemaker_llm.simulation.scaling import Activity
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_MINUTE = 60.0
# Beside what is computed; measured by others on one ml.g5.xlarge in July 2026.
_MEASURED_TO_ZERO = (
    "on an ml.g5.xlarge 11 min were measured from idle to 0 copies, and 12 more to 0 "
    "instances (July 2026)"
)


def to_zero_and_back(
    scenario: Scenario, outcome: Outcome, workload: Workload
) -> Iterator[str]:
    """
    Say when there was nothing, what brought it back, and who was refused meanwhile.
    """
    series = outcome.workloads[workload.name]
    begin = outcome.start.timestamp()
    done = [o for o in outcome.activities.get(workload.name, ()) if not o.not_scaled]
    slept = [one for one in done if one.after == 0]
    woken = [one for one in done if one.before == 0 and one.is_out]
    if slept:
        yield from _slept(outcome, slept[0], begin)
    if woken:
        way = way_of(scenario, outcome, workload, woken[0])
        why = "were refused" if workload.at_once is None else "waited"
        yield _woken(way, series, why)
    elif slept:
        yield from _never_woken(series, slept[0].time - begin)
    if len(slept) > 1:
        yield (
            f"0 copies were asked for {count(len(slept), 'time')} in all, and it was "
            f"woken {count(len(woken), 'time')}"
        )


def _slept(outcome: Outcome, one: Activity, begin: float) -> Iterator[str]:
    low = (
        f", {span(one.time - one.breached_from)} after the load was low"
        if one.breached_from
        else ""
    )
    yield f"0 copies were asked for at {moment(one.time - begin)}{low}"
    gone = next(
        (
            step
            for step in outcome.steps
            if step.what == "instances" and step.after == 0 and step.time > one.time
        ),
        None,
    )
    if gone is not None:
        yield (
            f"the last instance was released at {moment(gone.time - begin)}, "
            f"{span(gone.time - one.time)} after that; {_MEASURED_TO_ZERO}"
        )


def _woken(way: Way, series: Series, why: str) -> str:
    is_scheduled = way.activity.breached_from is None
    since = "that" if is_scheduled else f"the period began in which requests {why}"
    served = (
        f"the first copy served at {moment(way.serving)}, "
        f"{span(way.serving - way.breached)} after {since}"
        if way.serving is not None
        else "no copy served before the end"
    )
    then = f", then {coming(way, way.serving)}" if way.serving is not None else ""
    decided = (
        f"waking was decided at {moment(way.decided)}, as {way.activity.cause}"
        if is_scheduled
        else f"waking took {span(way.decided - way.breached)} until it was decided at "
        f"{moment(way.decided)}"
    )
    refused = _refused(series, way.breached, way.serving)
    were = "was" if round(refused) == 1 else "were"
    return (
        f"{decided}{then}; {served}; {count(refused, 'request')} {were} refused "
        "meanwhile"
    )


def _never_woken(series: Series, since: float) -> Iterator[str]:
    refused = _refused(series, since, None)
    if refused:
        were = "was" if round(refused) == 1 else "were"
        yield (
            f"nothing woke it before the end, and {count(refused, 'request')} {were} "
            "refused: at 0 copies target tracking has no load to go by; a step policy "
            "on an alarm on NoCapacityInvocationFailures has"
        )


def _refused(series: Series, since: float, until: float | None) -> float:
    """
    Count who was refused, for want of a copy, in the minutes of some time.
    """
    last = None if until is None else math.ceil(until / _MINUTE)
    refused = series.refused.get("no capacity", ())
    return sum(refused[int(since // _MINUTE) : last])


def coming(way: Way, serving: float) -> str:
    """
    Say where the time went from a decision until a new copy served.
    """
    parts = []
    begin = way.decided
    if way.running is not None and way.running <= serving:
        parts.append(f"{span(way.running - begin)} until the instance ran")
        begin = way.running
    model = min(way.model, serving - begin)
    if serving - begin - model >= 1:
        parts.append(f"{span(serving - begin - model)} until its image was there")
    parts.append(f"{span(model)} until the model had started")
    return ", ".join(parts)
