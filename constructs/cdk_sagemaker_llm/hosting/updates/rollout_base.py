"""
What all rollouts have in common: a part that moves at a time, waits, and alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.hosting.common.limits import seconds

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk.interfaces.aws_cloudwatch import IAlarmRef

    from cdk_sagemaker_llm.hosting.updates.rollback import RollbackAlarms

Counted = Literal["instances", "copies"]
_Endpoint = sagemaker.CfnEndpoint
_KINDS = {"instances": "INSTANCE_COUNT", "copies": "COPY_COUNT"}
# A metric of a minute can be read about two minutes after it: with less, an alarm has
# nothing to look at.
_WAIT_SECONDS = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """
    A part of the instances or copies, by what it is called in messages.
    """

    name: str
    percent: int | None
    instances: int | None = None
    copies: int | None = None

    @property
    def sizes(self) -> dict[str, int]:
        """
        The sizes that the caller named, by their parameters.
        """
        sizes = {
            "percent": self.percent,
            "instances": self.instances,
            "copies": self.copies,
        }
        return {name: value for name, value in sizes.items() if value is not None}

    @property
    def type(self) -> str:
        """
        What its value counts, in the service's word.
        """
        (unit,) = self.sizes
        return _KINDS.get(unit, "CAPACITY_PERCENT")

    @property
    def value(self) -> int:
        """
        Its size.
        """
        (value,) = self.sizes.values()
        return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """
    How an update of an endpoint is rolled out: one of ``AllAtOnce``, ``Canary``,
    ``Linear`` and ``Rolling``.

    Args:
        maximum_execution_timeout:
            How long the whole update may take.
            If omitted, the service's default applies.

        rollback_on:
            Alarms that turn the update back.
            If omitted, only what does not start does.
    """

    maximum_execution_timeout: Duration | None = None
    rollback_on: RollbackAlarms | Sequence[IAlarmRef | str] | None = None

    bounds: ClassVar[tuple[int, int]] = (1, 100)
    """What percentage of the instances or copies may move at a time."""
    batched: ClassVar[bool] = False
    """Whether the fleet is replaced in place, without a second one beside it."""

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @property
    def waits(self) -> dict[str, Duration | None]:
        """
        The times in which alarms are watched, by the caller's words.
        """
        return {}

    @property
    def steps(self) -> int:
        """
        How many waits between steps there are at least.
        """
        return 0

    def to_property(
        self, alarms: Sequence[str]
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty:
        """
        Render for the L1 class of endpoints, with the names of alarms.
        """
        watched = [_Endpoint.AlarmProperty(alarm_name=name) for name in alarms]
        rollback = _Endpoint.AutoRollbackConfigProperty(alarms=watched)
        return _Endpoint.DeploymentConfigProperty(
            blue_green_update_policy=self._blue_green(),
            rolling_update_policy=self._rolling(),
            auto_rollback_configuration=rollback if alarms else None,
        )

    def _blue_green(self) -> sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty | None:
        return None

    def _rolling(self) -> sagemaker.CfnEndpoint.RollingUpdatePolicyProperty | None:
        return None


def wait_seconds(wait: Duration | None) -> float:
    """
    Return how long a wait is; five minutes if omitted.
    """
    chosen = seconds(wait)
    return _WAIT_SECONDS if chosen is None else chosen


def waits_between(percent: int | None) -> int:
    """
    Return how many waits lie between steps of a percentage; of a number it takes the
    fleet's size to know, and there is one at least.
    """
    if percent is None or not percent >= 1:
        return 1
    return max(1, -(-100 // percent) - 1)
