"""
The service times of one copy, from a sweep over numbers of users, and the file of them
that simulations read.

One law is held against all rows at once. A copy that has ``n`` requests writes
``m = min(n, slots)`` of them together. Prompts are worked off one by one while all
others stand still; between them each of the ``m`` gets a token in each ``pace(m)``:

- latency = overhead + n * prompt + answer * max(1, n / slots) * pace(m)
- latency - first token = (m - 1) * prompt + (answer - 1) * pace(m)
- median between tokens = pace(m), and prompts where they hold up most tokens
- first token of a user alone = overhead + prompt + pace(1)

For a number of slots, that is linear in all that is sought. So numbers are tried, each
with its best other figures; those that explain the rows about as well as the best of
them are the interval.
"""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.deployed import Deployed
from cdk_sagemaker_llm.load.observed import Observed, observed
from cdk_sagemaker_llm.simulation.service.measurement import (
    Between,
    Measurement,
    write_service_times,
)
from cdk_sagemaker_llm.simulation.service.times import Rows, ServiceTimes
from cdk_sagemaker_llm.text import counted

_HAIR = 1e-9
_MILLI = 1000

# How far figures usually are off; from half as much more on they count by their
# distance, and no longer by its square.
_USUAL = 0.05
_FAR = 1.5 * _USUAL
# No sweep is so quiet that its figures are surer than this part of that.
_QUIETEST = 0.1
_ROUNDS = 4
# What the true slots deviate more than the best, squared, in hardly one of 20 sweeps;
# and how much more that is where the noise is known from few figures.
_INTERVAL, _OF_FEW = 5.0, 3.0
# Numbers of slots are tried in such steps, and then one by one around the best.
_STEP = 1.1
# With more prompts than this in each step, the median token has waited for one.
_MEDIAN_HELD_UP = math.log(2)
# Scales of what is assumed, in paces: that the pace rises as fast at first as later,
# and that what no row tells is nothing.
_BEND, _UNTOLD = 2.0, 1000.0

# Of a time in which each asks only once or twice it is chance what it comes to.
_TIMES = 3
# By more than this, of what it is, no measurement may be off.
_NOISE = 0.3
# Users of about one at a time.
_ONE = 1.5


