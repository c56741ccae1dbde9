"""
An app with each kind of scaling that the CDK can write, a stack for each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from aws_cdk import App, Duration, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm import (
    AsyncInference,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ScalableCopyCount,
)

MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
RUNTIME, ENDPOINTS, COMPONENTS = (
    "AWS/SageMaker",
    "/aws/sagemaker/Endpoints",
    "/aws/sagemaker/InferenceComponents",
)
Metric = dict[str, Any]
Kind = TypeVar("Kind")


def of(name: str, value: str) -> dict[str, str]:
    """
    Write a dimension.
    """
    return {"name": name, "value": value}


class Variant:
    """
    A model that is the variant's, scaled by instances.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._llm = LlmEndpoint(
            stack,
            "Chat",
            model=MISTRAL,
            serving=LmiVllm("0.32.0"),
            instance_type="ml.g5.12xlarge",
        )
        self.scaling = self._llm.auto_scale_instance_count(max_capacity=4)
        self.target = self.scaling.cfn_scalable_target
        self.dimensions = [
            of("EndpointName", self._llm.endpoint_name),
            of("VariantName", "AllTraffic"),
        ]


class Component:
    """
    A model on a component, scaled by copies.
    """

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        host = InferenceComponentEndpoint(
            stack,
            "Host",
            instance_type="ml.g5.2xlarge",
            max_instance_count=4,
            engine=LmiVllm("0.32.0"),
        )
        self.host = [
            of("EndpointName", host.endpoint_name),
            of("VariantName", "AllTraffic"),
        ]
        chat = host.add_model(
            "Chat", model=MISTRAL, serving=LmiVllm("0.32.0", max_model_len=4096)
        )
        self.chat = chat
        self.dimensions = [of("InferenceComponentName", chat.inference_component_name)]

    @functools.cached_property
    def scaling(self) -> ScalableCopyCount:
        """
        Its copies, from one to four.
        """
        return self.chat.auto_scale_copy_count(max_capacity=4)

    @property
    def target(self) -> appscaling.CfnScalableTarget:
        """
        What is scaled.
        """
        return self.scaling.cfn_scalable_target


Scaled = Variant | Component


def track(one: Scaled, target: float, **metric: Any) -> None:  # noqa: ANN401 - L1 properties
    """
    Track a customised metric, or the metric math of ``metrics``.
    """
    policy = appscaling.CfnScalingPolicy
    policy(
        one.stack,
        "Track",
        policy_name="Track",
        policy_type="TargetTrackingScaling",
        scaling_target_id=one.target.ref,
        target_tracking_scaling_policy_configuration=policy.TargetTrackingScalingPolicyConfigurationProperty(
            target_value=target,
            scale_in_cooldown=300,
            scale_out_cooldown=60,
            customized_metric_specification=policy.CustomizedMetricSpecificationProperty(
                **metric
            ),
        ),
    )


def math_of(expression: str, **metrics: Metric) -> list[Any]:
    """
    Write metric math: an expression over metrics by their ids.
    """
    policy = appscaling.CfnScalingPolicy
    stats = [
        policy.TargetTrackingMetricDataQueryProperty(
            id=name,
            return_data=False,
            metric_stat=policy.TargetTrackingMetricStatProperty(
                stat=given.pop("statistic"),
                metric=policy.TargetTrackingMetricProperty(
                    **{**given, "dimensions": _dimensions(given["dimensions"])}
                ),
            ),
        )
        for name, given in metrics.items()
    ]
    result = policy.TargetTrackingMetricDataQueryProperty(
        id="result", expression=expression, return_data=True
    )
    return [*stats, result]


def _dimensions(given: list[dict[str, str]]) -> list[Any]:
    kind = appscaling.CfnScalingPolicy.TargetTrackingMetricDimensionProperty
    return [kind(**each) for each in given]


