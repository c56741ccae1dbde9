"""
Where requests begin to wait in line, and how many are written at once then.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from cdk_sagemaker_llm.load.fitting_said import Said, Single
from cdk_sagemaker_llm.load.observed import Observed

# With more under way it is the line that grows: where of each second that answers take
# longer so much goes by before their first token.
_WAITS = 0.8
LINE = 1.05
"""A line is one where so much more is under way than is written at once."""
# With fewer under way, prompts hold up too little to be measured by it.
_SEVERAL = 2.0
_ROUNDS = 3
_HAIR = 1e-9
_HALF = 0.5


def most_at_once(
    points: Sequence[Observed], single: Single, given: int | None, said: Said
) -> int:
    """
    Tell how many sequences are written at once.
    """
    if given is not None:
        said.found.append(f"max_sequences: {given}, as it was given")
        return given
    counts = [held_by(one, single) for one in points]
    grown = rises(points)
    if not grown:
        most = max(1, round(max(counts)))
        said.found.append(f"max_sequences: {most}, the most that one copy had at once")
        said.warnings.append(
            f"max_sequences: nobody waited in line, so that a copy may write more than "
            f"{most} at once; sweep with more users, or give --max-sequences"
        )
        return most
    first = grown[0]
    # The last row before may have had a line already, the one before that had none.
    least = counts[first - 2] if first > 1 else 1.0
    written, is_sure = _written([points[number] for number in grown], points, single)
    if not is_sure:
        said.warnings.append(
            "max_sequences: with all numbers of users requests wait in line, which "
            "tells it roughly; sweep with fewer users too, or give --max-sequences"
        )
    most = max(1, round(min(max(written, least), *(counts[n] for n in grown))))
    said.found.append(
        f"max_sequences: {most}; with {points[first].users} users and more, requests "
        "wait in line, and by Little's law so many are written at once"
    )
    return most


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


def before_line(points: Sequence[Observed]) -> Sequence[Observed]:
    """
    Return the rows in which nobody waits in line, and prompts hold up one another.
    """
    first = (rises(points) or [len(points) + 1])[0]
    return [one for one in points[: max(first - 1, 0)] if one.under_way > _SEVERAL]


def _written(
    full: Sequence[Observed], points: Sequence[Observed], single: Single
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
        calm = [one for one in points if _SEVERAL < held_by(one, single) < found / LINE]
        if calm:
            nearest = calm[-1]
            stay = held_by(nearest, single)
            prompt = held_up(nearest, stay, single.overhead)
    return found, bool(calm)


def held_up(one: Observed, count: float, overhead: float = 0.0) -> float:
    """
    Return for how long each prompt held up a batch, where nobody waited in line.
    """
    # Who comes waits for the token under way: for half of one, on average.
    tokens = (one.answer - _HALF) * one.between
    return max(0.0, one.latency - overhead - tokens) / count


def held_by(one: Observed, single: Single) -> float:
    """
    Return how many requests a copy has, those on the way to it or from it left out.
    """
    return one.under_way * (1 - min(single.overhead / one.latency, 1.0))
