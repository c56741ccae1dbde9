"""
The report of a run: what was refused and why, where the time went, how models went to
sleep and woke.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.fleet import NO_CAPACITY, FleetTimes, seconds
from cdk_sagemaker_llm.simulation.outcome import (
    Outcome,
    Series,
    mean_latency,
    worst_minute,
)
from cdk_sagemaker_llm.simulation.scaling import Activity, TargetTracking
from cdk_sagemaker_llm.simulation.scaling.policies import AT_MAXIMUM, UNSCALABLE
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

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
# Beside what is computed; measured by others on one ml.g5.xlarge in July 2026.
_MEASURED_TO_ZERO = (
    "on an ml.g5.xlarge 11 min were measured from idle to 0 copies, and 12 more to 0 "
    "instances (July 2026)"
)


def report(
    scenario: Scenario, outcome: Outcome, notes: tuple[str, ...] | None = None
) -> list[Section]:
    """
    Say what came of a run; without notes of what was assumed, the outcome's own count.
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
            (
                f"Waking and sleeping{of}",
                _to_zero_and_back(scenario, outcome, workload),
            ),
        )
        sections += [Section(title, tuple(sentences)) for title, sentences in parts]
    instances = (
        f"{kind}: {hours:.2f} instance hours, at most "
        f"{max(outcome.instances.get(kind, ()), default=0.0):.0f} at once"
        for kind, hours in outcome.instance_hours.items()
    )
    sections.append(Section("Instances", tuple(instances)))
    assumed = outcome.notes if notes is None else notes
    sections.append(Section("Assumed or estimated", tuple(assumed)))
    return [section for section in sections if section.sentences]


@dataclass(frozen=True, slots=True)
class Section:
    """
    Some sentences about one thing.
    """

    title: str
    sentences: tuple[str, ...]


