"""
What a model of an engine's step was calibrated to, on which measurements, and how far
off it was on those that it had not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cdk_sagemaker_llm.catalog._data import load

_FILE = "step_constants.json"
# Accelerators of which nothing is said are taken to be linked as slowly as any.
_SLOWEST = ("pcie", 12.0)


@dataclass(frozen=True, slots=True)
class Link:
    """
    How accelerators of an instance are linked.

    Args:
        kind: ``nvlink`` or ``pcie``.

        gb_per_second: What one sends to another, in 10^9 bytes, by its data sheet.
    """

    kind: Literal["nvlink", "pcie"]
    gb_per_second: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """
    Of what there are measurements.

    Args:
        gpu: The accelerator.

        weight_format: How weights are stored.

        generation: The engine's.

        size: The model's class by its size.

        points: How many there are.

        sources: Of how many publishers.
    """

    gpu: str
    weight_format: str
    generation: str
    size: str
    points: int
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """
    Constants, and what they rest on.

    Args:
        date: The day.

        points: How many measurements.

        constants: What was found, by name.

        spreads: The 90 % interval of measured times over estimated ones, by how many of
            GPU, format, generation and size were not among the measurements.

        measured: Of what there are measurements.
    """

    date: str
    points: int
    constants: Mapping[str, float]
    spreads: Sequence[tuple[float, float]]
    measured: Sequence[Measured]

    def support(self, gpu: str, weight_format: str, generation: str) -> tuple[int, int]:
        """
        Return how many measurements of how many publishers there are of these three
        together.
        """
        rows = [
            row
            for row in self.measured
            if (row.gpu, row.weight_format, row.generation)
            == (gpu, weight_format, generation)
        ]
        sources = {source for row in rows for source in row.sources}
        return sum(row.points for row in rows), len(sources)

    def unmeasured(
        self, gpu: str, weight_format: str, generation: str, size: str
    ) -> list[str]:
        """
        Return which of them no measurement has.
        """
        known = [
            {getattr(row, name) for row in self.measured}
            for name in ("gpu", "weight_format", "generation", "size")
        ]
        values = (gpu, weight_format, generation, size)
        words = (gpu, f"{weight_format} weights", generation, f"the size {size}")
        return [
            word
            for value, word, have in zip(values, words, known, strict=True)
            if value not in have
        ]

    def spread(
        self, gpu: str, weight_format: str, generation: str, size: str
    ) -> tuple[float, float]:
        """
        Return the interval, as factors of the estimated times: the widest where more is
        missing than the calibration could try.
        """
        return self.spreads[
            min(
                self.novelty(gpu, weight_format, generation, size),
                len(self.spreads) - 1,
            )
        ]

    def novelty(self, gpu: str, weight_format: str, generation: str, size: str) -> int:
        """
        Return 0 where GPU, format and generation were measured together, 1 where they
        were not, and one more for each value that no measurement has.
        """
        count, _ = self.support(gpu, weight_format, generation)
        missing = self.unmeasured(gpu, weight_format, generation, size)
        return (0 if count else 1) + len(missing)


@functools.cache
def calibration() -> Calibration:
    """
    Return what the package was calibrated to.
    """
    content = load(_FILE)
    return Calibration(
        date=content["date"],
        points=content["points"],
        constants=content["constants"],
        spreads=tuple((low, high) for low, high in content["spreads"]),
        measured=tuple(
            Measured(
                gpu=gpu,
                weight_format=weight_format,
                generation=generation,
                size=size,
                points=points,
                sources=tuple(sources),
            )
            for gpu, weight_format, generation, size, points, sources in content[
                "measured"
            ]
        ),
    )


def link_of(gpu: str) -> Link:
    """
    Return how accelerators of a kind are linked in the instances that have them.
    """
    return Link(*load(_FILE)["links"].get(gpu, _SLOWEST))
