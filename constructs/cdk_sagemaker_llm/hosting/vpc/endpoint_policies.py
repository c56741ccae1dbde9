"""
What an endpoint of a VPC lets through: what the callers' roles may do, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles.statements import Statement, own_names, partition
from cdk_sagemaker_llm.hosting.vpc.services import Service, reached_by
from cdk_sagemaker_llm.tokens import is_unresolved

WIDER_POLICY = Rule(
    "LLM802",
    "an endpoint of a VPC lets more through than the app uses, since another stack "
    "decides what that is",
)


class EndpointPolicy:
    """
    The policy of one endpoint, as it grows.

    Args:
        service: The service behind it.

        may_name: Tells whether the resources of a permission can be named.
    """

    def __init__(
        self, service: Service, may_name: Callable[[Permission], bool]
    ) -> None:
        self._service = service
        self._may_name = may_name
        self._is_wide = False
        self._allowed: dict[tuple[tuple[str, ...], bool], list[Any]] = {}

    def allow(self, permission: Permission) -> None:
        """
        Let through what a role may do with this service.
        """
        name = self._service.name
        actions = tuple(a for a in permission.actions if name in reached_by(a))
        if not actions:
            return
        is_wide = not self._may_name(permission)
        resources = ["*"] if is_wide else permission.resources
        known = self._allowed.setdefault((actions, is_wide), [])
        known += [each for each in resources if each not in known]
        self._is_wide |= is_wide

    def allow_all(self) -> None:
        """
        Let all calls of the account through, where nothing tells which there are.
        """
        self._allowed.setdefault(((self._service.all_actions,), False), ["*"])

    @property
    def is_empty(self) -> bool:
        """
        Whether nothing is let through yet.
        """
        return not self._allowed

    def findings(self) -> list[Finding]:
        """
        Say where another stack's resources could not be named.
        """
        if not self._is_wide:
            return []
        return [
            WIDER_POLICY.finding(
                f"the endpoint of {self._service.name} lets through calls of any "
                "resource of this account: which one is decided in another stack, "
                "that may depend on this one",
                "define PrivateAccess in the stack of those who call",
            )
        ]

    def to_json(self, *further: dict[str, Any]) -> dict[str, Any]:
        """
        Render as IAM writes it.

        Args:
            further: Statements that no role of the app asks for.
        """
        allowed = [
            _statement(actions, resources, is_wide=is_wide)
            for (actions, is_wide), resources in self._allowed.items()
        ]
        return {"Statement": [*allowed, *further], "Version": "2012-10-17"}


def layer_statement() -> dict[str, Any]:
    """
    Return what lets the layers of images through, which Amazon ECR signs for itself.

    Amazon ECR user guide, vpc-endpoints: the bucket of a region has this name.
    """
    bucket = f"prod-{Aws.REGION}-starport-layer-bucket"
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:{partition()}:s3:::{bucket}/*",
    }


def invocations(
    endpoints: Iterable[tuple[str, Stack]],
) -> list[Permission]:
    """
    Return what a client of unknown permissions may invoke: the app's own endpoints.

    Args:
        endpoints: Their ARNs, with their stacks.
    """
    return [
        Permission(("sagemaker:InvokeEndpoint",), (arn,), stack)
        for arn, stack in endpoints
    ]


class Policies:
    """
    The policies of an app, or of a stage of it.

    Args:
        constructs: All that is defined there.
    """

    def __init__(self, constructs: Iterable[IConstruct]) -> None:
        self._policies = [
            (stack, stack.resolve(each.roles) or [], each.policy_document)
            for each in constructs
            if isinstance(each, iam.CfnPolicy | iam.CfnManagedPolicy)
            for stack in [each.stack]
        ]

    def of(self, role: iam.IRole) -> Iterator[Permission]:
        """
        Yield what a role is allowed in policies of its own, managed by AWS not.
        """
        for stack, roles, document in self._policies:
            if stack.resolve(role.role_name) in roles:
                yield from _permissions(document, stack)
        resource = role.node.default_child
        if isinstance(resource, iam.CfnRole) and isinstance(resource.policies, list):
            for inline in resource.policies:
                document = getattr(inline, "policy_document", None)
                yield from _permissions(document, resource.stack)


def permissions_of(statements: Iterable[Statement], stack: Stack) -> list[Permission]:
    """
    Return statements of a stack as permissions.
    """
    return [
        Permission(tuple(each.actions), tuple(each.resources), stack)
        for each in statements
    ]


@dataclass(frozen=True, slots=True)
class Permission:
    """
    One thing that a role may do.

    Args:
        actions: The actions.

        resources: On what; each a text, or what CloudFormation makes one of.

        stack: The stack whose template says so.
    """

    actions: tuple[str, ...]
    resources: tuple[Any, ...]
    stack: Stack

    @property
    def is_known(self) -> bool:
        """
        Whether the resources are the same text in every stack.
        """
        return all(map(_is_known, self.resources))


def _statement(
    actions: Sequence[str], resources: Sequence[Any], *, is_wide: bool
) -> dict[str, Any]:
    account = {"aws:PrincipalAccount": Aws.ACCOUNT_ID}
    if is_wide:
        account["aws:ResourceAccount"] = Aws.ACCOUNT_ID
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": _one_or_more(actions),
        "Resource": _one_or_more(resources),
        # Nobody else's credentials carry anything out of the VPC.
        "Condition": {"StringEquals": account},
    }


def _permissions(document: object, stack: Stack) -> Iterator[Permission]:
    rendered = document
    if isinstance(document, iam.PolicyDocument):
        rendered = document.to_json()
    if not isinstance(rendered, Mapping):
        # Empty, or made by what only CloudFormation can read.
        return
    for each in _several(rendered.get("Statement", [])):
        if each.get("Effect") == "Allow" and "Action" in each and "Resource" in each:
            actions, resources = _several(each["Action"]), _several(each["Resource"])
            yield Permission(tuple(actions), tuple(resources), stack)


def _is_known(resource: object) -> bool:
    if not isinstance(resource, str):
        return False
    own = "|".join(map(re.escape, own_names()))
    return not is_unresolved(re.sub(own, "", resource))


def _one_or_more(values: Sequence[Any]) -> object:
    return values[0] if len(values) == 1 else list(values)


def _several(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
