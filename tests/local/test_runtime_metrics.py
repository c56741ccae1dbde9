"""
What clients read of the runtime's metrics; the time is run by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.core.model_instances import model_data

from cdk_sagemaker_llm.local.aws.settings import Latency
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.by_hand import NOON, HandRunAws, hand_run_aws
from tests.local.scaled import Scaled, scaled_component, scaled_variant


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


def _dimensions(scaled: Scaled) -> list[dict[str, str]]:
    subject = scaled.subject
    if subject.component:
        return [{"Name": "InferenceComponentName", "Value": subject.component}]
    return [
        {"Name": "VariantName", "Value": subject.variant},
        {"Name": "EndpointName", "Value": subject.endpoint},
    ]


def _values(scaled: Scaled, name: str, statistic: str, period: int) -> list[float]:
    # Of the ten minutes since noon, in order.
    found = scaled.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=name,
        Dimensions=_dimensions(scaled),
        StartTime=datetime.fromtimestamp(NOON, UTC),
        EndTime=datetime.fromtimestamp(NOON + 600, UTC),
        Period=period,
        Statistics=[statistic],
    )
    points = sorted(found["Datapoints"], key=lambda point: point["Timestamp"])
    return [point[statistic] for point in points]


def test_requests_are_counted_by_the_minute(aws: HandRunAws) -> None:
    """
    Three in the first minute, none in the second, two in the third, by two instances.
    """
    variant = scaled_variant(aws, count=2)
    for count in (3, 0, 2):
        for _ in range(count):
            variant.invoke()
        aws.run(60)

    assert _values(variant, "Invocations", "Sum", 60) == [3.0, 0.0, 2.0]
    assert _values(variant, "InvocationsPerInstance", "Sum", 60) == [1.5, 0.0, 1.0]
    assert _values(variant, "ModelLatency", "SampleCount", 60) == [3.0, 2.0]
    assert _values(variant, "Invocation4XXErrors", "Average", 60) == [0.0, 0.0]


def test_what_was_published_is_not_kept_for_ever(aws: HandRunAws) -> None:
    """
    moto keeps a list of all that was ever made; of the runtime's metrics it has none.
    """
    scaled_variant(aws)
    aws.run(120)
    before = _made_by_moto()

    aws.run(3600)

    assert _made_by_moto() == before


def _made_by_moto() -> int:
    models: list[Untyped] = list(model_data["cloudwatch"].values())
    return sum(len(model.instances_tracked) for model in models)


def test_metric_data_reads_dimensions_in_any_order(aws: HandRunAws) -> None:
    """
    Invocations of the one variant, not those of the other.
    """
    variant, other = scaled_variant(aws), scaled_variant(aws)
    variant.invoke()
    for _ in range(4):
        other.invoke()
    aws.run(60)

    def asked(dimensions: list[dict[str, str]]) -> list[float]:
        metric = {
            "Namespace": "AWS/SageMaker",
            "MetricName": "Invocations",
            "Dimensions": dimensions,
        }
        stat = {"Metric": metric, "Period": 60, "Stat": "Sum"}
        found = variant.cloudwatch.get_metric_data(
            MetricDataQueries=[{"Id": "m", "MetricStat": stat}],
            StartTime=datetime.fromtimestamp(NOON, UTC),
            EndTime=datetime.fromtimestamp(NOON + 600, UTC),
        )
        values: list[float] = found["MetricDataResults"][0]["Values"]
        return values

    assert asked(_dimensions(variant)) == [1.0]
    assert asked(_dimensions(other)[::-1]) == [4.0]


def test_metric_data_is_read_as_asked(aws: HandRunAws) -> None:
    """
    By the client's own metrics: order, unit, dimensions or none, and by an expression.
    """
    cloudwatch = aws.client("cloudwatch")
    for value, till in ((1.0, "1"), (2.0, "2"), (4.0, "1")):
        datum: dict[str, Any] = {"MetricName": "Orders", "Value": value}
        datum["Unit"] = "Count"
        datum["Dimensions"] = [{"Name": "Till", "Value": till}]
        cloudwatch.put_metric_data(Namespace="Shop", MetricData=[datum])
        aws.run(60)
    orders: dict[str, Any] = {"Namespace": "Shop", "MetricName": "Orders"}

    def asked(
        scan_by: str = "TimestampAscending", end: float = 600, **settings: Untyped
    ) -> list[tuple[str, list[float]]]:
        stat = {"Metric": orders, "Period": 60, "Stat": "Sum", **settings}
        found = cloudwatch.get_metric_data(
            MetricDataQueries=[
                {"Id": "m", "MetricStat": stat, "ReturnData": False},
                {"Id": "e", "Expression": "m", "Label": "All of it"},
            ],
            StartTime=datetime.fromtimestamp(NOON, UTC),
            EndTime=datetime.fromtimestamp(NOON + end, UTC),
            ScanBy=scan_by,
        )
        return [(one["Label"], one["Values"]) for one in found["MetricDataResults"]]

    assert asked() == [("All of it", [1.0, 2.0, 4.0])]
    assert asked("TimestampDescending") == [("All of it", [4.0, 2.0, 1.0])]
    assert asked(end=120) == [("All of it", [1.0, 2.0])]
    assert asked(Period=120) == [("All of it", [3.0, 4.0])]
    assert asked(Unit="Bytes") == [("All of it", [])]
    first = [{"Name": "Till", "Value": "1"}]
    assert asked(Metric={**orders, "Dimensions": first}) == [("All of it", [1.0, 4.0])]
    with pytest.raises(ClientError, match="must not equal"):
        asked(end=0)


def test_what_the_container_refuses_is_an_error(aws: HandRunAws) -> None:
    """
    One of two requests, so half of them; what the service refuses is none.
    """
    variant = scaled_variant(aws)
    runtime = aws.client("sagemaker-runtime")
    variant.invoke()
    with pytest.raises(ClientError, match="ModelError"):
        runtime.invoke_endpoint(EndpointName=variant.subject.endpoint, Body=b"{}")
    with pytest.raises(ClientError, match="not found"):
        runtime.invoke_endpoint(EndpointName="unknown", Body=b"{}")
    aws.run(60)

    assert _values(variant, "Invocations", "Sum", 60) == [2.0]
    assert _values(variant, "Invocation4XXErrors", "Average", 60) == [0.5]
    assert _values(variant, "InvocationModelErrors", "Sum", 60) == [1.0]
    assert _values(variant, "Invocation5XXErrors", "Sum", 60) == [0.0]


def test_a_stream_publishes_its_first_part(aws: HandRunAws) -> None:
    """
    And no error, since it came to its end.
    """
    variant = scaled_variant(aws)
    answer = aws.client("sagemaker-runtime").invoke_endpoint_with_response_stream(
        EndpointName=variant.subject.endpoint,
        Body=b'{"inputs": "Once", "stream": true, "parameters": {"max_new_tokens": 9}}',
    )
    assert answer["ContentType"]
    aws.run(60)

    assert _values(variant, "FirstChunkLatency", "SampleCount", 60) == [1.0]
    assert _values(variant, "MidStreamErrors", "Sum", 60) == [0.0]


def test_a_component_without_copies_publishes_refusals_alone(aws: HandRunAws) -> None:
    """
    In ten seconds; where copies serve there are none, and zeros of the rest.
    """
    component = scaled_component(aws)
    aws.run(60)
    component.scaling.register_scalable_target(
        **component.key, MinCapacity=0, MaxCapacity=0
    )
    for _ in range(2):
        with pytest.raises(ClientError, match="has no capacity"):
            component.invoke()
    aws.run(240)

    assert _values(component, "Invocations", "Sum", 60) == [0.0]
    assert _values(component, "ConcurrentRequestsPerCopy", "Maximum", 10) == [0.0] * 6
    assert _values(component, "NoCapacityInvocationFailures", "Sum", 10) == [2.0]


def test_metrics_are_listed_once_each(aws: HandRunAws) -> None:
    """
    However many values they have, with their dimensions.
    """
    variant = scaled_variant(aws)
    variant.invoke()
    aws.run(3600)
    variant.invoke()
    aws.run(60)

    found = variant.cloudwatch.list_metrics(
        Namespace="AWS/SageMaker", MetricName="ModelLatency"
    )["Metrics"]

    assert len(found) == 1
    named = {one["Name"]: one["Value"] for one in found[0]["Dimensions"]}
    assert named == {
        "EndpointName": variant.subject.endpoint,
        "VariantName": variant.subject.variant,
    }


def test_a_day_is_kept(aws: HandRunAws) -> None:
    """
    Of every metric of the runtime; those that ended before go as a whole.
    """
    variant, gone = scaled_variant(aws), scaled_variant(aws)
    aws.run(60)
    assert _values(gone, "Invocations", "Sum", 60) == [0.0]
    aws.client("sagemaker").delete_endpoint(EndpointName=gone.subject.endpoint)
    aws.run(26 * 3600)
    # The first value of another metric is when what is old goes.
    variant.invoke()
    aws.run(60)

    assert _values(variant, "Invocations", "Sum", 60) == []
    assert _values(gone, "Invocations", "Sum", 60) == []


def test_without_time_metrics_are_published_when_they_are_read() -> None:
    """
    The default: with the time on the wall, the running minute too, and no zeros.
    """
    with hand_run_aws(takes_time=False) as aws:
        variant = scaled_variant(aws)
        variant.invoke()
        aws.run(120)
        variant.invoke()

        assert _values(variant, "Invocations", "Sum", 60) == [1.0, 1.0]
        variant.invoke()
        assert _values(variant, "Invocations", "Sum", 60) == [1.0, 2.0]


def test_accelerators_are_published_idle(aws: HandRunAws) -> None:
    """
    A variant with a model in its way, a component in its own.
    """
    variant, component = scaled_variant(aws), scaled_component(aws)
    aws.run(120)

    def read(scaled: Scaled, namespace: str, name: str) -> list[tuple[float, str]]:
        found = scaled.cloudwatch.get_metric_statistics(
            Namespace=namespace,
            MetricName=name,
            Dimensions=_dimensions(scaled),
            StartTime=datetime.fromtimestamp(NOON, UTC),
            EndTime=datetime.fromtimestamp(NOON + 120, UTC),
            Period=60,
            Statistics=["Average"],
        )
        return [(point["Average"], point["Unit"]) for point in found["Datapoints"]]

    of_variant = read(variant, "/aws/sagemaker/Endpoints", "GPUUtilization")
    assert of_variant == [(0.0, "Percent")] * 2
    space, name = "/aws/sagemaker/InferenceComponents", "GPUUtilizationNormalized"
    assert read(component, space, name) == [(0.0, "Percent")] * 2


def test_an_alarm_reads_percentiles_of_latencies(aws: HandRunAws) -> None:
    """
    It goes off by what nine tenths of the requests took.
    """
    variant = scaled_variant(aws)
    variant.cloudwatch.put_metric_alarm(
        AlarmName="Slow",
        Namespace="AWS/SageMaker",
        MetricName="ModelLatency",
        Dimensions=_dimensions(variant),
        ExtendedStatistic="p90",
        Period=60,
        EvaluationPeriods=1,
        Threshold=0.0,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
    )
    variant.invoke()
    aws.run(180)

    (alarm,) = variant.cloudwatch.describe_alarms(AlarmNames=["Slow"])["MetricAlarms"]
    assert alarm["StateValue"] == "ALARM"
    assert alarm["ExtendedStatistic"] == "p90"


@pytest.mark.parametrize(("seconds", "is_late"), [(60.0, False), (60.5, True)])
def test_a_container_has_a_minute(
    aws: HandRunAws, seconds: float, *, is_late: bool
) -> None:
    """
    Then the client is told, in the service's words.
    """
    variant = scaled_variant(aws)
    aws.hosting.world.latency = Latency(first_token=seconds, per_token=0.0)
    if not is_late:
        assert variant.invoke()
        return
    with pytest.raises(ClientError) as caught:
        variant.invoke()
    answer: dict[str, Any] = {**caught.value.response}
    message = (
        "Your invocation timed out while waiting for a response from container "
        "primary. Review the latency metrics for each container in Amazon CloudWatch, "
        "resolve the issue, and try again."
    )
    assert (answer["Error"]["Code"], answer["OriginalStatusCode"]) == ("ModelError", 0)
    assert answer["OriginalMessage"] == message
    assert answer["Error"]["Message"].startswith(
        f'Received server error (0) from primary with message "{message}". See log '
    )
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 424


def test_a_body_has_an_end(aws: HandRunAws) -> None:
    """
    Of six mebibytes; what is longer has a status and no code.
    """
    variant = scaled_variant(aws)
    runtime = aws.client("sagemaker-runtime")
    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint(
            EndpointName=variant.subject.endpoint, Body=b" " * 6_291_457
        )
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413
    assert caught.value.response["Error"] == {
        "Code": "413",
        "Message": "HTTP content length exceeded 6291456 bytes.",
    }
    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint(
            EndpointName=variant.subject.endpoint, Body=b" " * 6_291_456
        )
    assert caught.value.response["Error"]["Code"] == "ModelError"
