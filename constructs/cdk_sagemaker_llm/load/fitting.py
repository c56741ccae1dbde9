"""
The service times of one copy, from a sweep over numbers of users, and the file of them
that simulations read.

What is used is Little's law and how one copy works: prompts are worked off one by one
while all others stand still, and between them every sequence of the batch gets its next
token together. So ``rate * prompt cost`` of the time goes to prompts, and in the rest
a batch of ``n`` moves on by one token in each ``pace(n)``.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.deployed import Deployed
from cdk_sagemaker_llm.load.observed import Observed, observed
from cdk_sagemaker_llm.simulation.service.measurement import (
    Measurement,
    write_service_times,
)
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.text import counted

_HAIR = 1e-9

# With more under way it is the line that grows: where of each second that answers take
# longer so much goes by before their first token.
_WAITS = 0.8
LINE = 1.05
"""A line is one where so much more is under way than is written at once."""
# With fewer under way, prompts hold up too little to be measured by it.
_SEVERAL = 2.0
_ROUNDS = 3
_HALF = 0.5

# More of its time no copy spends on prompts, as long as it writes answers.
_BUSIEST = 0.95
_MILLI = 1000

# Of a time in which each asks only once or twice it is chance what it comes to.
_TIMES = 3
# By more than this, of what it is, no measurement may be off.
_NOISE = 0.3


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
            If omitted, it is told from the numbers of users beyond which requests
            wait in line.

        source: Where the rows are from, in words.

    Raises:
        ValueError: If the rows have too little in them.
    """
    if not rows:
        raise ValueError(
            "rows must be a sweep over one number of users at least, got none"
        )
    points = _points(rows, copies)
    notes = _Notes()
    single = _single_of(_points(alone, 1), points, notes)
    single = _bounded(single, points, notes)
    most = _most_at_once(points, single, max_sequences, notes)
    decode = _whole(_paces(points, single, most), most)
    if decode[0][0] > 1:
        notes.warnings.append(
            f"decode: fewer than {decode[0][0]} at once were not measured, and are "
            "taken to be as slow; sweep with fewer users too, or ask alone with --probe"
        )
    notes.found.append(
        f"decode: from {', '.join(str(count) for count, _ in decode)} at once, by "
        "Little's law from the requests under way, less the time that prompts take"
    )
    doubts = [doubt for row in rows for doubt in _doubts(row)]
    notes.warnings += doubts
    notes.warnings += [
        f"at {counted(one.users, 'user')} {one.disturbance}"
        for one in points
        if one.disturbance
    ]
    return Fitted(
        times=ServiceTimes(
            decode=decode,
            max_sequences=most,
            overhead_seconds=single.overhead,
            prompt_seconds_per_token=single.prompt,
            source=source,
            is_estimate=bool(doubts) or any(one.disturbance for one in points),
        ),
        found=tuple(notes.found),
        warnings=tuple(notes.warnings),
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

        found: How, a sentence for each figure.

        warnings: What the sweep could not tell.

        prompt_tokens: Tokens of a prompt, on average.

        output_tokens: Tokens of an answer, on average.

        requests: How many were measured.
    """

    times: ServiceTimes
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


def before_line(points: Sequence[Observed]) -> Sequence[Observed]:
    """
    Return the rows in which nobody waits in line, and prompts hold up one another.
    """
    first = (rises(points) or [len(points) + 1])[0]
    return [one for one in points[: max(first - 1, 0)] if one.under_way > _SEVERAL]


def rises(points: Sequence[Observed]) -> list[int]:
    """
    Return the numbers of the rows in which it is the line that has grown.
    """
    return [
        number
        for number, (less, more) in enumerate(itertools.pairwise(points), start=1)
        if more.first_token - less.first_token
        > _WAITS * (more.latency - less.latency)
        > 0
    ]


def _doubts(row: Row) -> Iterator[str]:
    """
    Say what of a row chance may have made, for want of time or of quiet.
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


@dataclass(slots=True)
class _Notes:
    """
    Notes on the figures: how they were found, and what remains open.
    """

    found: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _single_of(
    alone: Sequence[Observed], points: Sequence[Observed], notes: _Notes
) -> _Single:
    if len(alone) > 1:
        short, long = sorted(alone, key=lambda one: one.prompt)[:: len(alone) - 1]
        if long.prompt >= 2 * short.prompt:
            return _by_lengths(short, long, notes)
        notes.warnings.append(
            "prompt_seconds_per_token: the prompts of a user alone do not differ "
            "enough in length; give longer ones"
        )
    cost = _by_rows(points, notes)
    notes.warnings.append(
        "overhead_seconds: counted with the prompt, since nobody asked alone"
    )
    return _Single(0.0, cost, None)


def _bounded(single: _Single, points: Sequence[Observed], notes: _Notes) -> _Single:
    """
    Bound the cost of prompts, so that time is left for the answers that were written.
    """
    most = min(_BUSIEST / (one.rate * one.prompt) for one in points)
    if single.prompt <= most:
        return single
    notes.warnings.append(
        f"prompt_seconds_per_token: {most * _MILLI:.4f} ms is what the throughput "
        "leaves for prompts, less than one takes alone: the engine works on several "
        "at once"
    )
    return _Single(single.overhead, most, single.token)


def _most_at_once(
    points: Sequence[Observed], single: _Single, fixed: int | None, notes: _Notes
) -> int:
    if fixed is not None:
        notes.found.append(f"max_sequences: {fixed}, as it was given")
        return fixed
    counts = [_held_by(one, single) for one in points]
    grown = rises(points)
    if not grown:
        most = max(1, round(max(counts)))
        notes.found.append(f"max_sequences: {most}, the most that one copy had at once")
        notes.warnings.append(
            f"max_sequences: nobody waited in line, so that a copy may write more than "
            f"{most} at once; sweep with more users, or give --max-sequences"
        )
        return most
    first = grown[0]
    # The last row before may have had a line already, the one before that had none.
    least = counts[first - 2] if first > 1 else 1.0
    written, is_sure = _written([points[number] for number in grown], points, single)
    if not is_sure:
        notes.warnings.append(
            "max_sequences: with all numbers of users requests wait in line, which "
            "tells it roughly; sweep with fewer users too, or give --max-sequences"
        )
    bound = min(counts[number] for number in grown)
    most = max(1, round(min(max(written, least), bound)))
    between = f"{math.floor(min(least, bound))} and {math.ceil(bound)}"
    notes.found.append(
        f"max_sequences: {most}, between {between}; from "
        f"{counted(points[first].users, 'user')} on, requests wait in line, and by "
        "Little's law so many are written at once"
    )
    return most


def _whole(
    paces: Sequence[tuple[float, float]], most: int
) -> tuple[tuple[int, float], ...]:
    """
    Return rows for whole numbers of sequences: one for each that was near one.
    """
    by_count: dict[int, list[tuple[float, float]]] = {}
    for count, pace in paces:
        by_count.setdefault(min(max(round(count), 1), most), []).append((count, pace))
    means = [
        tuple(map(statistics.fmean, zip(*near, strict=True)))
        for _, near in sorted(by_count.items())
    ]
    rows = []
    for number, whole in enumerate(sorted(by_count)):
        count, pace = means[number]
        other = means[number + 1] if number + 1 < len(means) else means[number - 1]
        # On the line to a neighbour that is not so near that it says nothing.
        if abs(other[0] - count) >= 1:
            slope = (other[1] - pace) / (other[0] - count)
            pace += slope * (whole - count)
        rows.append((whole, max(pace, _HAIR)))
    if most > rows[-1][0] and len(rows) > 1 and rows[-1][1] < rows[-2][1]:
        # Measured rows may fall; what is drawn on beyond them must not.
        rows.append((most, rows[-1][1]))
    return tuple(rows)


def _paces(
    points: Sequence[Observed], single: _Single, most: int
) -> list[tuple[float, float]]:
    """
    Return for how many sequences, fractions too, a token takes how many seconds.
    """
    found = [] if single.token is None else [(1.0, single.token)]
    for one in points:
        prompt, held = one.prompt * single.prompt, _held_by(one, single)
        count = min(max(held, 1.0), float(most))
        if held > most * LINE:
            pace = (1 / one.rate - prompt) * most / one.answer
        elif count > 1:
            stay = one.latency - single.overhead
            pace = stay * (1 - one.rate * prompt) / one.answer
        else:
            pace = (one.latency - single.overhead - prompt) / one.answer
        found.append((count, pace))
    found = [(count, pace) for count, pace in found if pace > 0]
    if not found:
        raise ValueError(
            "answers took no longer than their prompts; ask for longer answers with "
            "--max-new-tokens"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Single:
    """
    What a request takes alone: outside of the batch, for a token of prompt, and for
    one of the answer.
    """

    overhead: float
    prompt: float
    token: float | None


def _by_lengths(short: Observed, long: Observed, notes: _Notes) -> _Single:
    slope = (long.first_token - short.first_token) / (long.prompt - short.prompt)
    token = statistics.fmean((short.mean_between, long.mean_between))
    overhead = short.first_token - slope * short.prompt - token
    notes.found += [
        (
            f"overhead_seconds: {max(overhead, 0) * _MILLI:.1f} ms, of a user alone: "
            "the time to the first token, less what prompt and token take"
        ),
        (
            f"prompt_seconds_per_token: {max(slope, 0) * _MILLI:.4f} ms, of a user "
            f"alone: how much later the first token comes with {long.prompt:.0f} than "
            f"with {short.prompt:.0f} tokens of prompt"
        ),
    ]
    if slope < 0:
        notes.warnings.append(
            "prompt_seconds_per_token: long prompts were no slower than short ones; "
            "ask alone for longer with --probe"
        )
    return _Single(max(overhead, 0.0), max(slope, 0.0), token)


def _by_rows(points: Sequence[Observed], notes: _Notes) -> float:
    """
    Compute what a prompt's token costs from how prompts hold up what others write.
    """
    calm = before_line(points)
    if calm:
        cost = statistics.fmean(
            _held_up(one, one.under_way) / one.prompt for one in calm
        )
        how = "what answers take longer than their tokens, for each request under way"
    else:
        # The mean time between tokens has those stalls in it, the median does not.
        cost = statistics.fmean(
            max(0.0, 1 - one.between / max(one.mean_between, _HAIR))
            / (one.rate * one.prompt)
            for one in points
        )
        how = "how much longer the mean time between tokens is than the median"
    notes.found.append(f"prompt_seconds_per_token: {cost * _MILLI:.4f} ms, from {how}")
    notes.warnings.append(
        "prompt_seconds_per_token: nobody asked alone with prompts of two lengths, "
        "which tells it better"
    )
    return cost


def _held_by(one: Observed, single: _Single) -> float:
    """
    Return how many requests a copy has, those on the way to it or from it left out.
    """
    return one.under_way * (1 - min(single.overhead / one.latency, 1.0))


def _written(
    full: Sequence[Observed], points: Sequence[Observed], single: _Single
) -> tuple[float, bool]:
    """
    Return how many sequences a full batch has, and whether a row had no line.

    A request's share of the copy's time is what its prompt holds up the batch, and its
    tokens by how many others get theirs with them.
    """
    prompt = statistics.fmean(one.prompt for one in full) * single.prompt
    found, calm = 0.0, list[Observed]()
    # What prompts hold up is measured in the rows without a line, and which rows have
    # none follows from how many are written: it settles at once.
    for _ in range(_ROUNDS):
        found = statistics.median(
            (one.answer - 1) * one.between / max(1 / one.rate - prompt, _HAIR)
            for one in full
        )
        calm = [
            one for one in points if _SEVERAL < _held_by(one, single) < found / LINE
        ]
        if calm:
            nearest = calm[-1]
            stay = _held_by(nearest, single)
            prompt = _held_up(nearest, stay, single.overhead)
    return found, bool(calm)


def _held_up(one: Observed, count: float, overhead: float = 0.0) -> float:
    """
    Return for how long each prompt held up a batch, where nobody waited in line.
    """
    # Who comes waits for the token under way: for half of one, on average.
    tokens = (one.answer - _HALF) * one.between
    return max(0.0, one.latency - overhead - tokens) / count
