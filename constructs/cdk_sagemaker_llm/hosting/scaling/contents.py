"""
What a scalable target has: its policies and its scheduled actions, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.limits import IMPOSSIBLE_COUNT
from cdk_sagemaker_llm.hosting.scaling.limits import SCALED_TWICE
from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase

# User guide, application-auto-scaling-quotas: neither can be raised.
_MOST_POLICIES = 50
_MOST_ACTIONS = 200


@dataclass(frozen=True, slots=True)
class Action:
    """
    A scheduled action's bounds.

    Args:
        name: Its name.

        least: The minimum that it sets; ``None`` if it leaves it.

        most: The maximum that it sets; ``None`` if it leaves it.
    """

    name: str
    least: int | None
    most: int | None


class Contents:
    """
    What a target has, as far as it was defined with this library.

    Args:
        least: The minimum that the target starts with.

        most: The maximum that it starts with.
    """

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most
        self.policies: dict[str, bool] = {}
        """Whether each policy can take capacity away, by its name."""
        self.tracked: dict[str, str] = {}
        """The policy that follows each of the service's predefined metrics."""
        self.actions: dict[str, Action] = {}

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
        return any(self.policies.values()) or any(
            each.most is not None for each in self.actions.values()
        )

    def policy_findings(self, name: str) -> list[Finding]:
        """
        Check that one more policy can be put on the target.
        """
        return _taken("policy", name, is_taken=name in self.policies) or _too_many(
            "policies", len(self.policies), _MOST_POLICIES
        )

    def tracked_findings(self, metric: str | None) -> list[Finding]:
        """
        Check that no policy follows a predefined metric yet.

        Args:
            metric: The metric; ``None`` if it is the user's own.
        """
        other = None if metric is None else self.tracked.get(metric)
        if other is None:
            return []
        return [
            SCALED_TWICE.finding(
                f"policy {other!r} of this target follows {metric} already, and the "
                "service takes one policy for a metric",
                "define one of them, or follow another metric",
            )
        ]

    def action_findings(self, name: str) -> list[Finding]:
        """
        Check that one more action can be scheduled for the target.
        """
        return _taken(
            "scheduled action", name, is_taken=name in self.actions
        ) or _too_many("scheduled actions", len(self.actions), _MOST_ACTIONS)

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


_kept: WeakKeyDictionary[ScalableTargetBase, Contents] = WeakKeyDictionary()


def keep_contents(target: ScalableTargetBase, least: int, most: int) -> None:
    """
    Begin to remember what a target has.

    Args:
        target: It.

        least: The minimum that it starts with.

        most: The maximum that it starts with.
    """
    _kept[target] = Contents(least, most)


def contents_of(target: ScalableTargetBase) -> Contents:
    """
    Return what a target has.
    """
    return _kept[target]


def _taken(kind: str, name: str, *, is_taken: bool) -> list[Finding]:
    if not is_taken:
        return []
    return [
        SCALED_TWICE.finding(
            f"this target has a {kind} {name!r} already, and names must be unique "
            "within it",
            "choose another id",
        )
    ]


def _too_many(kind: str, there_are: int, most: int) -> list[Finding]:
    if there_are < most:
        return []
    return [
        IMPOSSIBLE_COUNT.finding(
            f"a scalable target must have at most {most} {kind}, got one more"
        )
    ]
