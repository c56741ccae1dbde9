"""
What others have published of scaling in time, played out by the embedded AWS.

The time is run by hand here; ``test_scaling_accelerated.py`` has it run by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.simulation import (
    Bounds,
    FleetTimes,
    Metric,
    MetricQuery,
    Outcome,
    Pool,
    Replay,
    Scenario,
    ServiceTimes,
    TargetTracking,
    Workload,
    run,
)
from cdk_sagemaker_llm.simulation.fleet import Step as FleetStep
from tests.local.by_hand import NOON, HandRunAws, hand_run_aws
from tests.local.scaled import Scaled, scaled_component, scaled_variant

# Six minutes until an instance serves.
_SIX_MINUTES = FleetTimes(
    provision=200.0, image_pull=100.0, model_start=60.0, drain=0.0
)
# An ml.g5.xlarge in July 2026: 9 min 24 s from the alarm to the first answer.
_WAKING = 9 * 60 + 24
_G5 = FleetTimes.measured(_WAKING)

Step = tuple[float, int]


@pytest.fixture(name="slow_aws")
def _slow_aws() -> Iterator[HandRunAws]:
    with hand_run_aws(times=_SIX_MINUTES) as aws:
        yield aws


@pytest.fixture(name="g5_aws")
def _g5_aws() -> Iterator[HandRunAws]:
    with hand_run_aws(times=_G5) as aws:
        yield aws


def _simulated() -> Outcome:
    # The same, without an AWS: a request at the start, then one every 3.75 seconds.
    moments = [0.0, *(600 + number * 3.75 for number in range(480))]
    metric = Metric.of_variant("InvocationsPerInstance", "chat", "AllTraffic")
    policy = TargetTracking(
        name="Traffic",
        query=MetricQuery(metric, "Sum", 60),
        target=5.0,
        scale_in_cooldown=300.0,
        scale_out_cooldown=60.0,
    )
    workload = Workload(
        name="AllTraffic",
        traffic=Replay(tuple((moment, 1, 1) for moment in moments)),
        service=ServiceTimes(
            decode=((1, 0.001),),
            max_sequences=8,
            prompt_seconds_per_token=0.0001,
            kv_tokens=10_000,
        ),
        bounds=Bounds(minimum=1, maximum=4),
        policies=(policy,),
    )
    return run(
        Scenario(
            workloads=(workload,),
            duration=70 * 60,
            start=datetime.fromtimestamp(NOON, UTC),
            endpoint="chat",
            pools=(Pool("ml.g5.xlarge"),),
            minimum=1,
            maximum=4,
            times=_SIX_MINUTES,
        ),
        "requests",
    )


def _moves(steps: Iterable[FleetStep], start: float) -> list[tuple[float, str, int]]:
    # What became of instances and copies after the start.
    return [
        (round((step.time - start) / 60, 2), step.what, step.after)
        for step in steps
        if step.time > start
    ]


def _until(aws: HandRunAws, done: Callable[[], bool]) -> float:
    for _ in range(400):
        if done():
            return aws.minute
        aws.run(5)
    raise AssertionError("it never came")


def _instances(component: Scaled) -> int:
    described = component.aws.client("sagemaker").describe_endpoint(
        EndpointName=component.subject.endpoint
    )
    return int(described["ProductionVariants"][0]["CurrentInstanceCount"])


def _played(variant: Scaled, start: float) -> list[Step]:
    return [
        (
            (activity["StartTime"].timestamp() - start) / 60,
            int(activity["Description"].split()[-1].rstrip(".")),
        )
        for activity in variant.activities()
    ]


def test_steady_traffic_scales_out_and_back(slow_aws: HandRunAws) -> None:
    """
    Reference deployment A: target 5 a minute, cooldowns 300 and 60 s, one to four.

    By hand, with 16 a minute from minute 10 to minute 40: minutes 10 to 12 are above 5,
    the last ends at 13 and can be read at 15, and 16 / 5 = 3.2 makes it 4. They come
    6 minutes later. At 4 a minute each nothing goes, since one less would have 5.33.
    Minute 40 is 0 and can be read at 43: 3. The cooldown makes it 48 and 53 for the
    next two.
    """
    aws = slow_aws
    variant = scaled_variant(aws)
    start = aws.run_to_the_hour()
    variant.register(1, 4)
    variant.track(5.0, ScaleInCooldown=300, ScaleOutCooldown=60)

    variant.invoke()
    aws.run(600)
    variant.ask_for(1800, per_minute=16, ask=variant.invoke)
    aws.run(1800)

    by_hand = [(15.0, 4), (43.0, 3), (48.0, 2), (53.0, 1)]
    played = _played(variant, start)
    outcome = _simulated()
    began = outcome.start.timestamp()
    simulated = [
        ((activity.time - began) / 60, activity.after)
        for activity in outcome.activities["AllTraffic"]
        if not activity.not_scaled
    ]
    print(f"\nby hand {by_hand}\nsimulated {simulated}\nplayed {played}")  # noqa: T201 - the figures are the point
    assert played == by_hand
    assert simulated == by_hand
    endpoint = aws.hosting.world.endpoints.get(variant.subject.endpoint)
    moves = _moves(endpoint.fleets["AllTraffic"].log, start)
    assert moves == _moves(outcome.steps, began)
    assert [m for m in moves if m[1] == "running instances"][-1][2] == 1
    out = variant.activities()[0]
    took = (out["EndTime"] - out["StartTime"]).total_seconds()
    assert took == pytest.approx(360, abs=10)
    assert variant.capacity.running == 1


def test_a_component_sleeps_and_wakes(g5_aws: HandRunAws) -> None:
    """
    Scale to zero, as somebody measured it on an ml.g5.xlarge in July 2026.

    No copies after 90 points of ten seconds and their delay, which is 15.5 minutes; no
    instances 12 minutes later; a refusal sets the alarm off, and it answers again.
    """
    aws = g5_aws
    component = scaled_component(aws)
    aws.run_to_the_hour()
    assert component.capacity.running == 1
    # An alarm looks back: nobody scales what is busy, and it has been idle till now.
    component.ask_for(60, per_minute=6, ask=component.invoke)
    component.register(0, 2)
    component.track(1.0)
    arn = component.step()
    component.cloudwatch.put_metric_alarm(
        AlarmName="Wake",
        Namespace="AWS/SageMaker",
        MetricName="NoCapacityInvocationFailures",
        Dimensions=[
            {"Name": "InferenceComponentName", "Value": component.subject.component}
        ],
        Statistic="Maximum",
        Period=30,
        EvaluationPeriods=1,
        Threshold=1.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        TreatMissingData="missing",
        AlarmActions=[arn],
    )
    component.invoke()
    idle = aws.minute

    asleep = _until(aws, lambda: component.capacity.running == 0) - idle
    empty = _until(aws, lambda: _instances(component) == 0) - idle - asleep
    refused = aws.minute
    with pytest.raises(ClientError, match="has no capacity to process this request"):
        component.invoke()
    alarmed = _until(aws, lambda: component.capacity.desired == 1) - refused
    woken = _until(aws, lambda: component.capacity.running == 1) - refused - alarmed
    component.invoke()

    print(  # noqa: T201 - the figures are the point
        f"\nto 0 copies {asleep:.1f} min (measured 11)\n"
        f"to 0 instances {empty:.1f} min (measured 12)\n"
        f"to the alarm {alarmed * 60:.0f} s (measured 67)\n"
        f"to the first answer {woken:.1f} min (measured 9.4)"
    )
    assert asleep == pytest.approx(15.5, abs=0.5)
    assert empty == pytest.approx(12, rel=0.1)
    assert 30 <= alarmed * 60 <= 80
    assert woken == pytest.approx(9.4, rel=0.05)
    causes = [activity["Cause"] for activity in component.activities()]
    assert "AlarmLow" in causes[0]
    assert causes[1] == "monitor alarm Wake in state ALARM triggered policy Steps"
