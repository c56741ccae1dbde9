"""
Application Auto Scaling by target tracking: instances of a variant, copies of a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.backlog import (
    BacklogScaling,
    backlog_findings,
    unpublished_findings,
)
from cdk_sagemaker_llm.hosting.limits import (
    IMPOSSIBLE_COUNT,
    bounds_findings,
    count_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.serving.rules import OUTSIDE_RANGE

if TYPE_CHECKING:
    from aws_cdk import Duration

# The service's default of variants; that of components is not documented, so that
# both are always written out.
_COOLDOWN_SECONDS = 300


class ScalableTarget(Construct):
    """
    A number that Application Auto Scaling may change, within bounds.

    No role is needed: scaling uses the service-linked role
    ``AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint``, which AWS makes
    the first time.

    Args:
        resource_id: What is scaled, such as ``endpoint/<name>/variant/AllTraffic``.

        scalable_dimension: Which number of it, such as
            ``sagemaker:variant:DesiredInstanceCount``.

        min_capacity: The least, at least 1.

        max_capacity: The most.

    Raises:
        ValueError: If the bounds are wrong.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        resource_id: str,
        scalable_dimension: str,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        report(scope, id, self._capacity_findings(min_capacity, max_capacity))
        super().__init__(scope, id)
        self.cfn_scalable_target = appscaling.CfnScalableTarget(
            self,
            "Resource",
            service_namespace="sagemaker",
            resource_id=resource_id,
            scalable_dimension=scalable_dimension,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        """The resource itself, for what this class does not offer."""

    def _capacity_findings(self, least: int, most: int) -> list[Finding]:
        return capacity_findings(least, most)

    @checked
    def scale_to_track_metric(
        self,
        id: str,
        *,
        predefined_metric: str,
        target_value: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep one of the service's predefined metrics near a target.
        """
        return TargetTrackingScaling(
            self,
            id,
            target=self,
            predefined_metric=predefined_metric,
            target_value=target_value,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )


class TargetTrackingScaling(Construct):
    """
    A policy that keeps a metric near a target by changing a scalable target.

    Args:
        target: What is changed.

        predefined_metric: The metric's name, such as
            ``SageMakerVariantInvocationsPerInstance``.

        target_value: The value to keep, above 0, in the metric's own unit.

        scale_in_cooldown:
            How long to wait after one scale-in before the next.
            If left out, it is 300 seconds.

        scale_out_cooldown:
            How long capacity that was just added counts toward the next scale-out.
            If left out, it is 300 seconds.

    Raises:
        ValueError: If the target value is not above 0, or a time of no whole seconds.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        target: ScalableTarget,
        predefined_metric: str,
        target_value: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> None:
        found = [
            *_value_findings(target_value),
            *time_findings("scale_in_cooldown", scale_in_cooldown),
            *time_findings("scale_out_cooldown", scale_out_cooldown),
        ]
        report(scope, id, found)
        super().__init__(scope, id)
        tracking = appscaling.CfnScalingPolicy
        self.cfn_scaling_policy = tracking(
            self,
            "Resource",
            # Names need to be unique within the target only.
            policy_name=id,
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.cfn_scalable_target.ref,
            target_tracking_scaling_policy_configuration=tracking.TargetTrackingScalingPolicyConfigurationProperty(
                target_value=target_value,
                scale_in_cooldown=_cooldown(scale_in_cooldown),
                scale_out_cooldown=_cooldown(scale_out_cooldown),
                predefined_metric_specification=tracking.PredefinedMetricSpecificationProperty(
                    predefined_metric_type=predefined_metric
                ),
            ),
        )
        """The resource itself, for what this class does not offer."""


class _ServingCount(ScalableTarget):
    """
    A number of instances or copies, each of which serves requests.
    """

    _invocations_metric: str

    @checked
    def scale_on_invocations(
        self,
        id: str,
        *,
        per_minute: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests a minute that each instance or copy gets near a target.
        """
        return self.scale_to_track_metric(
            id,
            predefined_metric=self._invocations_metric,
            target_value=per_minute,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )


class ScalableInstanceCount(_ServingCount):
    """
    The number of instances of a variant that a model fills.

    Args:
        endpoint_name: The variant's endpoint.

        variant_name: The variant.

        min_capacity: Instances that always run.

        max_capacity: Instances that run at most.

        asynchronous:
            Whether requests wait in a queue, so that instances may go to zero;
            ``None`` if that is not known.
    """

    _invocations_metric = "SageMakerVariantInvocationsPerInstance"

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_name: str,
        variant_name: str,
        min_capacity: int,
        max_capacity: int,
        asynchronous: bool | None = False,
    ) -> None:
        self._endpoint_name = endpoint_name
        self._asynchronous = asynchronous
        self._may_be_empty = min_capacity == 0
        super().__init__(
            scope,
            id,
            resource_id=f"endpoint/{endpoint_name}/variant/{variant_name}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )

    @checked
    def scale_on_concurrency(
        self,
        id: str,
        *,
        per_instance: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests under way on each instance near a target.

        It sees load every 10 seconds and counts a stream until its last token, so
        that it suits language models better than counting requests.
        """
        return self.scale_to_track_metric(
            id,
            predefined_metric="SageMakerVariantConcurrentRequestsPerModelHighResolution",
            target_value=per_instance,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

    @checked
    def scale_on_backlog(
        self,
        id: str,
        *,
        per_instance: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> BacklogScaling:
        """
        Keep the requests that wait for each instance near a target.

        Where ``min_capacity`` is 0, the first instance starts as soon as one waits.

        Raises:
            ValueError: If no request waits for the endpoint: it answers at once.
        """
        report(self, id, backlog_findings(is_async=self._asynchronous is not False))
        return BacklogScaling(
            self,
            id,
            scalable_target=self.cfn_scalable_target,
            endpoint_name=self._endpoint_name,
            per_instance=per_instance,
            wakes=self._may_be_empty,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

    @checked
    def scale_to_track_metric(
        self,
        id: str,
        *,
        predefined_metric: str,
        target_value: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep one of the service's predefined metrics near a target.
        """
        policy = super().scale_to_track_metric(
            id,
            predefined_metric=predefined_metric,
            target_value=target_value,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )
        is_async = self._asynchronous is True
        annotate(policy, unpublished_findings(predefined_metric, is_async=is_async))
        return policy

    def _capacity_findings(self, least: int, most: int) -> list[Finding]:
        if self._asynchronous is False:
            return super()._capacity_findings(least, most)
        return bounded_findings(least, most, 0)


class ScalableCopyCount(_ServingCount):
    """
    The number of copies of an inference component.

    Args:
        inference_component_name: The component.

        min_capacity: Copies that always run.

        max_capacity: Copies that run at most.
    """

    _invocations_metric = "SageMakerInferenceComponentInvocationsPerCopy"

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        inference_component_name: str,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        super().__init__(
            scope,
            id,
            resource_id=f"inference-component/{inference_component_name}",
            scalable_dimension="sagemaker:inference-component:DesiredCopyCount",
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )

    @checked
    def scale_on_concurrency(
        self,
        id: str,
        *,
        per_copy: float,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests under way on each copy near a target.

        It sees load every 10 seconds and counts a stream until its last token, so
        that it suits language models better than counting requests.
        """
        metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
        return self.scale_to_track_metric(
            id,
            predefined_metric=metric,
            target_value=per_copy,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )


def capacity_findings(min_capacity: int, max_capacity: int) -> list[Finding]:
    """
    Check the bounds of what is scaled.
    """
    if min_capacity == 0:
        return [
            IMPOSSIBLE_COUNT.finding(
                "min_capacity must be at least 1, got 0: target tracking cannot wake "
                "what has scaled to zero",
            )
        ]
    return bounded_findings(min_capacity, max_capacity, 1)


def bounded_findings(min_capacity: int, max_capacity: int, least: int) -> list[Finding]:
    """
    Check that bounds are in order, and the lower one not below the least there is.
    """
    return count_findings("min_capacity", min_capacity, least) + bounds_findings(
        "min_capacity", min_capacity, "max_capacity", max_capacity
    )


def _value_findings(value: float) -> list[Finding]:
    if is_unresolved(value) or value > 0:
        return []
    return [OUTSIDE_RANGE.finding(f"the target value must be above 0, got {value:g}")]


def _cooldown(cooldown: Duration | None) -> float:
    chosen = seconds(cooldown)
    return _COOLDOWN_SECONDS if chosen is None else chosen
