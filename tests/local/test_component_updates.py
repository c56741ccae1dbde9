"""
Updates of inference components in time: new copies come and old ones go, by batches,
and back on an alarm; each version answers for its share of the copies.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_28,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
)
from tests.local.test_guardrails import alarm
from tests.local.waiting import endpoint_status, until


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


def component(sagemaker: Untyped, name: str) -> Untyped:
    """
    Describe a component.
    """
    return sagemaker.describe_inference_component(InferenceComponentName=name)


def hosted(aws: HandRunAws, sagemaker: Untyped, copies: int, **variant: Untyped) -> str:
    """
    Make a component on an endpoint of its own and wait until it serves.
    """
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    name = make_component(aws, endpoint, copies=copies)
    until(lambda: settled(sagemaker, name), by=aws)
    return name


def settled(sagemaker: Untyped, name: str) -> bool:
    """
    Tell whether a component is in service.
    """
    found = component(sagemaker, name)
    return bool(found["InferenceComponentStatus"] == "InService")


def specification(aws: HandRunAws) -> dict[str, Untyped]:
    """
    Write another specification.
    """
    return {
        "ModelName": make_model(aws, image=LMI_28),
        "ComputeResourceRequirements": {
            "NumberOfAcceleratorDevicesRequired": 1,
            "MinMemoryRequiredInMb": 1024,
        },
    }


def test_a_component_rolls_in_batches(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Two of four copies at a time, beside the old ones; four serve throughout.
    """
    name = hosted(aws, sagemaker, 4)
    wanted = specification(aws)
    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=wanted,
        DeploymentConfig={
            "RollingUpdatePolicy": {
                "MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 2},
                "WaitIntervalInSeconds": 300,
            }
        },
    )
    started, least = aws.now, 4
    while not settled(sagemaker, name):
        aws.advance(10)
        shown = component(sagemaker, name)
        least = min(least, shown["RuntimeConfig"]["CurrentCopyCount"])
    shown = component(sagemaker, name)

    assert least >= 4
    assert shown["Specification"]["ModelName"] == wanted["ModelName"]
    # Another image: 200 s to start, then 100 s; 300 s each to bake, in which the old
    # copies end.
    took = shown["LastModifiedTime"].timestamp() - started
    assert took == pytest.approx(200.0 + 300.0 + 100.0 + 300.0, abs=20.0)


def test_a_component_without_room_for_two_versions_is_replaced_in_place(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Eight copies on eight accelerators: the old ones go first.
    """
    name = hosted(aws, sagemaker, 8)
    wanted = specification(aws)
    sagemaker.update_inference_component(
        InferenceComponentName=name, Specification=wanted
    )
    assert component(sagemaker, name)["InferenceComponentStatus"] == "Updating"
    until(lambda: settled(sagemaker, name), by=aws)

    shown = component(sagemaker, name)
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 8, "CurrentCopyCount": 8}
    assert shown["Specification"]["ModelName"] == wanted["ModelName"]


def test_a_component_whose_new_version_fails_keeps_the_old_one(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    It says why, and the next update succeeds.
    """
    name = hosted(aws, sagemaker, 2)
    before = component(sagemaker, name)["Specification"]["ModelName"]
    aws.fault("cannot-start", name)
    sagemaker.update_inference_component(
        InferenceComponentName=name, Specification=specification(aws)
    )
    until(lambda: settled(sagemaker, name), by=aws)
    shown = component(sagemaker, name)
    assert shown["Specification"]["ModelName"] == before
    assert "CannotStartContainerError" in shown["FailureReason"]
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 2, "CurrentCopyCount": 2}

    aws.clear_faults()
    wanted = specification(aws)
    sagemaker.update_inference_component(
        InferenceComponentName=name, Specification=wanted
    )
    until(lambda: settled(sagemaker, name), by=aws)
    shown = component(sagemaker, name)
    assert shown["Specification"]["ModelName"] == wanted["ModelName"]
    assert "FailureReason" not in shown


