"""
Whole templates of what uses much at once, each reviewed as code is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from aws_cdk import Duration, Stack, Validations
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from cdk_sagemaker_llm import (
    AlarmOptions,
    AsyncInference,
    AsyncTopic,
    AvailabilityZoneBalance,
    Canary,
    ConnectionParameter,
    DataCapture,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmDashboard,
    LlmEndpoint,
    LoraAdapter,
    Observability,
    PlacementStrategy,
    PrivateAccess,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    S3Model,
    ScaleInPolicy,
    ScaleInStrategy,
    ScalingStep,
    ShadowVariant,
    TensorRtLlm,
    Tgi,
    Vllm,
)
from tests.unit.hosting.expected import KEY_ARN
from tests.unit.hosting.scaling.made import metric
from tests.unit.hosting.vpc.closed import a_chat, a_function, a_vpc
from tests.unit.hosting.written import warnings_of, written
from tests.unit.mirroring_rule_examples import mirrored
from tests.unit.staging_rule_examples import PINNED, staged

GPT2 = HuggingFaceModel("gpt2")
ONE = ResourceRequirements(accelerators=1)


def key(stack: Stack, id: str = "Key") -> kms.IKey:
    """
    Refer to a key.
    """
    return kms.Key.from_key_arn(stack, id, KEY_ARN)


def caller(stack: Stack) -> iam.Role:
    """
    Define a role of an application.
    """
    return iam.Role(
        stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
    )


def waiting(stack: Stack) -> None:
    """
    Define an endpoint whose requests wait, with all that goes with it.
    """
    answers = s3.Bucket(stack, "Answers", encryption_key=kms.Key(stack, "Own"))
    done = sns.Topic(stack, "Done", master_key=key(stack))
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=S3Model("s3://weights/gpt2/", kms_key=key(stack, "OfWeights")),
        serving=Vllm("0.20.2"),
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(
            output=answers,
            failure="s3://failures/here",
            inputs="s3://requests",
            kms_key=key(stack, "OfAnswers"),
            success_topic=done,
            error_topic=sns.Topic(stack, "Failed"),
            include_inference_response_in=[AsyncTopic.SUCCESS],
            max_concurrent_invocations_per_instance=4,
        ),
        data_capture=DataCapture(
            bucket="s3://captured/here", kms_key=key(stack, "OfCapture")
        ),
    )
    scaling = llm.auto_scale_instance_count(min_capacity=0, max_capacity=3)
    scaling.scale_on_backlog("Backlog", per_instance=5)
    llm.add_alarms(backlog_per_instance=10, instances=1)
    role = caller(stack)
    llm.endpoint.grant_invoke_async(role)


def at_once(stack: Stack) -> None:
    """
    Define an endpoint that answers at once, scaled in each way and watched.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.xlarge",
        instance_count=2,
        endpoint_name="chat",
        shadow=ShadowVariant(share=0.5),
        observability=Observability(detailed=True),
        rollout=Canary(
            instances=1,
            rollback_on=RollbackAlarms(
                invocation_5xx_error_count=9,
                mid_stream_error_rate=0.1,
                first_chunk_latency=Duration.millis(1500),
                model_latency=Duration.seconds(9),
                latency_statistic="p99.9",
                period=Duration.minutes(2),
                evaluation_periods=3,
            ),
        ),
    )
    scaling = llm.auto_scale_instance_count(min_capacity=2, max_capacity=8)
    scaling.scale_on_invocations("Requests", per_minute=60)
    scaling.scale_on_concurrency(
        "UnderWay", per_instance=3, scale_in_cooldown=Duration.seconds(61)
    )
    scaling.scale_on_metric("Orders", metric=metric(), target_value=2.5)
    scaling.scale_by_steps(
        "Steps",
        metric=metric("Visits", statistic="p95"),
        steps=[
            ScalingStep(lower=0.1, upper=0.3, change=10),
            ScalingStep(lower=0.3, change=25),
        ],
        adjustment_type=appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY,
        min_adjustment_magnitude=2,
    )
    scaling.office_hours(
        "Office",
        opens="07:30",
        closes="19:00",
        min_capacity=4,
        closed_capacity=2,
        time_zone="Europe/Berlin",
        days="SAT-MON",
    )
    scaling.scale_on_schedule(
        "Feast",
        schedule="cron(0 6 24 12 ? *)",
        min_capacity=6,
        start=datetime(2027, 1, 1, 12, tzinfo=UTC),
        end=datetime(2028, 1, 1),  # noqa: DTZ001 - taken for UTC
    )
    topic = sns.Topic(stack, "OnCall")
    llm.add_alarms(
        "Strict",
        server_error_rate=0.01,
        client_error_rate=0.2,
        first_chunk_latency_seconds=1.5,
        gpu_memory_percent=95,
        concurrency=8,
        instances=4,
        options=AlarmOptions(
            period=Duration.minutes(2),
            evaluation_periods=4,
            datapoints_to_alarm=2,
            alarm_actions=[actions.SnsAction(topic)],
            ok_actions=[actions.SnsAction(topic)],
            insufficient_data_actions=[actions.SnsAction(topic)],
        ),
    )
    role = caller(stack)
    llm.grant_invoke(role)
    LlmDashboard(stack, "Dashboard", endpoints=[llm])
    ConnectionParameter(
        stack, "Connection", connection=llm.connection, parameter_name="/llm/chat"
    ).grant_read(role)


