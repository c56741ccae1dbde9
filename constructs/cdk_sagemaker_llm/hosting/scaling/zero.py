"""
Scale to zero: what wakes a component that has no copy, what that costs, and what the
hosts of its copies allow.

The set is that of the SageMaker guide, endpoint-auto-scaling-zero-instances, with the
alarm of AWS's notebook: the guide's own goes off at the second request alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.scaling.target_base import contents_of
from cdk_sagemaker_llm.hosting.variants.variant import MinimumNotChosen
from cdk_sagemaker_llm.models import S3Model
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from cdk_sagemaker_llm.fit.placement import ResourceRequirements
    from cdk_sagemaker_llm.hosting.models.definitions import ModelDefinition
    from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling
    from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase
    from cdk_sagemaker_llm.hosting.variants.variant_definition import VariantDefinition

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

SCALES_PAST_ROOM = Rule("LLM203", "scaling can ask for more copies than fit")
HALF_TO_ZERO = Rule(
    "LLM305",
    "of scaling to zero one half is missing: the component's or its host's",
    "SageMaker developer guide, endpoint-auto-scaling-zero-instances",
)


def wake(target: ScalableTargetBase, inference_component_name: str) -> StepScaling:
    """
    Start a copy when a request finds none.
    """
    from aws_cdk import aws_applicationautoscaling as appscaling  # noqa: PLC0415 - who scales to zero has it
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - 0.2 s to load

    from cdk_sagemaker_llm.hosting.scaling.stepping import (  # noqa: PLC0415 - as above
        ScalingStep,
        StepScaling,
    )

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
        # The guide adds one: who asks again while the first copy starts gets a second,
        # which nobody needs. A schedule's minimum counts all the same.
        steps=[ScalingStep(lower=1, change=1)],
        adjustment_type=appscaling.AdjustmentType.EXACT_CAPACITY,
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


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyHost:
    """
    The instances on which copies run, and the model that they run.

    Args:
        resources: What each copy reserves, on each type of instance in turn.
    """

    hosts: VariantDefinition | None
    resources: Sequence[ResourceRequirements]
    model: ModelDefinition | None

    def zero_findings(self, subject: str) -> list[Finding]:
        """
        Check that the instances may go to zero, or are meant to stay.
        """
        if self.hosts is None:
            return []
        bounds = self.hosts.variant.managed_instance_scaling
        if bounds is not None and not isinstance(bounds, MinimumNotChosen):
            return []
        return [
            HALF_TO_ZERO.finding(
                f"{subject} lets the copies go to zero, and nothing says whether the "
                "host's instances may",
                "pass min_instance_count=0 to the host, or min_instance_count=1 where "
                "an instance is meant to stay",
            )
        ]

    def room_findings(self, subject: str, copies: int | None) -> list[Finding]:
        """
        Check a bound against the copies that fit the most instances there may be.
        """
        if self.hosts is None or copies is None or is_unresolved(copies):
            return []
        fleets = self.hosts.fleets
        if not fleets or not all(needs.is_known for needs in self.resources):
            return []
        pairs = zip(fleets, self.resources, strict=True)
        most = max(fleet.alone(needs) for fleet, needs in pairs)
        if copies <= most:
            return []
        return [
            SCALES_PAST_ROOM.finding(
                f"{subject} is {copies}, but at most {most} copies fit the instances "
                "even if no other model runs there",
                "raise max_instance_count",
            )
        ]

    def waking_findings(self) -> list[Finding]:
        """
        Say how long requests fail while a component wakes.
        """
        if self.hosts is None:
            return []
        from cdk_sagemaker_llm.simulation.fleet.times import (  # noqa: PLC0415 - who scales to zero has it
            FleetTimes,
            seconds,
            start_seconds,
        )

        times, kind = FleetTimes(), str(self.hosts.hardware or "")
        parts = {"the alarm": float(_ALARM_SECONDS)}
        bounds = self.hosts.variant.managed_instance_scaling
        # Where instances stay, only the copy has to start.
        if bounds is None or bounds.min_instance_count <= 0:
            parts["an instance"] = seconds(times.provision, kind)
            parts["its image"] = seconds(times.image_pull, kind)
        size = None if self.model is None else self.model.weight_bytes
        if self.model is None or size is None:
            parts["the start with its weights"] = seconds(times.model_start, kind)
        else:
            source = "s3" if isinstance(self.model.model, S3Model) else "hub"
            what = f"the start with {size / _GIGABYTE:.1f} GB of weights"
            parts[what] = start_seconds(size, source=source)
        spans = [f"{_minutes(time)} for {what}" for what, time in parts.items()]
        return [
            WAKING.finding(
                f"waking from zero takes about {_minutes(sum(parts.values()))} minutes "
                f"({', '.join(spans)}), and requests fail until then",
                "have clients try again, or keep min_capacity=1",
            )
        ]


def _minutes(time: float) -> str:
    return f"{max(1, round(time / _MINUTE))}"