@held
def fit_service_times(
    rows: Sequence[Row],
    copies: int = 1,
    *,
    alone: Sequence[Row] = (),
    max_sequences: int | None = None,
    source: str = "benchmark",
) -> Fitted:
    """
    Find the service times of one copy that explain a sweep.

    Args:
        rows: The sweep, of streamed answers.

        copies: How many copies shared the requests.

        alone: What a single user met with, with short prompts and with long ones.
            If omitted, what prompts cost is told from how they hold up others.

        max_sequences: How many sequences a copy writes at once, at most.
            If omitted, it is told from the throughput, and between which numbers it
            lies.

        source: Where the rows are from, in words.

    Raises:
        ValueError: If the rows have too little in them.
    """
    if not rows:
        raise ValueError(
            "rows must be a sweep over one number of users at least, got none"
        )
    points = _points(rows, copies)
    every = [*_points(alone, 1), *points]
    tries = _tries(every, max_sequences)
    best = min(tries, key=lambda one: one.loss)
    if not best.decode:
        raise ValueError(
            "answers took no longer than their prompts; ask for longer answers with "
            "--max-new-tokens"
        )
    between = None if max_sequences else _interval(tries, best)
    doubts = [doubt for row in rows for doubt in _doubts(row)]
    disturbances = [
        f"at {counted(one.users, 'user')} {one.disturbance}"
        for one in points
        if one.disturbance
    ]
    return Fitted(
        times=ServiceTimes(
            decode=best.decode,
            max_sequences=best.slots,
            overhead_seconds=best.overhead,
            prompt_seconds_per_token=best.prompt,
            source=source,
            is_estimate=bool(doubts or disturbances),
        ),
        max_sequences_between=between,
        found=tuple(_found(best, between)),
        warnings=(*_open(every, best, between), *best.outliers, *doubts, *disturbances),
        prompt_tokens=statistics.fmean(one.prompt for one in points),
        output_tokens=statistics.fmean(one.answer for one in points),
        requests=sum(row.requests for row in rows),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """
    Service times, and how each figure was found.

    Args:
        times: What was found.

        max_sequences_between: The numbers that explain the sweep about as well as
            ``max_sequences``; the larger is ``None`` where the sweep does not reach
            saturation, and both are ``None`` where it was given.

        found: How, a sentence for each figure.

        warnings: What the sweep could not tell.

        prompt_tokens: Tokens of a prompt, on average.

        output_tokens: Tokens of an answer, on average.

        requests: How many were measured.
    """

    times: ServiceTimes
    max_sequences_between: Between | None
    found: tuple[str, ...]
    warnings: tuple[str, ...]
    prompt_tokens: float
    output_tokens: float
    requests: int


def save_service_times(
    path: Path, benchmark: Benchmark, probe: Probe, served: Deployed
) -> Fitted:
    """
    Fit the service times of one copy and write them down; return how they were found.
    """
    copies = counted(probe.copies, "copy", "copies")
    users = ", ".join(str(row.users) for row in benchmark.rows)
    who = f"{users} {'user' if users == '1' else 'users'}"
    fitted = fit_service_times(
        benchmark.rows,
        probe.copies,
        alone=probe.alone,
        max_sequences=probe.max_sequences,
        source=f"benchmark of {benchmark.endpoint}, {copies}, with {who}",
    )
    write_service_times(
        path,
        Measurement(
            times=fitted.times,
            instance_type=served.instance_type,
            model=served.model,
            engine=served.engine,
            engine_version=served.engine_version,
            date=datetime.fromisoformat(benchmark.began).date(),
            accelerators=served.accelerators,
            prompt_tokens=fitted.prompt_tokens,
            output_tokens=fitted.output_tokens,
            requests=fitted.requests,
            max_sequences_between=fitted.max_sequences_between,
            notes="; ".join((*fitted.found, *fitted.warnings)),
        ),
    )
    return fitted


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """
    What service times need besides the sweep.

    Args:
        alone: What a single user met with, with short prompts and with whole ones.
            If omitted, nobody asked alone.

        max_sequences: How many sequences a copy writes at once, at most.
            If omitted, it is told from the sweep.
    """

    copies: int
    alone: tuple[Row, ...] = ()
    max_sequences: int | None = None


def _doubts(row: Row) -> Iterator[str]:
    """
    Say what in a row may be chance, for want of time or of quiet.
    """
    who, steady = counted(row.users, "user"), row.facts["steady"]
    if steady is None:
        return
    if row.seconds < _TIMES * steady["latency"]:
        yield (
            f"at {who} it was measured for {row.seconds:.3g} s, in which nobody asked "
            f"{_TIMES} times: all figures are estimates; measure longer with --duration"
        )
    elif row.rate.high - row.rate.low > 2 * _NOISE * row.rate.value:
        yield (
            f"at {who} the requests a second may be {row.rate.low:.3g} or "
            f"{row.rate.high:.3g}: all figures are estimates; measure longer with "
            "--duration"
        )


def _points(rows: Sequence[Row], copies: int) -> list[Observed]:
    found = [one for row in rows if (one := observed(row, copies)) is not None]
    if rows and not found:
        raise ValueError(
            "no row has answers that were streamed and ended well; leave out "
            "--no-stream, and see what failed"
        )
    return sorted(found, key=lambda one: one.users)


def _most_seen(points: Sequence[Observed]) -> int:
    return max(1, round(max(one.under_way for one in points)))


def _tries(points: Sequence[Observed], fixed: int | None) -> list[_Try]:
    """
    Try numbers of slots up to one with which nobody waits in line.
    """
    if fixed is not None:
        return [_tried(points, fixed)]
    top = _most_seen(points)
    numbers, number = {top}, 1
    while number < top:
        numbers.add(number)
        number = max(number + 1, round(number * _STEP))
    tries = {number: _tried(points, number) for number in numbers}
    best = min(tries, key=lambda one: tries[one].loss)
    around = range(math.ceil(best / _STEP), min(math.floor(best * _STEP), top) + 1)
    tries |= {each: _tried(points, each) for each in around if each not in tries}
    return [tries[number] for number in sorted(tries)]


def _interval(tries: Sequence[_Try], best: _Try) -> Between:
    """
    Return the interval of slots in which the deviations are hardly larger: it ends
    before the next number that was tried and is outside.
    """
    noise = max(best.loss / best.surplus, _QUIETEST)
    bound = best.loss + _INTERVAL * (1 + _OF_FEW / best.surplus) * noise
    near = [number for number, one in enumerate(tries) if one.loss <= bound]
    below = tries[near[0] - 1].slots if near[0] else 0
    above = tries[near[-1] + 1].slots if near[-1] + 1 < len(tries) else None
    return below + 1, None if above is None else above - 1


@dataclass(frozen=True, slots=True)
class _Try:
    """
    A number of slots, and the figures with which it explains the rows best.

    The loss is how far off the rows are all the same; the surplus is how many figures
    of them there are beyond those that are sought.
    """

    slots: int
    decode: Rows
    overhead: float
    prompt: float
    loss: float
    surplus: int
    outliers: tuple[str, ...]


def _tried(points: Sequence[Observed], slots: int) -> _Try:
    last = min(slots, _most_seen(points))
    knots = sorted({1, round(math.sqrt(last)), last})
    sought = [0.0] * (2 + len(knots))
    far: list[float] = []
    for _ in range(_ROUNDS):
        equations = [*_equations(points, slots, knots, sought[0])]
        # From the second time on, what is far off counts less.
        weights = [min(1.0, _FAR / max(abs(off), _HAIR)) for off in far]
        sought = _least_squares(equations, weights or [1.0] * len(equations))
        far = [one.off(sought) for one in equations]
    near = [(min(abs(off), _FAR), abs(off)) for off in far]
    loss = sum(part * (2 * off - part) for part, off in near)
    paces = [(knot, _sum(_steps(knots, knot), sought[2:])) for knot in knots]
    return _Try(
        slots=slots,
        decode=tuple((knot, pace) for knot, pace in paces if pace > _HAIR),
        overhead=sought[0],
        prompt=sought[1],
        loss=loss / _USUAL**2,
        surplus=max(sum(bool(one.figure) for one in equations) - len(sought) - 1, 1),
        outliers=tuple(
            f"{one.figure} is {abs(off):.0%} {'less' if off > 0 else 'more'} than all "
            "rows together come to, and counts little"
            for one, off in zip(equations, far, strict=True)
            if one.figure and abs(off) > _NOISE
        ),
    )


@dataclass(frozen=True, slots=True)
class _Equation:
    """
    What one figure of a row says: its shares of what is sought add up to its value.

    What is sought is the overhead, a token of prompt, the pace of one sequence, and by
    how much that rises for each further one, up to each knot. Both sides are divided
    by a scale, so that deviations are shares of it; what names no figure is assumed.
    """

    shares: Sequence[float]
    value: float
    figure: str

    @classmethod
    def of(
        cls, shares: Iterable[float], value: float, scale: float, figure: str = ""
    ) -> _Equation:
        scale = max(scale, _HAIR)
        return cls([share / scale for share in shares], value / scale, figure)

    def off(self, sought: Sequence[float]) -> float:
        return _sum(self.shares, sought) - self.value


def _equations(
    points: Sequence[Observed], slots: int, knots: Sequence[int], overhead: float
) -> Iterator[_Equation]:
    for one in points:
        # The overhead is spent on the way to the copy and from it.
        held = max(one.under_way * (1 - min(overhead / one.latency, 1.0)), 1.0)
        written = min(held, slots)
        steps = _steps(knots, written)
        at, prompt = f"at {counted(one.users, 'user')} the", one.prompt
        tokens, further = one.answer * max(held / slots, 1.0), max(one.answer - 1, 0.0)
        whole, first = one.latency, one.first_token
        shares = [1.0, held * prompt, *(tokens * step for step in steps)]
        yield _Equation.of(shares, whole, whole, f"{at} latency")
        shares = [0.0, (written - 1) * prompt, *(further * step for step in steps)]
        value, scale = whole - first, math.hypot(whole, first)
        yield _Equation.of(shares, value, scale, f"{at} time after the first token")
        prompts = one.rate * one.between
        stalls = max(0.0, prompts - _MEDIAN_HELD_UP)
        shares, scale = [0.0, stalls * prompt, *steps], one.between * (1 + prompts)
        yield _Equation.of(shares, one.between, scale, f"{at} time between tokens")
        if one.users == 1:
            shares = [1.0, prompt, *steps]
            yield _Equation.of(shares, first, first, f"{at} time to the first token")
    # What the rows leave open is nothing, and the pace rises about evenly.
    pace = max(statistics.fmean(one.between for one in points), _HAIR)
    most = max(one.latency for one in points)
    usual = [most, most / max(1, *(one.prompt for one in points)), math.inf]
    usual += [pace / last for last in knots[1:]]
    for index, size in enumerate(usual):
        shares = [float(each == index) for each in range(len(usual))]
        yield _Equation.of(shares, 0.0, _UNTOLD * size)
    if len(knots) == len(("one", "some", "all")):
        first_knot, middle, last = knots
        bend = (middle - first_knot) * (last - middle) / (last - first_knot)
        yield _Equation.of([0.0, 0.0, 0.0, bend, -bend], 0.0, _BEND * pace)


def _steps(knots: Sequence[int], count: float) -> list[float]:
    """
    Return the steps that make up the pace of so many sequences.
    """
    pairs = itertools.pairwise(knots)
    return [1.0, *(min(max(count, low), high) - low for low, high in pairs)]


def _sum(shares: Sequence[float], sought: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, shares, sought))