def step(one: Scaled, **alarm: Any) -> None:  # noqa: ANN401 - L1 properties
    """
    Add a copy or an instance while an alarm lasts.
    """
    policy = appscaling.CfnScalingPolicy
    made = policy(
        one.stack,
        "Step",
        policy_name="Step",
        policy_type="StepScaling",
        scaling_target_id=one.target.ref,
        step_scaling_policy_configuration=policy.StepScalingPolicyConfigurationProperty(
            adjustment_type="ChangeInCapacity",
            metric_aggregation_type="Maximum",
            cooldown=60,
            step_adjustments=[
                policy.StepAdjustmentProperty(
                    metric_interval_lower_bound=0, scaling_adjustment=1
                )
            ],
        ),
    )
    cloudwatch.CfnAlarm(
        one.stack,
        "Alarm",
        alarm_actions=[made.ref],
        comparison_operator="GreaterThanOrEqualToThreshold",
        **{"evaluation_periods": 1, **alarm},
    )


def utilization(name: str, namespace: str, one: Scaled) -> Metric:
    """
    Write one of the metrics of utilization.
    """
    return {
        "metric_name": name,
        "namespace": namespace,
        "statistic": "Average",
        "dimensions": one.dimensions,
    }


def busy_gpus(stack: Stack) -> None:
    """
    The raw metric: up to 100 for each of four.
    """
    one = Variant(stack)
    track(one, 240, **utilization("GPUUtilization", ENDPOINTS, one))


def busy_copies(stack: Stack) -> None:
    """
    The normalized metric of a component.
    """
    one = Component(stack)
    track(one, 50, **utilization("GPUUtilizationNormalized", COMPONENTS, one))


def memory(stack: Stack) -> None:
    """
    What engines hold, which does not move.
    """
    one = Component(stack)
    track(one, 95, **utilization("GPUMemoryUtilizationNormalized", COMPONENTS, one))


def normalized_of_a_variant(stack: Stack) -> None:
    """
    SageMaker publishes it for endpoints of components alone.
    """
    one = Variant(stack)
    track(one, 50, **utilization("GPUUtilizationNormalized", ENDPOINTS, one))


def busy_host(stack: Stack) -> None:
    """
    The utilization of a host's instances moves copies.
    """
    one = Component(stack)
    given = utilization("GPUUtilizationNormalized", ENDPOINTS, one)
    track(one, 50, **{**given, "dimensions": one.host})


def math_over_types(stack: Stack) -> None:
    """
    Each type of a pool counts for itself.
    """
    one = Component(stack)
    given = utilization("GPUUtilizationNormalized", ENDPOINTS, one)
    of_type = [*one.host, of("InstanceType", "ml.g5.2xlarge")]
    metrics = math_of("FILL(small, 0) * 1", small={**given, "dimensions": of_type})
    track(one, 50, metrics=metrics)


def math_over_metrics(stack: Stack) -> None:
    """
    Requests a copy that are in service at once, of two metrics.
    """
    one = Component(stack)
    each = {
        name: {**utilization(metric, RUNTIME, one), "statistic": "Sum"}
        for name, metric in (("all", "Invocations"), ("failed", "Invocation4XXErrors"))
    }
    track(one, 60, metrics=math_of("all - failed", **each))


def latency(stack: Stack) -> None:
    """
    A percentile of what the model takes, in microseconds.
    """
    one = Variant(stack)
    step(
        one,
        metric_name="ModelLatency",
        namespace=RUNTIME,
        dimensions=one.dimensions,
        extended_statistic="p90",
        period=60,
        threshold=2_000_000,
    )


def first_chunk(stack: Stack) -> None:
    """
    The average until the first token.
    """
    one = Component(stack)
    step(
        one,
        metric_name="FirstChunkModelLatency",
        namespace=RUNTIME,
        dimensions=one.dimensions,
        statistic="Average",
        period=60,
        threshold=100_000,
    )


def alarm_of_math(stack: Stack) -> None:
    """
    An alarm on an expression.
    """
    one = Component(stack)
    alarm = cloudwatch.CfnAlarm
    name = "ConcurrentRequestsPerCopy"
    stat = alarm.MetricStatProperty(
        stat="Maximum",
        period=60,
        metric=alarm.MetricProperty(
            metric_name=name,
            namespace=RUNTIME,
            dimensions=[alarm.DimensionProperty(**each) for each in one.dimensions],
        ),
    )
    query = alarm.MetricDataQueryProperty
    step(
        one,
        threshold=8,
        metrics=[
            query(id="m", metric_stat=stat, return_data=False),
            query(id="e", expression="m * 2", return_data=True),
        ],
    )