def shared(stack: Stack) -> None:
    """
    Define an endpoint that models share, with adapters and down to zero.
    """
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.g5.12xlarge",
        min_instance_count=0,
        max_instance_count=3,
    )
    base = host.add_model(
        "Base",
        model=HuggingFaceModel("Qwen/Qwen2.5-1.5B-Instruct"),
        serving=Vllm("0.20.2", enable_lora=True),
        resources=ResourceRequirements(copies=2, accelerators=1, cpus=4),
        placement_strategy=PlacementStrategy.SPREAD,
        availability_zone_balance=AvailabilityZoneBalance(max_imbalance=1),
        rollout=Rolling(percent=50, rollback_on=["Bad"]),
        inference_component_name="base",
    )
    for name in ("a", "b"):
        base.add_adapter(
            name.upper(),
            artifact=LoraAdapter(
                f"s3://adapters/tenants/{name}/", kms_key=key(stack, f"Of{name}")
            ),
        )
    scaling = base.auto_scale_copy_count(min_capacity=0, max_capacity=4)
    scaling.scale_on_concurrency("UnderWay", per_copy=4)
    base.add_alarms(
        copies=1,
        concurrency=9,
        gpu_memory_percent=99,
        no_capacity_failures=5,
        first_chunk_latency_seconds=2,
        client_error_rate=0.3,
    )
    role = caller(stack)
    base.grant_invoke(role)
    base.grant_scale(role, scalable_target=True)
    LlmDashboard(stack, "Dashboard", endpoints=[host])


def of_several_types(stack: Stack) -> None:
    """
    Define hosts of several types, with a copy for each.
    """
    pools = [
        InstancePool("ml.g5.12xlarge", priority=1),
        InstancePool("ml.g6.12xlarge", priority=2),
    ]
    host = InferenceComponentEndpoint(
        stack,
        "Host",
        capacity=InstanceCapacity(
            pools=pools, provision_timeout=Duration.seconds(1200)
        ),
        max_instance_count=3,
        scale_in_policy=ScaleInPolicy(
            strategy=ScaleInStrategy.CONSOLIDATION,
            maximum_step_size=2,
            cooldown=Duration.minutes(7),
        ),
    )
    component = host.add_model(
        "It",
        model=GPT2,
        resources={
            "ml.g5.12xlarge": ResourceRequirements(accelerators=2),
            "ml.g6.12xlarge": ResourceRequirements(accelerators=4),
        },
    )
    component.add_alarms()
    host.endpoint.add_alarms(instances=2)


def closed(stack: Stack) -> None:
    """
    Define a closed VPC in which a function calls a model.
    """
    vpc = a_vpc(stack)
    chat = a_chat(stack, vpc)
    asker = a_function(stack, vpc)
    chat.grant_invoke(asker)
    PrivateAccess(stack, "Access", vpc=vpc, services=["monitoring"])


def brought(stack: Stack) -> None:
    """
    Bring a model, and compile engines.
    """
    engines = TensorRtLlm("0.26.0", tensor_parallel_degree=4)
    made = staged(stack, PINNED, compile=engines, instance_type="ml.g5.12xlarge")
    LlmEndpoint(
        stack,
        "Llm",
        model=made.model,
        serving=made.serving,
        instance_type="ml.g5.12xlarge",
    )


def mirrored_here(stack: Stack) -> None:
    """
    Copy an image, and serve by it.
    """
    copy = mirrored(stack)
    LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=Vllm("0.20.2", image=copy.image),
        instance_type="ml.g5.xlarge",
    )


EVERY = (waiting, at_once, shared, of_several_types, closed, brought, mirrored_here)
DEFINITIONS: dict[str, Callable[[Stack], None]] = {one.__name__: one for one in EVERY}


def acknowledged_in(stack: Stack) -> dict[str, dict[str, str]]:
    """
    Return the rules of linters that are acknowledged, by where, with the reasons.
    """
    key = Validations.ACKNOWLEDGED_RULES_METADATA_KEY
    return {
        each.node.path: {k: v for one in data for k, v in one.items()}
        for each in stack.node.find_all()
        if (data := [one.data for one in each.node.metadata if one.type == key])
    }


@pytest.mark.parametrize("name", DEFINITIONS)
def test_each_template_is_the_reviewed_one(
    name: str, stack: Stack, snapshot: SnapshotAssertion
) -> None:
    """
    ``make snapshots`` accepts it as it is now.
    """
    DEFINITIONS[name](stack)
    found = {
        "resources": written(stack),
        "reasons": acknowledged_in(stack),
        "warnings": warnings_of(stack),
    }

    assert found == snapshot(extension_class=JSONSnapshotExtension)
