"""
Updates in time: new fleets take over, by shares, by batches, and back on an alarm.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import TIMES, HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    LMI_28,
    make_config,
    make_endpoint,
    make_model,
    prompt,
    unique,
    words,
)
from tests.local.scaled import scaled_component, scaled_variant
from tests.local.waiting import endpoint_status, until


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(TIMES) as aws:
        yield aws


@pytest.fixture(name="sagemaker")
def _sagemaker(aws: HandRunAws) -> Untyped:
    return aws.client("sagemaker")


def config_of(aws: HandRunAws, count: int = 1, **model: Untyped) -> str:
    """
    Make a configuration of a model on some ml.g5.12xlarge.
    """
    variant = {
        "ModelName": make_model(aws, **model),
        "InstanceType": "ml.g5.12xlarge",
        "InitialInstanceCount": count,
    }
    return make_config(aws, variant=variant)


def serving(aws: HandRunAws, sagemaker: Untyped, count: int = 1) -> str:
    """
    Make an endpoint of TGI and wait until it serves.
    """
    endpoint = make_endpoint(aws, config_of(aws, count))
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    return endpoint


def alarm(aws: HandRunAws, state: str, name: str = "") -> str:
    """
    Put an alarm into a state.
    """
    cloudwatch = aws.client("cloudwatch")
    if not name:
        name = unique("alarm")
        cloudwatch.put_metric_alarm(
            AlarmName=name,
            MetricName="Invocation5XXErrors",
            Namespace="AWS/SageMaker",
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1.0,
            ComparisonOperator="GreaterThanThreshold",
        )
    cloudwatch.set_alarm_state(AlarmName=name, StateValue=state, StateReason="a test")
    return name


def who(aws: HandRunAws, endpoint: str) -> str:
    """
    Tell from the answer's form which container gave it: TGI's has brackets around it.
    """
    answer = aws.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, Body=prompt("Who?")
    )
    return "TGI" if answer["Body"].read().startswith(b"[") else "LMI"


def test_the_old_fleet_serves_until_the_new_one_does(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    400 s for the new one, then 600 more until the old one may go.
    """
    endpoint = serving(aws, sagemaker)
    config = config_of(aws, image=LMI_28)
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config,
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "ALL_AT_ONCE",
                    "WaitIntervalInSeconds": 0,
                },
                "TerminationWaitInSeconds": 600,
            }
        },
    )
    started = aws.now

    assert who(aws, endpoint) == "TGI"
    until(lambda: who(aws, endpoint) == "LMI", by=aws)
    assert endpoint_status(sagemaker, endpoint) == "Updating"
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["EndpointConfigName"] == config
    # 400 + 600, and 40 for the old copy to end.
    took = shown["LastModifiedTime"].timestamp() - started
    assert took == pytest.approx(1040.0, abs=20.0)


