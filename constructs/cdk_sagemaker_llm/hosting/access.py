"""
The execution role: what a model needs to start and to log, and nothing else.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.arns import own_logs, own_names
from cdk_sagemaker_llm.hosting.scope import stack_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """
    One thing that a role may do.

    Args:
        sid: A name that says what for.

        actions: The actions, each by its full name.

        resources: On what.

        conditions: Under which conditions.

        wildcard_reason:
            Why a resource has a ``*`` in it.
            It is what cdk-nag is told, at the policy.
    """

    sid: str
    actions: Sequence[str]
    resources: Sequence[str]
    conditions: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    wildcard_reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """
        Render as IAM writes it.
        """
        conditions = {"Condition": self.conditions} if self.conditions else {}
        return {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": list(self.actions),
            "Resource": list(self.resources),
            **conditions,
        }


def make_execution_role(scope: Construct, id: str) -> iam.Role:
    """
    Make a role that only SageMaker, acting for this account, may take.
    """
    return iam.Role(
        scope,
        id,
        assumed_by=_sagemaker_of(stack_of(scope).account),
        description="Runs a language model on SageMaker",
    )


@functools.cache
def _sagemaker_of(account: str) -> iam.ServicePrincipal:
    return iam.ServicePrincipal(
        "sagemaker.amazonaws.com",
        conditions={"StringEquals": {"aws:SourceAccount": account}},
    )


def attach_access(
    scope: Construct, role: iam.IRole, statements: Sequence[Statement]
) -> iam.Policy:
    """
    Give a role what one model needs, as a policy of the model's own.

    What is created next must depend on it: SageMaker uses the role at once.
    """
    document = iam.PolicyDocument.from_json(
        {"Statement": [statement.to_json() for statement in statements]}
    )
    policy = iam.Policy(scope, "Access", document=document, roles=[role])
    _acknowledge(scope, policy, statements)
    return policy


def log_statements() -> list[Statement]:
    """
    Return what a role needs to write container logs.
    """
    return [
        Statement(
            sid="WriteLogs",
            actions=[
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            resources=[
                f"{own_logs()}:/aws/sagemaker/Endpoints/*",
                f"{own_logs()}:/aws/sagemaker/InferenceComponents/*",
            ],
            wildcard_reason=(
                "SageMaker names the log group after the endpoint or component, which "
                "is created after the role"
            ),
        )
    ]


@functools.cache
def _acknowledged_rules() -> str:
    return Validations.ACKNOWLEDGED_RULES_METADATA_KEY


def _acknowledge(
    scope: Construct, policy: iam.Policy, statements: Sequence[Statement]
) -> None:
    """
    Tell cdk-nag the reason for each wildcard.

    ``Validations.acknowledge`` takes an id with one ``::`` only, and those of
    resources have several (aws-cdk-lib 2.275.0): the record is written as it would be.
    """
    reasons = {
        resource: statement.wildcard_reason
        for statement in statements
        for resource in statement.resources
        if "*" in resource
    }
    policy.node.add_metadata(
        _acknowledged_rules(),
        {
            f"AwsSolutions-IAM5[Resource::{_nag_name(scope, name)}]": reason
            for name, reason in reasons.items()
        },
    )


def _nag_name(scope: Construct, resource: str) -> str:
    """
    Write a resource as cdk-nag does; what has the stack's own names only needs no call.
    """
    for placeholder, name in own_names().items():
        resource = resource.replace(placeholder, f"<{name}>")
    if not is_unresolved(resource):
        return resource
    return _as_nag_writes(stack_of(scope).resolve(resource))


def _as_nag_writes(value: Any) -> str:  # noqa: ANN401 - a resolved string is any JSON
    """
    Write a resolved string with every reference as ``<Name>``, and what cdk-nag does
    not know as its JSON (cdk-nag 3.0.2, flatten-cfn-reference.ts).
    """
    match value:
        case str():
            return value.replace("${", "<").replace("}", ">")
        case {"Fn::Join": [separator, [*parts]]}:
            return str(separator).join(_as_nag_writes(part) for part in parts)
        case {"Fn::Sub": argument} | {"Fn::ImportValue": argument}:
            return _as_nag_writes(argument)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{_as_nag_writes(resource)}.{_as_nag_writes(attribute)}>"
        case {"Ref": name}:
            return f"<{_as_nag_writes(name)}>"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
