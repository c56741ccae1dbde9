"""
What scales a fleet: by copies of a model, or by instances.
"""

from __future__ import annotations

from typing import Protocol


class Scaled(Protocol):
    """
    A fleet, as far as scaling goes.
    """

    @property
    def filling(self) -> tuple[str, ...]:
        """
        What has a copy on each instance.
        """

    @property
    def wanted_instances(self) -> int:
        """
        How many instances there shall be.
        """

    @property
    def running_count(self) -> int:
        """
        How many instances run.
        """

    def desired(self, name: str) -> int:
        """
        Return how many copies there shall be.
        """

    def serving(self, name: str) -> int:
        """
        Return how many copies take requests.
        """

    def is_settled(self, name: str | None = None) -> bool:
        """
        Tell whether nothing is under way.
        """

    def set_copies(self, name: str, count: int, why: str) -> None:
        """
        Change how many copies there shall be.
        """

    def set_instances(self, count: int, why: str) -> None:
        """
        Change how many instances there shall be.
        """


class ScalableCopies:
    """
    The copies of one model, as a scalable target.
    """

    def __init__(self, fleet: Scaled, name: str) -> None:
        self._fleet = fleet
        self._name = name

    @property
    def desired(self) -> int:
        """
        How many copies were asked for last.
        """
        return self._fleet.desired(self._name)

    @property
    def running(self) -> int:
        """
        How many copies serve.
        """
        return self._fleet.serving(self._name)

    @property
    def is_settled(self) -> bool:
        """
        Whether no change is under way.
        """
        return self._fleet.is_settled(self._name)

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for so many copies.
        """
        self._fleet.set_copies(self._name, count, cause)


class ScalableInstances:
    """
    The instances of a variant with a model, as a scalable target.
    """

    def __init__(self, fleet: Scaled) -> None:
        self._fleet = fleet

    @property
    def desired(self) -> int:
        """
        How many instances were asked for last.
        """
        return self._fleet.wanted_instances

    @property
    def running(self) -> int:
        """
        On how many instances every model of the variant serves.
        """
        return min(
            (self._fleet.serving(name) for name in self._fleet.filling),
            default=self._fleet.running_count,
        )

    @property
    def is_settled(self) -> bool:
        """
        Whether no change is under way.
        """
        return self._fleet.is_settled()

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for so many instances.
        """
        self._fleet.set_instances(count, cause)