def _least_squares(
    equations: Sequence[_Equation], weights: Sequence[float]
) -> list[float]:
    """
    Solve equations as well as can be, with figures that are not negative.
    """
    size = len(equations[0].shares)
    table = [[0.0] * (size + 1) for _ in range(size)]
    for one, weight in zip(equations, weights, strict=True):
        row = (*one.shares, one.value)
        for mine, share in zip(table, one.shares, strict=True):
            if part := weight * share:
                mine[:] = [
                    cell + part * each for cell, each in zip(mine, row, strict=True)
                ]
    free = list(range(size))
    while True:
        chosen = [[table[row][column] for column in (*free, size)] for row in free]
        found = dict(zip(free, _solved(chosen), strict=True))
        if all(value >= 0 for value in found.values()):
            return [found.get(each, 0.0) for each in range(size)]
        free = [each for each in free if found[each] >= 0]


def _solved(table: list[list[float]]) -> list[float]:
    """
    Solve as many equations as there are unknowns, by Gauss and Jordan; as squares they
    need no pivots.
    """
    for index, own in enumerate(table):
        own[:] = [cell / own[index] for cell in own]
        for row in table:
            if row is not own:
                mine = row[index]
                row[:] = [
                    cell - mine * other for cell, other in zip(row, own, strict=True)
                ]
    return [row[-1] for row in table]


