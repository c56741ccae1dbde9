"""
What the report says of apps that sleep, wake, and go by the clock is so.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.cli.app.templates import (
    COPIES,
    components,
    stepping,
    target,
    template,
    tracking,
    variant,
)
from tests.unit.cli.commands.simulations import sentences

# Nothing for an hour, then two a minute for another.
LATE = (
    *("--traffic", "constant", "--rate", "2/min", "--even"),
    *("--begin", "60m", "--lasting", "60m", "--duration", "3h"),
)
UP = {
    "ScheduledActionName": "Up",
    "Schedule": "cron(0 1 * * ? *)",
    "ScalableTargetAction": {"MinCapacity": 2},
}


def sleeper(folder: Path, *more: dict[str, dict[str, object]], **given: object) -> Path:
    """
    Write an app with a component that goes to sleep.
    """
    managed = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 4}
    app = {
        **components(ManagedInstanceScaling=managed),
        **target(
            "inference-component/${Llama.InferenceComponentName}",
            COPIES,
            **{"MinCapacity": 0, **given},
        ),
        **tracking(
            PredefinedMetricSpecification={
                "PredefinedMetricType": (
                    "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
                )
            }
        ),
    }
    for each in more:
        app |= each
    return template(folder, app)


def test_only_who_came_before_a_copy_served_was_refused_meanwhile(
    tmp_path: Path,
) -> None:
    """
    Not those of later sleeps, of which there is a count of their own.
    """
    said = sentences(sleeper(tmp_path, stepping()), *LATE)
    waking = next(
        one for one in said["Waking and sleeping"] if one.startswith("waking took")
    )

    # Two a minute from 1:00:00 on, until the first copy served at 1:09:54.
    assert "the first copy served at 1:09:54" in waking
    assert waking.endswith("; 20 requests were refused meanwhile")
    assert "times in all, and it was woken" in said["Waking and sleeping"][-1]


# Clients that come back as often while they are refused.
OFTEN = (*LATE, "--rate", "20/min")


def exactly_one() -> dict[str, dict[str, object]]:
    """
    Write the policy that wakes a component with an exact capacity.
    """
    resources = stepping()
    properties: Untyped = resources["Wake"]["Properties"]
    steps = properties["StepScalingPolicyConfiguration"]
    steps["AdjustmentType"] = "ExactCapacity"
    return resources


def test_a_second_copy_that_nobody_needs_is_told(tmp_path: Path) -> None:
    """
    The alarm is still on when the first one serves already.
    """
    said = sentences(sleeper(tmp_path, stepping()), *OFTEN)["Waking and sleeping"]

    assert [one for one in said if one.startswith("waking went on")] == [
        (
            "waking went on to 2 copies after the first, at 1:11:00, and nobody needed "
            "them: the load was low when they served, and they were scaled in at "
            "1:25:20; have the policy that wakes it set an exact capacity of 1"
        )
    ]


@pytest.mark.parametrize(
    ("policy", "load"),
    [(exactly_one(), OFTEN), (stepping(), (*LATE, "--rate", "600/min"))],
    ids=["one copy", "needed"],
)
def test_a_policy_that_starts_what_is_needed_is_not_reproached(
    policy: dict[str, dict[str, object]], load: tuple[str, ...], tmp_path: Path
) -> None:
    """
    A single copy, or more under a load for more.
    """
    said = sentences(sleeper(tmp_path, policy), *load)["Waking and sleeping"]

    assert any(one.startswith("waking took") for one in said)
    assert not any(one.startswith("waking went on") for one in said)


def test_what_nothing_wakes_is_told(tmp_path: Path) -> None:
    """
    With what would wake it.
    """
    said = sentences(sleeper(tmp_path), *LATE)

    assert said["Waking and sleeping"][-1] == (
        "nothing woke it before the end, and 120 requests were refused: at 0 copies "
        "target tracking has no load to go by; a step policy on an alarm on "
        "NoCapacityInvocationFailures has"
    )


def test_a_schedule_that_wakes_is_no_refusal(tmp_path: Path) -> None:
    """
    At the hour it was decided, not after a refusal.
    """
    said = sentences(sleeper(tmp_path, ScheduledActions=[UP]), *LATE)

    assert said["Waking and sleeping"][-1].startswith(
        "waking was decided at 1:00:00, as scheduled action name Up was triggered, then"
    )


def test_schedules_scale_too(tmp_path: Path) -> None:
    """
    What has no policy is not said to stand still.
    """
    app = template(tmp_path, {**variant(), **target(ScheduledActions=[UP])})
    said = sentences(app, *LATE)

    assert said["From load to capacity"] == [
        "its schedules alone scale it: there is no policy to play out"
    ]


def test_the_first_of_equal_minutes_is_the_worst(tmp_path: Path) -> None:
    """
    That is where it began.
    """
    said = sentences(template(tmp_path, variant()), *LATE)

    assert "in the worst minute, at 1:00:00" in said["Requests"][1]


@pytest.mark.parametrize(
    ("count", "words"), [(1, "less than 0.1 %"), (2, "0.1 %")], ids=["one", "two"]
)
def test_some_never_read_as_none(count: int, words: str, tmp_path: Path) -> None:
    """
    One request of thousands is not 0 per cent.
    """
    rows = [f"{0.5 * each},100,10" for each in range(2400)]
    rows[-count:] = [f"{0.5 * each},10000,30000" for each in range(2400 - count, 2400)]
    traffic = tmp_path / "few.csv"
    traffic.write_text("\n".join(["time,prompt_tokens,output_tokens", *rows]))
    said = sentences(
        template(tmp_path, variant()), "--traffic", traffic, "--duration", "1h"
    )

    assert any(f"({words}) had no answer" in one for one in said["Requests"])


def test_all_of_all_are_a_hundred_per_cent(tmp_path: Path) -> None:
    """
    In aggregate too, where a hair of a request is under way at the end.
    """
    app = template(tmp_path, variant())
    steady = ("--traffic", "constant", "--rate", "1/min", "--duration", "1d")
    said = sentences(app, *steady, "--method", "aggregate")["Requests"]

    assert said[0] == "1,440 requests came; 1,440 (100 %) were answered in time"
