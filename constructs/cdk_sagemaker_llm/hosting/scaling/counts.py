"""
The scalable counts that users call: instances of a variant, copies of a component, and
whether the instances of a host ever go to zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import Construct, Node

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.common.reporting import (
    annotate,
    at_synth,
    checked,
    report,
)
from cdk_sagemaker_llm.hosting.scaling.target_base import (
    COMPONENT_DIMENSION,
    VARIANT_DIMENSION,
    contents_of,
)
from cdk_sagemaker_llm.hosting.scaling.targets import ScalableTarget
from cdk_sagemaker_llm.hosting.scaling.tracking import (
    UNPUBLISHED,
    BacklogScaling,
    TargetTrackingScaling,
    backlog_findings,
)
from cdk_sagemaker_llm.hosting.scaling.zero import (
    HALF_TO_ZERO,
    never_sleeps_findings,
    wake,
)

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.scaling.stepping import StepScaling
    from cdk_sagemaker_llm.hosting.scaling.target_base import Action
    from cdk_sagemaker_llm.hosting.scaling.zero import CopyHost

KEPT_AWAKE = Rule(
    "LLM404", "a component that never goes to zero keeps its host's instances"
)


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
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests a minute that each instance or copy gets near a target.

        Args:
            per_minute: How many requests each instance or copy gets in a minute.
        """
        return self.scale_to_track_metric(
            id,
            predefined_metric=self._invocations_metric,
            target_value=per_minute,
            disable_scale_in=disable_scale_in,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )


class ScalableInstanceCount(_ServingCount):
    """
    The number of instances of a variant that a model fills.

    Args:
        endpoint_name: The variant's endpoint.

        variant_name: The variant.

        min_capacity:
            Instances that always run, at least 1 unless the endpoint answers
            asynchronously.

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
            scalable_dimension=VARIANT_DIMENSION,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
            is_asynchronous=asynchronous is not False,
        )

    @checked
    def scale_on_concurrency(
        self,
        id: str,
        *,
        per_instance: float,
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests under way on each instance near a target.

        It sees load every 10 seconds and counts a stream until its last token, so
        that it suits language models better than counting requests.

        Args:
            per_instance: How many requests are under way on each instance.
        """
        return self.scale_to_track_metric(
            id,
            predefined_metric="SageMakerVariantConcurrentRequestsPerModelHighResolution",
            target_value=per_instance,
            disable_scale_in=disable_scale_in,
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

        Args:
            per_instance: How many requests wait for each instance.

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

    def _metric_findings(self, metric: str) -> list[Finding]:
        if not self._asynchronous:
            return []
        return [
            UNPUBLISHED.finding(
                f"asynchronous endpoints do not publish what {metric} follows",
                "call scale_on_backlog",
            )
        ]


class ScalableCopyCount(_ServingCount):
    """
    The number of copies of an inference component.

    With a minimum of zero, its own or a schedule's, the first request that finds no
    copy fails and starts one: a step policy and its alarm are defined as well.

    Args:
        inference_component_name: The component.

        min_capacity: Copies that always run; 0 lets the last one go.

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
            scalable_dimension=COMPONENT_DIMENSION,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )
        self._component = inference_component_name
        self.waking: StepScaling | None = None
        """What starts a copy when a request finds none; ``None`` without a zero."""
        if min_capacity == 0 and max_capacity != 0:
            self._wake()
            at_synth(self, lambda: never_sleeps_findings(self))

    @checked
    def scale_on_concurrency(
        self,
        id: str,
        *,
        per_copy: float,
        disable_scale_in: bool = False,
        scale_in_cooldown: Duration | None = None,
        scale_out_cooldown: Duration | None = None,
    ) -> TargetTrackingScaling:
        """
        Keep the requests under way on each copy near a target.

        It sees load every 10 seconds and counts a stream until its last token, so
        that it suits language models better than counting requests.

        Args:
            per_copy: How many requests are under way on each copy.
        """
        metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
        return self.scale_to_track_metric(
            id,
            predefined_metric=metric,
            target_value=per_copy,
            disable_scale_in=disable_scale_in,
            scale_in_cooldown=scale_in_cooldown,
            scale_out_cooldown=scale_out_cooldown,
        )

    def _wake(self) -> None:
        if self.waking is None:
            self.waking = wake(self, self._component)

    def _scheduled(self, action: Action) -> None:
        # With a maximum of zero too, the schedule alone decides when there are copies.
        if action.least == 0 and action.most != 0:
            self._wake()


class HostedCopyCount(ScalableCopyCount):
    """
    The number of copies of a component whose hosts are known.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        host: CopyHost,
        inference_component_name: str,
        min_capacity: int,
        max_capacity: int,
    ) -> None:
        self._host = host
        super().__init__(
            scope,
            id,
            inference_component_name=inference_component_name,
            min_capacity=min_capacity,
            max_capacity=max_capacity,
        )

    def _wake(self) -> None:
        if self.waking is None:
            annotate(self, self._host.waking_findings())
        super()._wake()

    def _action_findings(self, action: Action) -> list[Finding]:
        found = super()._action_findings(action)
        if action.least == 0:
            found += self._host.zero_findings(f"min_capacity=0 of {action.name!r}")
        return found

    def _scheduled(self, action: Action) -> None:
        super()._scheduled(action)
        bounds = {"max_capacity": action.most, "min_capacity": action.least}
        for name, copies in bounds.items():
            # A target whose own maximum is past the room has been told of.
            if copies is not None and copies != contents_of(self).most:
                warnings = self._host.room_findings(
                    f"{name} of {action.name!r}", copies
                )
                annotate(self, warnings)
                if warnings:
                    break