def errors(stack: Stack) -> None:
    """
    Nothing fails in a run, so that it never acts.
    """
    one = Variant(stack)
    step(
        one,
        metric_name="Invocation5XXErrors",
        namespace=RUNTIME,
        dimensions=one.dimensions,
        statistic="Average",
        period=60,
        threshold=0.05,
    )


def wake(stack: Stack) -> None:
    """
    From zero, on the requests that no copy was there for.
    """
    one = Component(stack)
    one.target.min_capacity = 0
    _component(stack).add_property_override("RuntimeConfig.CopyCount", 0)
    one.scaling.scale_on_concurrency("Load", per_copy=4)
    step(
        one,
        metric_name="NoCapacityInvocationFailures",
        namespace=RUNTIME,
        dimensions=one.dimensions,
        statistic="Maximum",
        period=30,
        threshold=1,
        treat_missing_data="missing",
    )


def backlog(stack: Stack) -> None:
    """
    From zero and by what waits, for requests that are answered on S3.
    """
    batch = LlmEndpoint(
        stack,
        "Batch",
        model=MISTRAL,
        serving=LmiVllm("0.32.0"),
        instance_type="ml.g5.12xlarge",
        async_inference=AsyncInference(
            output="s3://answers/here", max_concurrent_invocations_per_instance=4
        ),
    )
    instances = batch.auto_scale_instance_count(min_capacity=0, max_capacity=4)
    instances.scale_on_backlog("Backlog", per_instance=5)


def schedules(stack: Stack) -> None:
    """
    At 08:00 in Berlin there are three.
    """
    action = appscaling.CfnScalableTarget.ScheduledActionProperty
    bounds = appscaling.CfnScalableTarget.ScalableTargetActionProperty
    Component(stack).target.scheduled_actions = [
        action(
            scheduled_action_name="Open",
            schedule="cron(0 8 ? * MON-FRI *)",
            timezone="Europe/Berlin",
            scalable_target_action=bounds(min_capacity=3, max_capacity=4),
        )
    ]


def written_by_the_cdk(stack: Stack) -> None:
    """
    The CDK's own constructs of scaling, on an endpoint of this library's.
    """
    one = Component(stack)
    target = appscaling.ScalableTarget(
        stack,
        "Target",
        service_namespace=appscaling.ServiceNamespace.SAGEMAKER,
        scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
        resource_id=f"inference-component/{one.chat.inference_component_name}",
        min_capacity=1,
        max_capacity=4,
    )
    night = appscaling.Schedule.cron(hour="20", minute="0")
    target.scale_on_schedule("Night", schedule=night, max_capacity=2)
    metric = cloudwatch.Metric(
        metric_name="Invocations",
        namespace=RUNTIME,
        dimensions_map={each["name"]: each["value"] for each in one.dimensions},
        statistic="Sum",
        period=Duration.minutes(1),
    )
    appscaling.TargetTrackingScalingPolicy(
        stack,
        "Tracked",
        scaling_target=target,
        target_value=60,
        custom_metric=metric,
        policy_name="Tracked",
    )
    adding = appscaling.StepScalingAction(
        stack,
        "Adding",
        scaling_target=target,
        policy_name="Adding",
        adjustment_type=appscaling.AdjustmentType.CHANGE_IN_CAPACITY,
        cooldown=Duration.minutes(1),
    )
    adding.add_adjustment(adjustment=1, lower_bound=0)
    alarm = metric.create_alarm(stack, "Many", threshold=90, evaluation_periods=1)
    alarm.add_alarm_action(actions.ApplicationScalingAction(adding))


def consolidating(stack: Stack) -> None:
    """
    Managed instance scaling with a policy of its own for letting instances go.
    """
    Component(stack).scaling.scale_on_concurrency("Load", per_copy=4)
    config = _config(stack)
    config.add_property_override(
        "ProductionVariants.0.ManagedInstanceScaling.ScaleInPolicy",
        {"Strategy": "CONSOLIDATION", "MaximumStepSize": 1, "CooldownInMinutes": 5},
    )


