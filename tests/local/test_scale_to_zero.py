"""
Scale to zero, end to end: the example's own template, with time run by hand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import Deployer, example


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand") as aws:
        yield aws


def _await(aws: EmbeddedAws, done: Callable[[], Untyped]) -> Untyped:
    for _ in range(360):  # An hour.
        if found := done():
            return found
        aws.advance(10)
    raise AssertionError("it never came")


class Sleepy:
    """
    What ``examples/scale_to_zero`` deploys.
    """

    def __init__(self, aws: EmbeddedAws, outputs: dict[str, str]) -> None:
        self.endpoint = outputs["EndpointName"]
        self.component = outputs["ComponentName"]
        self._sagemaker = aws.client("sagemaker")
        self._runtime = aws.client("sagemaker-runtime")
        self._scaling = aws.client("application-autoscaling")
        self._cloudwatch = aws.client("cloudwatch")

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

    @property
    def alarm(self) -> dict[str, Any]:
        """
        The alarm on refused requests.
        """
        found = self._cloudwatch.describe_alarms()["MetricAlarms"]
        (alarm,) = [
            one for one in found if one["MetricName"] == "NoCapacityInvocationFailures"
        ]
        return dict(alarm)

    def ask(self) -> bytes:
        """
        Send one request.
        """
        answer = self._runtime.invoke_endpoint(
            EndpointName=self.endpoint,
            InferenceComponentName=self.component,
            ContentType="application/json",
            Body=json.dumps({"prompt": "Once", "max_tokens": 4}),
        )
        return bytes(answer["Body"].read())

    def activities(self) -> list[dict[str, Any]]:
        """
        Return what Application Auto Scaling did, the oldest first.
        """
        found = self._scaling.describe_scaling_activities(
            ServiceNamespace="sagemaker",
            ResourceId=f"inference-component/{self.component}",
        )
        return list(found["ScalingActivities"][::-1])


@pytest.fixture(name="sleepy", scope="module")
def _sleepy(aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory) -> Sleepy:
    app = example("scale_to_zero", tmp_path_factory.mktemp("out"))
    return Sleepy(aws, Deployer(aws).deploy(app).checked().outputs["Sleepy"])


def test_the_example_sleeps_and_wakes(aws: EmbeddedAws, sleepy: Sleepy) -> None:
    """
    It falls asleep, loses its instance, refuses, is woken by its alarm, and answers.
    """
    _await(aws, lambda: sleepy.copies == 0)
    _await(aws, lambda: sleepy.instances == 0)
    with pytest.raises(ClientError) as refused:
        sleepy.ask()
    alarm = _await(
        aws, lambda: (found := sleepy.alarm)["StateValue"] == "ALARM" and found
    )
    _await(aws, lambda: sleepy.copies == 1)
    assert sleepy.instances == 1
    assert sleepy.ask()

    error = refused.value.response["Error"]
    assert error["Code"] == "ValidationError"
    assert "has no capacity to process this request" in error["Message"]
    assert "was greater than or equal to the threshold (1.0)" in alarm["StateReason"]
    assert (alarm["Statistic"], alarm["Period"]) == ("Maximum", 30)
    asleep, awake = sleepy.activities()[:2]
    assert asleep["Description"] == "Setting desired copy count to 0."
    assert "triggered policy Load" in asleep["Cause"]
    assert awake["Description"] == "Setting desired copy count to 1."
    assert "triggered policy Wake" in awake["Cause"]
    assert awake["StatusCode"] == "Successful"
    # What synth warns of: 11 minutes, of which the alarm takes one.
    waking = (awake["EndTime"] - awake["StartTime"]).total_seconds() / 60
    assert 7 <= waking <= 12
