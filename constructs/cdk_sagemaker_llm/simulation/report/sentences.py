"""
The report of a run: what was refused and why, and where the time went.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.fleet import NO_CAPACITY
from cdk_sagemaker_llm.simulation.outcome import Outcome, Series
from cdk_sagemaker_llm.simulation.report.moments import (
    Way,
    changes,
    cooled,
    in_a_row,
    mean_latency,
    minutes_with,
    way_of,
    worst_minute,
)
from cdk_sagemaker_llm.simulation.report.sleeping import coming, to_zero_and_back
from cdk_sagemaker_llm.simulation.report.words import count, moment, share, span
from cdk_sagemaker_llm.simulation.scaling import Activity, TargetTracking
from cdk_sagemaker_llm.simulation.scaling.activities import AT_MAXIMUM, UNSCALABLE
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload

_WHY = {
    "no capacity": "no copy served",
    "queue full": "the line at every copy was full",
    "too long": "prompt and answer are longer than a copy's KV cache",
    "copy gone": "the copy that had them went away",
}
_NOT_SCALED = {
    AT_MAXIMUM: "from {when} on the load was too high at the maximum of {count}",
    UNSCALABLE: (
        "at {when} another change was under way, and the one to {count} had to wait"
    ),
}


@dataclass(frozen=True, slots=True)
class Section:
    """
    Some sentences about one thing.
    """

    title: str
    sentences: tuple[str, ...]


def report(
    scenario: Scenario, outcome: Outcome, notes: tuple[str, ...] | None = None
) -> list[Section]:
    """
    Say what came of a run.

    Args:
        scenario: What was played out.

        outcome: What came of it.

        notes: What was assumed or estimated.
            If left out, it is what the outcome says of it.
    """
    sections = []
    for workload in scenario.workloads:
        series = outcome.workloads[workload.name]
        several = len(scenario.workloads) > 1
        of = f" of {workload.name}" if several else ""
        parts = (
            (f"Requests{of}", _requests(series, workload)),
            (f"From load to capacity{of}", _ways(scenario, outcome, workload)),
            (f"What held scaling up{of}", _held_up(outcome, workload)),
            (f"Waking and sleeping{of}", to_zero_and_back(scenario, outcome, workload)),
        )
        sections += [Section(title, tuple(said)) for title, said in parts]
    sections.append(Section("Instances", tuple(_instances(outcome))))
    assumed = outcome.notes if notes is None else notes
    sections.append(Section("Assumed or estimated", tuple(assumed)))
    return [section for section in sections if section.sentences]


def _requests(series: Series, workload: Workload) -> Iterator[str]:
    totals = series.totals
    if not totals.arrived:
        yield "no request came"
        return
    left = totals.under_way
    were = "was" if round(left) == 1 else "were"
    yield (
        f"{count(totals.arrived, 'request')} came; {totals.served:,.0f} "
        f"({_share(totals.served, totals.arrived)}) were answered in time"
        + (f", and {left:,.0f} {were} under way at the end" if round(left) else "")
    )
    mean, worst = mean_latency(series), worst_minute(series)
    if mean is not None and worst is not None:
        yield (
            f"an answer took {mean:.1f} s on average; in the worst minute, at "
            f"{moment(worst[0])}, 95 % of them took up to {worst[1]:.1f} s"
        )
    for reason, numbers in series.refused.items():
        when = minutes_with(numbers)
        if when is not None:
            yield (
                f"{count(sum(numbers), 'request')} "
                f"({_share(sum(numbers), totals.arrived)}) were refused between "
                f"{moment(when[0])} and {moment(when[1])}, as "
                f"{_WHY.get(reason, reason)}"
            )
    late = minutes_with(series.timed_out)
    if late is not None:
        yield (
            f"{count(totals.timed_out, 'request')} "
            f"({_share(totals.timed_out, totals.arrived)}) had no answer within the "
            f"{workload.timeout:g} s that a client waits, between {moment(late[0])} "
            f"and {moment(late[1])}"
        )
    longest = max(series.waiting, default=0.0)
    if longest >= 1:
        at = series.waiting.index(longest)
        yield (
            f"the line was longest at {moment((at + 1) * 60)}: "
            f"{count(longest, 'request')} waited"
        )


def _share(part: float, whole: float) -> str:
    # Of the numbers as they are shown: in aggregate, they are none of whole requests.
    return share(round(part), round(whole))


def _ways(scenario: Scenario, outcome: Outcome, workload: Workload) -> Iterator[str]:
    grown = changes(outcome, workload, out=True)
    shrunk = changes(outcome, workload, out=False)
    if grown:
        yield from _way_out(way_of(scenario, outcome, workload, grown[0]))
    elif workload.policies:
        yield "no policy scaled it out"
    elif workload.schedules:
        yield "its schedules alone scale it: there is no policy to play out"
    else:
        yield "nothing scales it: there is no policy to play out"
    if shrunk:
        yield _way_in(way_of(scenario, outcome, workload, shrunk[0]))
    elif grown:
        yield "no policy scaled it in before the end"


def _way_out(way: Way) -> Iterator[str]:
    one = way.activity
    yield (
        f"the load was too high from {moment(way.breached)} on; the first scale-out, "
        f"from {one.before} to {one.after}, was decided at {moment(way.decided)}, "
        f"{span(way.decided - way.breached)} later: {span(way.counted)} are the points "
        f"that its alarm wants, {span(way.read_late)} is how late the last of them "
        "can be read"
    )
    if way.serving is None:
        yield "no new copy served before the end"
        return
    yield (
        f"then {coming(way, way.serving)}: the first new copy served at "
        f"{moment(way.serving)}, {span(way.serving - way.breached)} after the load came"
    )


def _way_in(way: Way) -> str:
    one = way.activity
    return (
        f"the load was low from {moment(way.breached)} on; the first scale-in, from "
        f"{one.before} to {one.after}, was decided at {moment(way.decided)}, "
        f"{span(way.decided - way.breached)} later: {span(way.counted)} of points and "
        f"{span(way.read_late)} of delay"
    )


def _held_up(outcome: Outcome, workload: Workload) -> Iterator[str]:
    begin = outcome.start.timestamp()
    activities = outcome.activities.get(workload.name, ())
    for code, words in _NOT_SCALED.items():
        found = [one for one in activities if one.not_scaled == code]
        if found:
            since = found[0].time - begin
            said = words.format(when=moment(since), count=found[0].after)
            yield said + _of_which(outcome, workload, found[0], since)
    if workload.suspended:
        yield f"of its scaling, {' and '.join(workload.suspended)} is suspended"
    yield from _cooldowns(outcome, workload)
    refused = [step for step in outcome.steps if step.why == NO_CAPACITY]
    if refused:
        tries = len({step.time for step in refused})
        lacking = sum(step.before - step.after for step in refused) / tries
        yield (
            f"{count(lacking, 'instance')} could not be had"
            + (f", on average of {tries} tries" if tries > 1 else "")
            + f", as was known first at {moment(refused[0].time - begin)}: "
            f"{NO_CAPACITY}"
        )
    series = outcome.workloads[workload.name]
    if series.desired[-1] > series.copies[-1]:
        yield (
            f"at the end {count(series.desired[-1], 'copy', 'copies')} were wanted, "
            f"and {series.copies[-1]:.0f} served"
        )


def _of_which(
    outcome: Outcome, workload: Workload, activity: Activity, since: float
) -> str:
    """
    Say how many served of the maximum: a load that few bear is none for all of them.
    """
    copies = outcome.workloads[workload.name].copies
    served = copies[min(int(since // 60), len(copies) - 1)]
    if activity.not_scaled != AT_MAXIMUM or served >= activity.after:
        return ""
    return f", of which {served:.0f} served by then"


def _cooldowns(outcome: Outcome, workload: Workload) -> Iterator[str]:
    lengths = {p.name: p for p in workload.policies if isinstance(p, TargetTracking)}
    for out, word in ((True, "out"), (False, "in")):
        done = changes(outcome, workload, out=out)
        tracked = in_a_row([one for one in done if one.policy in lengths])
        if len(tracked) <= 1:
            continue
        policy = lengths[tracked[0].policy]
        length = policy.scale_out_cooldown if out else policy.scale_in_cooldown
        over = tracked[-1].time - tracked[0].time
        cost = cooled(tracked, length)
        cooling = (
            f", of which the cooldown of {length:g} s took {span(cost)}"
            if cost
            else f"; its cooldown of {length:g} s held nothing up"
        )
        yield (
            f"scaling {word} took {len(tracked)} steps, from {tracked[0].before} to "
            f"{tracked[-1].after}, over {span(over)}{cooling}"
        )


def _instances(outcome: Outcome) -> Iterator[str]:
    for kind, hours in outcome.instance_hours.items():
        most = max(outcome.instances.get(kind, [0.0]), default=0.0)
        yield f"{kind}: {hours:.2f} instance hours, at most {most:.0f} at once"
