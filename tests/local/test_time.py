"""
Endpoints and components in an embedded AWS where things take time, by boto3.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local import EmbeddedAws, Latency
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import Fleet, FleetTimes, Pool
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
)
from tests.local.waiting import endpoint_status, until

# A state of 200 s is there for more than a second: slow machines must see it.
SPEED = 120.0
TIMES = FleetTimes(
    provision=200.0,
    image_pull=100.0,
    model_start=100.0,
    drain=40.0,
    release=720.0,
    refusal=400.0,
    retry=0.0,
)


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand", times=TIMES) as aws:
        yield aws


@pytest.fixture(name="fast_aws", scope="module")
def _fast_aws() -> Iterator[EmbeddedAws]:
    """
    One whose time passes by itself.
    """
    with EmbeddedAws(
        speed=SPEED, times=TIMES, latency=Latency(first_token=40.0, per_token=0.0)
    ) as aws:
        yield aws


@pytest.fixture(autouse=True)
def _no_faults(aws: EmbeddedAws) -> Iterator[None]:
    yield
    aws.clear_faults()


def refused(words: str) -> Untyped:
    """
    Expect the service's words.
    """
    return pytest.raises(ClientError, match=re.escape(words))


def component_status(sagemaker: Untyped, name: str) -> str:
    """
    Return a component's state.
    """
    shown = sagemaker.describe_inference_component(InferenceComponentName=name)
    return str(shown["InferenceComponentStatus"])


def wait(sagemaker: Untyped, what: str, endpoint: str) -> None:
    """
    Use boto3's own waiter, as often as suits an accelerated clock.
    """
    sagemaker.get_waiter(what).wait(
        EndpointName=endpoint, WaiterConfig={"Delay": 0.1, "MaxAttempts": 300}
    )


def settle(aws: EmbeddedAws, endpoint: str) -> str:
    """
    Let time pass until an endpoint changes no more, and return its state.
    """
    sagemaker = aws.client("sagemaker")
    until(lambda: not endpoint_status(sagemaker, endpoint).endswith("ing"), by=aws)
    return endpoint_status(sagemaker, endpoint)


def serve(aws: EmbeddedAws, endpoint: str) -> None:
    """
    Let time pass until an endpoint serves.
    """
    assert settle(aws, endpoint) == "InService"


def model_endpoint(aws: EmbeddedAws, **settings: Untyped) -> str:
    """
    Create an endpoint of a model on one ml.g5.12xlarge.
    """
    variant = {
        "ModelName": make_model(aws),
        "InstanceType": "ml.g5.12xlarge",
        **settings,
    }
    return make_endpoint(aws, make_config(aws, variant=variant))


def invoke(aws: EmbeddedAws, endpoint: str, **settings: Untyped) -> Untyped:
    """
    Send a prompt.
    """
    return aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/json",
        Body=prompt("Who is it?"),
        **settings,
    )


def test_an_endpoint_takes_its_time_and_the_waiter_sees_it(
    fast_aws: EmbeddedAws,
) -> None:
    """
    Creating for 400 s: it cannot be changed nor deleted nor called, then it serves.
    """
    sagemaker = fast_aws.client("sagemaker")
    endpoint = model_endpoint(fast_aws)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["EndpointStatus"] == "Creating"
    assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 0
    assert shown["ProductionVariants"][0]["DesiredInstanceCount"] == 1
    with refused("Cannot update in-progress endpoint"):
        sagemaker.delete_endpoint(EndpointName=endpoint)
    with refused("Cannot update in-progress endpoint"):
        sagemaker.update_endpoint(
            EndpointName=endpoint, EndpointConfigName=shown["EndpointConfigName"]
        )
    with refused(f"Endpoint {endpoint} of account 123456789012 not found."):
        invoke(fast_aws, endpoint)

    wait(sagemaker, "endpoint_in_service", endpoint)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    took = shown["LastModifiedTime"] - shown["CreationTime"]
    assert took.total_seconds() == pytest.approx(400.0, abs=0.01)
    assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 1
    assert invoke(fast_aws, endpoint)["Body"].read()

    sagemaker.delete_endpoint(EndpointName=endpoint)
    assert endpoint_status(sagemaker, endpoint) == "Deleting"
    with refused("Cannot update in-progress endpoint"):
        sagemaker.delete_endpoint(EndpointName=endpoint)
    wait(sagemaker, "endpoint_deleted", endpoint)


def test_more_instances_come_after_a_while(
    aws: EmbeddedAws, sagemaker: Untyped
) -> None:
    """
    Updating, with both counts told apart, until the new ones serve.
    """
    endpoint = model_endpoint(aws)
    serve(aws, endpoint)
    wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 3}]
    sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=wanted
    )

    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["EndpointStatus"] == "Updating"
    assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 1
    assert shown["ProductionVariants"][0]["DesiredInstanceCount"] == 3
    with refused("Cannot update in-progress endpoint"):
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=endpoint, DesiredWeightsAndCapacities=wanted
        )
    serve(aws, endpoint)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 3


def test_the_log_is_the_one_that_the_simulation_computes(
    aws: EmbeddedAws, sagemaker: Untyped
) -> None:
    """
    From one instance to four and back: the same steps at the same distances.
    """
    endpoint = model_endpoint(aws)
    for count in (4, 1):
        serve(aws, endpoint)
        wanted = [{"VariantName": "AllTraffic", "DesiredInstanceCount": count}]
        sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=endpoint, DesiredWeightsAndCapacities=wanted
        )
    serve(aws, endpoint)
    with urllib.request.urlopen(f"{aws.url}/_embedded/log") as answer:  # noqa: S310 - ours
        log = json.load(answer)[endpoint]["AllTraffic"]
    start = log[0]["time"]
    asked = [
        (step["time"] - start, step["after"])
        for step in log
        if step["what"] == "desired instances"
    ]

    timeline = Timeline()
    fleet = Fleet(timeline, pools=[Pool("ml.g5.12xlarge")], instances=1, times=TIMES)
    fleet.add("AllTraffic", None)
    for moment, count in asked:
        timeline.run_until(moment)
        fleet.set_instances(count)
    timeline.run_until(asked[-1][0] + 1000.0)
    assert len(fleet.log) == 23
    assert [(s["what"], s["before"], s["after"], s["why"]) for s in log] == [
        (s.what, s.before, s.after, s.why) for s in fleet.log
    ]
    assert [s["time"] - start for s in log] == pytest.approx(
        [s.time for s in fleet.log], abs=0.01
    )


def test_a_component_comes_scales_and_goes(
    aws: EmbeddedAws, sagemaker: Untyped
) -> None:
    """
    Each state, and what is refused in it.
    """
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
    config = make_config(aws, variant={"ManagedInstanceScaling": scaling})
    endpoint = make_endpoint(aws, config)
    with refused("with status Creating"):
        make_component(aws, endpoint)
    serve(aws, endpoint)
    name = make_component(aws, endpoint)
    assert component_status(sagemaker, name) == "Creating"
    with refused("CREATE_IN_PROGRESS"):
        sagemaker.delete_inference_component(InferenceComponentName=name)
    with refused("has no capacity to process this request"):
        invoke(aws, endpoint, InferenceComponentName=name)
    until(lambda: component_status(sagemaker, name) == "InService", by=aws)
    assert invoke(aws, endpoint, InferenceComponentName=name)["Body"].read()

    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 0}
    )
    with refused("UPDATE_RC_IN_PROGRESS"):
        sagemaker.delete_inference_component(InferenceComponentName=name)
    until(lambda: component_status(sagemaker, name) == "InService", by=aws)
    with refused("has no capacity to process this request"):
        invoke(aws, endpoint, InferenceComponentName=name)
    # Its instance is idle for twelve minutes, then it goes as well.
    until(lambda: instances(sagemaker, endpoint) == 0, by=aws)

    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 1}
    )
    shown = sagemaker.describe_inference_component(InferenceComponentName=name)
    assert shown["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 0}
    # One whose instance is still on its way answers as one without copies.
    with refused("has no capacity to process this request"):
        invoke(aws, endpoint, InferenceComponentName=name)
    until(lambda: component_status(sagemaker, name) == "InService", by=aws)
    sagemaker.delete_inference_component(InferenceComponentName=name)
    assert component_status(sagemaker, name) == "Deleting"
    with refused("Cannot delete endpoint with inference component associated"):
        sagemaker.delete_endpoint(EndpointName=endpoint)
    until(lambda: not listed(sagemaker, endpoint), by=aws)
    sagemaker.delete_endpoint(EndpointName=endpoint)


def instances(sagemaker: Untyped, endpoint: str) -> int:
    """
    Return how many instances run.
    """
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    return int(shown["ProductionVariants"][0]["CurrentInstanceCount"])


def listed(sagemaker: Untyped, endpoint: str) -> list[Untyped]:
    """
    List an endpoint's components.
    """
    found = sagemaker.list_inference_components(EndpointNameEquals=endpoint)
    return list(found["InferenceComponents"])


@pytest.mark.parametrize("fault", ["", "no-image"])
def test_a_stack_is_deleted_while_it_is_made(
    aws: EmbeddedAws, sagemaker: Untyped, fault: str
) -> None:
    """
    What is under way comes to its end or fails, nothing more is made, and all goes.
    """
    endpoint, bucket, name = unique("endpoint"), unique("bucket"), unique("stack")
    config = make_config(
        aws, variant={"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    )
    if fault:
        aws.fault(fault, endpoint)
    client = aws.client("cloudformation")
    made = {"EndpointName": endpoint, "EndpointConfigName": config}
    resources = {
        "Endpoint": {"Type": "AWS::SageMaker::Endpoint", "Properties": made},
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "DependsOn": "Endpoint",
            "Properties": {"BucketName": bucket},
        },
    }
    stack = client.create_stack(
        StackName=name, TemplateBody=json.dumps({"Resources": resources})
    )["StackId"]

    def status() -> str:
        return str(client.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"])

    client.delete_stack(StackName=name)
    client.delete_stack(StackName=name)
    until(lambda: status() == "DELETE_COMPLETE", by=aws)

    events = client.describe_stack_events(StackName=stack)["StackEvents"]
    assert {e["LogicalResourceId"] for e in events} == {name, "Endpoint"}
    assert [
        e["ResourceStatus"] for e in events[::-1] if e["LogicalResourceId"] == name
    ] == ["CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"]
    with refused("Could not find endpoint"):
        endpoint_status(sagemaker, endpoint)


def test_a_stack_is_not_deleted_while_it_is_updated(
    aws: EmbeddedAws, sagemaker: Untyped
) -> None:
    """
    CloudFormation's words, which are others than those of an update.
    """
    endpoint, name = unique("endpoint"), unique("stack")
    variant = {"ModelName": make_model(aws), "InstanceType": "ml.g5.12xlarge"}
    client = aws.client("cloudformation")

    def template() -> str:
        made = {
            "EndpointName": endpoint,
            "EndpointConfigName": make_config(aws, variant=variant),
        }
        kind = "AWS::SageMaker::Endpoint"
        return json.dumps({"Resources": {"E": {"Type": kind, "Properties": made}}})

    def status() -> str:
        return str(client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])

    stack = client.create_stack(StackName=name, TemplateBody=template())["StackId"]
    until(lambda: status() == "CREATE_COMPLETE", by=aws)
    client.update_stack(StackName=name, TemplateBody=template())
    words = f"Stack [{stack}] cannot be deleted while in status UPDATE_IN_PROGRESS"
    with refused(words):
        client.delete_stack(StackName=name)
    until(lambda: status() == "UPDATE_COMPLETE", by=aws)
    client.delete_stack(StackName=name)
    until(lambda: endpoint not in names(sagemaker), by=aws)


def names(sagemaker: Untyped) -> set[str]:
    """
    Return the names of all endpoints.
    """
    return {e["EndpointName"] for e in sagemaker.list_endpoints()["Endpoints"]}


def test_an_answer_takes_the_time_of_the_model(fast_aws: EmbeddedAws) -> None:
    """
    40 s are a tenth of a second here.
    """
    sagemaker = fast_aws.client("sagemaker")
    endpoint = model_endpoint(fast_aws)
    wait(sagemaker, "endpoint_in_service", endpoint)
    before = fast_aws.now
    invoke(fast_aws, endpoint)["Body"].read()

    assert 40.0 <= fast_aws.now - before < 40.0 + 2.0 * SPEED


def test_a_model_that_takes_longer_than_a_minute_is_given_up(
    fast_aws: EmbeddedAws,
) -> None:
    """
    A stream may take longer.
    """
    sagemaker = fast_aws.client("sagemaker")
    endpoint = model_endpoint(fast_aws)
    wait(sagemaker, "endpoint_in_service", endpoint)
    fast_aws.fault("slow", endpoint, seconds=30.0)

    with refused("Your invocation timed out while waiting for a response"):
        invoke(fast_aws, endpoint)
    streamed = fast_aws.client(
        "sagemaker-runtime"
    ).invoke_endpoint_with_response_stream(
        EndpointName=endpoint, Body=prompt("Who is it?", stream=True)
    )
    assert sum("PayloadPart" in event for event in streamed["Body"]) > 1


class TestFailures:
    """
    What fails in time, and how it is recovered.
    """

    def test_a_container_that_never_gets_healthy(
        self, aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        Failed after the health check's time-out; only deletion is left.
        """
        endpoint = model_endpoint(aws, ContainerStartupHealthCheckTimeoutInSeconds=600)
        aws.fault("never-healthy", endpoint)
        assert settle(aws, endpoint) == "Failed"

        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert shown["FailureReason"] == (
            "The primary container for production variant AllTraffic did not pass the "
            "ping health check. Please check CloudWatch logs for this endpoint."
        )
        took = shown["LastModifiedTime"] - shown["CreationTime"]
        assert took.total_seconds() == pytest.approx(900.0, abs=0.01)
        with refused("DeleteEndpoint is the only operation"):
            sagemaker.update_endpoint(
                EndpointName=endpoint, EndpointConfigName=shown["EndpointConfigName"]
            )
        sagemaker.delete_endpoint(EndpointName=endpoint)
        until(lambda: endpoint not in names(sagemaker), by=aws)

    def test_no_capacity(self, aws: EmbeddedAws, sagemaker: Untyped) -> None:
        """
        Known after the provisioning time-out of the variant.
        """
        aws.fault("no-capacity", "ml.g5.12xlarge")
        endpoint = model_endpoint(aws, VariantInstanceProvisionTimeoutInSeconds=600)
        assert settle(aws, endpoint) == "Failed"

        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        assert "InsufficientInstanceCapacity" in shown["FailureReason"]
        took = shown["LastModifiedTime"] - shown["CreationTime"]
        assert took.total_seconds() == pytest.approx(600.0, abs=0.01)

    def test_pools_try_the_next_type(
        self, aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        An endpoint with two types comes up on the second one.
        """
        aws.fault("no-capacity", "ml.g6.12xlarge")
        pools = [
            {"InstanceType": "ml.g6.12xlarge", "Priority": 1},
            {"InstanceType": "ml.g5.12xlarge", "Priority": 2},
        ]
        config = unique("config")
        variant = {
            "VariantName": "AllTraffic",
            "ModelName": make_model(aws),
            "InstancePools": pools,
            "InitialInstanceCount": 1,
        }
        sagemaker.create_endpoint_config(
            EndpointConfigName=config, ProductionVariants=[variant]
        )
        endpoint = make_endpoint(aws, config)

        serve(aws, endpoint)

    def test_a_container_that_restarts_is_away_and_comes_back(
        self, aws: EmbeddedAws, sagemaker: Untyped
    ) -> None:
        """
        The endpoint stays InService; clients see that nothing answers.
        """
        endpoint = model_endpoint(aws)
        serve(aws, endpoint)
        aws.fault("restarts", endpoint, seconds=200.0)

        def is_away() -> bool:
            try:
                invoke(aws, endpoint)
            except ClientError as error:
                assert "has no instances to process" in str(error)  # noqa: PT017 - polled
                return True
            return False

        until(is_away, by=aws)
        assert endpoint_status(sagemaker, endpoint) == "InService"
        until(lambda: not is_away(), by=aws)

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("never-healthy", "did not pass the ping health check"),
            ("no-image", "Failed to pull the image"),
            ("cannot-start", "CannotStartContainerError"),
        ],
    )
    def test_a_component_that_fails_says_why_and_can_be_replaced(
        self, aws: EmbeddedAws, sagemaker: Untyped, kind: str, words: str
    ) -> None:
        """
        Failed, with the reason; after deletion another one comes up in its place.
        """
        endpoint = make_endpoint(aws, make_config(aws))
        serve(aws, endpoint)
        aws.fault(kind, endpoint)
        name = make_component(aws, endpoint)
        until(lambda: component_status(sagemaker, name) == "Failed", by=aws)
        shown = sagemaker.describe_inference_component(InferenceComponentName=name)
        assert words in shown["FailureReason"]

        aws.clear_faults()
        sagemaker.delete_inference_component(InferenceComponentName=name)
        until(lambda: not listed(sagemaker, endpoint), by=aws)
        again = make_component(aws, endpoint, copies=8)
        until(lambda: component_status(sagemaker, again) == "InService", by=aws)
