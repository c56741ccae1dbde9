"""
How far off the fitted model is on measurements of sources that it has not seen, and
the intervals that follow from it.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from cdk_sagemaker_llm.catalog.instances import (
    accelerated_type_names,
    find_instance_type,
)
from cdk_sagemaker_llm.catalog.prices import known_prices
from cdk_sagemaker_llm.catalog.step_constants import Calibration, Kind, Measured
from tools.calibration.fitting import Fit, Sample, names_of
from tools.calibration.points import FIRST, THROUGHPUT, TOKEN, Point

SEED = 27
_ROUNDS = 25
_ENOUGH = 12
# A little less than the twentieth that is promised at each end: the next publisher is
# a new one, and the few that there are do not show all that there can be.
_TAIL = 0.04
# Of fewer publishers no interval is made.
_FEW = 5
_CONFIGURATIONS = 3
_KINDS = (TOKEN, FIRST, THROUGHPUT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """
    A figure that was predicted, and measured.

    Args:
        error: The logarithm of the measured time over the predicted one; of
            throughputs, of the predicted over the measured one.

        novelty: How new the measurement was to the fit: see ``Calibration.novelty``.
    """

    point: Point
    kind: str
    predicted: float
    error: float
    novelty: int

    @property
    def off(self) -> float:
        """
        Return by which share of the measured figure the prediction is off.
        """
        return abs(self.predicted / self.point.measured[self.kind] - 1)

    @property
    def counts(self) -> bool:
        """
        Whether the figure is of a kind that is promised: throughput where the batch is
        full.
        """
        return self.kind != THROUGHPUT or self.point.is_saturated


def fit(points: Sequence[Point], names: Sequence[str] | None = None) -> Fit:
    """
    Fit the constants to measurements.

    Args:
        points: The measurements.

        names: Which constants. If omitted, those of the measurements.
    """
    return Fit(points, names or names_of(points)).run(_ROUNDS)


def judge(found: Fit, points: Sequence[Point], seen: Sequence[Point]) -> list[Judged]:
    """
    Predict measurements, having seen some.
    """
    known = table_of(seen)
    predicted = Sample(points, found.names).predict(np.exp(found.values))
    judged = []
    for number, one in enumerate(points):
        novelty = known.novelty(one.kind)
        for kind, measured in one.measured.items():
            value = float(predicted[kind][number])
            error = math.log(measured / value)
            judged.append(
                Judged(
                    point=one,
                    kind=kind,
                    predicted=value,
                    error=-error if kind == THROUGHPUT else error,
                    novelty=novelty,
                )
            )
    return judged


def held_out(points: Sequence[Point], whole: Fit) -> list[Judged]:
    """
    Predict the measurements of each source by a fit to all others.
    """
    judged = []
    for group in sorted({one.group for one in points}):
        rest = [one for one in points if one.group != group]
        own = [one for one in points if one.group == group]
        judged += judge(fit(rest, whole.names), own, rest)
    return judged


def halves(points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """
    Divide the sources in two, by chance, but the same each time.
    """
    groups = sorted({one.group for one in points})
    random.Random(SEED).shuffle(groups)  # noqa: S311 - no secret
    first = set(groups[::2])
    return (
        [one for one in points if one.group in first],
        [one for one in points if one.group not in first],
    )


def spreads_of(judged: Iterable[Judged]) -> list[tuple[float, float]]:
    """
    Return the 90 % interval of measured over predicted times, by novelty: wider where
    more is new.
    """
    by_novelty: dict[int, list[Judged]] = defaultdict(list)
    for one in judged:
        by_novelty[min(one.novelty, 2)].append(one)
    every = [one for few in by_novelty.values() for one in few]
    found: list[tuple[float, float]] = []
    low, high = 1.0, 1.0
    for novelty in range(3):
        own = by_novelty[novelty]
        publishers = {one.point.group for one in own}
        ends = _ends(own if len(publishers) >= _FEW else every)
        low, high = min(low, ends[0]), max(high, ends[1])
        found.append((float(f"{low:.3g}"), float(f"{high:.3g}")))
    return found


def _ends(judged: Sequence[Judged]) -> tuple[float, float]:
    many = Counter((one.point.unit, one.kind) for one in judged)
    rows = sorted(
        (one.error, min(1.0, _ENOUGH / many[one.point.unit, one.kind]))
        for one in judged
    )
    whole = sum(weight for _, weight in rows)

    def at(share: float) -> float:
        passed = 0.0
        for error, weight in rows:
            passed += weight
            if passed >= share * whole:
                return math.exp(error)
        return math.exp(rows[-1][0])

    return at(_TAIL), at(1 - _TAIL)


def coverage(judged: Sequence[Judged], spreads: Sequence[tuple[float, float]]) -> float:
    """
    Return the share of measured figures that lie within the interval.
    """
    inside = 0
    for one in judged:
        low, high = spreads[min(one.novelty, len(spreads) - 1)]
        inside += low <= math.exp(one.error) <= high
    return inside / len(judged)


def errors_of(judged: Iterable[Judged]) -> dict[str, tuple[float, float, int]]:
    """
    Return the median error of each kind: over all figures, and over the medians of the
    units of their sources; and how many there are.
    """
    found = {}
    rows = [one for one in judged if one.counts]
    for kind in _KINDS:
        own = [one for one in rows if one.kind == kind]
        if not own:
            continue
        units: dict[str, list[float]] = defaultdict(list)
        for one in own:
            units[one.point.unit].append(one.off)
        by_unit = [float(np.median(each)) for each in units.values()]
        found[kind] = (
            round(float(np.median([one.off for one in own])), 3),
            round(float(np.median(by_unit)), 3),
            len(own),
        )
    return found


def table_of(points: Sequence[Point]) -> Calibration:
    """
    Return of what there are measurements, without constants.
    """
    rows: dict[Kind, list[Point]] = defaultdict(list)
    for one in points:
        rows[one.kind].append(one)
    return Calibration(
        date="",
        points=len(points),
        constants={},
        spreads=(),
        measured=tuple(
            Measured(
                kind=kind,
                points=len(own),
                sources=tuple(sorted({one.group for one in own})),
            )
            for kind, own in sorted(rows.items(), key=lambda row: astuple(row[0]))
        ),
    )


def ranked(
    judged: Iterable[Judged], worth: Callable[[Point], float | None]
) -> tuple[int, int]:
    """
    Return in how many workloads the predicted best configuration is among the measured
    best two, and of how many with three configurations or more.

    Args:
        worth: What a copy's throughput is divided by; ``None`` leaves it out.
    """
    workloads: dict[object, dict[tuple[str, int], tuple[float, float]]] = defaultdict(
        dict
    )
    for one in judged:
        point, cost = one.point, worth(one.point)
        if one.kind != THROUGHPUT or cost is None:
            continue
        key = (
            point.group,
            point.model.rpartition("/")[2].partition("-FP")[0],
            _about(point.prompt),
            _about(point.answer),
            point.load,
            None if point.load == "burst" else _about(point.value),
        )
        pair = one.predicted / cost, point.measured[THROUGHPUT] / cost
        place = (point.kind.gpu, point.degree)
        # The same in two formats or releases: the better one.
        workloads[key][place] = max(workloads[key].get(place, pair), pair, key=_second)
    hits = count = 0
    for configurations in workloads.values():
        if len(configurations) < _CONFIGURATIONS:
            continue
        count += 1
        best = max(configurations, key=lambda name: configurations[name][0])
        order = sorted(configurations, key=lambda name: -configurations[name][1])
        hits += best in order[:2]
    return hits, count


def _second(pair: tuple[float, float]) -> float:
    return pair[1]


def _about(value: float) -> int:
    # Means of the same data set differ by the tokenizer.
    return round(math.log(max(value, 1.0)) * 6)


def price_of(point: Point) -> float | None:
    """
    Return the dollars an hour of the accelerators that a copy has, on the cheapest
    instance type that has enough of them.
    """
    prices = known_prices("us-east-1")
    types = [find_instance_type(name) for name in accelerated_type_names()]
    shares = [
        prices[one.name].usd_per_hour / one.accelerators
        for one in types
        if one.accelerator_model == point.kind.gpu
        if one.accelerators >= point.degree
        if one.name in prices
    ]
    return min(shares) * point.degree if shares else None


def by(
    judged: Iterable[Judged], of: Callable[[Point], str]
) -> Mapping[str, list[Judged]]:
    """
    Gather figures by what their measurements have in common.
    """
    found: dict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        found[of(one.point)].append(one)
    return dict(sorted(found.items()))