def test_a_canary_gets_its_share_and_an_alarm_turns_it_back(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    A quarter of the requests, until the alarm; the endpoint says why.
    """
    endpoint = serving(aws, sagemaker, 2)
    before = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
    # What went off before the deployment is none of its business.
    name = alarm(aws, "ALARM")
    alarm(aws, "OK", name)
    aws.advance(1)
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config_of(aws, 2, image=LMI_28),
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {
                    "Type": "CANARY",
                    "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 25},
                    "WaitIntervalInSeconds": 3600,
                },
                "TerminationWaitInSeconds": 3600,
            },
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name}]},
        },
    )
    until(lambda: who(aws, endpoint) == "LMI", by=aws)
    answered = [who(aws, endpoint) for _ in range(8)]
    assert answered.count("LMI") == 2

    # Over at once: that it went off counts, not that it is looked at while it is.
    alarm(aws, "ALARM", name)
    alarm(aws, "OK", name)
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["EndpointConfigName"] == before
    assert name in shown["FailureReason"]
    assert {who(aws, endpoint) for _ in range(4)} == {"TGI"}


def _shift(kind: str, **size: Untyped) -> dict[str, Untyped]:
    shift = {"Type": kind, "WaitIntervalInSeconds": 0, **size}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": shift}}


def _batch(value: int) -> dict[str, Untyped]:
    size = {"Type": "CAPACITY_PERCENT", "Value": value}
    policy = {"MaximumBatchSize": size, "WaitIntervalInSeconds": 0}
    return {"RollingUpdatePolicy": policy}


def _instances(value: int) -> dict[str, Untyped]:
    return {"Type": "INSTANCE_COUNT", "Value": value}


def _batched(value: int) -> dict[str, Untyped]:
    policy = {"MaximumBatchSize": _instances(value), "WaitIntervalInSeconds": 0}
    return {"RollingUpdatePolicy": policy}


def _percent(value: int) -> dict[str, Untyped]:
    return {"Type": "CAPACITY_PERCENT", "Value": value}


def test_guardrails_that_contradict_the_reference_are_refused() -> None:
    """
    At once, and the endpoint takes another update.
    """
    with hand_run_aws() as aws:
        variant = scaled_variant(aws, count=2)
        endpoint = variant.subject.endpoint
        client = aws.client("sagemaker")
        config = client.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]

        def update(guardrails: dict[str, Untyped]) -> None:
            client.update_endpoint(
                EndpointName=endpoint,
                EndpointConfigName=config,
                DeploymentConfig=guardrails,
            )

        for guardrails, words in (
            (_shift("CANARY"), "CanarySize is required"),
            (_shift("LINEAR"), "LinearStepSize is required"),
            (_shift("CANARY", CanarySize=_percent(51)), "1 to 50 percent .* got 51"),
            (_shift("LINEAR", LinearStepSize=_percent(9)), "10 to 50 percent .* got 9"),
            (_shift("LINEAR", LinearStepSize=_percent(51)), "got 51"),
            (_batch(4), "MaximumBatchSize must be 5 to 50 percent .* got 4"),
            (_batch(51), "got 51"),
            (
                {"AutoRollbackConfiguration": {"Alarms": [{}]}},
                "AlarmName is required for every alarm to roll back by",
            ),
            ({**_shift("ALL_AT_ONCE"), **_batch(50)}, "not both"),
            (
                _shift("CANARY", CanarySize=_instances(2)),
                "CanarySize must be 1 to 50 percent .* got 2 of 2",
            ),
            (_batched(2), "5 to 50 percent of the variant's instances, got 2 of 2"),
        ):
            with pytest.raises(ClientError, match=f"ValidationException.*{words}"):
                update(guardrails)
            assert endpoint_status(client, endpoint) == "InService"
        for guardrails in (
            _shift("CANARY", CanarySize=_percent(50)),
            _shift("LINEAR", LinearStepSize=_percent(10)),
            _shift("CANARY", CanarySize=_instances(1)),
            _batch(5),
            _batched(1),
        ):
            update(guardrails)
            for _ in range(20):
                aws.run(60)
            assert endpoint_status(client, endpoint) == "InService"


@pytest.mark.parametrize(
    "guardrails",
    [
        _shift("CANARY", CanarySize=_percent(50)),
        _shift("LINEAR", LinearStepSize=_instances(1)),
        _batch(50),
    ],
    ids=["canary", "linear", "rolling"],
)
def test_one_instance_can_only_be_replaced_at_once(
    guardrails: dict[str, Untyped],
) -> None:
    """
    It has no half.
    """
    with hand_run_aws() as aws:
        endpoint = scaled_variant(aws, count=1).subject.endpoint
        client = aws.client("sagemaker")
        config = client.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
        wanted = {"EndpointName": endpoint, "EndpointConfigName": config}
        with pytest.raises(ClientError, match="ValidationException.*50 percent"):
            client.update_endpoint(**wanted, DeploymentConfig=guardrails)

        client.update_endpoint(**wanted, DeploymentConfig=_shift("ALL_AT_ONCE"))


def test_several_variants_do_not_roll() -> None:
    """
    The guide excludes them from batches; a canary moves them.
    """
    with hand_run_aws() as aws:
        client = aws.client("sagemaker")
        variants = [
            {
                "VariantName": name,
                "ModelName": make_model(aws),
                "InstanceType": "ml.g5.xlarge",
                "InitialInstanceCount": 2,
            }
            for name in ("Blue", "Green")
        ]
        name = unique("config")
        client.create_endpoint_config(
            EndpointConfigName=name, ProductionVariants=variants
        )
        endpoint = make_endpoint(aws, name)
        for _ in range(20):
            aws.run(60)
        wanted = {"EndpointName": endpoint, "EndpointConfigName": name}
        with pytest.raises(ClientError, match="endpoints of several variants"):
            client.update_endpoint(**wanted, DeploymentConfig=_batch(50))

        canary = _shift("CANARY", CanarySize=_percent(50))
        client.update_endpoint(**wanted, DeploymentConfig=canary)


@pytest.mark.parametrize(
    ("kind", "value", "copies", "is_taken"),
    [
        ("COPY_COUNT", 1, 2, True),
        ("COPY_COUNT", 2, 2, False),
        ("COPY_COUNT", 1, 1, False),
        ("CAPACITY_PERCENT", 50, 2, True),
        ("CAPACITY_PERCENT", 51, 2, False),
        ("CAPACITY_PERCENT", 4, 2, False),
        ("CAPACITY_PERCENT", 50, 1, False),
    ],
)
def test_a_component_rolls_by_up_to_half_of_its_copies(
    kind: str, value: int, copies: int, *, is_taken: bool
) -> None:
    """
    What the constructs refuse at synth is refused here.
    """
    with hand_run_aws() as aws:
        scaled = scaled_component(aws, copies=copies)
        aws.run(1200)
        client = aws.client("sagemaker")
        size = {"Type": kind, "Value": value}
        policy = {"MaximumBatchSize": size, "WaitIntervalInSeconds": 0}
        update = {
            "InferenceComponentName": scaled.subject.component,
            "DeploymentConfig": {"RollingUpdatePolicy": policy},
        }
        if is_taken:
            client.update_inference_component(**update)
        else:
            with pytest.raises(
                ClientError, match="5 to 50 percent of the inference component's copies"
            ):
                client.update_inference_component(**update)


def test_a_deployment_is_described_while_it_is_under_way(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    With its configuration, its instances and its stage; not before it and not after.
    """
    first = config_of(aws)
    endpoint = make_endpoint(aws, first)

    def pending() -> Untyped:
        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        return shown.get("PendingDeploymentSummary")

    coming = pending()
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    assert pending() is None
    second, started = config_of(aws, 2), aws.now
    wait = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 300}
    policy = {"TrafficRoutingConfiguration": wait}
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=second,
        DeploymentConfig={"BlueGreenUpdatePolicy": policy},
    )
    growing = pending()
    until(lambda: stage_of(pending()) == "Baking", by=aws)
    baking = pending()
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)

    assert (coming["EndpointConfigName"], stage_of(coming)) == (first, "Creating")
    assert (growing["EndpointConfigName"], stage_of(growing)) == (second, "Creating")
    assert growing["StartTime"].timestamp() == pytest.approx(started, abs=1.0)
    counts = [each["ProductionVariants"][0] for each in (growing, baking)]
    assert [each["CurrentInstanceCount"] for each in counts] == [0, 2]
    assert [each["DesiredInstanceCount"] for each in counts] == [2, 2]
    assert pending() is None