def _found(best: _Try, between: Between | None) -> Iterator[str]:
    yield (
        f"overhead_seconds: {best.overhead * _MILLI:.1f} ms, what requests take that "
        "neither holds a place nor holds up others"
    )
    yield (
        f"prompt_seconds_per_token: {best.prompt * _MILLI:.4f} ms, from first tokens "
        "and from how prompts hold up the answers of others"
    )
    counts = ", ".join(str(count) for count, _ in best.decode)
    yield f"decode: for {counts} at once, from throughput and latency of all rows"
    if between is None:
        yield f"max_sequences: {best.slots}, as it was given"
        return
    low, high = between
    limits = f"at least {low}" if high is None else f"between {low} and {high}"
    yield (
        f"max_sequences: {best.slots}, {limits}; the number that explains throughput "
        "and latency of all rows best"
    )


def _open(
    points: Sequence[Observed], best: _Try, between: Between | None
) -> Iterator[str]:
    alone = [one.prompt for one in points if one.users == 1]
    if not alone or max(alone) < 2 * min(alone):
        yield (
            "overhead_seconds, prompt_seconds_per_token: nobody asked alone with "
            "prompts of which some are twice as long as others, which tells the two "
            "apart; ask with --probe, and for longer prompts"
        )
    fewest = min(one.under_way for one in points)
    if fewest > _ONE:
        yield (
            f"decode: fewer than {fewest:.0f} at once were not measured, and are taken "
            "from the rows with more; sweep with fewer users too, or ask alone with "
            "--probe"
        )
    if between is not None and between[1] is None:
        yield (
            f"max_sequences: the sweep does not reach saturation, so that {between[0]} "
            f"is a lower bound, and a copy may write more than {best.slots} at once; "
            "sweep with more users, or give --max-sequences"
        )
