"""
What scaling aims at, read from the policies that were made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling
from constructs import IConstruct

from cdk_sagemaker_llm.simulation.metrics import PREDEFINED

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

_Target = appscaling.CfnScalableTarget
_Policy = appscaling.CfnScalingPolicy


@dataclass(frozen=True, slots=True)
class Line:
    """
    A level in a chart.

    Args:
        label: What it is.

        value: Where it is.
    """

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """
    How one number is scaled.

    Args:
        bounds: Its least and its most.

        aims: What its policies keep metrics near, by the metrics' names.
    """

    bounds: tuple[Line, ...] = ()
    aims: tuple[tuple[str, Line], ...] = ()

    def lines(self, metrics: Iterable[str], *, has_bounds: bool) -> tuple[Line, ...]:
        """
        Return the levels that belong into a chart.

        Args:
            metrics: What it draws.

            has_bounds: Whether it draws the number itself.
        """
        if has_bounds:
            return self.bounds
        drawn = {*metrics}
        return tuple(line for metric, line in self.aims if metric in drawn)


class Scalings:
    """
    All scaling that some constructs have in them.

    Args:
        constructs: Every construct of the trees.
    """

    def __init__(self, constructs: Iterable[IConstruct]) -> None:
        known = list(constructs)
        self._policies = [each for each in known if isinstance(each, _Policy)]
        self._targets = {
            each.resource_id: each for each in known if isinstance(each, _Target)
        }

    def of(self, resource_id: str) -> Scaled:
        """
        Return how one number is scaled.

        Args:
            resource_id: Its name for Application Auto Scaling.
        """
        target = self._targets.get(resource_id)
        bounds: tuple[Line, ...] = ()
        if target is not None:
            least, most = target.min_capacity, target.max_capacity
            bounds = (Line("scaling's least", least), Line("scaling's most", most))
        return Scaled(bounds, tuple(self._aims(resource_id, target)))

    def _aims(
        self, resource_id: str, target: _Target | None
    ) -> Iterator[tuple[str, Line]]:
        ref = None if target is None else target.ref
        for policy in self._policies:
            is_its = policy.resource_id == resource_id or (
                ref is not None and policy.scaling_target_id == ref
            )
            tracking = policy.target_tracking_scaling_policy_configuration
            if is_its and isinstance(
                tracking, _Policy.TargetTrackingScalingPolicyConfigurationProperty
            ):
                metric = _metric(tracking)
                if metric is not None:
                    yield metric, Line("scaling's aim", tracking.target_value)


def _metric(
    tracking: _Policy.TargetTrackingScalingPolicyConfigurationProperty,
) -> str | None:
    predefined = tracking.predefined_metric_specification
    if isinstance(predefined, _Policy.PredefinedMetricSpecificationProperty):
        return PREDEFINED.get(predefined.predefined_metric_type, (None,))[0]
    own = tracking.customized_metric_specification
    if isinstance(own, _Policy.CustomizedMetricSpecificationProperty):
        return own.metric_name
    return None


def alarms_in(constructs: Iterable[IConstruct]) -> list[cloudwatch.CfnAlarm]:
    """
    Return the alarms of some trees, scaling's among them.
    """
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - a fifth of a second

    return [each for each in constructs if isinstance(each, cloudwatch.CfnAlarm)]