def test_components_stay_as_they_are_while_their_endpoint_moves(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    They come along with the new fleet, and can be changed again afterwards.
    """
    name = hosted(aws, sagemaker, 2)
    endpoint = component(sagemaker, name)["EndpointName"]
    sagemaker.update_endpoint(
        EndpointName=endpoint, EndpointConfigName=make_config(aws)
    )
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        make_component(aws, endpoint)
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        sagemaker.update_inference_component_runtime_config(
            InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 3}
        )
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        sagemaker.update_inference_component(
            InferenceComponentName=name, Specification=specification(aws)
        )
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        sagemaker.delete_inference_component(InferenceComponentName=name)

    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    shown = component(sagemaker, name)
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 2, "CurrentCopyCount": 2}
    sagemaker.delete_inference_component(InferenceComponentName=name)


BATCHES_OF_TWO = {
    "MaximumBatchSize": {"Type": "COPY_COUNT", "Value": 2},
    "WaitIntervalInSeconds": 300,
}


def answers(aws: HandRunAws, name: str, count: int) -> list[str]:
    """
    Ask a component some times; tell which container answered, or that none did.
    """
    client = aws.client("sagemaker-runtime")
    endpoint = component(aws.client("sagemaker"), name)["EndpointName"]
    found = []
    for _ in range(count):
        try:
            answer = client.invoke_endpoint(
                EndpointName=endpoint, InferenceComponentName=name, Body=prompt("Who?")
            )
        except ClientError as error:
            found.append(error.response["Error"]["Code"])
        else:
            is_tgi = answer["Body"].read().startswith(b"[")
            found.append("TGI" if is_tgi else "LMI")
    return found


def test_each_batch_answers_for_its_share(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Two new copies of eight take a quarter of the requests, four a half, and in the end
    the new version takes all.
    """
    name = hosted(aws, sagemaker, 8)
    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=specification(aws),
        DeploymentConfig={"RollingUpdatePolicy": BATCHES_OF_TWO},
    )
    shares: list[int] = []
    while not settled(sagemaker, name):
        share = answers(aws, name, 8).count("LMI")
        shares += [share] if share not in shares[-1:] else []
        aws.advance(50)

    assert {2, 4, 6} <= set(shares)
    assert shares == sorted(shares)
    assert answers(aws, name, 8) == ["LMI"] * 8


