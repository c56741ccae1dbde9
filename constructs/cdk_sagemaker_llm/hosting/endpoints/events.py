"""
What SageMaker tells EventBridge of endpoints, and the rules that pass it on.

It tells nothing of inference components: the EventBridge events reference lists no
such event.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from cdk_sagemaker_llm.hosting.common.reporting import checked, report

if TYPE_CHECKING:
    from aws_cdk import aws_events as events
    from aws_cdk import aws_sns as sns


# botocore 1.44.5: EndpointStatus.
EndpointStatus = Literal[
    "OutOfService",
    "Creating",
    "Updating",
    "SystemUpdating",
    "RollingBack",
    "InService",
    "Deleting",
    "Failed",
    "UpdateRollbackFailed",
]
"""
A status of an endpoint, as ``DescribeEndpoint`` calls it.
"""


class EndpointEvents:
    """
    The rules of an endpoint's events, as the CDK has them of other resources.
    """

    def _event_endpoint(self) -> Any:  # noqa: ANN401 - an endpoint, which imports this
        raise NotImplementedError

    @checked
    def on_state_change(
        self,
        id: str,
        *,
        target: events.IRuleTarget | None = None,
        statuses: Sequence[EndpointStatus] | None = None,
        description: str | None = None,
    ) -> events.Rule:
        """
        Tell a target when the endpoint's status changes.

        SageMaker may send several events for one change, and EventBridge promises no
        delivery of them.

        Args:
            target:
                What is told, such as ``SnsTopic(topic)``; the event's ``detail`` has
                the status and the name of the configuration that serves.
                If omitted, the rule's ``add_target`` names it.

            statuses:
                Which statuses, as ``DescribeEndpoint`` calls them; in events the
                service writes ``IN_SERVICE`` for ``InService``.
                If omitted, every change is told.

            description:
                What the rule is for.
                If omitted, it has none.
        """
        status_filter = (
            {"EndpointStatus": list(map(_event_status, statuses))} if statuses else {}
        )
        name = self._event_endpoint().endpoint_name
        rule = _rule(self, id, {"EndpointName": [name], **status_filter}, description)
        if target is not None:
            rule.add_target(target)
        return rule


class DeploymentEvents(EndpointEvents):
    """
    The rules of the events of an endpoint that is defined here.
    """

    @checked
    def on_rollback(
        self,
        id: str,
        *,
        target: events.IRuleTarget | None = None,
        description: str | None = None,
    ) -> events.Rule:
        """
        Tell a target when SageMaker has turned an update back.

        The endpoint is in service then as if nothing was wrong, on a configuration
        other than its template's: that is told, as is a rollback that failed. Whoever
        moves the endpoint past the template is told of as well.

        Args:
            target:
                What is told, such as ``SnsTopic(topic)``. It must not refer to the
                endpoint, which waits for the rule so that an update finds it: a
                function reads the endpoint's name from the event.
                If omitted, the rule's ``add_target`` names it.

            description:
                What the rule is for.
                If omitted, it has none.

        Raises:
            ValueError: If CloudFormation makes the endpoint's name: the rule would
                refer to the endpoint, and know of an update when it is over.
        """
        from cdk_sagemaker_llm.hosting.updates.rollback import (  # noqa: PLC0415 - who has a rollout has it
            NAMELESS,
        )
        from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - as above
            known_name,
        )

        endpoint = self._event_endpoint()
        name = known_name(endpoint.chosen_name)
        if name is None:
            fault = NAMELESS.finding(
                "on_rollback needs a name that is known before the endpoint is "
                "updated, and CloudFormation is to make it",
                "pass endpoint_name; giving one to an endpoint that runs replaces it",
            )
            report(endpoint, id, [fault])
        config = endpoint.endpoint_config.endpoint_config_name
        detail = {
            "EndpointName": [name],
            "$or": [
                {"EndpointStatus": [_event_status("UpdateRollbackFailed")]},
                {
                    "EndpointStatus": [_event_status("InService")],
                    "EndpointConfigName": [{"anything-but": [config]}],
                },
            ],
        }
        rule = _rule(self, id, detail, description)
        if target is not None:
            rule.add_target(target)
        written: Any = rule.node.default_child
        endpoint.cfn_endpoint.node.add_dependency(written)
        return rule


def target_of(target: sns.ITopic | events.IRuleTarget) -> events.IRuleTarget:
    """
    Return what a rule tells: a target as it is, or a topic as one.
    """
    if not hasattr(target, "topic_arn"):
        return target
    from aws_cdk import aws_events_targets as targets  # noqa: PLC0415 - loads slowly

    return targets.SnsTopic(cast("sns.ITopic", target))


def _event_status(status: str) -> str:
    """
    Return how events write a status of the API.

    Of ``IN_SERVICE`` and ``UPDATING`` the developer guide has examples
    (automating-sagemaker-with-eventbridge); the others follow them.
    """
    return re.sub(r"\B(?=[A-Z])", "_", status).upper()


def _rule(
    scope: Any,  # noqa: ANN401 - the construct that the methods are mixed into
    id: str,
    detail: dict[str, Any],
    description: str | None,
) -> events.Rule:
    from aws_cdk import aws_events as events  # noqa: PLC0415 - who has a rule has it

    return events.Rule(
        scope,
        id,
        description=description,
        event_pattern=events.EventPattern(
            source=["aws.sagemaker"],
            detail_type=["SageMaker Endpoint State Change"],
            detail=detail,
        ),
    )
