"""
The service times of one copy, from a sweep over numbers of users.

What is used is Little's law and how one copy works: prompts are worked off one by one
while all others stand still, and between them every sequence of the batch gets its next
token together. So ``rate * prompt cost`` of the time goes to prompts, and in the rest
a batch of ``n`` moves on by one token in each ``pace(n)``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.load.benchmark import Row
from cdk_sagemaker_llm.load.fitting_alone import bounded, single_of
from cdk_sagemaker_llm.load.fitting_line import LINE, held_by, most_at_once
from cdk_sagemaker_llm.load.fitting_said import Said, Single
from cdk_sagemaker_llm.load.observed import Observed, observed
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

_HAIR = 1e-9


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
            If left out, what prompts cost is told from how they hold up others.

        max_sequences: How many sequences a copy writes at once, at most.
            If left out, it is told from the numbers of users beyond which requests
            wait in line.

        source: Where the rows are from, in words.

    Raises:
        ValueError: If the rows have too little in them.
    """
    points = _points(rows, copies)
    said = Said()
    single = single_of(_points(alone, 1), points, said)
    single = bounded(single, points, said)
    most = most_at_once(points, single, max_sequences, said)
    decode = _whole(_paces(points, single, most), most)
    if decode[0][0] > 1:
        said.warnings.append(
            f"decode: fewer than {decode[0][0]} at once were not measured, and are "
            "taken to be as slow; sweep with fewer users too, or ask alone with --probe"
        )
    said.found.append(
        f"decode: from {', '.join(str(count) for count, _ in decode)} at once, by "
        "Little's law from the requests under way, less the time that prompts take"
    )
    said.warnings += [
        f"at {one.users} users the load generator was the bottleneck, and its delay is "
        "in the figures"
        for one in points
        if one.is_disturbed
    ]
    return Fitted(
        times=ServiceTimes(
            decode=decode,
            max_sequences=most,
            overhead_seconds=single.overhead,
            prompt_seconds_per_token=single.prompt,
            source=source,
        ),
        found=tuple(said.found),
        warnings=tuple(said.warnings),
        prompt_tokens=statistics.fmean(one.prompt for one in points),
        output_tokens=statistics.fmean(one.answer for one in points),
        requests=sum(row.requests for row in rows),
    )


def _points(rows: Sequence[Row], copies: int) -> list[Observed]:
    found = [one for row in rows if (one := observed(row, copies)) is not None]
    if rows and not found:
        raise ValueError(
            "no row has answers that were streamed and ended well; leave out "
            "--no-stream, and see what failed"
        )
    return sorted(found, key=lambda one: one.users)


def _paces(
    points: Sequence[Observed], single: Single, most: int
) -> list[tuple[float, float]]:
    """
    Return for how many sequences, fractions too, a token takes how many seconds.
    """
    found = [] if single.token is None else [(1.0, single.token)]
    for one in points:
        prompt, held = one.prompt * single.prompt, held_by(one, single)
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
