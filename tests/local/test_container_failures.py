"""
What keeps containers from serving, in the service's words and at its time; time is run
by hand.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.local.hosting import container_starts
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    REGISTRY,
    TGI,
    make_component,
    make_config,
    make_endpoint,
    make_model,
    put_weights,
    unique,
)

_VLLM = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
_TIMEOUT = "ContainerStartupHealthCheckTimeoutInSeconds"
_NO_IMAGE = (
    f'Failed to pull the image "{TGI}" of the container for {{}}. Please ensure that '
    "the image exists and that the execution role grants ecr:BatchGetImage and "
    "ecr:GetDownloadUrlForLayer on it."
)
_CANNOT_START = (
    "CannotStartContainerError. Please ensure the model container for {} starts "
    "correctly when invoked with 'docker run <image> serve'"
)
_PING = (
    "The primary container for production {} did not pass the ping health check. "
    "Please check CloudWatch logs for this endpoint."
)
_COMPONENT_PING = (
    "The container for {} did not pass the ping health check. Please check CloudWatch "
    "logs for this inference component."
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


@pytest.fixture(autouse=True)
def _without_faults(aws: HandRunAws) -> Iterator[None]:
    yield
    aws.clear_faults()


def endpoint_of(aws: HandRunAws, model: str, **variant: object) -> str:
    """
    Host a model on an instance.
    """
    host = {"ModelName": model, "InstanceType": "ml.g5.xlarge", **variant}
    return make_endpoint(aws, make_config(aws, variant=host))


def host_of(aws: HandRunAws) -> str:
    """
    Make an endpoint for components, which is there.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    aws.run(600)
    return endpoint


def component_of(aws: HandRunAws, endpoint: str, model: str, **startup: object) -> str:
    """
    Begin to host a component.
    """
    name = unique("component")
    specification: dict[str, Any] = {
        "ModelName": model,
        "ComputeResourceRequirements": {
            "NumberOfAcceleratorDevicesRequired": 1,
            "MinMemoryRequiredInMb": 1024,
        },
    }
    if startup:
        specification["StartupParameters"] = startup
    aws.client("sagemaker").create_inference_component(
        InferenceComponentName=name,
        EndpointName=endpoint,
        VariantName="AllTraffic",
        Specification=specification,
        RuntimeConfig={"CopyCount": 1},
    )
    return name


def endpoint_state(aws: HandRunAws, name: str) -> tuple[str, str, float]:
    """
    Return an endpoint's status, why it failed, and the seconds until then.
    """
    shown = aws.client("sagemaker").describe_endpoint(EndpointName=name)
    took = shown["LastModifiedTime"] - shown["CreationTime"]
    why = shown.get("FailureReason", "")
    return shown["EndpointStatus"], why, took.total_seconds()


def component_state(aws: HandRunAws, name: str) -> tuple[str, str, float]:
    """
    Return the same of a component.
    """
    shown = aws.client("sagemaker").describe_inference_component(
        InferenceComponentName=name
    )
    took = shown["LastModifiedTime"] - shown["CreationTime"]
    why = shown.get("FailureReason", "")
    return shown["InferenceComponentStatus"], why, took.total_seconds()


def lines(aws: HandRunAws, group: str) -> dict[str, list[str]]:
    """
    Return what a log group has, by stream.
    """
    logs = aws.client("logs")
    streams = logs.describe_log_streams(logGroupName=group)["logStreams"]
    names = [one["logStreamName"] for one in streams]
    return {
        name: [
            event["message"]
            for event in logs.get_log_events(logGroupName=group, logStreamName=name)[
                "events"
            ]
        ]
        for name in names
    }


