"""
What others published of scaling in time, played out: each figure, and where it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

from cdk_sagemaker_llm.catalog import find_instance_type
from stacks.mistral_trtllm import MistralTrtLlmStack
from tests.unit.cli.app.templates import (
    COPIES,
    Resources,
    components,
    resource,
    stepping,
    target,
    template,
    tracking,
    variant,
)
from tests.unit.cli.commands.simulations import facts

MINUTE = 60.0


def simulate(*arguments: str | Path) -> Any:  # noqa: ANN401 - JSON
    """
    Run the command, of which nothing may be left out.
    """
    (run,) = facts(*arguments)["runs"]
    assert run["not_simulated"] == []
    (only,) = run["variants"]
    return only


def sentences(found: Any) -> str:  # noqa: ANN401 - JSON
    """
    Return the report as one text.
    """
    return "\n".join(line for part in found["report"] for line in part["sentences"])


def changes(found: Any, what: str) -> list[tuple[float, int, int]]:  # noqa: ANN401 - JSON
    """
    Pick one kind of step: when, from how many, to how many.
    """
    return [
        (round(step["time"], 1), step["before"], step["after"])
        for step in found["steps"]
        if step["what"] == what
    ]


@pytest.fixture(name="mistral", scope="module")
def _mistral(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    Synthesise reference deployment A.
    """
    folder = tmp_path_factory.mktemp("app") / "cdk.out"
    app = App(outdir=str(folder))
    MistralTrtLlmStack(
        app,
        "MistralTrtLlm",
        instance_type=find_instance_type("ml.g5.12xlarge"),
        min_instances=1,
        max_instances=4,
    )
    app.synth()
    return folder


def test_reference_a_goes_from_one_instance_to_four_and_back(mistral: Path) -> None:
    """
    Worked out by hand. Twenty requests a minute from 0:10 to 0:40, evenly; the target
    is five.

    The minutes from 0:10, 0:11 and 0:12 are too high. The last of them can be read two
    minutes after it ends, at 0:15: 20 / 5 = 4 instances are wanted. An instance takes
    201 s, its image 213 s, and the model 60 s and 14.48 GB / 0.125 GB/s = 116 s.

    The fifteen minutes from 0:40 are low; the last one is read at 0:57. One instance
    goes at a time. Its copy drains for 30 s, then the cooldown of 300 s begins, so that
    the next one goes 330 s later, rounded up to the alarm's next minute: 360 s.
    """
    found = simulate(
        mistral,
        *("--traffic", "constant", "--rate", "20/min", "--even"),
        *("--begin", "10m", "--lasting", "30m", "--duration", "90m"),
    )

    decided = 15 * MINUTE
    runs = decided + 201
    serves = round(runs + 213 + 60 + 7_241_732_096 * 2 / 0.125e9, 1)
    low = 57 * MINUTE
    assert changes(found, "desired instances") == [
        (decided, 1, 4),
        (low, 4, 3),
        (low + 360, 3, 2),
        (low + 720, 2, 1),
    ]
    assert changes(found, "running instances") == [
        (runs, 1, 4),
        (low + 30, 4, 3),
        (low + 390, 3, 2),
        (low + 750, 2, 1),
    ]
    assert changes(found, "serving copies of AllTraffic")[0] == (serves, 1, 4)
    # "15 minutes of steady traffic, under which the endpoint reached 4 instances".
    assert serves - 10 * MINUTE < 15 * MINUTE
    assert found["models"]["AllTraffic"]["figures"]["requests"] == 600


def test_the_report_of_reference_a_says_where_the_time_goes(mistral: Path) -> None:
    """
    Each part of the way in minutes, and what is only estimated.
    """
    told = sentences(
        simulate(
            mistral,
            *("--traffic", "constant", "--rate", "20/min", "--even"),
            *("--begin", "10m", "--lasting", "30m", "--duration", "90m"),
        )
    )

    assert (
        "the load was too high from 0:10:00 on; the first scale-out, from 1 to 4, was "
        "decided at 0:15:00, 5.0 min later: 3.0 min are the points that its alarm "
        "wants, 2.0 min is how late the last of them can be read"
    ) in told
    assert (
        "then 3.4 min until the instance ran, 3.5 min until its image was there, 2.9 "
        "min until the model had started: the first new copy served at 0:24:50, 14.8 "
        "min after the load came"
    ) in told
    assert (
        "scaling in took 3 steps, from 4 to 1, over 12.0 min, of which the cooldown of "
        "300 s took 10.0 min"
    ) in told
    estimate = "an estimate: a model of a step for 4 x A10G"
    assert f"the service times of AllTraffic are {estimate}" in told


