"""
What a deployment that fails tells, and that the stack recovers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    ResourceRequirements,
    Tgi,
)
from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.deployments import Deployer
from tests.local import tiny_app
from tests.local.conftest import ACCOUNT, REGION

FAULTS = (
    ("no-capacity", "ml.g5.12xlarge", "due to InsufficientInstanceCapacity error"),
    (
        "never-healthy",
        tiny_app.ENDPOINT,
        "container for production variant AllTraffic did not pass the ping health",
    ),
    ("no-image", tiny_app.ENDPOINT, "Failed to pull the image"),
    ("cannot-start", tiny_app.ENDPOINT, "CannotStartContainerError"),
    ("restarts", tiny_app.ENDPOINT, "did not pass the ping health"),
)


@pytest.fixture(name="instant", scope="module")
def _instant() -> Iterator[tuple[EmbeddedAws, Deployer]]:
    with EmbeddedAws(region=REGION) as aws:
        yield aws, Deployer(aws)


def fail(deployer: Deployer, app: Path, *words: str) -> None:
    """
    Deploy, and see it fail with the words.
    """
    done = deployer.deploy(app)
    assert not done.succeeded, done.events
    assert all(word in done.events for word in words), done.events


def endpoints(aws: EmbeddedAws) -> list[Untyped]:
    """
    List the endpoints.
    """
    return list(aws.client("sagemaker").list_endpoints()["Endpoints"])


def test_an_endpoint_that_fails_rolls_back_and_can_be_deployed_again(
    instant: tuple[EmbeddedAws, Deployer], tmp_path: Path
) -> None:
    """
    The reason is the resource's, nothing is left, and the next deployment may succeed.
    """
    aws, deployer = instant
    app = tiny_app.synth(tmp_path / "app")
    for kind, target, words in FAULTS:
        aws.fault(kind, target)
        fail(deployer, app, words, "ROLLBACK_COMPLETE")
        assert endpoints(aws) == []
        aws.clear_faults()

    deployer.deploy(app).checked()
    deployer.destroy(app).checked()
    assert endpoints(aws) == []


def test_an_update_that_fails_leaves_what_served(
    instant: tuple[EmbeddedAws, Deployer], tmp_path: Path
) -> None:
    """
    The new fleet fails, and the endpoint goes on with the old one.
    """
    aws, deployer = instant
    first = tiny_app.synth(tmp_path / "first")
    second = tiny_app.synth(tmp_path / "second", batch_size="32")
    deployer.deploy(first).checked()
    before = describe(aws)
    aws.fault("never-healthy", tiny_app.ENDPOINT)

    fail(
        deployer,
        second,
        "did not pass the ping health check",
        "UPDATE_ROLLBACK_COMPLET",
    )
    after = describe(aws)
    assert after["EndpointStatus"] == "InService"
    assert after["EndpointConfigName"] == before["EndpointConfigName"]

    aws.clear_faults()
    deployer.deploy(second).checked()
    assert describe(aws)["EndpointConfigName"] != before["EndpointConfigName"]
    deployer.destroy(second).checked()


def test_a_component_that_fails_rolls_back_and_can_be_deployed_again(
    instant: tuple[EmbeddedAws, Deployer], tmp_path: Path
) -> None:
    """
    So does an endpoint with it.
    """
    aws, deployer = instant
    app = App(outdir=str(tmp_path), analytics_reporting=False)
    stack = Stack(app, "Hosted", env=Environment(account=ACCOUNT, region=REGION))
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.g5.12xlarge", endpoint_name="hosted"
    )
    host.add_model(
        "Model",
        model=HuggingFaceModel("mistralai/Mistral-7B-v0.1"),
        serving=Tgi("1.4.5"),
        resources=ResourceRequirements(accelerators=1),
    )
    app.synth()
    aws.fault("never-healthy", "hosted")
    fail(deployer, tmp_path, "did not pass the ping health check")
    assert endpoints(aws) == []

    aws.clear_faults()
    deployer.deploy(tmp_path).checked()
    deployer.destroy(tmp_path).checked()


@pytest.mark.whole
def test_in_time_a_stack_is_in_progress_fails_and_recovers(tmp_path: Path) -> None:
    """
    It takes its time, as its events tell afterwards.
    """
    with EmbeddedAws(region=REGION, clock="by hand") as aws:
        deployer = Deployer(aws)
        app = tiny_app.synth(tmp_path / "app")
        aws.fault("no-capacity", "ml.g5.12xlarge")
        fail(
            deployer,
            app,
            "due to InsufficientInstanceCapacity error",
            "ROLLBACK_COMPLETE",
        )
        assert endpoints(aws) == []

        aws.clear_faults()
        deployer.deploy(app).checked()
        deployer.destroy(app).checked()
        assert endpoints(aws) == []
        failed, deployed = stack_events(aws)
    # Half an hour without capacity, an endpoint that comes, one that goes.
    assert minutes(failed, "CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS") >= 31.0
    assert minutes(deployed, "CREATE_IN_PROGRESS", "CREATE_COMPLETE") > 5.0
    assert minutes(deployed, "DELETE_IN_PROGRESS", "DELETE_COMPLETE") > 0.25


def stack_events(aws: EmbeddedAws) -> list[dict[str, float]]:
    """
    Return when each of the tiny app's stacks, first to last, entered its states.
    """
    client = aws.client("cloudformation")
    stacks = [
        stack
        for stack in client.list_stacks()["StackSummaries"]
        if stack["StackName"] == tiny_app.STACK
    ]
    stacks.sort(key=lambda stack: stack["CreationTime"])
    return [
        {
            event["ResourceStatus"]: event["Timestamp"].timestamp()
            for event in client.describe_stack_events(StackName=stack["StackId"])[
                "StackEvents"
            ]
            if event["LogicalResourceId"] == tiny_app.STACK
        }
        for stack in stacks
    ]


def minutes(entered: dict[str, float], first: str, second: str) -> float:
    """
    Return how long a stack was in a state until another.
    """
    return (entered[second] - entered[first]) / 60


def describe(aws: EmbeddedAws) -> Untyped:
    """
    Describe the tiny app's endpoint.
    """
    return aws.client("sagemaker").describe_endpoint(EndpointName=tiny_app.ENDPOINT)