def pools(stack: Stack) -> None:
    """
    Two types by priority, and what a copy reserves on each.
    """
    Component(stack).scaling.scale_on_concurrency("Load", per_copy=4)
    config, component = _config(stack), _component(stack)
    types = ["ml.g5.2xlarge", "ml.g5.4xlarge"]
    config.add_property_deletion_override("ProductionVariants.0.InstanceType")
    config.add_property_override(
        "ProductionVariants.0.InstancePools",
        [
            {"InstanceType": each, "Priority": place}
            for place, each in enumerate(types, 1)
        ],
    )
    component.add_property_deletion_override("Specification")
    (model,) = _all(stack, sagemaker.CfnModel)
    component.add_property_override(
        "Specifications",
        [
            {
                "InstanceType": each,
                "ModelName": stack.resolve(model.attr_model_name),
                "ComputeResourceRequirements": {
                    "NumberOfAcceleratorDevicesRequired": 1,
                    "MinMemoryRequiredInMb": 1024,
                },
            }
            for each in types
        ],
    )


def cores(stack: Stack) -> None:
    """
    What hosts' processors do is known to nobody here.
    """
    one = Variant(stack)
    track(one, 80, **utilization("CPUUtilization", ENDPOINTS, one))


def own_metric(stack: Stack) -> None:
    """
    A metric of the user's.
    """
    one = Component(stack)
    track(one, 5, **utilization("QueueDepth", "Acme/Chat", one))


def of_a_new_fleet(stack: Stack) -> None:
    """
    By a dimension that no run has.
    """
    one = Variant(stack)
    given = utilization("ModelLatency", RUNTIME, one)
    wide = [*one.dimensions, of("EndpointConfigName", "new")]
    track(one, 5e6, **{**given, "dimensions": wide})


def unknown_math(stack: Stack) -> None:
    """
    A function that CloudWatch has and no run computes.
    """
    one = Component(stack)
    each = {**utilization("Invocations", RUNTIME, one), "statistic": "Sum"}
    track(one, 5, metrics=math_of("RATE(all)", all=each))


def _config(stack: Stack) -> sagemaker.CfnEndpointConfig:
    (found,) = _all(stack, sagemaker.CfnEndpointConfig)
    return found


def _component(stack: Stack) -> sagemaker.CfnInferenceComponent:
    (found,) = _all(stack, sagemaker.CfnInferenceComponent)
    return found


def _all(stack: Stack, kind: type[Kind]) -> list[Kind]:
    return [each for each in stack.node.find_all() if isinstance(each, kind)]


PREDEFINED: dict[str, Callable[[Stack], object]] = {
    "InvocationsPerInstance": lambda stack: Variant(stack).scaling.scale_on_invocations(
        "Load", per_minute=20
    ),
    "ConcurrencyPerInstance": lambda stack: Variant(stack).scaling.scale_on_concurrency(
        "Load", per_instance=4
    ),
    "InvocationsPerCopy": lambda stack: Component(stack).scaling.scale_on_invocations(
        "Load", per_minute=20
    ),
    "ConcurrencyPerCopy": lambda stack: Component(stack).scaling.scale_on_concurrency(
        "Load", per_copy=4
    ),
}
PLAYED: dict[str, Callable[[Stack], object]] = {
    **PREDEFINED,
    "BusyGpus": busy_gpus,
    "BusyCopies": busy_copies,
    "BusyHost": busy_host,
    "MathOverTypes": math_over_types,
    "MathOverMetrics": math_over_metrics,
    "Latency": latency,
    "FirstChunk": first_chunk,
    "AlarmOfMath": alarm_of_math,
    "Wake": wake,
    "Backlog": backlog,
    "Schedules": schedules,
    "WrittenByTheCdk": written_by_the_cdk,
    "Consolidating": consolidating,
    "Pools": pools,
}
STILL: dict[str, Callable[[Stack], object]] = {
    "Memory": memory,
    "NormalizedOfAVariant": normalized_of_a_variant,
    "Errors": errors,
}
TOLD: dict[str, Callable[[Stack], object]] = {
    "Cores": cores,
    "OwnMetric": own_metric,
    "OfANewFleet": of_a_new_fleet,
    "UnknownMath": unknown_math,
}


def write(folder: Path) -> Path:
    """
    Synthesise all of them into a folder.
    """
    app = App(outdir=str(folder))
    for name, fill in {**PLAYED, **STILL, **TOLD}.items():
        fill(Stack(app, name))
    app.synth()
    return folder
