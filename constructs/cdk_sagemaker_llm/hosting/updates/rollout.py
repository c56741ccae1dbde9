"""
How an update reaches an endpoint or a component: at once, by a canary, by steps, by
batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal

from aws_cdk import aws_sagemaker as sagemaker

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.hosting.common.limits import seconds
from cdk_sagemaker_llm.hosting.common.rules import (
    CANARY_PERCENT,
    LINEAR_PERCENT,
    ROLLING_PERCENT,
)

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_events as events
    from aws_cdk import aws_sns as sns
    from aws_cdk.interfaces.aws_cloudwatch import IAlarmRef

    from cdk_sagemaker_llm.hosting.updates.rollback import RollbackAlarms

Counted = Literal["instances", "copies"]
_Endpoint = sagemaker.CfnEndpoint
_Component = sagemaker.CfnInferenceComponent
_KINDS = {"instances": "INSTANCE_COUNT", "copies": "COPY_COUNT"}
# A metric of a minute can be read about two minutes after it: with less, an alarm has
# nothing to look at.
_WAIT_SECONDS = 300
# Between steps, and until the old fleet goes.
_WAITS = ("wait_interval", "termination_wait")


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

        notify:
            The topic, or another target of EventBridge's, that is told when SageMaker
            has turned an update of the endpoint back.
            If omitted, nobody is.
    """

    maximum_execution_timeout: Duration | None = None
    rollback_on: RollbackAlarms | Sequence[IAlarmRef | str] | None = None
    notify: sns.ITopic | events.IRuleTarget | None = None

    bounds: ClassVar[tuple[int, int]] = (1, 100)
    """What percentage of the instances or copies may move at a time."""
    batched: ClassVar[bool] = False
    """Whether the fleet is replaced in place, without a second one beside it."""

    def __post_init__(self) -> None:
        hold_kinds(self)

    @property
    def waits(self) -> dict[str, Duration | None]:
        """
        The times in which alarms are watched, by the caller's words.
        """
        own = {field.name for field in fields(self)}
        return {name: getattr(self, name) for name in _WAITS if name in own}

    @property
    def steps(self) -> int:
        """
        The least number of waits between steps.
        """
        return 0

    def to_property(
        self, alarms: Sequence[str]
    ) -> sagemaker.CfnEndpoint.DeploymentConfigProperty:
        """
        Render for the L1 class of endpoints, with the names of alarms.

        Args:
            alarms: The names of the alarms that turn it back.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _BlueGreen(Rollout):
    """
    A second fleet is started, and takes over.
    """

    termination_wait: Duration | None = None

    def _blue_green(self) -> sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty:
        return _Endpoint.BlueGreenUpdatePolicyProperty(
            traffic_routing_configuration=self._routing(),
            termination_wait_in_seconds=self._termination(),
            maximum_execution_timeout_in_seconds=seconds(
                self.maximum_execution_timeout
            ),
        )

    def _routing(self) -> sagemaker.CfnEndpoint.TrafficRoutingConfigProperty:
        raise NotImplementedError

    def _termination(self) -> float:
        return seconds(self.termination_wait) or 0


@dataclass(frozen=True, kw_only=True, slots=True)
class AllAtOnce(_BlueGreen):
    """
    A second fleet is started, and gets all requests at once.

    ``AllAtOnce(rollback_on=RollbackAlarms())``

    It needs twice the instances while it lasts, and so does the account's quota.

    Args:
        termination_wait:
            How long the old fleet stands by, up to an hour, in which alarms are
            watched.
            If omitted, it is 5 minutes.

        maximum_execution_timeout:
            How long the whole update may take, 10 minutes to 8 hours.
            If omitted, the service's default applies.

        rollback_on:
            Alarms that turn the update back, of your own or made for it.
            If omitted, only instances that do not start do.

        notify:
            The topic, or another target of EventBridge's, that is told when SageMaker
            has turned an update back; ``events.amazonaws.com`` must be let publish to
            an imported topic.
            If omitted, nobody is told (``LLM818``).
    """

    def _routing(self) -> sagemaker.CfnEndpoint.TrafficRoutingConfigProperty:
        # The API asks for the wait also where there is no second step.
        return _Endpoint.TrafficRoutingConfigProperty(
            type="ALL_AT_ONCE", wait_interval_in_seconds=0
        )

    def _termination(self) -> float:
        return wait_seconds(self.termination_wait)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ByShares(_BlueGreen):
    """
    A second fleet gets more and more of the requests.
    """

    percent: int | None = None
    instances: int | None = None
    wait_interval: Duration | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Canary(_ByShares):
    """
    A second fleet is started; a part of it gets requests first, then all of it.

    ``Canary(percent=20, wait_interval=Duration.minutes(10))``

    It needs twice the instances while it lasts, and at least two of them.

    Args:
        percent:
            The part that gets requests first, 1 to 50 percent of the instances.
            If omitted, ``instances`` says it.

        instances: The part as a number of instances, in place of ``percent``.

        wait_interval:
            How long the part is watched before the rest follows, up to an hour.
            If omitted, it is 5 minutes.

        termination_wait:
            How long the old fleet stands by afterwards, up to an hour.
            If omitted, it goes at once.

        maximum_execution_timeout:
            How long the whole update may take, 10 minutes to 8 hours; longer than
            the waits together.
            If omitted, the service's default applies.

        rollback_on:
            Alarms that turn the update back, of your own or made for it.
            If omitted, only instances that do not start do, and waiting watches
            nothing.

        notify:
            The topic, or another target of EventBridge's, that is told when SageMaker
            has turned an update back; ``events.amazonaws.com`` must be let publish to
            an imported topic.
            If omitted, nobody is told (``LLM818``).
    """

    bounds: ClassVar[tuple[int, int]] = CANARY_PERCENT

    @property
    def steps(self) -> int:
        """
        One wait, between the part and the rest.
        """
        return 1

    def _routing(self) -> sagemaker.CfnEndpoint.TrafficRoutingConfigProperty:
        return _Endpoint.TrafficRoutingConfigProperty(
            type="CANARY",
            canary_size=_capacity(_part_of(self)),
            wait_interval_in_seconds=wait_seconds(self.wait_interval),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Linear(_ByShares):
    """
    A second fleet is started, and gets the requests in steps of one size.

    ``Linear(percent=25, wait_interval=Duration.minutes(5))``

    It needs twice the instances while it lasts, and at least two of them.

    Args:
        percent:
            The size of a step, 10 to 50 percent of the instances.
            If omitted, ``instances`` says it.

        instances: The size of a step in instances, in place of ``percent``.

        wait_interval:
            How long each step is watched, up to an hour.
            If omitted, it is 5 minutes.

        termination_wait:
            How long the old fleet stands by afterwards, up to an hour.
            If omitted, it goes at once.

        maximum_execution_timeout:
            How long the whole update may take, 10 minutes to 8 hours; longer than
            the waits together.
            If omitted, the service's default applies.

        rollback_on:
            Alarms that turn the update back, of your own or made for it.
            If omitted, only instances that do not start do, and waiting watches
            nothing.

        notify:
            The topic, or another target of EventBridge's, that is told when SageMaker
            has turned an update back; ``events.amazonaws.com`` must be let publish to
            an imported topic.
            If omitted, nobody is told (``LLM818``).
    """

    bounds: ClassVar[tuple[int, int]] = LINEAR_PERCENT

    @property
    def steps(self) -> int:
        """
        One wait less than there are steps.
        """
        return waits_between(self.percent)

    def _routing(self) -> sagemaker.CfnEndpoint.TrafficRoutingConfigProperty:
        return _Endpoint.TrafficRoutingConfigProperty(
            type="LINEAR",
            linear_step_size=_capacity(_part_of(self)),
            wait_interval_in_seconds=wait_seconds(self.wait_interval),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Rolling(Rollout):
    """
    New instances, or new copies of a component, take over batch by batch.

    ``Rolling(percent=25)``, ``Rolling(copies=1, wait_interval=Duration.minutes(5))``

    It needs room for one batch beside what runs, and at least two instances or
    copies. Old and new ones answer side by side while it lasts.

    Args:
        percent:
            The size of a batch, 5 to 50 percent of the instances or copies.
            If omitted, ``instances`` or ``copies`` says it.

        instances: The size of a batch of an endpoint, in place of ``percent``.

        copies: The size of a batch of a component, in place of ``percent``.

        wait_interval:
            How long each batch is watched, up to an hour.
            If omitted, it is 5 minutes.

        rollback_percent:
            How much goes back at a time when an alarm turns the update back.
            If omitted, and no number is given either, all goes back at once.

        rollback_instances: The same, as a number of instances of an endpoint.

        rollback_copies: The same, as a number of copies of a component.

        maximum_execution_timeout:
            How long the whole update may take, 10 minutes to 8 hours.
            If omitted, the service's default applies.

        rollback_on:
            Alarms that turn the update back, of your own or made for it.
            If omitted, only what does not start does, and waiting watches nothing.

        notify:
            The topic, or another target, that is told when SageMaker has turned an
            update of an endpoint back; of components it tells nothing.
            If omitted, nobody is told (``LLM818``).
    """

    percent: int | None = None
    instances: int | None = None
    copies: int | None = None
    wait_interval: Duration | None = None
    rollback_percent: int | None = None
    rollback_instances: int | None = None
    rollback_copies: int | None = None

    bounds: ClassVar[tuple[int, int]] = ROLLING_PERCENT
    batched: ClassVar[bool] = True

    @property
    def steps(self) -> int:
        """
        One wait less than there are batches.
        """
        return waits_between(self.percent)

    def to_component_property(
        self, alarms: Sequence[str]
    ) -> sagemaker.CfnInferenceComponent.InferenceComponentDeploymentConfigProperty:
        """
        Render for the L1 class of inference components, with the names of alarms.

        Args:
            alarms: The names of the alarms that turn it back.
        """
        back = rollback_batch_of(self)
        watched = [_Component.AlarmProperty(alarm_name=name) for name in alarms]
        rollback = _Component.AutoRollbackConfigurationProperty(alarms=watched)
        policy = _Component.InferenceComponentRollingUpdatePolicyProperty(
            maximum_batch_size=_component_capacity(_part_of(self)),
            wait_interval_in_seconds=wait_seconds(self.wait_interval),
            rollback_maximum_batch_size=_component_capacity(back) if back else None,
            maximum_execution_timeout_in_seconds=seconds(
                self.maximum_execution_timeout
            ),
        )
        return _Component.InferenceComponentDeploymentConfigProperty(
            rolling_update_policy=policy,
            auto_rollback_configuration=rollback if alarms else None,
        )

    def _rolling(self) -> sagemaker.CfnEndpoint.RollingUpdatePolicyProperty:
        back = rollback_batch_of(self)
        return _Endpoint.RollingUpdatePolicyProperty(
            maximum_batch_size=_capacity(_part_of(self)),
            wait_interval_in_seconds=wait_seconds(self.wait_interval),
            rollback_maximum_batch_size=_capacity(back) if back else None,
            maximum_execution_timeout_in_seconds=seconds(
                self.maximum_execution_timeout
            ),
        )


def batch_of(rollout: Rollout) -> Batch | None:
    """
    Return how much moves at a time; ``None`` if all does.
    """
    return _part_of(rollout) if isinstance(rollout, _ByShares | Rolling) else None


def _part_of(rollout: _ByShares | Rolling) -> Batch:
    return Batch(
        name=type(rollout).__name__,
        percent=rollout.percent,
        instances=rollout.instances,
        copies=rollout.copies if isinstance(rollout, Rolling) else None,
    )


def rollback_batch_of(rollout: Rollout) -> Batch | None:
    """
    Return how much goes back at a time; ``None`` if all does.
    """
    if not isinstance(rollout, Rolling):
        return None
    batch = Batch(
        name="the rollback of Rolling",
        percent=rollout.rollback_percent,
        instances=rollout.rollback_instances,
        copies=rollout.rollback_copies,
    )
    return batch if batch.sizes else None


def _capacity(batch: Batch) -> sagemaker.CfnEndpoint.CapacitySizeProperty:
    return _Endpoint.CapacitySizeProperty(type=batch.type, value=batch.value)


def _component_capacity(
    batch: Batch,
) -> sagemaker.CfnInferenceComponent.InferenceComponentCapacitySizeProperty:
    return _Component.InferenceComponentCapacitySizeProperty(
        type=batch.type, value=batch.value
    )


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
