"""
A run as rows and numbers, and several runs side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.cli.app.playing import VariantResult
from cdk_sagemaker_llm.cli.output.prices import Prices, dollars
from cdk_sagemaker_llm.simulation.outcome import (
    SHARES,
    Series,
    mean_latency,
    worst_minute,
)
from cdk_sagemaker_llm.simulation.report import Section, moment, report

_MINUTE = 60.0
# What a table is made of, in minutes.
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440)
_MOST_ROWS = 30
NOT_SCALED = "not scaled"

# What instances are of that several models share.
ALL_MODELS = "all models"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """
    One app with its settings, played out.
    """

    name: str
    results: Sequence[VariantResult]
    left_out: Sequence[str] = ()


HEADS = (
    "time",
    "requests/min",
    "copies",
    "wanted",
    "instances",
    "in line",
    "p50 s",
    "p95 s",
    "lost",
)


@dataclass(frozen=True, slots=True)
class Event:
    """
    One line of the log.
    """

    time: float
    what: str
    before: int
    after: int
    why: str


def rows_of(result: VariantResult, model: str) -> list[tuple[str, ...]]:
    """
    Write a model's minutes under ``HEADS``, put together so that rows are not too many.

    Copies and instances are those at the end of a row; the line and the latencies are
    the worst of its minutes. What is not there, and no loss, is left empty.
    """
    series = result.outcome.workloads[model]
    minutes = len(series.arrived)
    step = next((s for s in _STEPS if minutes <= s * _MOST_ROWS), _STEPS[-1])
    instances = instances_of(result)
    rows: list[tuple[str, ...]] = []
    for begin in range(0, minutes, step):
        end = min(begin + step, minutes)
        part = slice(begin, end)
        p50 = _highest(series.latency_p50[part])
        p95 = _highest(series.latency_p95[part])
        refused = sum(lost(series)[part])
        rows.append(
            (
                moment(begin * _MINUTE),
                f"{sum(series.arrived[part]) / (end - begin):.1f}",
                f"{series.copies[end - 1]:.0f}",
                f"{series.desired[end - 1]:.0f}",
                f"{instances[end - 1] if instances else 0.0:.0f}",
                f"{max(series.waiting[part]):.0f}",
                "" if p50 is None else f"{p50:.1f}",
                "" if p95 is None else f"{p95:.1f}",
                f"{refused:.0f}" if refused else "",
            )
        )
    return rows


def instances_of(result: VariantResult) -> list[float]:
    """
    Return how many instances run at the end of each minute.
    """
    kinds = list(result.outcome.instances.values())
    return [sum(each) for each in zip(*kinds, strict=True)]


def start_of(result: VariantResult) -> str:
    """
    Say which moment all times count from.
    """
    return f"0:00:00 is {result.outcome.start:%A, %Y-%m-%d %H:%M %Z}"


def all_costs(run: Run, prices: Prices) -> float | None:
    """
    Return US dollars for a whole run; ``None`` where a price is not known.
    """
    found = [cost_of(result, prices) for result in run.results]
    known_costs = [each for each in found if each is not None]
    return sum(known_costs) if len(known_costs) == len(found) else None


def lost(series: Series) -> list[float]:
    """
    Return how many requests were refused or not answered in time, by minute.
    """
    return [
        sum(each)
        for each in zip(series.timed_out, *series.refused.values(), strict=True)
    ]


def events_of(result: VariantResult) -> list[Event]:
    """
    Return what happened, in order; what happened at once is one line.
    """
    begin = result.outcome.start.timestamp()
    found = [
        Event(one.time - begin, one.what, one.before, one.after, one.why)
        for one in result.outcome.steps
        if one.time > begin
    ]
    for name, activities in result.outcome.activities.items():
        found += [
            Event(
                one.time - begin,
                f"{NOT_SCALED}: {name}",
                one.before,
                one.after,
                f"{one.not_scaled}; {one.cause}",
            )
            for one in activities
            if one.not_scaled
        ]
    found.sort(key=lambda event: event.time)
    return list(_together(found))


def _together(events: Sequence[Event]) -> Iterator[Event]:
    waiting: dict[tuple[str, str], Event] = {}
    for event in events:
        if waiting and next(iter(waiting.values())).time != event.time:
            yield from waiting.values()
            waiting = {}
        key = (event.what, event.why)
        before = waiting.get(key)
        if before is not None and before.after == event.before:
            event = Event(  # noqa: PLW2901 - the two are one line
                event.time, event.what, before.before, event.after, event.why
            )
        waiting[key] = event
    yield from waiting.values()


def sections_of(result: VariantResult) -> list[Section]:
    return report(result.scenario, result.outcome, result.notes)


def figures_of(result: VariantResult, model: str) -> dict[str, float | None]:
    """
    Return the numbers that a run of a model comes to.
    """
    series = result.outcome.workloads[model]
    totals = series.totals
    worst = worst_minute(series)
    return {
        "requests": totals.arrived,
        "answered in time": totals.served,
        **{f"refused, {why}": n for why, n in totals.refused.items() if n},
        "not answered in time": totals.timed_out,
        "under way at the end": totals.under_way,
        "mean latency, s": mean_latency(series),
        **_percentiles(series),
        **_first_tokens(series),
        "p50 of the worst minute, s": _highest(series.latency_p50),
        "p95 of the worst minute, s": worst[1] if worst else None,
        "p99 of the worst minute, s": _highest(series.latency_p99),
        "longest line": max(series.waiting, default=0.0),
        "most copies": max(series.copies, default=0.0),
    }


def _percentiles(series: Series) -> dict[str, float | None]:
    """
    Return those of the whole run, which only single requests have.
    """
    if series.latencies is None:
        return {}
    return {
        f"p{share * 100:.0f} of all, s": series.latencies.at(share) for share in SHARES
    }


def _first_tokens(series: Series) -> dict[str, float | None]:
    if series.firsts is None:
        return {}
    return {
        f"first token, p{share * 100:.0f} of all, s": series.firsts.at(share)
        for share in SHARES[:2]
    }


def is_estimated(result: VariantResult, model: str) -> bool:
    """
    Whether nobody has measured what a model takes for requests.
    """
    return next(
        workload.service.is_estimate
        for workload in result.scenario.workloads
        if workload.name == model
    )


def cost_of(result: VariantResult, prices: Prices) -> float | None:
    """
    Return US dollars for all instance hours; ``None`` where a price is not known.
    """
    hours = result.outcome.instance_hours
    if any(kind not in prices for kind in hours):
        return None
    return sum(spent * prices[kind] for kind, spent in hours.items())


def kinds_of(runs: Sequence[Run]) -> list[str]:
    """
    Return the instance types that ran.
    """
    hours = (result.outcome.instance_hours for run in runs for result in run.results)
    return list(dict.fromkeys(kind for each in hours for kind in each))


def _highest(numbers: Sequence[float | None]) -> float | None:
    return max((each for each in numbers if each is not None), default=None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """
    One model of each run.

    Args:
        models: The model's name in each run; empty where a run has none.
    """

    endpoint: str
    models: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def side_by_side(runs: Sequence[Run], prices: Prices) -> Iterator[Comparison]:
    """
    Compare runs model by model.

    Another app has other names for the same, so that places tell what is compared.
    """
    for group in itertools.zip_longest(*(run.results for run in runs)):
        names = [list(one.outcome.workloads) if one else [] for one in group]
        for models in itertools.zip_longest(*names, fillvalue=""):
            yield _comparison(
                group,
                models,
                [
                    dict(figures(one, model, prices)) if one and model else {}
                    for one, model in zip(group, models, strict=True)
                ],
            )
        if any(map(shares, names)):
            yield _comparison(
                group,
                tuple(ALL_MODELS if shares(each) else "" for each in names),
                [
                    dict(costs(one, prices)) if one and shares(each) else {}
                    for one, each in zip(group, names, strict=True)
                ],
            )


def _comparison(
    group: Sequence[VariantResult | None],
    models: tuple[str, ...],
    columns: Sequence[Mapping[str, str]],
) -> Comparison:
    whats = dict.fromkeys(name for column in columns for name in column)
    return Comparison(
        endpoint=next(one.hosted.endpoint for one in group if one),
        models=models,
        rows=tuple(
            (what, *(column.get(what, "") for column in columns)) for what in whats
        ),
    )


def shares(models: Collection[str]) -> bool:
    """
    Whether models share instances, whose cost is that of all of them together.
    """
    return len(models) > 1


def figures(
    result: VariantResult, model: str, prices: Prices
) -> Iterator[tuple[str, str]]:
    """
    Return the numbers of a model as they are shown, with instances and money where
    they are the model's alone.
    """
    for name, value in figures_of(result, model).items():
        # Seconds with their hundredths, the rest whole.
        form = ",.2f" if name.endswith(", s") else ",.0f"
        yield name, "none" if value is None else format(value, form)
    if not shares(result.outcome.workloads):
        yield from costs(result, prices)


def costs(result: VariantResult, prices: Prices) -> Iterator[tuple[str, str]]:
    """
    Return instance hours and money of a variant as they are shown.
    """
    for kind, hours in result.outcome.instance_hours.items():
        yield f"instance hours, {kind}", f"{hours:.2f}"
    mark = prices.mark(result.outcome.instance_hours)
    yield "US dollars", dollars(cost_of(result, prices), mark)
