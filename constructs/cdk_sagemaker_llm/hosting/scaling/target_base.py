"""
A scalable target: what Application Auto Scaling takes of its bounds, and which policies
and scheduled actions it has, by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import (
    IMPOSSIBLE_COUNT,
    bounds_findings,
    count_findings,
)
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.hosting.common.rules import SCALED_TWICE
from cdk_sagemaker_llm.hosting.common.scope import is_defined
from cdk_sagemaker_llm.serving.parameters import IMPOSSIBLE_NAME
from cdk_sagemaker_llm.text import any_of, nearest
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_applicationautoscaling as appscaling

# User guide, application-auto-scaling-quotas: neither can be raised.
_MOST_POLICIES = 50
_MOST_ACTIONS = 200

VARIANT_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
COMPONENT_DIMENSION = "sagemaker:inference-component:DesiredCopyCount"


# botocore 1.44.5, ScheduledActionName: no controls, colons, slashes or bars, and no
# blank at either end.
_ACTION_NAME = re.compile(r"(?! )[^\x00-\x1f\x7f-\x9f:/|]{1,256}(?<! )\Z")

# botocore 1.44.5: PolicyName, and the metrics and dimensions of SageMaker.
_POLICY_NAME = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,256}\Z")
_METRICS = (
    "SageMakerVariantInvocationsPerInstance",
    "SageMakerVariantProvisionedConcurrencyUtilization",
    "SageMakerInferenceComponentInvocationsPerCopy",
    "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution",
    "SageMakerVariantConcurrentRequestsPerModelHighResolution",
)
_OWN_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"
_VARIANT = re.compile(rf"endpoint/{_OWN_NAME}/variant/{_OWN_NAME}\Z")
_COMPONENT = re.compile(rf"inference-component/{_OWN_NAME}\Z")
# What is scaled by each dimension, and how it is written.
_RESOURCES = {
    VARIANT_DIMENSION: (_VARIANT, "endpoint/<name>/variant/<name>"),
    "sagemaker:variant:DesiredProvisionedConcurrency": (
        _VARIANT,
        "endpoint/<name>/variant/<name>",
    ),
    COMPONENT_DIMENSION: (_COMPONENT, "inference-component/<name>"),
}

_kept: WeakKeyDictionary[ScalableTargetBase, Contents] = WeakKeyDictionary()


class ScalableTargetBase(Construct):
    """
    A number that Application Auto Scaling may change.
    """

    cfn_scalable_target: appscaling.CfnScalableTarget
    """The resource itself, for what this class does not offer."""


def keep_contents(target: ScalableTargetBase, least: int, most: int) -> None:
    """
    Begin to remember the policies and actions of a target.
    """
    _kept[target] = Contents(least, most)


def contents_of(target: ScalableTargetBase) -> Contents:
    """
    Return the policies and actions of a target.
    """
    return _kept[target]


class Contents:
    """
    What a target has, as far as it was defined with this library.
    """

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most
        self.policies: dict[str, Policy] = {}
        self.actions: dict[str, Action] = {}

    @property
    def highest(self) -> int:
        """
        The highest maximum there ever is; a placeholder where one is known at
        deployment only.
        """
        mosts = [self.most, *(each.most for each in self.actions.values())]
        maxima = [each for each in mosts if each is not None]
        return next((each for each in maxima if is_unresolved(each)), max(maxima))

    @property
    def reaches_zero(self) -> bool:
        """
        Whether a minimum is ever zero, or known at deployment only.
        """
        bounds = [self.least, *(each.least for each in self.actions.values())]
        return any(
            one is not None and (one == 0 or is_unresolved(one)) for one in bounds
        )

    @property
    def goes_down(self) -> bool:
        """
        Whether something takes capacity away.
        """
        return any(each.takes_away for each in self.policies.values()) or any(
            each.most is not None for each in self.actions.values()
        )

    def policy_findings(self, name: str, metric: str | None) -> list[Finding]:
        """
        Check that one more policy can be put on the target, and that no other follows
        its predefined metric.
        """
        found = _one_more_findings(
            "policy", "policies", name, self.policies, _MOST_POLICIES
        )
        return found + [
            SCALED_TWICE.finding(
                f"policy {other!r} of this target follows {metric} already, and the "
                "service takes one policy for a metric",
                "define one of them, or follow another metric",
            )
            for other, policy in self.policies.items()
            if metric is not None and policy.metric == metric
        ]

    def action_findings(self, name: str) -> list[Finding]:
        """
        Check that one more action can be scheduled for the target.
        """
        return _one_more_findings(
            "scheduled action", "scheduled actions", name, self.actions, _MOST_ACTIONS
        )

    def bounds_findings(self) -> list[Finding]:
        """
        Check actions that set one bound against what the other can ever be.

        What sets it may come later, so that this is asked at the end.
        """
        actions = self.actions.values()
        mosts = [self.most, *(each.most for each in actions if each.most is not None)]
        leasts = [
            self.least,
            *(each.least for each in actions if each.least is not None),
        ]
        if is_unresolved(mosts) or is_unresolved(leasts):
            return []
        found = []
        for each in actions:
            if each.most is None and each.least is not None and each.least > max(mosts):
                found.append(
                    IMPOSSIBLE_COUNT.finding(
                        f"scheduled action {each.name!r} sets min_capacity="
                        f"{each.least}, and max_capacity is never above {max(mosts)}",
                        "set max_capacity too",
                    )
                )
            if each.least is None and each.most is not None and each.most < min(leasts):
                found.append(
                    IMPOSSIBLE_COUNT.finding(
                        f"scheduled action {each.name!r} sets max_capacity={each.most}"
                        f", and min_capacity is never below {min(leasts)}",
                        "set min_capacity too",
                    )
                )
        return found


def policy_findings(
    target: ScalableTargetBase, name: str, metric: str | None = None
) -> list[Finding]:
    """
    Check that a target takes one more policy, beside those that were not taken out.
    """
    if is_unresolved(name) or not _POLICY_NAME.match(name):
        must = "known at synth, and 1 to 256 printable characters"
        # An id of other characters is in the path that is told.
        fault = IMPOSSIBLE_NAME.finding(f"the id of a policy must be {must}")
        report(target, "", [fault])
    contents = contents_of(target)
    found = contents.policy_findings(name, metric)
    if not found:
        return []
    contents.policies = {
        name: policy
        for name, policy in contents.policies.items()
        if is_defined(policy.construct)
    }
    return contents.policy_findings(name, metric)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """
    A policy: its construct, whether it can take capacity away, and which of the
    service's predefined metrics it follows, if any.
    """

    construct: Construct
    takes_away: bool
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """
    A scheduled action's bounds; ``None`` for one that it leaves.
    """

    name: str
    least: int | None
    most: int | None


def target_findings(resource_id: str, scalable_dimension: str) -> list[Finding]:
    """
    Check what is scaled, and which number of it.
    """
    if is_unresolved(scalable_dimension):
        return []
    if scalable_dimension not in _RESOURCES:
        return [
            IMPOSSIBLE_NAME.finding(
                f"scalable_dimension must be {any_of(_RESOURCES)}, got "
                f"{scalable_dimension!r}"
            )
        ]
    form, example = _RESOURCES[scalable_dimension]
    if is_unresolved(resource_id) or form.match(resource_id):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            f"resource_id must be such as {example} for {scalable_dimension}, got "
            f"{resource_id!r}"
        )
    ]


def metric_findings(metric: str | None) -> list[Finding]:
    """
    Check that the service has a predefined metric.
    """
    if metric is None or is_unresolved(metric) or metric in _METRICS:
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            f"predefined_metric must be one that the service has, got {metric!r}",
            f"use {any_of(nearest(metric, _METRICS) or _METRICS)}",
        )
    ]


def capacity_findings(
    min_capacity: int, max_capacity: int, *, may_be_zero: bool = False
) -> list[Finding]:
    """
    Check the bounds of what is scaled.
    """
    found = least_capacity_findings(
        "min_capacity", min_capacity, may_be_zero=may_be_zero
    )
    found = found or count_findings("max_capacity", max_capacity, 0)
    if found and min_capacity == 0:
        return found
    return found + bounds_findings(
        "min_capacity", min_capacity, "max_capacity", max_capacity
    )


def twice_finding(what: str, method: str) -> Finding:
    """
    Say that a number is scaled by a second call.
    """
    return SCALED_TWICE.finding(
        f"{what} are scaled already: {method} was called before",
        "call the scale_on_ methods of what it returned, which take several policies",
    )


def least_capacity_findings(
    parameter: str, value: int, *, may_be_zero: bool
) -> list[Finding]:
    """
    Check one bound by itself.
    """
    if value == 0 and not may_be_zero:
        return [
            IMPOSSIBLE_COUNT.finding(
                f"{parameter} must be at least 1, got 0: an endpoint that answers in "
                "real time keeps an instance",
                "host the model as an inference component, whose copies and instances "
                "can go to zero",
            )
        ]
    return count_findings(parameter, value, 0 if may_be_zero else 1)


def action_name_findings(name: str) -> list[Finding]:
    """
    Check the name of a scheduled action.
    """
    if is_unresolved(name) or _ACTION_NAME.match(name):
        return []
    return [
        IMPOSSIBLE_NAME.finding(
            "the id of a scheduled action must be 1 to 256 characters without colon, "
            f"slash or bar, and no blank at either end, got {name!r}"
        )
    ]


def _one_more_findings(
    kind: str, kinds: str, name: str, existing: Collection[str], most: int
) -> list[Finding]:
    if name in existing:
        return [
            SCALED_TWICE.finding(
                f"this target has a {kind} {name!r} already, and names must be unique "
                "within it",
                "choose another id",
            )
        ]
    if len(existing) < most:
        return []
    return [
        IMPOSSIBLE_COUNT.finding(
            f"a scalable target must have at most {most} {kinds}, got one more"
        )
    ]
