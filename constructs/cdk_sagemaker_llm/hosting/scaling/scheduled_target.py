"""
A number whose bounds may change with the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_applicationautoscaling as appscaling

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.arguments import checked
from cdk_sagemaker_llm.hosting.reporting import at_synth, report
from cdk_sagemaker_llm.hosting.scaling.contents import Action, contents_of
from cdk_sagemaker_llm.hosting.scaling.limits import action_name_findings
from cdk_sagemaker_llm.hosting.scaling.office import hours_of
from cdk_sagemaker_llm.hosting.scaling.schedules import (
    action_bounds_findings,
    action_of,
    expression_of,
    schedule_findings,
    span_findings,
    zone_findings,
    zone_of,
)
from cdk_sagemaker_llm.hosting.scaling.target_base import ScalableTargetBase

if TYPE_CHECKING:
    from datetime import datetime

    from aws_cdk import IResolvable, TimeZone


_Action = appscaling.CfnScalableTarget.ScheduledActionProperty


class ScheduledTarget(ScalableTargetBase):
    """
    A number whose bounds may change with the clock.
    """

    _may_be_zero: bool
    _actions: list[_Action]

    @checked
    def scale_on_schedule(
        self,
        id: str,
        *,
        schedule: str | appscaling.Schedule,
        time_zone: str | TimeZone | None = None,
        min_capacity: int | None = None,
        max_capacity: int | None = None,
        start: datetime | None = None,
        end: datetime | None = None,
    ) -> None:
        """
        Change the bounds at a time, or again and again.

        They hold until something else changes them. A deployment sets the target's own
        bounds again only where those change.

        Args:
            id: The action's name, unique within the target.

            schedule:
                ``cron(0 20 * * ? *)`` with six fields, ``rate(1 day)`` or
                ``at(2026-12-24T18:00:00)``, or a ``Schedule`` of the CDK.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If left out, it is UTC.

            min_capacity:
                The least from then on.
                If left out, it stays as it is.

            max_capacity:
                The most from then on.
                If left out, it stays as it is.

            start:
                When the schedule begins to hold; UTC where it has no time zone.
                If left out, it holds at once.

            end:
                When it ends; UTC where it has no time zone.
                If left out, it does not.

        Raises:
            ValueError: If the schedule cannot be read, or sets no bounds that the
                target may have; all reasons at once.
        """
        expression, zone = expression_of(schedule), zone_of(time_zone)
        found = [
            *schedule_findings(expression, zone),
            *span_findings(start, end),
            *self._action_findings(id, min_capacity, max_capacity),
        ]
        report(self, id, found)
        self._schedule(
            Action(id, min_capacity, max_capacity),
            action_of(
                id,
                expression=expression,
                zone=zone,
                least=min_capacity,
                most=max_capacity,
                start=start,
                end=end,
            ),
        )

    @checked
    def office_hours(
        self,
        id: str,
        *,
        opens: str,
        closes: str,
        min_capacity: int,
        closed_capacity: int,
        time_zone: str | TimeZone | None = None,
        days: str = "MON-FRI",
        max_capacity: int | None = None,
    ) -> None:
        """
        Keep capacity while people work, and little or none while they do not.

        ``office_hours("Office", opens="08:00", closes="18:00", min_capacity=2,
        closed_capacity=0, time_zone="Europe/Berlin")``

        Two scheduled actions set the bounds, so that the first of them counts from the
        first time that it is due. Capacity begins to start at ``opens``: let it open
        as much earlier as a start takes.

        Args:
            id: What the names of both actions begin with.

            opens: When, such as ``08:00``.

            closes: When; on the next day where that is not later than ``opens``.

            min_capacity: The least while it is open.

            closed_capacity: The least and the most while it is closed.

            time_zone:
                Where the clock hangs, such as ``Europe/Berlin``.
                If left out, it is UTC.

            days: On which days it opens, such as ``TUE,THU,SAT``; ``*`` for all.

            max_capacity:
                The most while it is open.
                If left out, it is the target's.

        Raises:
            ValueError: If hours, days or bounds are wrong; all reasons at once.
        """
        most = contents_of(self).most if max_capacity is None else max_capacity
        zone = zone_of(time_zone)
        hours, found = hours_of(opens, closes, days)
        found += zone_findings(zone)
        openness = Action(f"{id}Opens", min_capacity, most)
        closure = Action(f"{id}Closes", closed_capacity, closed_capacity)
        for action in (openness, closure):
            found += self._action_findings(action.name, action.least, action.most)
        report(self, id, found)
        for action, expression in (
            (openness, hours.opening),
            (closure, hours.closing),
        ):
            self._schedule(
                action,
                action_of(
                    action.name,
                    expression=expression,
                    zone=zone,
                    least=action.least,
                    most=action.most,
                    start=None,
                    end=None,
                ),
            )

    def _action_findings(
        self, name: str, least: int | None, most: int | None
    ) -> list[Finding]:
        return [
            *action_name_findings(name),
            *contents_of(self).action_findings(name),
            *action_bounds_findings(least, most, may_be_zero=self._may_be_zero),
        ]

    def _schedule(
        self,
        action: Action,
        written: _Action,
    ) -> None:
        contents = contents_of(self)
        if not contents.actions:
            at_synth(self, contents.bounds_findings)
        contents.actions[action.name] = action
        self._actions.append(written)
        actions: list[IResolvable | _Action] = [*self._actions]
        self.cfn_scalable_target.scheduled_actions = actions