def test_a_version_that_fails_is_turned_back_by_its_alarm(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    While the old version still answers most requests, and none is lost afterwards.
    """
    name = hosted(aws, sagemaker, 8)
    before = component(sagemaker, name)["Specification"]["ModelName"]
    wanted = specification(aws)
    aws.fault("errors", wanted["ModelName"], rate=1.0, answer="500")
    watched = unique("alarm")
    aws.client("cloudwatch").put_metric_alarm(
        AlarmName=watched,
        MetricName="Invocation5XXErrors",
        Namespace="AWS/SageMaker",
        Dimensions=[{"Name": "InferenceComponentName", "Value": name}],
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=0.0,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
    )

    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=wanted,
        DeploymentConfig={
            "RollingUpdatePolicy": BATCHES_OF_TWO,
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": watched}]},
        },
    )
    asked = []
    while not settled(sagemaker, name):
        asked += answers(aws, name, 8)
        aws.advance(30)
    shown = component(sagemaker, name)
    aws.clear_faults()

    assert shown["Specification"]["ModelName"] == before
    assert watched in shown["FailureReason"]
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 8, "CurrentCopyCount": 8}
    assert 0 < asked.count("ModelError") < len(asked) / 4
    assert set(asked) == {"TGI", "ModelError"}
    assert answers(aws, name, 8) == ["TGI"] * 8


def test_a_version_that_does_not_start_is_told_by_its_own_model(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    What befalls the new model befalls the copies of the new version alone.
    """
    name = hosted(aws, sagemaker, 2)
    before = component(sagemaker, name)["Specification"]["ModelName"]
    wanted = specification(aws)
    aws.fault("never-healthy", wanted["ModelName"])
    sagemaker.update_inference_component(
        InferenceComponentName=name, Specification=wanted
    )
    until(lambda: settled(sagemaker, name), by=aws)
    shown = component(sagemaker, name)
    aws.clear_faults()

    assert shown["Specification"]["ModelName"] == before
    assert "did not pass the ping health check" in shown["FailureReason"]


def test_a_rollback_brings_the_old_copies_up_first(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Where there is room beside the new ones: eight serve throughout.
    """
    managed = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
    name = hosted(aws, sagemaker, 8, ManagedInstanceScaling=managed)
    before = component(sagemaker, name)["Specification"]["ModelName"]
    tripped = alarm(aws, "OK")
    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=specification(aws),
        DeploymentConfig={
            "RollingUpdatePolicy": BATCHES_OF_TWO,
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": tripped}]},
        },
    )
    until(lambda: answers(aws, name, 8).count("LMI") == 2, by=aws)
    aws.advance(100)
    assert answers(aws, name, 8).count("LMI") == 2
    alarm(aws, "ALARM", tripped)
    least = 8
    while not settled(sagemaker, name):
        shown = component(sagemaker, name)["RuntimeConfig"]["CurrentCopyCount"]
        least = min(least, shown)
        aws.advance(10)

    assert least == 8
    assert component(sagemaker, name)["Specification"]["ModelName"] == before
    assert answers(aws, name, 8) == ["TGI"] * 8


def test_an_update_goes_by_no_alarm_of_the_one_before(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Its batches and alarms are of one update: the next one says its own, or has none.
    """
    name = hosted(aws, sagemaker, 4)
    tripped = alarm(aws, "OK")
    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=specification(aws),
        DeploymentConfig={
            "RollingUpdatePolicy": BATCHES_OF_TWO,
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": tripped}]},
        },
    )
    until(lambda: settled(sagemaker, name), by=aws)
    wanted = specification(aws)
    alarm(aws, "ALARM", tripped)
    sagemaker.update_inference_component(
        InferenceComponentName=name, Specification=wanted
    )
    until(lambda: settled(sagemaker, name), by=aws)

    shown = component(sagemaker, name)
    assert shown["Specification"]["ModelName"] == wanted["ModelName"]
    assert "FailureReason" not in shown


def test_a_rollback_brings_the_old_copies_up_in_its_own_batches(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    Of four new copies among eight two go at a time, each pair when two old ones serve
    in its place.
    """
    managed = {"Status": "ENABLED", "MinInstanceCount": 1, "MaxInstanceCount": 2}
    name = hosted(aws, sagemaker, 8, ManagedInstanceScaling=managed)
    tripped = alarm(aws, "OK")
    guardrails = {
        "RollingUpdatePolicy": {
            "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
            "WaitIntervalInSeconds": 600,
            "RollbackMaximumBatchSize": {"Type": "COPY_COUNT", "Value": 2},
        },
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": tripped}]},
    }
    sagemaker.update_inference_component(
        InferenceComponentName=name,
        Specification=specification(aws),
        DeploymentConfig=guardrails,
    )
    until(lambda: answers(aws, name, 8).count("LMI") == 4, by=aws)
    aws.advance(100)
    alarm(aws, "ALARM", tripped)
    seen, shown = [answers(aws, name, 8).count("LMI")], component(sagemaker, name)
    while not settled(sagemaker, name):
        aws.advance(10)
        new = answers(aws, name, 8).count("LMI")
        shown = component(sagemaker, name)
        assert shown["RuntimeConfig"]["CurrentCopyCount"] >= 8
        seen += [new] * (new != seen[-1])

    assert seen == [4, 2, 0]
    assert shown["LastDeploymentConfig"] == guardrails