@pytest.mark.parametrize(
    ("kind", "settings", "why", "seconds"),
    [
        ("no-image", {}, _NO_IMAGE, 300.0),
        ("cannot-start", {}, _CANNOT_START, 300.0),
        ("never-healthy", {}, _PING, 300.0 + 24 * 60),
        ("never-healthy", {_TIMEOUT: 60}, _PING, 360.0),
    ],
)
def test_a_model_that_does_not_come_fails_its_endpoint(
    aws: HandRunAws, kind: str, settings: dict[str, int], why: str, seconds: float
) -> None:
    """
    The instance takes 200 seconds and its image 100; then its health check runs.
    """
    model = make_model(aws)
    aws.fault(kind, model)
    endpoint = endpoint_of(aws, model, **settings)

    aws.run(seconds - 1)
    assert endpoint_state(aws, endpoint)[:2] == ("Creating", "")
    aws.run(1)
    state = endpoint_state(aws, endpoint)
    assert state == ("Failed", why.format("variant AllTraffic"), seconds)


@pytest.mark.parametrize(
    ("kind", "target", "startup", "why", "seconds"),
    [
        ("no-image", "endpoint", {}, _NO_IMAGE, 100.0),
        ("cannot-start", "model", {}, _CANNOT_START, 100.0),
        ("never-healthy", "endpoint", {}, _COMPONENT_PING, 100.0 + 24 * 60),
        ("never-healthy", "model", {_TIMEOUT: 60}, _COMPONENT_PING, 160.0),
    ],
)
def test_a_component_that_does_not_come_fails(
    aws: HandRunAws,
    kind: str,
    target: str,
    startup: dict[str, int],
    why: str,
    seconds: float,
) -> None:
    """
    Its instance is there already; the fault may be its endpoint's or its model's.
    """
    names = {"endpoint": host_of(aws), "model": make_model(aws)}
    aws.fault(kind, names[target])
    component = component_of(aws, names["endpoint"], names["model"], **startup)

    aws.run(seconds - 1)
    assert component_state(aws, component)[:2] == ("Creating", "")
    aws.run(1)
    words = why.format(f"inference component {component}")
    assert component_state(aws, component) == ("Failed", words, seconds)


@pytest.mark.parametrize(("timeout", "status"), [(99, "Failed"), (100, "InService")])
def test_a_model_that_loads_longer_than_the_health_check_fails(
    aws: HandRunAws, timeout: int, status: str
) -> None:
    """
    It takes 100 seconds; one that is allowed them serves.
    """
    endpoint = host_of(aws)
    component = component_of(aws, endpoint, make_model(aws), **{_TIMEOUT: timeout})
    alone = endpoint_of(aws, make_model(aws), **{_TIMEOUT: timeout})
    aws.run(400)

    words = _COMPONENT_PING.format(f"inference component {component}")
    failed = status == "Failed"
    state = component_state(aws, component)
    assert state[:2] == (status, words if failed else "")
    words = _PING.format("variant AllTraffic")
    state = endpoint_state(aws, alone)
    assert state[:2] == (status, words if failed else "")


def test_a_fault_of_another_concerns_nobody(aws: HandRunAws) -> None:
    """
    Neither the model beside it, nor the component.
    """
    endpoint = host_of(aws)
    aws.fault("no-image", "another")
    component = component_of(aws, endpoint, make_model(aws))
    aws.run(200)

    assert component_state(aws, component) == ("InService", "", 200.0)


