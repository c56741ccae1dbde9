"""
What a benchmark says, in sentences: how many users it bears, and what to scale at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.knee import Knee, Objective, knee_of
from cdk_sagemaker_llm.load.scaling_target import (
    HeadRoom,
    Saturation,
    ScalingTarget,
    saturation_of,
)


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
        Say it.
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
    """
    Find the row of the most users that the endpoint bears, or say why there is none.
    """
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
