"""
An app with every kind of policy that the constructs can make.
"""

from datetime import UTC, datetime

from aws_cdk import App, Duration, Environment, Stack, TimeZone
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ScalingStep,
)

app = App()
stack = Stack(
    app,
    "EveryPolicy",
    env=Environment(account="123456789012", region="us-east-1"),
)
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
endpoint = LlmEndpoint(
    stack, "Filled", model=ZEPHYR, serving=LmiVllm(), instance_type="ml.g5.2xlarge"
)
host = InferenceComponentEndpoint(
    stack,
    "Host",
    instance_type="ml.g5.12xlarge",
    min_instance_count=0,
    max_instance_count=2,
)
component = host.add_model(
    "Chat", model=ZEPHYR, inference_component_name="every-policy"
)
instances = endpoint.auto_scale_instance_count(max_capacity=4)
copies = component.auto_scale_copy_count(min_capacity=0, max_capacity=4)

named = {"InferenceComponentName": component.inference_component_name}
errors = cloudwatch.Metric(
    namespace="AWS/SageMaker",
    metric_name="Invocation5XXErrors",
    dimensions_map=named,
    statistic="Sum",
    unit=cloudwatch.Unit.NONE,
)
latency = cloudwatch.Metric(
    namespace="AWS/SageMaker",
    metric_name="ModelLatency",
    dimensions_map=named,
    statistic="p90",
    period=Duration.minutes(1),
)
queue = cloudwatch.Metric(namespace="Shop", metric_name="Orders")
share = cloudwatch.MathExpression(
    expression="latency / 1000 + errors",
    using_metrics={"latency": latency, "errors": errors},
    period=Duration.minutes(1),
)
for count in (instances, copies):
    count.scale_on_invocations("Invocations", per_minute=5)
    count.scale_on_metric("Queue", metric=queue, target_value=3)
    count.scale_on_metric("Latency", metric=latency, target_value=5e6)
    count.scale_on_metric("Share", metric=share, target_value=70, disable_scale_in=True)
    count.scale_by_steps(
        "Out",
        metric=share,
        steps=[
            ScalingStep(lower=0.1, change=10),
            ScalingStep(lower=0.3, change=50),
        ],
        adjustment_type=appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY,
        min_adjustment_magnitude=2,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
    )
    count.scale_by_steps(
        "In",
        metric=latency,
        steps=[
            ScalingStep(upper=5, change=2),
            ScalingStep(upper=2, change=1),
        ],
        adjustment_type=appscaling.AdjustmentType.EXACT_CAPACITY,
        evaluation_periods=5,
        datapoints_to_alarm=3,
    )
    count.scale_on_schedule(
        "Summer",
        schedule=appscaling.Schedule.cron(hour="8", minute="0"),
        time_zone=TimeZone.EUROPE_BERLIN,
        min_capacity=2,
        start=datetime(2027, 6, 1, tzinfo=UTC),
        end=datetime(2027, 9, 1, tzinfo=UTC),
    )
    count.scale_on_schedule("Once", schedule="at(2030-12-24T18:00:00)", max_capacity=3)
    count.scale_on_schedule(
        "Again", schedule="rate(1 day)", min_capacity=1, max_capacity=4
    )
    count.office_hours(
        "Night",
        opens="22:00",
        closes="06:00",
        days="MON,WED,SUN",
        min_capacity=2,
        closed_capacity=1,
    )
app.synth()
