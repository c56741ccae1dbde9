"""
What roles of an app may do, read from its policies: those here, and those of users.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.arns import own_names
from cdk_sagemaker_llm.hosting.statements import Statement


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


def _several(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _is_known(resource: object) -> bool:
    if not isinstance(resource, str):
        return False
    own = "|".join(map(re.escape, own_names()))
    return not is_unresolved(re.sub(own, "", resource))