def scale_to_zero() -> Resources:
    """
    Write the endpoint that was measured: one small model on an ml.g5.xlarge, as AWS's
    own sample sets it up.
    """
    managed = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1}
    variable = {"HF_MODEL_ID": "Qwen/Qwen3-0.6B"}
    concurrency = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
    return {
        **components(ManagedInstanceScaling=managed),
        **target(
            "inference-component/${Llama.InferenceComponentName}",
            COPIES,
            MinCapacity=0,
            MaxCapacity=1,
        ),
        **tracking(
            PredefinedMetricSpecification={"PredefinedMetricType": concurrency},
            ScaleInCooldown=60,
            ScaleOutCooldown=60,
        ),
        **stepping(),
        "Model": resource(
            "SageMaker::Model", PrimaryContainer={"Environment": variable}
        ),
    }


def test_scale_to_zero_takes_as_long_as_was_measured(tmp_path: Path) -> None:
    """
    Measured by others in July 2026: idle to 0 copies 11 min, to 0 instances 12 more,
    the alarm 67 s after the first refusal, the first answer after 9 min 24 s.

    The alarm's rule, ninety points of ten seconds, makes it 15 minutes to 0 copies: the
    measured 11 are printed beside it. The rest is within a fifth.
    """
    last, first = 20 * MINUTE, 60 * MINUTE
    requests = tmp_path / "requests.csv"
    requests.write_text("\n".join(_calls(last, first)))
    found = simulate(
        template(tmp_path, scale_to_zero()),
        *("--traffic", requests, "--duration", "80m"),
    )
    asked = changes(found, "copies of Host/Llama")
    instances = changes(found, "instances")
    serving = changes(found, "serving copies of Host/Llama")

    (slept, before, none), (woken, *_) = asked
    assert (before, none) == (1, 0)
    # Ninety points of ten seconds, of which the last can be read 30 s late.
    assert slept - last == 15 * MINUTE + 30
    assert instances[0][1:] == (1, 0)
    assert pytest.approx(instances[0][0] - slept, rel=0.2) == 12 * MINUTE
    assert pytest.approx(woken - first, rel=0.2) == 67
    assert pytest.approx(serving[-1][0] - first, rel=0.2) == 9 * MINUTE + 24
    assert "11 min were measured from idle to 0 copies, and 12 more" in sentences(found)
    assert "requests were refused" in sentences(found)


def _calls(last: float, first: float) -> Iterator[str]:
    yield "time,prompt_tokens,output_tokens"
    # One each second that takes some six: more than the target of five are under way.
    for second in (*range(int(last)), *range(int(first), int(first) + 1200)):
        yield f"{second},100,2000"


def busy_variant() -> Resources:
    """
    Write what a user reported: a target of 1,500 invocations on one instance.
    """
    return {
        **variant(InstanceType="ml.g4dn.xlarge"),
        **target(MaxCapacity=10),
        **tracking(TargetValue=1500, ScaleOutCooldown=10, ScaleInCooldown=100),
    }


def test_the_minutes_that_a_user_reported_are_those_of_alarms(tmp_path: Path) -> None:
    """
    re:Post: at 20,000 requests a minute it took more than 5 minutes until the first
    scale-out, and without any more than 25 until scale-in.
    """
    found = simulate(
        template(tmp_path, busy_variant()),
        *("--traffic", "constant", "--rate", "20000/min", "--answer-tokens", "1"),
        *("--begin", "5m", "--lasting", "10m", "--duration", "45m"),
    )
    activities = [
        one
        for one in found["models"]["AllTraffic"]["activities"]
        if not one["not_scaled"]
    ]
    out, in_ = (
        next(one for one in activities if (one["after"] > one["before"]) is more)
        for more in (True, False)
    )

    assert 4 * MINUTE <= out["time"] - 5 * MINUTE <= 7 * MINUTE
    assert 15 * MINUTE <= in_["time"] - 15 * MINUTE <= 30 * MINUTE
    told = sentences(found)
    assert "3.0 min are the points that its alarm wants, 2.0 min is how late" in told
    assert "15.0 min of points and 2.0 min of delay" in told


def test_the_delay_of_metrics_can_be_set(tmp_path: Path) -> None:
    """
    Four minutes instead of two: the first scale-out comes two minutes later.
    """
    found = simulate(
        template(tmp_path, busy_variant()),
        *("--traffic", "constant", "--rate", "2000/min", "--answer-tokens", "1"),
        *("--begin", "5m", "--duration", "14m", "--metric-delay", "4m", "--even"),
    )

    assert changes(found, "desired instances")[0] == (12 * MINUTE, 1, 2)
