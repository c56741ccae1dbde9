"""
Deployments with guardrails: which stages, when, and what makes them turn back.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.rollout import (
    Rollout,
    Stage,
    blue_green,
    rolling,
)

COMES_IN = 100.0
GOES_IN = 30.0


class Versions:
    """
    Two versions: the new one serves 100 s after it is asked for, what goes takes 30.
    """

    def __init__(self, timeline: Timeline, *, fails: bool = False) -> None:
        self.told: list[tuple[float, str]] = []
        self.fails = fails
        self.rollout: Rollout | None = None
        self._timeline = timeline
        self._ready_at = 0.0

    def grow(self, size: int) -> None:
        """
        Start more of the new version.
        """
        self._tell(f"grow to {size}")
        self._after(COMES_IN)

    def is_grown(self) -> bool:
        """
        Tell whether it serves.
        """
        return not self.fails and self._timeline.now >= self._ready_at

    def refusal(self) -> str | None:
        """
        Say why it never will.
        """
        failed = self.fails and self._timeline.now >= self._ready_at
        return "never healthy" if failed else None

    def shift(self, stage: Stage) -> None:
        """
        Take a share of the traffic.
        """
        self._tell(f"share {stage.share:g}")

    def retreat(self, why: str) -> None:
        """
        Go back.
        """
        self._tell(f"back: {why}")
        self._after(GOES_IN)

    def restore(self) -> bool:
        """
        All of it comes back at once.
        """
        return False

    def is_restored(self) -> bool:
        """
        Tell whether that is done.
        """
        return self._timeline.now >= self._ready_at

    def drop(self) -> None:
        """
        Let the new version go.
        """
        self._tell("drop")
        self._after(GOES_IN)

    def is_dropped(self) -> bool:
        """
        Tell whether it is gone.
        """
        return self._timeline.now >= self._ready_at

    def is_stuck(self) -> bool:
        """
        Never.
        """
        return False

    def finish(self) -> None:
        """
        Let the old version go.
        """
        self._tell("finish")
        self._after(GOES_IN)

    def is_finished(self) -> bool:
        """
        Tell whether it is gone.
        """
        return self._timeline.now >= self._ready_at

    def close(self, outcome: str) -> None:
        """
        Note the end.
        """
        self._tell(outcome)

    def _tell(self, what: str) -> None:
        self.told.append((self._timeline.now, what))

    def _after(self, delay: float) -> None:
        self._ready_at = self._timeline.now + delay
        self._timeline.after(delay, self._look)

    def _look(self) -> None:
        assert self.rollout is not None
        self.rollout.look()


def play(
    stages: tuple[Stage, ...],
    *,
    fails: bool = False,
    alarm_at: float | None = None,
    termination_wait: float = 0.0,
    limit: float | None = None,
) -> list[tuple[float, str]]:
    """
    Run a rollout to its end and return what it told.
    """
    timeline = Timeline()
    sides = Versions(timeline, fails=fails)
    alarm = None
    if alarm_at is not None:
        alarm = lambda: "errors" if timeline.now >= alarm_at else None  # noqa: E731 - in place
    sides.rollout = Rollout(
        timeline.after,
        stages,
        sides,
        termination_wait=termination_wait,
        limit=limit,
        alarm=alarm,
    )
    sides.rollout.start()
    timeline.run_until(100_000.0)
    return sides.told


def routing(kind: str, wait: float, **sizes: object) -> dict[str, object]:
    """
    Write a blue/green policy.
    """
    return {
        "TrafficRoutingConfiguration": {
            "Type": kind,
            "WaitIntervalInSeconds": wait,
            **sizes,
        }
    }


def percent(value: int) -> dict[str, object]:
    """
    Write a size in per cent.
    """
    return {"Type": "CAPACITY_PERCENT", "Value": value}


@pytest.mark.parametrize(
    ("policy", "stages"),
    [
        (None, (Stage(4, 1.0, 0.0),)),
        (routing("ALL_AT_ONCE", 60), (Stage(4, 1.0, 60.0),)),
        (
            routing("CANARY", 300, CanarySize=percent(25)),
            (Stage(4, 0.25, 300.0), Stage(4, 1.0, 300.0)),
        ),
        (
            routing("CANARY", 300, CanarySize={"Type": "INSTANCE_COUNT", "Value": 1}),
            (Stage(4, 0.25, 300.0), Stage(4, 1.0, 300.0)),
        ),
        (
            routing("LINEAR", 60, LinearStepSize=percent(40)),
            (Stage(4, 0.4, 60.0), Stage(4, 0.8, 60.0), Stage(4, 1.0, 60.0)),
        ),
    ],
    ids=["none", "all at once", "canary", "canary by count", "linear"],
)
def test_traffic_shifts_in_stages(
    policy: dict[str, object] | None, stages: tuple[Stage, ...]
) -> None:
    """
    All of the new version is there from the first.
    """
    assert blue_green(policy, 4) == stages


@pytest.mark.parametrize(
    ("batch", "size", "ends"),
    [
        (percent(50), 4, [2, 4]),
        (percent(33), 4, [2, 4]),
        (percent(5), 4, [1, 2, 3, 4]),
        ({"Type": "COPY_COUNT", "Value": 2}, 5, [2, 4, 5]),
        (percent(50), 1, [1]),
        (percent(50), 0, [0]),
    ],
)
def test_batches_add_up_to_the_whole(
    batch: dict[str, object], size: int, ends: list[int]
) -> None:
    """
    At least one at a time, and no more than there are in the end.
    """
    stages = rolling({"MaximumBatchSize": batch, "WaitIntervalInSeconds": 60}, size)

    assert [stage.size for stage in stages] == ends
    assert stages[-1].share == 1.0
    assert {stage.wait for stage in stages} == {60.0}


def test_a_canary_takes_its_waits() -> None:
    """
    100 s to come, 300 s with a quarter, 300 and the termination's 60 with all.
    """
    stages = blue_green(routing("CANARY", 300, CanarySize=percent(25)), 4)

    assert play(stages, termination_wait=60.0) == [
        (0.0, "grow to 4"),
        (100.0, "share 0.25"),
        (400.0, "share 1"),
        (760.0, "finish"),
        (790.0, "done"),
    ]


def test_batches_come_one_after_the_other() -> None:
    """
    Each starts when the one before has baked.
    """
    stages = rolling({"MaximumBatchSize": percent(50), "WaitIntervalInSeconds": 60}, 2)

    assert play(stages) == [
        (0.0, "grow to 1"),
        (100.0, "share 0.5"),
        (160.0, "grow to 2"),
        (260.0, "share 1"),
        (320.0, "finish"),
        (350.0, "done"),
    ]


def test_a_new_version_that_fails_is_given_up() -> None:
    """
    No traffic has gone to it.
    """
    assert play(blue_green(None, 1), fails=True) == [
        (0.0, "grow to 1"),
        (100.0, "back: never healthy"),
        (130.0, "drop"),
        (160.0, "back"),
    ]


def test_an_alarm_turns_back_within_ten_seconds() -> None:
    """
    In the middle of a bake; after the end nobody looks.
    """
    stages = blue_green(routing("ALL_AT_ONCE", 300), 1)

    assert play(stages, alarm_at=205.0) == [
        (0.0, "grow to 1"),
        (100.0, "share 1"),
        (210.0, "back: errors"),
        (240.0, "drop"),
        (270.0, "back"),
    ]
    assert play(stages, alarm_at=401.0)[-1] == (430.0, "done")


def test_an_alarm_that_goes_off_at_the_end_of_a_bake_counts() -> None:
    """
    It is looked at once more before the old version goes.
    """
    stages = blue_green(routing("ALL_AT_ONCE", 5), 1)

    assert play(stages, alarm_at=103.0)[-3:] == [
        (105.0, "back: errors"),
        (135.0, "drop"),
        (165.0, "back"),
    ]


def test_a_deployment_that_takes_too_long_turns_back() -> None:
    """
    Its limit holds from its beginning.
    """
    stages = blue_green(routing("ALL_AT_ONCE", 900), 1)

    assert play(stages, limit=600.0)[-3:] == [
        (600.0, "back: The deployment took longer than 600 seconds."),
        (630.0, "drop"),
        (660.0, "back"),
    ]
    assert play(stages, limit=1000.5)[-1] == (1030.0, "done")
