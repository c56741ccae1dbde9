"""
Scale to zero: what wakes a component that has no copy, and what that costs.

The set is that of the SageMaker guide, endpoint-auto-scaling-zero-instances, with the
alarm of AWS's notebook: the guide's own goes off at the second request alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Duration

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.scaling.contents import contents_of
from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling
from cdk_sagemaker_llm.hosting.scaling.steps import ScalingStep
from cdk_sagemaker_llm.models import S3Model

if TYPE_CHECKING:
    from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
    from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase

WAKING = Rule(
    "LLM402",
    "requests fail for minutes while what scaled to zero wakes",
    "SageMaker developer guide, endpoint-auto-scaling-zero-instances",
)
NEVER_SLEEPS = Rule(
    "LLM403", "the minimum is zero, and nothing takes the last copy away"
)

# Measured on an ml.g5.xlarge, July 2026: from the first refused request to the alarm.
_ALARM_SECONDS = 67
_MINUTE = 60
_GIGABYTE = 1e9


def wake(target: ScalableTargetBase, inference_component_name: str) -> StepScaling:
    """
    Start a copy when a request finds none.

    Args:
        target: The component's copies.

        inference_component_name: The component.
    """
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - 0.2 s to load

    return StepScaling(
        target,
        "Wake",
        target=target,
        metric=cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name="NoCapacityInvocationFailures",
            dimensions_map={"InferenceComponentName": inference_component_name},
            statistic="Maximum",
            period=Duration.seconds(30),
        ),
        steps=[ScalingStep(lower=1, change=1)],
        cooldown=Duration.seconds(60),
        datapoints_to_alarm=1,
    )


def never_sleeps_findings(target: ScalableTargetBase) -> list[Finding]:
    """
    Check, when all is defined, that something takes copies away.
    """
    contents = contents_of(target)
    if contents.least != 0 or contents.goes_down:
        return []
    return [
        NEVER_SLEEPS.finding(
            "min_capacity is 0, and no policy or schedule takes copies away",
            "call scale_on_concurrency",
        )
    ]


def waking_findings(
    model: ModelDefinition | None, instance_type: str | None, *, has_instances: bool
) -> list[Finding]:
    """
    Say how long requests fail while a component wakes.

    Args:
        model: What is loaded; ``None`` if it is not known.

        instance_type: Where; ``None`` if it is not known.

        has_instances: Whether instances stay, so that only the copy has to start.
    """
    from cdk_sagemaker_llm.simulation.fleet.times import (  # noqa: PLC0415 - who scales to zero has it
        FleetTimes,
        seconds,
        start_seconds,
    )

    times, kind = FleetTimes(), instance_type or ""
    size = None if model is None else model.weight_bytes
    start = (
        seconds(times.model_start, kind)
        if size is None
        else start_seconds(size, source=_source(model))
    )
    parts = {"the alarm": float(_ALARM_SECONDS)}
    if not has_instances:
        parts["an instance"] = seconds(times.provision, kind)
        parts["its image"] = seconds(times.image_pull, kind)
    weights = "its weights" if size is None else f"{size / _GIGABYTE:.1f} GB of weights"
    parts[f"the start with {weights}"] = start
    told = ", ".join(f"{_minutes(time)} for {what}" for what, time in parts.items())
    return [
        WAKING.finding(
            f"waking from zero takes about {_minutes(sum(parts.values()))} minutes "
            f"({told}), and requests fail until then",
            "have clients try again, or keep min_capacity=1",
        )
    ]


def _source(model: ModelDefinition | None) -> str:
    is_on_s3 = model is not None and isinstance(model.model, S3Model)
    return "s3" if is_on_s3 else "hub"


def _minutes(time: float) -> str:
    return f"{max(1, round(time / _MINUTE))}"