def host_zero_findings(
    host: Construct, components: Sequence[ScaledComponent]
) -> list[Finding]:
    """
    Check, when all is defined, that the components of a host let its instances go.

    A host without components may get them elsewhere, and a component that starts
    without copies is scaled by hand.
    """
    awake = [one for one in components if not _may_sleep(one)]
    if not awake or _is_scaled_otherwise(host):
        return []
    names = ", ".join(one.node.path for one in awake)
    if len(awake) == len(components):
        return [
            HALF_TO_ZERO.finding(
                f"min_instance_count is 0, and no component ever goes to zero: {names}",
                "call auto_scale_copy_count(min_capacity=0, ...) on each, or leave "
                "min_instance_count out; where something else takes the copies away, "
                "define the host from its building blocks",
            )
        ]
    return [
        KEPT_AWAKE.finding(
            "min_instance_count is 0, and instances stay for components that never "
            f"go to zero: {names}",
            "call auto_scale_copy_count(min_capacity=0, ...) on each",
        )
    ]


class ScaledComponent(Protocol):
    """
    What the scaling of a host has to know of a component.
    """

    @property
    def node(self) -> Node: ...

    @property
    def resources(self) -> ResourceRequirements: ...

    @property
    def scaling(self) -> ScalableCopyCount | None: ...


def _may_sleep(component: ScaledComponent) -> bool:
    scaling = component.scaling
    if scaling is None:
        return component.resources.copies == 0
    return contents_of(scaling).reaches_zero


def _is_scaled_otherwise(host: Construct) -> bool:
    """
    Whether the app scales copies to zero by a target that no component knows of.
    """
    every = host.node.root.node.find_all()
    # Those of other hosts' components are known, and do nothing here.
    component_targets = [
        one.cfn_scalable_target for one in every if isinstance(one, HostedCopyCount)
    ]
    return any(
        isinstance(one, appscaling.CfnScalableTarget)
        and one not in component_targets
        and one.scalable_dimension == COMPONENT_DIMENSION
        and one.min_capacity == 0
        for one in every
    )