def moment(seconds: float) -> str:
    """
    Write a moment since the start: ``1:05:30``, and days where there are any.
    """
    whole = round(seconds)
    days, rest = divmod(whole, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    clock = f"{hours}:{minutes:02}:{left:02}"
    return f"day {days + 1}, {clock}" if days else clock


def span(seconds: float) -> str:
    """
    Write how long something took.
    """
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h"


def count(number: float, what: str, several: str = "") -> str:
    """
    Write how many there are of something, whose plural ends in s or is given.
    """
    text = f"{number:,.0f}"
    return f"{text} {what}" if text == "1" else f"{text} {several or what + 's'}"


def share(part: float, whole: float) -> str:
    """
    Write a part in per cent; what is not all never reads as all, nor some as none.
    """
    if not whole:
        return "none"
    per_cent = 100 * part / whole
    if 0 < per_cent < 0.05:  # noqa: PLR2004 - what would be rounded to 0 per cent
        return "less than 0.1 %"
    most = 99.9 if per_cent < 100 else per_cent  # noqa: PLR2004 - per cent
    return f"{min(round(per_cent, 1), most):g} %"


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
        way = way_of(scenario, outcome, workload, shrunk[0])
        yield (
            f"the load was low from {moment(way.breached)} on; the first scale-in, "
            f"from {shrunk[0].before} to {shrunk[0].after}, was decided at "
            f"{moment(way.decided)}, {span(way.decided - way.breached)} later: "
            f"{span(way.counted)} of points and {span(way.read_late)} of delay"
        )
    elif grown:
        yield "no policy scaled it in before the end"


def _held_up(outcome: Outcome, workload: Workload) -> Iterator[str]:
    begin, series = outcome.start.timestamp(), outcome.workloads[workload.name]
    activities = outcome.activities.get(workload.name, ())
    for code, words in _NOT_SCALED.items():
        found = [one for one in activities if one.not_scaled == code]
        if found:
            since, size = found[0].time - begin, found[0].after
            served = series.copies[min(int(since // 60), len(series.copies) - 1)]
            # A load that few bear is none for all of the maximum.
            is_short = code == AT_MAXIMUM and served < size
            yield (
                words.format(when=moment(since), count=size)
                + (f", of which {served:.0f} served by then" if is_short else "")
            )
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
    if series.desired[-1] > series.copies[-1]:
        yield (
            f"at the end {count(series.desired[-1], 'copy', 'copies')} were wanted, "
            f"and {series.copies[-1]:.0f} served"
        )


def _to_zero_and_back(
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
        yield from _woken_too_many(done, woken[0], begin)
    elif slept:
        refused = _refused(series, slept[0].time - begin, None)
        were = "was" if round(refused) == 1 else "were"
        if refused:
            yield (
                f"nothing woke it before the end, and {count(refused, 'request')} "
                f"{were} refused: at 0 copies target tracking has no load to go by; a "
                "step policy on an alarm on NoCapacityInvocationFailures has"
            )
    if len(slept) > 1:
        yield (
            f"0 copies were asked for {count(len(slept), 'time')} in all, and it was "
            f"woken {count(len(woken), 'time')}"
        )


def _share(part: float, whole: float) -> str:
    # Of the numbers as they are shown: in aggregate, they are none of whole requests.
    return share(round(part), round(whole))


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
        f"then {_coming(way, way.serving)}: the first new copy served at "
        f"{moment(way.serving)}, {span(way.serving - way.breached)} after the load came"
    )


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


def _slept(outcome: Outcome, one: Activity, begin: float) -> Iterator[str]:
    low = (
        f", {span(one.time - one.breached_from)} after the load was low"
        if one.breached_from
        else ""
    )
    yield f"0 copies were asked for at {moment(one.time - begin)}{low}"
    for step in outcome.steps:
        if step.what == "instances" and step.after == 0 and step.time > one.time:
            yield (
                f"the last instance was released at {moment(step.time - begin)}, "
                f"{span(step.time - one.time)} after that; {_MEASURED_TO_ZERO}"
            )
            return


def _woken(way: Way, series: Series, why: str) -> str:
    is_scheduled = way.activity.breached_from is None
    since = "that" if is_scheduled else f"the period began in which requests {why}"
    served = (
        f"the first copy served at {moment(way.serving)}, "
        f"{span(way.serving - way.breached)} after {since}"
        if way.serving is not None
        else "no copy served before the end"
    )
    then = f", then {_coming(way, way.serving)}" if way.serving is not None else ""
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


def _woken_too_many(
    done: list[Activity], woken: Activity, begin: float
) -> Iterator[str]:
    # Its alarm looks at refusals, and is still on when the first copy already serves.
    others, like = done[done.index(woken) + 1 :], (True, woken.policy)
    same = [*itertools.takewhile(lambda one: (one.is_out, one.policy) == like, others)]
    for last, then in zip(same[-1:], others[len(same) :], strict=False):
        low_since = math.inf if then.is_out else then.breached_from or math.inf
        if low_since > (last.completed or last.time):
            return
        yield (
            f"waking went on to {last.after} copies after the first, at "
            f"{moment(last.time - begin)}, and nobody needed them: the load was low "
            f"when they served, and they were scaled in at {moment(then.time - begin)};"
            " have the policy that wakes it set an exact capacity of 1"
        )


def _coming(way: Way, serving: float) -> str:
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


def _refused(series: Series, since: float, until: float | None) -> float:
    last = None if until is None else math.ceil(until / _MINUTE)
    refused = series.refused.get("no capacity", ())
    return sum(refused[int(since // _MINUTE) : last])


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """
    The way from a load to the capacity for it, in seconds since the start.

    Of the time from the first period that led to the decision the last period could
    not be read for ``read_late`` seconds; ``running`` and ``serving`` are when the
    first new instance and copy were there, if any had to come, and ``model`` is how
    long the model's own start takes.
    """

    activity: Activity
    breached: float
    decided: float
    read_late: float
    running: float | None = None
    serving: float | None = None
    model: float = 0.0

    @property
    def counted(self) -> float:
        """
        Seconds of breaching points that it took.
        """
        return self.decided - self.breached - self.read_late


def way_of(
    scenario: Scenario, outcome: Outcome, workload: Workload, activity: Activity
) -> Way:
    """
    Follow a change of capacity from what led to it until it was there.
    """
    times = scenario.times or FleetTimes()
    start = workload.start_seconds
    begin = outcome.start.timestamp()
    breached = activity.breached_from or activity.time
    return Way(
        activity=activity,
        breached=breached - begin,
        decided=activity.time - begin,
        read_late=activity.read_late,
        running=_first_more(outcome, "running instances", activity.time),
        serving=_first_more(
            outcome, f"serving copies of {workload.name}", activity.time
        ),
        model=seconds(
            times.model_start if start is None else start,
            scenario.pools[0].instance_type,
        ),
    )


def _first_more(outcome: Outcome, what: str, since: float) -> float | None:
    begin = outcome.start.timestamp()
    for step in outcome.steps:
        if step.what == what and step.time >= since and step.after > step.before:
            return step.time - begin
    return None


def changes(outcome: Outcome, workload: Workload, *, out: bool) -> list[Activity]:
    """
    Return what was scaled out, or in, by policies; the first one first.
    """
    return [
        one
        for one in outcome.activities.get(workload.name, ())
        if not one.not_scaled and one.breached_from is not None and one.is_out == out
    ]


def in_a_row(activities: list[Activity]) -> list[Activity]:
    """
    Return the first changes that follow on each other, with none the other way between.
    """
    found = activities[:1]
    for one in activities[1:]:
        if one.before != found[-1].after:
            break
        found.append(one)
    return found


def minutes_with(numbers: list[float]) -> tuple[float, float] | None:
    """
    Return when the first minute with something began, and when the last one ended.
    """
    found = [minute for minute, number in enumerate(numbers) if number]
    return (found[0] * _MINUTE, (found[-1] + 1) * _MINUTE) if found else None


def cooled(activities: list[Activity], cooldown: float) -> float:
    """
    Return how many seconds a cooldown held up the next change, all changes together.

    A change that follows within two evaluations of the end of the one before it was
    waiting for that.
    """
    ends = [
        ((one.completed or one.time) + cooldown, following.time)
        for one, following in itertools.pairwise(activities)
    ]
    held = [end for end, after in ends if end <= after <= end + 2 * _MINUTE]
    return cooldown * len(held)
