"""
Reading what the constructs of this library make of scaling: every policy.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    ScalableCopyCount,
    ScalingStep,
)
from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedApp, read_hosted
from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import MathQuery, Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    Policy,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")


def scaling_of(app: HostedApp) -> Scaling:
    """
    Return how the only model of an app is scaled.
    """
    (variant,) = app.variants
    scaling = variant.models[0].scaling
    assert scaling is not None
    return scaling


class Scaled:
    """
    A component of an app that can be read.
    """

    def __init__(self, folder: Path) -> None:
        self._app = App(outdir=str(folder))
        self.stack = Stack(self._app, "Test")
        host = InferenceComponentEndpoint(
            self.stack,
            "Host",
            instance_type="ml.g5.2xlarge",
            min_instance_count=1,
            max_instance_count=2,
        )
        self.component = host.add_model("Chat", model=ZEPHYR)
        self.name = "Test/HostChatComponentC8DED098"

    def copies(self, least: int = 1) -> ScalableCopyCount:
        """
        Scale its copies.
        """
        return self.component.auto_scale_copy_count(min_capacity=least, max_capacity=2)

    def metric(self, name: str, statistic: str = "Average") -> cloudwatch.Metric:
        """
        Name one of its metrics.
        """
        component = self.component.inference_component_name
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name=name,
            dimensions_map={"InferenceComponentName": component},
            statistic=statistic,
            period=Duration.minutes(1),
        )

    def query(self, name: str, statistic: str, period: int = 60) -> MetricQuery:
        """
        Return what it is to be read as.
        """
        return MetricQuery(Metric.of_component(name, self.name), statistic, period)

    def read(self) -> HostedApp:
        """
        Synthesise and read it.
        """
        return read_hosted(Path(self._app.synth().directory))

    def policies(self) -> dict[str, Policy]:
        """
        Read its policies, of which none may be left out.
        """
        found = self.read()
        assert found.left_out == ()
        return {each.name: each for each in scaling_of(found).policies}


@pytest.fixture(name="scaled")
def _scaled(tmp_path: Path) -> Scaled:
    return Scaled(tmp_path / "cdk.out")


def test_scale_to_zero_is_read(scaled: Scaled) -> None:
    """
    What tracks, and what wakes.
    """
    scaled.copies(0).scale_on_concurrency("Load", per_copy=4, disable_scale_in=True)
    found = scaled.read()
    scaling = scaling_of(found)

    assert found.left_out == ()
    assert scaling.bounds == Bounds(minimum=0, maximum=2)
    policies = {each.name: each for each in scaling.policies}
    tracking = policies["Load"]
    assert isinstance(tracking, TargetTracking)
    assert tracking.disable_scale_in
    waking = policies["Wake"]
    assert isinstance(waking, StepScaling)
    assert waking.adjustments == (StepAdjustment(lower=0, upper=None, change=1),)
    # Who asks again while the first copy starts gets no second one.
    assert waking.adjustment_type == "ExactCapacity"
    assert waking.cooldown == 60
    assert waking.alarm == AlarmRule(
        name="HostChatComponentScalingWakeAlarm21CFFE61",
        query=scaled.query("NoCapacityInvocationFailures", "Maximum", 30),
        comparison="GreaterThanOrEqualToThreshold",
        threshold=1,
        evaluation_periods=1,
        datapoints_to_alarm=1,
        treat_missing="missing",
    )


def test_metrics_and_math_are_read(scaled: Scaled) -> None:
    """
    Those that a run computes.
    """
    copies = scaled.copies()
    errors, invocations = (
        scaled.metric(name, "Sum") for name in ("Invocation5XXErrors", "Invocations")
    )
    copies.scale_on_metric(
        "Latency", metric=scaled.metric("ModelLatency"), target_value=5
    )
    formula = cloudwatch.MathExpression(
        expression="errors / invocations",
        using_metrics={"errors": errors, "invocations": invocations},
        period=Duration.minutes(1),
    )
    copies.scale_on_metric("Share", metric=formula, target_value=0.5)
    copies.scale_by_steps(
        "Out", metric=formula, steps=[ScalingStep(lower=0.1, change=1)]
    )
    found = scaled.policies()
    latency, share, out = (found[name] for name in ("Latency", "Share", "Out"))

    assert isinstance(latency, TargetTracking)
    assert latency.query == scaled.query("ModelLatency", "Average")
    assert isinstance(share, TargetTracking)
    assert isinstance(share.query, MathQuery)
    assert isinstance(out, StepScaling)
    assert out.alarm.query == share.query


def test_steps_are_read(scaled: Scaled) -> None:
    """
    Both ways, and a percentage.
    """
    copies = scaled.copies()
    load = scaled.metric("ConcurrentRequestsPerCopy", "Maximum")
    copies.scale_by_steps(
        "Out",
        metric=load,
        steps=[ScalingStep(lower=8, change=10), ScalingStep(lower=24, change=50)],
        adjustment_type=appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY,
        min_adjustment_magnitude=2,
    )
    copies.scale_by_steps(
        "In",
        metric=load,
        steps=[ScalingStep(upper=2, change=-1)],
        evaluation_periods=15,
    )
    found = scaled.policies()
    out, back = found["Out"], found["In"]

    assert isinstance(out, StepScaling)
    assert isinstance(back, StepScaling)
    assert (out.adjustment_type, out.minimum_magnitude) == (
        "PercentChangeInCapacity",
        2,
    )
    assert out.adjustments == (
        StepAdjustment(lower=0, upper=16, change=10),
        StepAdjustment(lower=16, upper=None, change=50),
    )
    assert back.adjustments == (StepAdjustment(lower=None, upper=0, change=-1),)
    assert (back.alarm.comparison, back.alarm.threshold) == (
        "LessThanOrEqualToThreshold",
        2,
    )
    assert back.alarm.evaluation_periods == 15


def test_schedules_are_read(scaled: Scaled) -> None:
    """
    With their zone and their span.
    """
    copies = scaled.copies()
    copies.scale_on_concurrency("Load", per_copy=4)
    copies.office_hours(
        "Office",
        opens="08:00",
        closes="18:00",
        time_zone="Europe/Berlin",
        min_capacity=2,
        closed_capacity=0,
    )
    copies.scale_on_schedule(
        "Summer",
        schedule="rate(1 day)",
        min_capacity=1,
        start=datetime(2027, 6, 1, tzinfo=UTC),
        end=datetime(2027, 9, 1, tzinfo=UTC),
    )
    found = scaled.read()

    assert found.left_out == ()
    assert scaling_of(found).schedules == (
        ScheduledAction(
            name="OfficeOpens",
            schedule="cron(0 8 ? * MON-FRI *)",
            time_zone="Europe/Berlin",
            minimum=2,
            maximum=2,
        ),
        ScheduledAction(
            name="OfficeCloses",
            schedule="cron(0 18 ? * MON-FRI *)",
            time_zone="Europe/Berlin",
            minimum=0,
            maximum=0,
        ),
        ScheduledAction(
            name="Summer",
            schedule="rate(1 day)",
            time_zone="UTC",
            minimum=1,
            start=datetime(2027, 6, 1, tzinfo=UTC),
            end=datetime(2027, 9, 1, tzinfo=UTC),
        ),
    )


def test_what_no_run_computes_is_told(scaled: Scaled) -> None:
    """
    By the policy's name, and why; the others are played out.
    """
    copies = scaled.copies()
    copies.scale_on_concurrency("Load", per_copy=4)
    orders = cloudwatch.Metric(namespace="Shop", metric_name="Orders")
    copies.scale_on_metric("Orders", metric=orders, target_value=3)
    found = scaled.read()

    assert [each.partition(": ")[2] for each in found.left_out] == [
        "it follows Orders of Shop, which no run computes"
    ]
    assert [each.name for each in scaling_of(found).policies] == ["Load"]


def test_instances_are_read(tmp_path: Path) -> None:
    """
    Of a model that fills them.
    """
    app = App(outdir=str(tmp_path / "cdk.out"))
    stack = Stack(app, "Test")
    endpoint = LlmEndpoint(stack, "Chat", model=ZEPHYR, instance_type="ml.g5.2xlarge")
    instances = endpoint.auto_scale_instance_count(max_capacity=4)
    load = cloudwatch.Metric(
        namespace="AWS/SageMaker",
        metric_name="ConcurrentRequestsPerModel",
        dimensions_map={
            "EndpointName": endpoint.endpoint_name,
            "VariantName": "AllTraffic",
        },
        statistic="Maximum",
        period=Duration.seconds(10),
    )
    instances.scale_by_steps("Out", metric=load, steps=[ScalingStep(lower=8, change=1)])
    instances.scale_on_schedule("Rush", schedule="rate(1 day)", min_capacity=2)
    found = read_hosted(Path(app.synth().directory))
    scaling = scaling_of(found)

    assert found.left_out == ()
    (out,) = scaling.policies
    assert isinstance(out, StepScaling)
    assert isinstance(out.alarm.query, MetricQuery)
    assert out.alarm.query.period == 10
    assert [each.name for each in scaling.schedules] == ["Rush"]