def test_an_engine_that_does_not_start_says_why_in_its_log(
    aws: HandRunAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    In the group of its endpoint or its component, and once to who watches.
    """
    monkeypatch.setattr(container_starts, "_streams", [])
    reader, writer = os.pipe()
    container_starts.report_to(writer)
    host = host_of(aws)
    wrong = {"Environment": {"SM_VLLM_MODEL": "a/b", "SM_VLLM_NO_SUCH": "1"}}
    model = make_model(aws, image=_VLLM, container=wrong)
    endpoint = endpoint_of(aws, model)
    aws.run(3600)
    component = component_of(aws, host, model)
    aws.run(3600)

    group, other = (
        f"/aws/sagemaker/Endpoints/{endpoint}",
        f"/aws/sagemaker/InferenceComponents/{component}",
    )
    (stream,) = lines(aws, group).items()
    assert stream[0] == "AllTraffic/container-0"
    assert any("no-such" in line for line in stream[1])
    assert lines(aws, other) == dict([stream])
    assert endpoint_state(aws, endpoint)[:2] == (
        "Failed",
        _PING.format("variant AllTraffic"),
    )
    assert component_state(aws, component)[0] == "Failed"
    for one in container_starts._streams:  # noqa: SLF001 - closed as the process would
        one.close()
    with os.fdopen(reader, encoding="utf-8") as told:
        text = told.read()
    body = "\n".join(stream[1]).replace("\n", "\n  ")
    assert text == "".join(
        f"A container does not start ({each}):\n  {body}\n" for each in (group, other)
    )


def test_an_engine_that_starts_says_so(aws: HandRunAws) -> None:
    """
    In its log alone.
    """
    right = {"Environment": {"SM_VLLM_MODEL": "a/b"}}
    endpoint = endpoint_of(aws, make_model(aws, image=_VLLM, container=right))
    aws.run(600)

    assert endpoint_state(aws, endpoint) == ("InService", "", 400.0)
    (said,) = lines(aws, f"/aws/sagemaker/Endpoints/{endpoint}").values()
    assert any("a/b" in line for line in said)


def test_the_same_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """
    Of all copies; other words or another group are something else.
    """
    monkeypatch.setattr(container_starts, "_streams", [])
    container_starts.report_to(os.dup(1))
    group = unique("group")
    container_starts.report(group, ["one\ntwo", "three"])
    container_starts.report(group, ["one\ntwo", "three"])
    container_starts.report(group, ["four"])
    container_starts.report(f"{group}-b", ["four"])
    container_starts._streams[0].close()  # noqa: SLF001 - as the process would

    assert capfd.readouterr().out == (
        f"A container does not start ({group}):\n  one\n  two\n  three\n"
        f"A container does not start ({group}):\n  four\n"
        f"A container does not start ({group}-b):\n  four\n"
    )


@pytest.mark.parametrize(("seconds", "away"), [(None, 60.0), (200.0, 200.0)])
def test_a_container_that_restarts_is_away_for_its_start(
    aws: HandRunAws, seconds: float | None, away: float
) -> None:
    """
    It runs a minute, or as long as is said, and is back when it has started.
    """
    endpoint, model = host_of(aws), make_model(aws)
    component = make_component(aws, endpoint, model=model)
    aws.fault("restarts", component, seconds=seconds)
    container_starts.begin_restarts(aws.hosting.world)
    aws.run(200)

    def copies() -> int:
        shown = aws.client("sagemaker").describe_inference_component(
            InferenceComponentName=component
        )
        return int(shown["RuntimeConfig"]["CurrentCopyCount"])

    assert copies() == 1
    for _ in range(2):
        aws.run(away - 1)
        assert copies() == 1
        aws.run(1)
        assert copies() == 0
        aws.run(99)
        assert copies() == 0
        aws.run(1)
        assert copies() == 1
    aws.clear_faults()
    aws.run(2 * away)
    assert copies() == 1


def test_what_serves_restarts_from_the_fault_on(aws: HandRunAws) -> None:
    """
    An endpoint's model likewise; what is deleted in the meantime does not.
    """
    endpoint, gone = (endpoint_of(aws, make_model(aws)) for _ in range(2))
    aws.run(400)
    world = aws.hosting.world
    for name in (endpoint, gone):
        aws.fault("restarts", name)
    container_starts.begin_restarts(world)
    fleet = world.endpoints.get(endpoint).fleets["AllTraffic"]
    aws.client("sagemaker").delete_endpoint(EndpointName=gone)
    aws.run(59)
    assert fleet.serving() == 1
    aws.run(1)
    assert fleet.serving() == 0
    aws.run(100)
    assert fleet.serving() == 1


def test_weights_in_a_bucket_are_read_where_an_engine_starts(aws: HandRunAws) -> None:
    """
    Without them it has no model to load.
    """
    bucket = unique("bucket")
    put_weights(aws, bucket, "there")
    data = {"S3Uri": f"s3://{bucket}/there/", "S3DataType": "S3Prefix"}
    source = {"S3DataSource": {**data, "CompressionType": "None"}}
    model = make_model(aws, image=_VLLM, container={"ModelDataSource": source})
    endpoint = endpoint_of(aws, model)
    aws.run(400)

    assert endpoint_state(aws, endpoint)[0] == "InService"
