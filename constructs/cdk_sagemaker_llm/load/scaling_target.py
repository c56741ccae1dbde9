"""
What to scale at, by what a benchmark measured: the number of users beyond which an
endpoint answers no more requests a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.load.benchmark import Row
from cdk_sagemaker_llm.load.settings import Fault, SettingsError, hold_settings
from cdk_sagemaker_llm.text import counted

_MINUTE = 60.0
# Below, a count of whole requests on a copy is too coarse to follow.
_LEAST_CONCURRENCY = 2.0
_WHOLE = 10.0

_NEAR = 0.95
_FEWEST = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingTarget:
    """
    A target for scaling, and where it comes from.

    Args:
        users: How many users the endpoint bears.

        rate: How many requests a second it then answers.

        copies: How many copies, or instances, shared them.

        has_components: Whether they are copies of a component, and not instances.

        head_room: What is left free.
    """

    users: int
    rate: float
    copies: int
    has_components: bool
    head_room: HeadRoom

    @classmethod
    def of(
        cls, row: Row, copies: int, *, has_components: bool, head_room: HeadRoom
    ) -> ScalingTarget:
        """
        Take it from the row of the most users that the endpoint bears.

        Args:
            row: The row of the benchmark.
        """
        return cls(
            users=row.users,
            rate=row.rate.value,
            copies=copies,
            has_components=has_components,
            head_room=head_room,
        )

    @property
    def concurrency(self) -> float:
        """
        How many requests may be under way on each copy: users / copies / head room.
        """
        return _rounded_down(self.users / self.copies / self.head_room.factor)

    @property
    def invocations(self) -> float:
        """
        How many requests each copy may get a minute, likewise.
        """
        a_minute = self.rate * _MINUTE / self.copies
        return _rounded_down(a_minute / self.head_room.factor)

    @property
    def is_by_concurrency(self) -> bool:
        """
        Whether to follow requests under way, and not requests a minute.
        """
        return self.users / self.copies >= _LEAST_CONCURRENCY

    @property
    def calls(self) -> tuple[str, str]:
        """
        The construct's calls, the better one first.
        """
        each = "per_copy" if self.has_components else "per_instance"
        concurrency = f'"Concurrency", {each}={_written(self.concurrency)}'
        invocations = f'"Invocations", per_minute={_written(self.invocations)}'
        both = (
            f"count.scale_on_concurrency({concurrency})",
            f"count.scale_on_invocations({invocations})",
        )
        return both if self.is_by_concurrency else (both[1], both[0])

    def sentences(self) -> list[str]:
        """
        Say where it comes from.
        """
        each = f"{self.users / self.copies:.4g}"
        a_minute = f"{self.rate * _MINUTE / self.copies:.4g}"
        factor = f"{self.head_room.factor:.4g}"
        names = ("copy", "copies") if self.has_components else ("instance",)
        shared_by = counted(self.copies, *names)
        load = (
            f"Scaling target: {counted(self.users, 'user')} on {shared_by} "
            f"{'is' if self.users == 1 else 'are'} {each} requests under way and "
            f"{a_minute} requests a minute on each."
        )
        room = (
            f"Until another serves, {self.head_room.scale_out_time / _MINUTE:.3g} min "
            f"pass, in which a load that grows by {self.head_room.growth * 100:.3g} % "
            f"a minute comes to {factor} times itself: {each} / {factor} and "
            f"{a_minute} / {factor}, rounded down."
        )
        why = (
            "Requests under way are seen every 10 seconds and count a stream until its "
            "last token"
            if self.is_by_concurrency
            else "With less than 2 requests under way on each, whole requests are too "
            "coarse a measure; requests a minute are finer"
        )
        better, other = self.calls
        return [load, room, f"{why}: `{better}`.", f"The other way: `{other}`."]

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        return {
            **asdict(self),
            "concurrency": self.concurrency,
            "invocations_per_minute": self.invocations,
            "call": self.calls[0],
            "other_call": self.calls[1],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadRoom:
    """
    What the copies that serve have to bear until there are more.

    Args:
        growth: By which part of itself the load grows a minute.

        scale_out_time: How many seconds pass from too much load to a copy that
            serves: alarm, instance, image, model.
    """

    growth: float = 0.05
    scale_out_time: float = 600.0

    def __post_init__(self) -> None:
        hold_settings(self)
        faults = [
            Fault("{} must be at least 0, got {}", (name,), (number,))
            for name, number in asdict(self).items()
            if not 0 <= number < math.inf
        ]
        if faults:
            raise SettingsError(faults)

    @property
    def factor(self) -> float:
        """
        By which factor the load has grown by then.
        """
        return 1 + self.growth * self.scale_out_time / _MINUTE


def saturation_of(rows: Sequence[Row]) -> Saturation | None:
    """
    Find where throughput comes within 5 % of the most; ``None`` for a single row.
    """
    ordered = sorted(rows, key=lambda row: row.users)
    most = max(ordered, key=lambda row: row.rate.value, default=None)
    if most is None or len(ordered) < _FEWEST or not most.rate.value:
        return None
    first = next(row for row in ordered if row.rate.value >= most.rate.value * _NEAR)
    return Saturation(
        first=first, most=most, fewest=ordered[0].users, last=ordered[-1].users
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Saturation:
    """
    From where on more users only wait longer.

    Args:
        first: The row of the fewest users whose throughput is near the most.

        most: The row of the most throughput.

        fewest: The fewest users tried.

        last: The most users tried.
    """

    first: Row
    most: Row
    fewest: int
    last: int

    @property
    def users(self) -> int | None:
        """
        How many users saturate it; ``None`` if throughput grew to the last row.
        """
        return None if self.first.users == self.last else self.first.users

    def __str__(self) -> str:
        if self.users is None:
            return (
                f"Throughput still grew at {self.last}, the most users tried "
                f"({self.first.rate.value:.2f} requests/s): try more to find where it "
                "is saturated."
            )
        whose = (
            f"already with {counted(self.users, 'user')}, the fewest tried"
            if self.users == self.fewest
            else f"from {counted(self.users, 'user')} on"
        )
        return (
            f"Throughput is saturated {whose}: {self.first.rate.value:.2f} requests/s, "
            f"within 5 % of the most, {self.most.rate.value:.2f} at "
            f"{counted(self.most.users, 'user')}. More users only wait longer."
        )

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        return {
            "users": self.users,
            "requests_per_second": self.first.rate.value,
            "most_requests_per_second": self.most.rate.value,
            "most_at_users": self.most.users,
        }


def _rounded_down(number: float) -> float:
    """
    Round down to a whole number, below ten to a tenth, and never to nothing.
    """
    # What is a hair below a step by binary fractions alone is on it.
    number += 1e-9
    if number >= _WHOLE:
        return math.floor(number)
    return max(math.floor(number * 10), 1) / 10


def _written(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
