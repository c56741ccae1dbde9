"""
Scaling on a real server whose time runs by itself, ten minutes a second.

What is told of when it happened is exact; what a client notices is as exact as it
looks, and so are the margins here.
"""

from __future__ import annotations

import http.client
import itertools
import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.settings import Latency
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
)

_SPEED = 600.0
# So slow that more come in a minute than three instances are for, on any machine.
_LOADED_SPEED = 120.0
_PATIENCE = 60.0  # Seconds on the wall, for a machine that is busy.
_DIMENSION = "sagemaker:inference-component:DesiredCopyCount"
_CONCURRENCY = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    times = FleetTimes.measured(9 * 60 + 24)
    with EmbeddedAws(speed=_SPEED, times=times) as aws:
        yield aws


@pytest.fixture(name="loaded_aws", scope="module")
def _loaded_aws() -> Iterator[EmbeddedAws]:
    times = FleetTimes(provision=200.0, image_pull=100.0, model_start=60.0)
    latency = Latency(first_token=0.0, per_token=0.0)
    with EmbeddedAws(speed=_LOADED_SPEED, times=times, latency=latency) as aws:
        yield aws


def _await(done: Callable[[], Untyped]) -> Untyped:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if found := done():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


class Chat:
    """
    A component that may go to zero, on a host that may.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._aws = aws
        self._sagemaker = aws.client("sagemaker")
        self._runtime = aws.client("sagemaker-runtime")
        self._scaling = aws.client("application-autoscaling")
        self._cloudwatch = aws.client("cloudwatch")
        scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1}
        variant = {"InstanceType": "ml.g5.xlarge", "ManagedInstanceScaling": scaling}
        self.endpoint = make_endpoint(aws, make_config(aws, variant=variant))
        _await(lambda: self._status() == "InService")
        self.component = make_component(aws, self.endpoint)
        _await(lambda: self.copies == 1)
        self._key = {
            "ServiceNamespace": "sagemaker",
            "ResourceId": f"inference-component/{self.component}",
            "ScalableDimension": _DIMENSION,
        }

    @property
    def copies(self) -> int:
        """
        How many copies serve.
        """
        described = self._sagemaker.describe_inference_component(
            InferenceComponentName=self.component
        )
        return int(described["RuntimeConfig"]["CurrentCopyCount"])

    @property
    def instances(self) -> int:
        """
        How many instances run.
        """
        described = self._sagemaker.describe_endpoint(EndpointName=self.endpoint)
        return int(described["ProductionVariants"][0]["CurrentInstanceCount"])

    def scale_to_zero(self) -> None:
        """
        Set up what the guide asks for: a target, two policies and an alarm.
        """
        self._scaling.register_scalable_target(
            **self._key, MinCapacity=0, MaxCapacity=1
        )
        self._scaling.put_scaling_policy(
            **self._key,
            PolicyName="Load",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": 5.0,
                "PredefinedMetricSpecification": {"PredefinedMetricType": _CONCURRENCY},
            },
        )
        step = {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
        policy = self._scaling.put_scaling_policy(
            **self._key,
            PolicyName="Wake",
            PolicyType="StepScaling",
            StepScalingPolicyConfiguration={
                "AdjustmentType": "ChangeInCapacity",
                "MetricAggregationType": "Maximum",
                "Cooldown": 60,
                "StepAdjustments": [step],
            },
        )
        self._cloudwatch.put_metric_alarm(
            AlarmName=f"wake-{self.component}",
            Namespace="AWS/SageMaker",
            MetricName="NoCapacityInvocationFailures",
            Dimensions=[{"Name": "InferenceComponentName", "Value": self.component}],
            Statistic="Maximum",
            Period=30,
            EvaluationPeriods=1,
            DatapointsToAlarm=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            TreatMissingData="missing",
            AlarmActions=[policy["PolicyARN"]],
        )

    def ask(self) -> bytes:
        """
        Send one request.
        """
        answer = self._runtime.invoke_endpoint(
            EndpointName=self.endpoint,
            InferenceComponentName=self.component,
            ContentType="application/json",
            Body=prompt("Once", max_new_tokens=4),
        )
        body: bytes = answer["Body"].read()
        return body

    def answer(self) -> bytes | None:
        """
        Send one request, which may be refused.
        """
        try:
            return self.ask()
        except ClientError:
            return None

    def activities(self) -> list[dict[str, Any]]:
        """
        Return what Application Auto Scaling did, the oldest first.
        """
        found = self._scaling.describe_scaling_activities(
            ServiceNamespace="sagemaker", ResourceId=self._key["ResourceId"]
        )
        activities: list[dict[str, Any]] = found["ScalingActivities"]
        return activities[::-1]

    def policy_made(self) -> float:
        """
        Return when its target tracking was put.
        """
        found = self._scaling.describe_scaling_policies(
            ServiceNamespace="sagemaker", PolicyNames=["Load"]
        )
        made: float = found["ScalingPolicies"][0]["CreationTime"].timestamp()
        return made

    def alarm(self) -> dict[str, Any]:
        """
        Return the alarm on refused requests.
        """
        found = self._cloudwatch.describe_alarms(AlarmNames=[f"wake-{self.component}"])
        alarm: dict[str, Any] = found["MetricAlarms"][0]
        return alarm

    def moments(self, what: str) -> list[float]:
        """
        Return when a count of the fleet's changed, by the server's log.
        """
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self._aws.url}/_embedded/log") as answer:
            steps = json.load(answer)[self.endpoint]["AllTraffic"]
        return [step["time"] for step in steps if step["what"] == what]

    def refusals(self) -> list[dict[str, Any]]:
        """
        Return the published refusals.
        """
        found = self._cloudwatch.get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName="NoCapacityInvocationFailures",
            Dimensions=[{"Name": "InferenceComponentName", "Value": self.component}],
            StartTime=time.time() - 60,
            EndTime=time.time() + 10 * 86_400,
            Period=10,
            Statistics=["Sum"],
        )
        points: list[dict[str, Any]] = found["Datapoints"]
        return points

    def _status(self) -> str:
        described = self._sagemaker.describe_endpoint(EndpointName=self.endpoint)
        return str(described["EndpointStatus"])


@pytest.mark.whole
def test_a_client_sets_scale_to_zero_up(aws: EmbeddedAws) -> None:
    """
    It falls asleep, loses its instance, refuses, is woken by its alarm, and answers.

    Measured on an ml.g5.xlarge in July 2026: 11 min to 0 copies, 12 min more to 0
    instances, 67 s to the alarm, 9 min 24 s to the first answer.
    """
    chat = Chat(aws)
    assert chat.ask()
    chat.scale_to_zero()

    _await(lambda: chat.copies == 0)
    _await(lambda: chat.instances == 0)
    with pytest.raises(ClientError) as refused:
        chat.ask()
    alarm = _await(lambda: (found := chat.alarm())["StateValue"] == "ALARM" and found)
    _await(lambda: chat.copies == 1)
    # Where this machine is slow, it may have fallen asleep again before it is asked.
    assert _await(chat.answer)

    error = refused.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert "has no capacity to process this request" in error["Message"]
    refusal = chat.refusals()[0]
    assert refusal["Sum"] == 1.0
    assert "was greater than or equal to the threshold (1.0)" in alarm["StateReason"]
    asleep, awake = chat.activities()[:2]
    assert asleep["Description"] == "Setting desired copy count to 0."
    assert awake["Description"] == "Setting desired copy count to 1."
    assert awake["StatusCode"] == "Successful"
    served, *changed = chat.moments(f"serving copies of {chat.component}")
    fell_asleep = asleep["StartTime"].timestamp()
    idle = fell_asleep - served
    drained = next(moment for moment in changed if moment >= fell_asleep)
    # Where this machine is slow, the host was empty once before its component came.
    empty = next(m for m in chat.moments("running instances") if m > drained) - drained
    waking = (awake["EndTime"] - awake["StartTime"]).total_seconds()
    noticed = awake["StartTime"].timestamp() - refusal["Timestamp"].timestamp()
    print(  # noqa: T201 - the figures are the point
        f"\nto 0 copies {idle / 60:.1f} min (measured 11 min)"
        f"\nto 0 instances {empty / 60:.1f} min (measured 12 min)"
        f"\nto the alarm {noticed:.0f} s (measured 67 s)\n"
        f"to the first answer {waking / 60:.1f} min (measured 9.4 min)"
    )
    # 90 points of ten seconds since it first served, and half a minute to read them;
    # or at once, where this machine was so slow that they were there before the policy.
    assert 20 <= fell_asleep - max(served + 900, chat.policy_made()) <= 60
    # The last copy drains for 30 s, and its instance goes 12 minutes later.
    assert empty == pytest.approx(750, abs=15)
    assert 30 <= noticed <= 80
    assert waking == pytest.approx(9 * 60 + 24, abs=15)


@pytest.mark.whole
def test_steady_traffic_scales_out_and_back(loaded_aws: EmbeddedAws) -> None:
    """
    Reference deployment A: target 5 a minute, cooldowns 300 and 60 s, one to four.

    The published time is 15 minutes. Here the alarm takes up to 6, for three minutes
    above the target and the two until they can be read, and the instances 6 more.
    ``test_published_times.py`` holds every step to the minute, by hand.
    """
    sagemaker = loaded_aws.client("sagemaker")
    variant = {"ModelName": make_model(loaded_aws), "InstanceType": "ml.g5.xlarge"}
    endpoint = make_endpoint(loaded_aws, make_config(loaded_aws, variant=variant))

    def instances() -> int:
        described = sagemaker.describe_endpoint(EndpointName=endpoint)
        return int(described["ProductionVariants"][0]["CurrentInstanceCount"])

    _await(lambda: instances() == 1)
    scaling = loaded_aws.client("application-autoscaling")
    key = {
        "ServiceNamespace": "sagemaker",
        "ResourceId": f"endpoint/{endpoint}/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
    }
    scaling.register_scalable_target(**key, MinCapacity=1, MaxCapacity=4)
    scaling.put_scaling_policy(
        **key,
        PolicyName="Traffic",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 5.0,
            "PredefinedMetricSpecification": {
                "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
            },
            "ScaleInCooldown": 300,
            "ScaleOutCooldown": 60,
        },
    )
    begin = loaded_aws.now
    connection = http.client.HTTPConnection("localhost", loaded_aws.port)

    def ask() -> bool:
        # A few hundred a second; boto3 would not get there on a busy machine.
        path, body = (
            f"/endpoints/{endpoint}/invocations",
            prompt("Once", max_new_tokens=4),
        )
        connection.request("POST", path, body)
        answer = connection.getresponse()
        assert answer.read()
        assert answer.status == 200
        return False

    looks = itertools.count()
    _await(lambda: ask() or (next(looks) % 20 == 0 and instances() == 4))
    out = loaded_aws.now
    _await(lambda: instances() == 1)

    found = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")
    activities = found["ScalingActivities"][::-1]
    counts = [int(a["Description"].split()[-1].rstrip(".")) for a in activities]
    # A busy machine may send less at first, so that the first step is a smaller one.
    grown = counts.index(4)
    assert counts[: grown + 1] == sorted(counts[: grown + 1])
    assert counts[grown + 1 :] == [3, 2, 1]
    moments = [activity["StartTime"].timestamp() for activity in activities]
    minutes = [round((moment - begin) / 60, 1) for moment in moments]
    told = f"from the traffic's start {minutes} min; it ended {(out - begin) / 60:.1f}"
    print(f"\n{told}")  # noqa: T201 - the figures are the point
    # Each step more is another alarm and another six minutes for its instances.
    assert activities[grown]["EndTime"].timestamp() - begin <= (15 + 12 * grown) * 60
    # Fifteen minutes below, readable after two; then what goes drains for 30 s, the
    # cooldown of five minutes begins, and the alarm acts by the minute.
    down = moments[grown + 1 :]
    assert 16 * 60 <= down[0] - out <= 20 * 60
    assert [round(b - a) for a, b in itertools.pairwise(down)] == [360, 360]
