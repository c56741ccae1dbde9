"""
Moving from one version to another in stages: start, shift, bake, and back on an alarm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from cdk_sagemaker_llm.simulation.clock import Action

# How often alarms are looked at during a deployment; the service does not say.
_LOOKS_AT_ALARMS = 10.0

Later = Callable[[float, Action], object]


@dataclass(frozen=True, slots=True)
class Stage:
    """
    One step of a rollout: how many instances or copies of the new version there are
    from here on, the part of the traffic that goes to it, from 0 to 1, and the seconds
    in which alarms are watched before the next stage.
    """

    size: int
    share: float
    wait: float


class Sides(Protocol):
    """
    The old version and the new one.
    """

    def grow(self, size: int) -> None:
        """
        Start so many instances or copies of the new version in all.
        """

    def is_grown(self) -> bool:
        """
        Tell whether those that were asked for serve.
        """

    def refusal(self) -> str | None:
        """
        Say why they never will; ``None`` if they may.
        """

    def shift(self, stage: Stage) -> None:
        """
        Send the stage's share to the new version, and let the old one shrink.
        """

    def retreat(self, why: str) -> None:
        """
        Begin to send everything to the old version again, with the first batch that
        comes back.
        """

    def restore(self) -> bool:
        """
        Bring the next batch of the old version back, if the last one serves; tell
        whether there was one to bring.
        """

    def is_restored(self) -> bool:
        """
        Tell whether the old version serves at its full size.
        """

    def is_stuck(self) -> bool:
        """
        Tell whether the old version cannot get back to its full size.
        """

    def drop(self) -> None:
        """
        Let the new version go.
        """

    def is_dropped(self) -> bool:
        """
        Tell whether the new version is gone.
        """

    def finish(self) -> None:
        """
        Let the old version go.
        """

    def is_finished(self) -> bool:
        """
        Tell whether the old version is gone.
        """

    def close(self, outcome: Literal["done", "back", "stuck"]) -> None:
        """
        Take note of how it ended.
        """


class Rollout:
    """
    A deployment with guardrails, from its first stage to its end.

    The last of the stages has all of the traffic; ``termination_wait`` seconds after
    it the old version goes. The whole may take ``limit`` seconds, if there is one, and
    ``alarm`` names an alarm that went off.
    """

    def __init__(
        self,
        later: Later,
        stages: tuple[Stage, ...],
        sides: Sides,
        *,
        termination_wait: float = 0.0,
        limit: float | None = None,
        alarm: Callable[[], str | None] | None = None,
    ) -> None:
        self._later = later
        self._stages = list(stages)
        self._sides = sides
        self._termination_wait = termination_wait
        self._limit = limit
        self._alarm = alarm
        self._size: int | None = None
        # While sides are moving, what they tell is half the truth.
        self.phase: Literal[
            "moving",
            "growing",
            "baking",
            "finishing",
            "retreating",
            "dropping",
            "over",
        ] = "moving"

    def start(self) -> None:
        """
        Begin.
        """
        self._grow()
        if self.phase != "over" and self._limit:
            self._later(self._limit, self._time_out)
        if self.phase != "over" and self._alarm is not None:
            self._later(_LOOKS_AT_ALARMS, self._watch)

    def look(self) -> None:
        """
        Go on if what is waited for has come.
        """
        if self.phase == "growing":
            why = self._sides.refusal()
            if why is not None:
                self._retreat(why)
            elif self._sides.is_grown():
                self._bake()
        elif self.phase == "finishing" and self._sides.is_finished():
            self._close("done")
        elif self.phase == "retreating":
            self._restore("retreating")
            # What the old version lacks, the new one may have.
            if self._sides.is_restored() or self._sides.is_stuck():
                self._drop()
        elif self.phase == "dropping":
            self._restore("dropping")
            if self._sides.is_dropped() and self._sides.is_restored():
                self._close("back")
            elif self._sides.is_dropped() and self._sides.is_stuck():
                self._close("stuck")

    def _grow(self) -> None:
        self.phase = "moving"
        size = self._stages[0].size
        if size != self._size:
            self._size = size
            self._sides.grow(size)
        self.phase = "growing"
        self.look()

    def _bake(self) -> None:
        stage = self._stages.pop(0)
        self.phase = "moving"
        self._sides.shift(stage)
        self.phase = "baking"
        wait = stage.wait if self._stages else stage.wait + self._termination_wait
        self._later(wait, self._baked)

    def _baked(self) -> None:
        if self.phase != "baking":
            return
        alarm = self._tripped()
        if alarm:
            self._retreat(alarm)
        elif self._stages:
            self._grow()
        else:
            self.phase = "moving"
            self._sides.finish()
            self.phase = "finishing"
            self.look()

    def _watch(self) -> None:
        if self.phase in {"growing", "baking"}:
            alarm = self._tripped()
            if alarm:
                self._retreat(alarm)
            else:
                self._later(_LOOKS_AT_ALARMS, self._watch)

    def _tripped(self) -> str | None:
        return self._alarm() if self._alarm is not None else None

    def _time_out(self) -> None:
        if self.phase in {"growing", "baking"}:
            self._retreat(f"The deployment took longer than {self._limit:g} seconds.")

    def _retreat(self, why: str) -> None:
        self.phase = "moving"
        self._sides.retreat(why)
        self.phase = "retreating"
        self.look()

    def _restore(self, phase: Literal["retreating", "dropping"]) -> None:
        self.phase = "moving"
        while self._sides.restore():
            pass
        self.phase = phase

    def _drop(self) -> None:
        self.phase = "moving"
        self._sides.drop()
        self.phase = "dropping"
        self.look()

    def _close(self, outcome: Literal["done", "back", "stuck"]) -> None:
        self.phase = "over"
        self._sides.close(outcome)


def blue_green(policy: Mapping[str, Any] | None, size: int) -> tuple[Stage, ...]:
    """
    Return the stages of a ``BlueGreenUpdatePolicy``: all of the new version, then more
    and more of the traffic; without a policy all of it shifts at once.
    """
    routing = (policy or {}).get("TrafficRoutingConfiguration", {})
    wait = float(routing.get("WaitIntervalInSeconds", 0))
    kind = routing.get("Type", "ALL_AT_ONCE")
    shares = [1.0]
    if kind == "CANARY":
        shares = [_share(routing["CanarySize"], size), 1.0]
    elif kind == "LINEAR":
        step = _share(routing["LinearStepSize"], size)
        count = math.ceil(round(1.0 / step, 6))
        shares = [min(1.0, step * (i + 1)) for i in range(count)]
    return tuple(Stage(size, share, wait) for share in shares)


def rolling(policy: Mapping[str, Any], size: int) -> tuple[Stage, ...]:
    """
    Return the stages of a ``RollingUpdatePolicy`` of an endpoint or an inference
    component: batch by batch, up to so many instances or copies.
    """
    wait = float(policy["WaitIntervalInSeconds"])
    batch = _batch(policy["MaximumBatchSize"], size)
    ends = [min(size, end) for end in range(batch, size + batch, batch)] or [0]
    return tuple(Stage(end, end / size if size else 1.0, wait) for end in ends)


def rollback_batch(policy: Mapping[str, Any] | None, size: int) -> int:
    """
    Return how many instances or copies a rollback brings back at once: all, if a
    ``RollingUpdatePolicy`` does not say.
    """
    said = (policy or {}).get("RollbackMaximumBatchSize")
    return _batch(said, size) if said else size


def _batch(amount: Mapping[str, Any], size: int) -> int:
    return max(1, math.ceil(_share(amount, size) * size - 1e-9))


def _share(amount: Mapping[str, Any], size: int) -> float:
    value = float(amount["Value"])
    if amount["Type"] == "CAPACITY_PERCENT":
        return value / 100
    return min(1.0, value / size) if size else 1.0
