"""
What a simulation takes where it is told nothing.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from cdk_sagemaker_llm import simulation
from cdk_sagemaker_llm.simulation import (
    Activity,
    AlarmRule,
    Constant,
    DayCurve,
    FleetTimes,
    MetricDelays,
    Pool,
    Ramp,
    Replay,
    ScaleIn,
    Scenario,
    ScheduledAction,
    ServiceTimes,
    Spike,
    StepAdjustment,
    StepScaling,
    TargetTracking,
    Users,
    Workload,
)

RANDOM = {"spacing": "random", "factor": 1.0}


def defaults(made: Callable[..., object]) -> dict[str, Any]:
    """
    Return the arguments that can be omitted, and what they are then.
    """
    parameters = inspect.signature(made).parameters.values()
    given = {
        one.name: one.default for one in parameters if one.default is not one.empty
    }
    for one in dataclasses.fields(made) if dataclasses.is_dataclass(made) else ():
        if one.default_factory is not dataclasses.MISSING:
            given[one.name] = one.default_factory()
    return given


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            Activity,
            {
                "value": None,
                "breached_from": None,
                "read_late": 0.0,
                "completed": None,
                "not_scaled": "",
            },
        ),
        (AlarmRule, {"datapoints_to_alarm": None, "treat_missing": "missing"}),
        (Constant, {**RANDOM, "begin": 0.0, "end": None}),
        (
            DayCurve,
            {
                **RANDOM,
                "time_zone": "UTC",
                "since_midnight": 0.0,
                "weekend": 1.0,
                "weekday": 0,
            },
        ),
        (Ramp, {**RANDOM, "begin": 0.0}),
        (Spike, RANDOM),
        (Replay, {"factor": 1.0}),
        (Users, {"thinking": "random", "joining": None}),
        (MetricDelays, {"standard": 120.0, "high_resolution": 30.0}),
        (Pool, {"priority": 1}),
        (ScaleIn, {"maximum_step": 1, "cooldown": 1200.0}),
        (
            ScheduledAction,
            {
                "time_zone": "UTC",
                "minimum": None,
                "maximum": None,
                "start": None,
                "end": None,
            },
        ),
        (
            ServiceTimes,
            {
                "overhead_seconds": 0.0,
                "prompt_seconds_per_token": 0.0,
                "kv_tokens": None,
                "source": "given by the user",
                "is_estimate": False,
                "spread": None,
            },
        ),
        (StepAdjustment, {"lower": None, "upper": None}),
        (
            StepScaling,
            {
                "adjustment_type": "ChangeInCapacity",
                "cooldown": 300.0,
                "minimum_magnitude": None,
            },
        ),
        (
            TargetTracking,
            {
                "scale_in_cooldown": 300.0,
                "scale_out_cooldown": 300.0,
                "disable_scale_in": False,
                "alarm_names": None,
            },
        ),
        (
            Workload,
            {
                "needs": None,
                "copies": 1,
                "bounds": None,
                "policies": (),
                "schedules": (),
                "suspended": (),
                "start_seconds": None,
                "image": "",
                "timeout": 60.0,
                "queue_limit": None,
                "memory_share": None,
                "at_once": None,
            },
        ),
        (
            simulation.estimate_service_times,
            {"prompt_tokens": None, "answer_tokens": None, "through_endpoint": True},
        ),
        (
            simulation.estimate_performance,
            {"users": None, "rate": None, "burst": None},
        ),
        (simulation.Figure, {"low": None, "high": None}),
        (simulation.run, {"method": None}),
    ],
)
def test_what_may_be_omitted_is_as_it_is_documented(
    made: Callable[..., object], expected: dict[str, Any]
) -> None:
    """
    Each of it, and nothing else may be.
    """
    assert defaults(made) == expected


def test_a_scenario_is_a_plain_one_unless_told() -> None:
    """
    From a Monday on, at an endpoint of one instance.
    """
    found = defaults(Scenario)

    assert found.pop("capacity")("ml.g5.xlarge", 0.0) == float("inf")
    assert found == {
        "start": datetime(2026, 1, 5, tzinfo=UTC),
        "seed": 0,
        "routing": "LEAST_OUTSTANDING_REQUESTS",
        "endpoint": "endpoint",
        "variant": "AllTraffic",
        "pools": (),
        "instances": 1,
        "minimum": None,
        "maximum": None,
        "managed": False,
        "scale_in": None,
        "times": None,
        "delays": MetricDelays(),
        "watched": (),
    }


def test_a_fleet_takes_the_times_that_were_measured() -> None:
    """
    By the type where they differ.
    """
    found = defaults(FleetTimes)
    pull = found.pop("image_pull")

    assert (pull.otherwise, dict(pull.types)) == (213.0, {"ml.g6.2xlarge": 333.0})
    assert found == {
        "provision": 201.0,
        "model_start": 120.0,
        "drain": 30.0,
        "release": 720.0,
        "refusal": 1860.0,
        "retry": 300.0,
    }


def test_what_is_scaled_runs_on_a_type() -> None:
    """
    Though it has bounds alone.
    """
    lengths = simulation.Lengths(prompt=1, answer=1)
    workload = Workload(
        name="chat",
        traffic=Constant(rate=1, lengths=lengths),
        service=ServiceTimes(decode=((1, 0.1),), max_sequences=1),
        bounds=simulation.Bounds(minimum=1, maximum=2),
    )

    with pytest.raises(ValueError, match=".") as raised:
        Scenario(workloads=(workload,), duration=60)
    assert str(raised.value) == (
        "pools must name at least one instance type where something scales, as chat "
        "does"
    )
    assert Scenario(workloads=(workload,), duration=60, pools=(Pool("ml.g5.xlarge"),))