def stage_of(pending: Untyped) -> str:
    """
    Return the stage of a deployment's only variant.
    """
    (variant,) = pending["ProductionVariants"]
    (status,) = variant["VariantStatus"]
    return str(status["Status"])


def test_an_endpoint_rolls_in_batches(aws: HandRunAws, sagemaker: Untyped) -> None:
    """
    Half of two instances at a time: never more than three, and one after the other.
    """
    endpoint = serving(aws, sagemaker, 2)
    config = config_of(aws, 2, image=LMI_28)
    half = {"Type": "CAPACITY_PERCENT", "Value": 50}
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config,
        DeploymentConfig={
            "RollingUpdatePolicy": {
                "MaximumBatchSize": half,
                "WaitIntervalInSeconds": 1200,
            }
        },
    )
    until(lambda: who(aws, endpoint) == "LMI", by=aws)
    answered = [who(aws, endpoint) for _ in range(4)]
    assert answered.count("LMI") == 2
    until(lambda: endpoint_status(sagemaker, endpoint) == "InService", by=aws)
    shown = sagemaker.describe_endpoint(EndpointName=endpoint)
    assert shown["EndpointConfigName"] == config
    assert shown["ProductionVariants"][0]["CurrentInstanceCount"] == 2
    assert {who(aws, endpoint) for _ in range(4)} == {"LMI"}


