"""
A variant and a component that can be scaled, in an AWS whose time is run by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.scaling.capacity import capacity_of
from cdk_sagemaker_llm.local.scaling.meter import Subject
from tests.local.by_hand import HandRunAws
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    prompt,
)

_DIMENSIONS = {
    "endpoint": "sagemaker:variant:DesiredInstanceCount",
    "inference-component": "sagemaker:inference-component:DesiredCopyCount",
}
_PREDEFINED = {
    "endpoint": "SageMakerVariantInvocationsPerInstance",
    "inference-component": (
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
    ),
}


class Scaled:
    """
    One scalable target.

    Args:
        aws: The AWS it is in.

        subject: The variant or component.
    """

    def __init__(self, aws: HandRunAws, subject: Subject) -> None:
        kind = "inference-component" if subject.component else "endpoint"
        self.aws = aws
        self.subject = subject
        self.resource_id = (
            f"inference-component/{subject.component}"
            if subject.component
            else f"endpoint/{subject.endpoint}/variant/{subject.variant}"
        )
        self.key = {
            "ServiceNamespace": "sagemaker",
            "ResourceId": self.resource_id,
            "ScalableDimension": _DIMENSIONS[kind],
        }
        self.scaling = aws.client("application-autoscaling")
        self.cloudwatch = aws.client("cloudwatch")
        self.capacity = capacity_of(aws.hosting, self.resource_id)
        self._predefined = _PREDEFINED[kind]
        self._runtime = aws.client("sagemaker-runtime")

    def register(self, least: int, most: int, **settings: Untyped) -> None:
        """
        Register it with bounds.
        """
        self.scaling.register_scalable_target(
            **self.key, MinCapacity=least, MaxCapacity=most, **settings
        )

    def track(self, target: float, **settings: Untyped) -> dict[str, Any]:
        """
        Put a policy of target tracking on its predefined metric.
        """
        metric = {"PredefinedMetricType": self._predefined}
        return self._track(target, PredefinedMetricSpecification=metric, **settings)

    def track_own(self, target: float, metric: dict[str, Any]) -> dict[str, Any]:
        """
        Put a policy of target tracking on a metric of the client's.
        """
        return self._track(target, CustomizedMetricSpecification=metric)

    def step(self, name: str = "Steps", **settings: Untyped) -> str:
        """
        Put a policy of steps, plus one if nothing else is said; return its ARN.
        """
        configuration = {
            "AdjustmentType": "ChangeInCapacity",
            "StepAdjustments": [
                {"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}
            ],
            "Cooldown": 60,
            **settings,
        }
        answer = self.scaling.put_scaling_policy(
            **self.key,
            PolicyName=name,
            PolicyType="StepScaling",
            StepScalingPolicyConfiguration=configuration,
        )
        return str(answer["PolicyARN"])

    def _track(self, target: float, **settings: Untyped) -> dict[str, Any]:
        answer: dict[str, Any] = self.scaling.put_scaling_policy(
            **self.key,
            PolicyName="Traffic",
            PolicyType="TargetTrackingScaling",
            TargetTrackingScalingPolicyConfiguration={
                "TargetValue": target,
                **settings,
            },
        )
        return answer

    def activities(self, **settings: Untyped) -> list[dict[str, Any]]:
        """
        Return what Application Auto Scaling tells, the oldest first.
        """
        found = self.scaling.describe_scaling_activities(
            ServiceNamespace="sagemaker", ResourceId=self.resource_id, **settings
        )
        activities: list[dict[str, Any]] = found["ScalingActivities"]
        return activities[::-1]

    def alarms(self) -> dict[str, dict[str, Any]]:
        """
        Return every metric alarm by its name.
        """
        found = self.cloudwatch.describe_alarms()["MetricAlarms"]
        return {alarm["AlarmName"]: alarm for alarm in found}

    def ask(self) -> None:
        """
        Have one request come and go.
        """
        endpoint, variant, component = self.subject
        traffic = self.aws.hosting.world.traffic
        traffic.begin((endpoint, variant, component or None)).end(200)

    def invoke(self) -> bytes:
        """
        Send one request through the runtime.
        """
        named = {"InferenceComponentName": self.subject.component}
        answer = self._runtime.invoke_endpoint(
            EndpointName=self.subject.endpoint,
            ContentType="application/json",
            Body=prompt("Once", max_new_tokens=4),
            **(named if self.subject.component else {}),
        )
        body: bytes = answer["Body"].read()
        return body

    def ask_for(
        self,
        seconds: float,
        per_minute: int,
        ask: Callable[[], object] | None = None,
    ) -> None:
        """
        Have requests come for so long, evenly, and time pass with them.
        """
        for _ in range(round(seconds / 60 * per_minute)):
            (ask or self.ask)()
            self.aws.run(60 / per_minute)


def scaled_variant(aws: HandRunAws, count: int = 1) -> Scaled:
    """
    Deploy a model on an endpoint of so many instances.
    """
    variant = {
        "ModelName": make_model(aws),
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": count,
    }
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))
    _wait(aws, endpoint)
    return Scaled(aws, Subject(endpoint, "AllTraffic"))


def scaled_component(aws: HandRunAws, copies: int = 1) -> Scaled:
    """
    Deploy a model as a component of so many copies, on a host that can go to zero.
    """
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 2}
    variant = {"InstanceType": "ml.g5.12xlarge", "ManagedInstanceScaling": scaling}
    endpoint = make_endpoint(aws, make_config(aws, variant=variant))
    _wait(aws, endpoint)
    component = make_component(aws, endpoint, copies=copies)
    return Scaled(aws, Subject(endpoint, "AllTraffic", component))


def _wait(aws: HandRunAws, endpoint: str) -> None:
    sagemaker = aws.client("sagemaker")
    for _ in range(60):
        described = sagemaker.describe_endpoint(EndpointName=endpoint)
        if described["EndpointStatus"] == "InService":
            return
        aws.run(60)
    raise AssertionError(f"{endpoint} did not come into service")
