"""
The settings that the server starts with, as JSON on its command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.local.aws.forwards import check_forwards
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import ByType, FleetTimes

# A day a second. The engine of time, which looks at metrics every ten seconds, would
# fall behind a faster clock, and nobody would be answered any more.
_FASTEST = 86_400

LONGEST_ADVANCE = 31 * 86_400
"""How many seconds one call of ``advance`` may let pass: a day takes about one."""

CREDENTIAL = "test"
"""The access key and the secret that the embedded AWS hands out."""

BY_HAND = "by hand"
"""The clock that stands still until ``advance``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """
    Embedded seconds that an answer takes; the defaults are an assumption.

    ``Latency(first_token=0.1, per_token=0.01)``

    Args:
        first_token: Until the first token. If omitted, it is a quarter of a second.

        per_token: For each token after it. If omitted, it is 20 milliseconds.

    Raises:
        ValueError: If one is negative, or no number.
    """

    first_token: float = 0.25
    per_token: float = 0.02

    def __post_init__(self) -> None:
        hold_kinds(self)
        for name, value in (
            ("first_token", self.first_token),
            ("per_token", self.per_token),
        ):
            if not value >= 0:
                raise ValueError(f"{name} must be at least 0, got {value}")

    def seconds(self, tokens: int) -> float:
        """
        Return how long an answer of so many tokens takes.

        Args:
            tokens: How many tokens an answer has.
        """
        return self.first_token + self.per_token * max(0, tokens - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """
    How time passes, how long things take, and what goes wrong.

    Args:
        clock: ``by hand`` where time passes when the caller says so; ``None`` where it
            passes by the speed.

        speed: Embedded seconds in one; ``None`` where nothing takes any time.

    Raises:
        ValueError: If the speed is none or too fast, times are given without one, or
            a model server has no address that is allowed.
    """

    clock: str | None = None
    speed: float | None = None
    times: FleetTimes | None = None
    latency: Latency | None = None
    faults: Sequence[Fault] = field(default=())
    forward: Mapping[str, str] = field(default_factory=dict)
    forward_anywhere: bool = False

    def __post_init__(self) -> None:
        hold_kinds(self)
        if self.speed is not None and not 0 < self.speed <= _FASTEST:
            raise ValueError(
                f"speed must be more than 0 and at most {_FASTEST}, got {self.speed}"
            )
        if self.clock not in {None, BY_HAND}:
            raise ValueError(
                f"clock must be {BY_HAND!r} or left out, got {self.clock!r}"
            )
        if self.is_by_hand and (self.speed is not None or self.latency):
            raise ValueError(
                f"speed and latency are for a clock that runs by itself, not for "
                f"clock={BY_HAND!r}, where answers take no time; leave them out"
            )
        if not self.takes_time and (self.times or self.latency):
            raise ValueError(
                "times and latency need a speed: without one nothing takes any time"
            )
        check_forwards(self.forward, anywhere=self.forward_anywhere)

    @property
    def is_by_hand(self) -> bool:
        """
        Whether time passes when the caller says so.
        """
        return self.clock == BY_HAND

    @property
    def takes_time(self) -> bool:
        """
        Whether anything takes time.
        """
        return self.is_by_hand or self.speed is not None

    @property
    def fleet_times(self) -> FleetTimes:
        """
        How long instances and copies take.
        """
        if not self.takes_time:
            return FleetTimes.instant()
        return self.times or FleetTimes()

    def to_json(self) -> str:
        """
        Write them.
        """
        return json.dumps(
            {
                "clock": self.clock,
                "speed": self.speed,
                "times": self.times and asdict(self.times),
                "latency": self.latency and asdict(self.latency),
                "faults": [asdict(fault) for fault in self.faults],
                "forward": dict(self.forward),
                "forward_anywhere": self.forward_anywhere,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """
        Read them.
        """
        values = json.loads(text)
        times, latency = values["times"], values["latency"]
        return cls(
            clock=values["clock"],
            speed=values["speed"],
            times=times and _times(times),
            latency=latency and Latency(**latency),
            faults=[Fault.of(fault) for fault in values["faults"]],
            forward=values["forward"],
            forward_anywhere=values["forward_anywhere"],
        )


def _times(values: dict[str, Untyped]) -> FleetTimes:
    read: dict[str, Untyped] = {
        name: ByType(**value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return FleetTimes(**read)