@pytest.mark.parametrize(
    ("size", "counts"),
    [({}, [2, 4]), ({"RollbackMaximumBatchSize": _instances(1)}, [2, 3, 4])],
)
def test_a_rollback_has_batches_of_its_own(
    aws: HandRunAws, sagemaker: Untyped, size: dict[str, Untyped], counts: list[int]
) -> None:
    """
    If nothing is said, all the old instances come back at once.
    """
    endpoint, tripped = serving(aws, sagemaker, 4), alarm(aws, "OK")
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config_of(aws, 4, image=LMI_28),
        DeploymentConfig={
            "RollingUpdatePolicy": {
                "MaximumBatchSize": _instances(2),
                "WaitIntervalInSeconds": 1200,
                **size,
            },
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": tripped}]},
        },
    )
    until(lambda: who(aws, endpoint) == "LMI", by=aws)
    aws.advance(100)
    alarm(aws, "ALARM", tripped)
    seen = [2]
    while endpoint_status(sagemaker, endpoint) != "InService":
        aws.advance(10)
        shown = sagemaker.describe_endpoint(EndpointName=endpoint)
        there = shown["ProductionVariants"][0]["CurrentInstanceCount"]
        seen += [there] * (there != seen[-1])

    assert seen == counts
    assert {who(aws, endpoint) for _ in range(4)} == {"TGI"}


def test_batches_are_of_the_instances_that_are_retained(aws: HandRunAws) -> None:
    """
    Of four two may move at a time; of the one that the configuration says, none.
    """
    scaled = scaled_variant(aws)
    scaled.capacity.set_desired(4, "why")
    aws.run(600)
    batch = {"Type": "INSTANCE_COUNT", "Value": 2}
    update = {
        "EndpointName": scaled.subject.endpoint,
        "EndpointConfigName": config_of(aws),
        "DeploymentConfig": {
            "RollingUpdatePolicy": {
                "MaximumBatchSize": batch,
                "WaitIntervalInSeconds": 0,
            }
        },
    }
    client = aws.client("sagemaker")

    assert words(client.update_endpoint, **update) == (
        "MaximumBatchSize must be 5 to 50 percent of the variant's instances, got 2 of "
        "1."
    )
    client.update_endpoint(**update, RetainAllVariantProperties=True)
    until(lambda: scaled.capacity.is_settled, by=aws)
    assert (scaled.capacity.desired, scaled.capacity.running) == (4, 4)


def test_a_rollback_answers_from_the_old_fleet_alone(
    aws: HandRunAws, sagemaker: Untyped
) -> None:
    """
    From the moment that its alarm goes off, before the new fleet is gone.
    """
    endpoint, tripped = serving(aws, sagemaker, 2), alarm(aws, "OK")
    half = {"Type": "CAPACITY_PERCENT", "Value": 50}
    linear = {"Type": "LINEAR", "LinearStepSize": half, "WaitIntervalInSeconds": 600}
    sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config_of(aws, 2, image=LMI_28),
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": linear},
            "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": tripped}]},
        },
    )
    aws.run(600)
    assert {who(aws, endpoint) for _ in range(4)} == {"TGI", "LMI"}
    alarm(aws, "ALARM", tripped)
    while endpoint_status(sagemaker, endpoint) == "Updating":
        aws.run(1)

    assert endpoint_status(sagemaker, endpoint) == "RollingBack"
    assert {who(aws, endpoint) for _ in range(4)} == {"TGI"}
