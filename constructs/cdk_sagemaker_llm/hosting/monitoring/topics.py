"""
The topics that alarms notify, and whether their policies let CloudWatch publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aws_cdk import CfnResource, Stack

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.permissions import ALARMS_SERVICE, PUBLISH, is_about, listed

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

_POLICY = "AWS::SNS::TopicPolicy"

SILENT_TOPIC = Rule(
    "LLM810",
    "an alarm is to notify a topic whose policy lets CloudWatch publish nothing",
    "CloudWatch user guide, Notify_Users_Alarm_Changes",
)


def topic_findings(alarms: Iterable[cloudwatch.Alarm]) -> list[Finding]:
    """
    Warn of topics of the alarms' own stack that no alarm can publish to: a policy, such
    as ``enforce_ssl=True`` writes, replaces the one that lets the account do so.
    """
    every = list(alarms)
    if not every:
        return []
    stack = stack_of(every[0])
    notified = {name for each in every for name in _notified(each, stack)}
    statements = _statements_by_topic(stack, notified)
    return [
        SILENT_TOPIC.finding(
            f"the policy of the topic {name} does not allow {ALARMS_SERVICE} "
            f"{PUBLISH}, so that its alarms notify nobody",
            "add_to_resource_policy(PolicyStatement(principals=[ServicePrincipal("
            f"'{ALARMS_SERVICE}')], actions=['{PUBLISH}'], "
            "resources=[topic.topic_arn])), under a condition of aws:SourceAccount",
        )
        for name, allowed in sorted(statements.items())
        if not any(
            each.get("Effect") == "Allow" and is_about(each, ALARMS_SERVICE, PUBLISH)
            for each in allowed
        )
    ]


def _notified(alarm: cloudwatch.Alarm, stack: Stack) -> Iterable[str]:
    resource: Any = alarm.node.default_child
    for each in (
        resource.alarm_actions,
        resource.ok_actions,
        resource.insufficient_data_actions,
    ):
        for arn in stack.resolve(each) or ():
            if isinstance(arn, Mapping) and "Ref" in arn:
                yield str(arn["Ref"])


def _statements_by_topic(
    stack: Stack, notified: set[str]
) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in stack.node.find_all() if notified else ():
        if not isinstance(each, CfnResource) or each.cfn_resource_type != _POLICY:
            continue
        policy: Any = each
        document = stack.resolve(policy.policy_document) or {}
        for topic in stack.resolve(policy.topics) or ():
            name = topic.get("Ref") if isinstance(topic, Mapping) else None
            if name in notified:
                found.setdefault(name, []).extend(listed(document.get("Statement")))
    return found
