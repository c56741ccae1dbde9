"""
A server whose time is run by hand.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws, EmbeddedAwsError, Latency
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.deployments import Deployer
from tests.local import tiny_app
from tests.local.hosting_requests import make_config, make_endpoint, make_model
from tests.local.waiting import endpoint_status

TIMES = FleetTimes(provision=200.0, image_pull=100.0, model_start=100.0)
_MINUTES = {
    "Namespace": "Shop",
    "MetricName": "Orders",
    "Statistic": "Sum",
    "Period": 60,
    "EvaluationPeriods": 2,
    "Threshold": 5.0,
    "ComparisonOperator": "GreaterThanThreshold",
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand", times=TIMES) as aws:
        yield aws


def test_an_endpoint_is_created_when_its_time_has_passed(aws: EmbeddedAws) -> None:
    """
    To the second, and not before.
    """
    sagemaker = aws.client("sagemaker")
    variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    began = aws.now
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))

    assert aws.now == began
    aws.advance(399)
    assert endpoint_status(sagemaker, endpoint) == "Creating"
    assert aws.advance(1) == began + 400
    assert endpoint_status(sagemaker, endpoint) == "InService"
    described = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert described["CreationTime"].timestamp() == pytest.approx(began, abs=0.01)


def test_an_alarm_goes_off_in_its_minute(aws: EmbeddedAws) -> None:
    """
    Its history has the time.
    """
    cloudwatch = aws.client("cloudwatch")
    cloudwatch.put_metric_alarm(AlarmName="Busy", **_MINUTES)
    for _ in range(4):
        datum = {"MetricName": "Orders", "Value": 9.0, "Timestamp": aws.now}
        cloudwatch.put_metric_data(Namespace="Shop", MetricData=[datum])
        aws.advance(60)

    (alarm,) = cloudwatch.describe_alarms(AlarmNames=["Busy"])["MetricAlarms"]
    assert alarm["StateValue"] == "ALARM"
    assert aws.now - 180 <= alarm["StateUpdatedTimestamp"].timestamp() <= aws.now


def test_a_stack_goes_on_while_time_passes(aws: EmbeddedAws, tmp_path: Path) -> None:
    """
    Whatever it waits for meanwhile: a single call brings it to its end.
    """
    app = tiny_app.synth(tmp_path)
    cloudformation = aws.client("cloudformation")
    began = aws.now

    deployed = Deployer(aws).deploy(app).checked()
    (stack,) = cloudformation.describe_stacks(StackName=tiny_app.STACK)["Stacks"]
    cloudformation.delete_stack(StackName=tiny_app.STACK)
    aws.advance(3600)

    assert deployed.outputs[tiny_app.STACK]["EndpointName"] == tiny_app.ENDPOINT
    assert 400 <= aws.now - 3600 - began <= 500
    events = cloudformation.describe_stack_events(StackName=stack["StackId"])
    last = events["StackEvents"][0]
    assert last["ResourceStatus"] == "DELETE_COMPLETE"
    assert last["Timestamp"].timestamp() <= began + 600


@pytest.mark.parametrize(
    "body", ["{}", "[600]", '{"advance": -1}', '{"advance": 1e12}', "soon"]
)
def test_what_is_no_time_is_refused(aws: EmbeddedAws, body: str) -> None:
    """
    By whatever program asks, and no time passes.
    """
    before = aws.now
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{aws.url}/_embedded/clock", method="PUT", data=body.encode()
    )

    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)  # noqa: S310 - as above
    assert aws.now == before


def test_time_passes_by_hand_alone_where_it_was_asked_for() -> None:
    """
    What else cannot be, is said.
    """
    with pytest.raises(ValueError, match="advance needs a clock by hand"):
        EmbeddedAws(speed=60).advance(1)
    by_hand, text = EmbeddedAws(clock="by hand"), cast("float", "5")
    with pytest.raises(ValueError, match=r"seconds must be 0 to 2,678,400 .*, got -1"):
        by_hand.advance(-1)
    with pytest.raises(ValueError, match="got 2678401; let more of them pass in sever"):
        by_hand.advance(2_678_401)
    with pytest.raises(EmbeddedAwsError, match="the embedded AWS does not run"):
        by_hand.advance(2_678_400)  # It would be asked, if it ran.
    with pytest.raises(ValueError, match="seconds must be a finite number, got '5'"):
        by_hand.advance(text)
    with pytest.raises(ValueError, match="clock must be 'by hand' or left out, got"):
        EmbeddedAws(clock="wall")
    with pytest.raises(ValueError, match="speed and latency are for a clock that runs"):
        EmbeddedAws(clock="by hand", speed=60)
    with pytest.raises(ValueError, match="speed and latency are for a clock that runs"):
        EmbeddedAws(clock="by hand", latency=Latency())
