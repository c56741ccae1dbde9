"""
What a model of an engine's step was calibrated to, on which measurements, and how far
off it was on those that it had not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class Kind:
    """
    What measurements, and estimates, are told apart by.

    Args:
        gpu: The accelerator.

        weight_format: How weights are stored.

        generation: The engine's.

        size: The model's class by its size.
    """

    gpu: str
    weight_format: str
    generation: str
    size: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """
    Of what there are measurements.

    Args:
        points: How many there are.

        sources: Of which publishers.
    """

    kind: Kind
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

        spreads: The 90 % interval of measured times over estimated ones, by novelty.

        measured: Of what there are measurements.
    """

    date: str
    points: int
    constants: Mapping[str, float]
    spreads: Sequence[tuple[float, float]]
    measured: Sequence[Measured]

    def support(self, kind: Kind) -> tuple[int, int]:
        """
        Return how many measurements of how many publishers there are of the GPU, the
        weight format and the engine's generation together.
        """
        rows = [
            row for row in self.measured if replace(row.kind, size=kind.size) == kind
        ]
        sources = {source for row in rows for source in row.sources}
        return sum(row.points for row in rows), len(sources)

    def unmeasured(self, kind: Kind) -> list[str]:
        """
        Return which values of a kind no measurement has.
        """
        words = {
            "gpu": kind.gpu,
            "weight_format": f"{kind.weight_format} weights",
            "generation": kind.generation,
            "size": f"models of the size {kind.size}",
        }
        return [
            word
            for name, word in words.items()
            if all(
                getattr(row.kind, name) != getattr(kind, name) for row in self.measured
            )
        ]

    def spread(self, kind: Kind) -> tuple[float, float]:
        """
        Return the interval, as factors of the estimated times: the widest where more is
        new than the calibration could try.
        """
        return self.spreads[min(self.novelty(kind), len(self.spreads) - 1)]

    def novelty(self, kind: Kind) -> int:
        """
        Return 0 where GPU, format and generation were measured together, 1 where they
        were not, and one more for each value that no measurement has.
        """
        count, _ = self.support(kind)
        return (0 if count else 1) + len(self.unmeasured(kind))


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
            Measured(kind=Kind(*kind), points=points, sources=tuple(sources))
            for *kind, points, sources in content["measured"]
        ),
    )


def link_of(gpu: str) -> Link:
    """
    Return how accelerators of a kind are linked in the instances that have them.
    """
    return Link(*load(_FILE)["links"].get(gpu, _SLOWEST))
