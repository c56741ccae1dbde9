"""
Making the alarms that turn an update back, and letting the role look at them.

Neither refers to what it is for: an endpoint refers to its alarms, so that alarms on
its attributes, and a role's policy on those, would make a circle.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.elsewhere import Used
from cdk_sagemaker_llm.hosting.common.scope import belongs
from cdk_sagemaker_llm.hosting.roles.access import RoleAccess, access_of
from cdk_sagemaker_llm.hosting.roles.given_roles import same_role
from cdk_sagemaker_llm.hosting.roles.statements import Statement, own_alarms
from cdk_sagemaker_llm.hosting.updates.rollback import (
    RollbackAlarms,
    thresholds,
)

if TYPE_CHECKING:
    from aws_cdk.interfaces.aws_cloudwatch import IAlarmRef

    from cdk_sagemaker_llm.hosting.updates.rollout import Rollout
    from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant

UNSEEN_ROLE = Rule(
    "LLM427",
    "a role that is not known here must be allowed to look at alarms",
    "SageMaker developer guide, deployment-guardrails-configuration",
)


SILENT_ROLLBACK = Rule(
    "LLM818",
    "an update may be turned back, and nothing in the app tells anybody",
    "https://github.com/hashicorp/terraform-provider-aws/issues/48997",
)
_RULE = "AWS::Events::Rule"
_STATE_CHANGE = "SageMaker Endpoint State Change"


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """
    A variant or a component that alarms are made for.

    The ids and names of its alarms begin with its own.
    """

    id: str = ""
    name: str
    dimensions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutAlarms:
    """
    The alarms of one rollout: their names, the ARNs of those whose names refer to no
    resource, and the ARNs of those that refer to the alarms themselves.
    """

    names: Sequence[str]
    settled: Sequence[str]
    referred: Sequence[str]


def alarms_of(
    scope: Construct,
    rollback_on: RollbackAlarms | Sequence[IAlarmRef | str] | None,
    watched: Iterable[Watched],
) -> RolloutAlarms:
    """
    Return the alarms of a rollout, after making those that are asked for.
    """
    if isinstance(rollback_on, RollbackAlarms):
        made = _make_all(Construct(scope, "Rollback"), rollback_on, watched)
        return RolloutAlarms(
            names=list(made.values()), settled=list(map(_arn, made)), referred=()
        )
    names, settled, referred = [], [], []
    for alarm in rollback_on or ():
        if isinstance(alarm, str):
            names.append(alarm)
            settled.append(_arn(alarm))
            continue
        reference = alarm.alarm_ref
        names.append(reference.alarm_name)
        # By the name of its class, so that nothing is loaded to ask.
        if any(base.__name__ == "CompositeAlarm" for base in type(alarm).__mro__):
            settled.append("*")
        else:
            referred.append(reference.alarm_arn)
    return RolloutAlarms(names=names, settled=settled, referred=referred)


def used_alarms(rollout: Rollout | None) -> list[Used]:
    """
    Return the alarms of a user's own that turn an update back.
    """
    if rollout is None or isinstance(rollout.rollback_on, RollbackAlarms):
        return []
    return [
        Used("rollback_on", one, is_of_account=True)
        for one in rollout.rollback_on or ()
    ]


def watched_variants(
    endpoint_name: str, variants: Sequence[ProductionVariant]
) -> list[Watched]:
    """
    Return the variants of an endpoint; the alarms of several have their names.
    """
    are_several = len(variants) > 1
    return [
        Watched(
            id=each.variant_name if are_several else "",
            name=f"{endpoint_name}-{each.variant_name}"
            if are_several
            else endpoint_name,
            dimensions={
                "EndpointName": endpoint_name,
                "VariantName": each.variant_name,
            },
        )
        for each in variants
    ]


def let_look(
    scope: Construct,
    roles: Sequence[iam.IRole],
    alarms: RolloutAlarms,
    waiting: CfnResource,
) -> list[Finding]:
    """
    Let the execution roles look at the alarms, before the waiting resource is updated.
    """
    if not alarms.names:
        return []
    distinct: list[iam.IRole] = []
    for role in roles:
        if not any(same_role(role, other) for other in distinct):
            distinct.append(role)
    for number, role in enumerate(distinct):
        policies = []
        if alarms.settled:
            policies += access_of(scope, role).allow([_statement(alarms.settled)])
        if alarms.referred:
            # In a policy of its own: those that models wait for must not refer to an
            # alarm, which may be on a metric of what these models are part of.
            home = Construct(scope, f"RollbackAccess{number or ''}")
            belongs(home, scope)
            own = RoleAccess(role, home, "Policy", is_given=True)
            policies += own.allow([_statement(alarms.referred)])
        waiting.node.add_dependency(*policies)
    if roles:
        return []
    return [
        UNSEEN_ROLE.finding(
            "the execution role is not known here, and must be allowed "
            "cloudwatch:DescribeAlarms on the alarms of the rollout",
            "see that it is, where the role is made",
        )
    ]


def silent_findings(endpoint: Construct, rollout: Rollout) -> list[Finding]:
    """
    Warn of an endpoint whose updates alarms turn back, if nobody would hear of it: no
    alarm does anything, and no rule of the app has SageMaker's events.
    """
    if rollout.rollback_on is None or _has_actions(endpoint, rollout):
        return []
    if any(map(_hears_of_endpoints, endpoint.node.root.node.find_all())):
        return []
    return [
        SILENT_ROLLBACK.finding(
            "an update that an alarm turns back leaves the endpoint in service on its "
            "old configuration, whether CloudFormation reports it is not documented, "
            "and nothing here tells anybody",
            "pass notify=topic to the rollout, or give alarms of your own an action",
        )
    ]


def _has_actions(endpoint: Construct, rollout: Rollout) -> bool:
    """
    Tell whether an alarm of a rollout does something, or may: of one that was made
    elsewhere it is not known.
    """
    chosen = rollout.rollback_on
    if chosen is None:
        return False
    if isinstance(chosen, RollbackAlarms):
        made = endpoint.node.find_child("Rollback").node.children
        return any(bool(alarm.alarm_actions) for alarm in cast("list[Any]", made))
    for each in chosen:
        node = getattr(each, "node", None)
        alarm: Any = getattr(node, "default_child", None) or each
        actions = getattr(alarm, "alarm_actions", "not known")
        if not isinstance(actions, str | None):
            actions = Stack.of(endpoint).resolve(actions)
        if actions:
            return True
    return False


def _hears_of_endpoints(construct: object) -> bool:
    if not isinstance(construct, CfnResource) or construct.cfn_resource_type != _RULE:
        return False
    rule: Any = construct
    pattern = Stack.of(rule).resolve(rule.event_pattern) or {}
    kinds = pattern.get("detail-type", [_STATE_CHANGE])
    return "aws.sagemaker" in pattern.get("source", ()) and _STATE_CHANGE in kinds


def _statement(arns: Sequence[str]) -> Statement:
    return Statement(
        sid="WatchAlarms",
        actions=["cloudwatch:DescribeAlarms"],
        # A narrower scope shows no composite alarms (API reference, DescribeAlarms).
        resources=["*"] if "*" in arns else arns,
        wildcard_reason="composite alarms are shown to who may look at all alarms",
    )


def _arn(name: str) -> str:
    return f"{own_alarms()}:{name}"


def _make_all(
    home: Construct, chosen: RollbackAlarms, watched: Iterable[Watched]
) -> dict[str, str]:
    """
    Make an alarm for each threshold of all that is watched.

    Return references to them by their names, which are chosen here: by those the role
    may look at them without its policy, which models wait for, referring to anything.
    """
    from aws_cdk import aws_cloudwatch as cloudwatch  # noqa: PLC0415 - loads slowly

    made = {}
    for each, threshold in itertools.product(watched, thresholds(chosen)):
        is_percentile = threshold.statistic.startswith("p")
        name = f"{each.name}-{threshold.id}"
        made[name] = cloudwatch.CfnAlarm(
            home,
            f"{each.id}{threshold.id}",
            alarm_name=name,
            alarm_description=f"Turns an update of {each.name} back",
            namespace="AWS/SageMaker",
            metric_name=threshold.metric,
            dimensions=[
                cloudwatch.CfnAlarm.DimensionProperty(name=key, value=value)
                for key, value in each.dimensions.items()
            ],
            statistic=None if is_percentile else threshold.statistic,
            extended_statistic=threshold.statistic if is_percentile else None,
            period=chosen.period_seconds,
            evaluation_periods=chosen.evaluation_periods,
            threshold=threshold.value,
            comparison_operator="GreaterThanThreshold",
            # What is not asked fails nothing.
            treat_missing_data="notBreaching",
        ).ref
    return made
