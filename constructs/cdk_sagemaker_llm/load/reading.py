"""
Conclusions from a benchmark, in sentences: the users it bears, what to scale at.

Of the users within an objective only what was measured is claimed: nothing is computed
between two rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.load.benchmark import LEAST_PERCENT, Benchmark, Row
from cdk_sagemaker_llm.load.objective import NAMES, PERCENTS, STREAMED, Objective
from cdk_sagemaker_llm.load.scaling_target import (
    HeadRoom,
    Saturation,
    ScalingTarget,
    saturation_of,
)
from cdk_sagemaker_llm.text import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """
    What a benchmark says.

    Args:
        knee: The most users within the objective. ``None`` if there is none.

        saturation: From where on more users only wait. ``None`` of a single row.

        target: What to scale at. ``None`` if that cannot be told.

        untold: Why it cannot be told.
    """

    knee: Knee | None
    saturation: Saturation | None
    target: ScalingTarget | None
    untold: str = ""

    def sentences(self) -> list[str]:
        """
        Return the conclusions as sentences.
        """
        sentences = [
            str(one) for one in (self.knee, self.saturation) if one is not None
        ]
        if self.saturation is None:
            sentences.append(
                "One number of users, or none answered, does not tell where throughput "
                "is saturated."
            )
        if self.target is None:
            return [*sentences, f"No scaling target: {self.untold}."]
        return [*sentences, *self.target.sentences()]

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        parts = {
            "knee": self.knee,
            "saturation": self.saturation,
            "scaling_target": self.target,
        }
        facts = {
            name: None if part is None else part.to_facts()
            for name, part in parts.items()
        }
        return {**facts, "sentences": self.sentences()}


def reading_of(
    benchmark: Benchmark,
    objective: Objective | None = None,
    head_room: HeadRoom | None = None,
) -> Reading:
    """
    Read a benchmark.

    Args:
        benchmark: What was measured.

        objective: How fast it has to be. If omitted, saturation alone decides.

        head_room: What scaling has to leave free. If omitted, there is room for ten
            minutes of a load that grows by a twentieth a minute.

    Raises:
        ValueError: If there is an objective for streams, and nothing was streamed.
    """
    raise_faults(kind_of("Benchmark").faults("benchmark", benchmark))
    raise_faults(kind_of("Objective | None").faults("objective", objective))
    knee = None
    if objective is not None and objective.bounds:
        knee = knee_of(benchmark.rows, objective)
    saturation = saturation_of(benchmark.rows)
    row, untold = _borne(benchmark, knee, saturation)
    if row is not None and benchmark.copies is None:
        untold = benchmark.copies_untold
    target = None
    if row is not None and benchmark.copies is not None:
        target = ScalingTarget.of(
            row,
            benchmark.copies,
            has_components=row.facts["settings"]["component"] is not None,
            head_room=head_room or HeadRoom(),
        )
    return Reading(knee=knee, saturation=saturation, target=target, untold=untold)


def _borne(
    benchmark: Benchmark, knee: Knee | None, saturation: Saturation | None
) -> tuple[Row | None, str]:
    if knee is not None and knee.users is None:
        return None, "no number of users tried is within the objective; try fewer"
    saturated = None if saturation is None else saturation.users
    # Beyond saturation a copy does no more: what is within an objective there waits.
    bounds = [
        users
        for users in (None if knee is None else knee.users, saturated)
        if users is not None
    ]
    if not bounds:
        return None, (
            "where the endpoint is saturated was not measured; try more users, or give "
            "an objective"
        )
    users = min(bounds)
    return next(row for row in benchmark.rows if row.users == users), ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """
    A row, and whether it is within an objective.

    Args:
        summary: What was measured, in words.
    """

    users: int
    is_within: bool
    summary: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Knee:
    """
    The most users within an objective, of those tried.

    Args:
        objective: How fast it has to be.

        within: The row of the most users before the first that is too slow.
            ``None`` if the fewest are too many.

        above: The first row that is too slow. ``None`` if none is.

        again: Later rows that are within it again, which is no promise.
    """

    objective: Objective
    within: Judged | None
    above: Judged | None
    again: tuple[int, ...] = ()

    @property
    def users(self) -> int | None:
        """
        How many users they are; ``None`` if the fewest tried are too many.
        """
        return None if self.within is None else self.within.users

    def __str__(self) -> str:
        within, above = self.within, self.above
        if within is None:
            sentence = "None of the numbers of users tried is within the objective"
            rest = (
                ""
                if above is None
                else f": {above.users} are above it, {above.summary}"
            )
        elif above is None:
            sentence = "All numbers of users tried are within the objective"
            rest = (
                f": up to {within.users}, {within.summary}. Where that ends was not "
                "measured; try more users"
            )
        else:
            sentence = "Within the objective"
            rest = (
                f": at most {within.users} of the users tried, {within.summary}; "
                f"{above.users} are above it, {above.summary}"
            )
        again = ", ".join(map(str, self.again))
        chance = f". That {again} are within it again is left out" if again else ""
        return f"{sentence} ({self.objective}){rest}{chance}."

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        return {
            "latency": self.objective.latency,
            "first_token": self.objective.first_token,
            "percentile": self.objective.percentile,
            "users": self.users,
            "above": None if self.above is None else self.above.users,
            "again": list(self.again),
        }


def knee_of(rows: Sequence[Row], objective: Objective) -> Knee:
    """
    Find the most users before the first number of them that is too slow.

    Requests that failed, or that nobody waited for, count as too slow.
    """
    judged = [_judge(row, objective) for row in sorted(rows, key=lambda row: row.users)]
    above = next((one for one in judged if not one.is_within), None)
    before = judged if above is None else judged[: judged.index(above)]
    after = judged[len(before) :]
    return Knee(
        objective=objective,
        within=before[-1] if before else None,
        above=above,
        again=tuple(one.users for one in after if one.is_within),
    )


def _judge(row: Row, objective: Objective) -> Judged:
    found = [
        _held(row, name, most, objective.percentile)
        for name, most in objective.bounds.items()
    ]
    return Judged(
        users=row.users,
        is_within=all(is_within for is_within, _ in found),
        summary=" and ".join(summary for _, summary in found),
    )


def _held(row: Row, name: str, most: float, percentile: str) -> tuple[bool, str]:
    figures = row.facts["figures"]
    if name in STREAMED and not row.facts["settings"]["is_streamed"]:
        raise ValueError(
            f"there is no {NAMES[name]} without streams; leave its objective out"
        )
    begun = figures["requests"] + figures["unfinished"]
    # A benchmark that was saved before tells of fewer times.
    found = figures.get(name)
    good = 0 if found is None else found["count"]
    verb = "was" if begun == 1 else "were"
    failed = f"{begun - good} of {counted(begun, 'request')} {verb} not answered"
    percent = PERCENTS[percentile]
    # Where some failed, more of the others have to be in time.
    enough = [
        each for each in _percentiles(row, name) if each * good >= percent * begun
    ]
    if not good or not enough:
        return False, failed if begun else "no request ended"
    nearest = min(enough)
    seconds = _percentiles(row, name)[nearest]
    names = {each: one for one, each in PERCENTS.items()}
    measured = names.get(nearest, f"p{nearest}")
    summary = f"{NAMES[name]} {measured} {seconds:.2f} s"
    if nearest != percent:
        summary += f", as {failed}"
    return seconds <= most, summary


def _percentiles(row: Row, name: str) -> Mapping[int, float]:
    found = row.facts["figures"].get(name) or {}
    figures = {percent: found[one] for one, percent in PERCENTS.items() if one in found}
    kept = row.facts.get("percents", {}).get(name, ())
    return {**figures, **dict(enumerate(kept, LEAST_PERCENT))}
