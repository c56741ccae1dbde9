"""
Telling cdk-nag the reason for each wildcard, at the policy that has it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import jsii
from aws_cdk import Validations
from aws_cdk import aws_iam as iam
from constructs import Construct, IValidation, Node

from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.hosting.roles.statements import Statement, own_names
from cdk_sagemaker_llm.tokens import is_unresolved


def acknowledge(
    scope: Construct,
    policy: Node,
    statements: Iterable[Statement],
    acknowledged: dict[str, str],
) -> None:
    """
    Tell cdk-nag the reason for each wildcard that it does not know yet.

    ``Validations.acknowledge`` takes an id with one ``::`` only, and those of
    resources have several (aws-cdk-lib 2.275.0): the record is written as it would be.

    Args:
        acknowledged: The reasons that cdk-nag has of this policy; new ones are added.
    """
    new = {
        resource: reason
        for resource, reason in _reasons(statements).items()
        if acknowledged.get(resource) != reason
    }
    if not new:
        return
    acknowledged.update(new)
    # What refers to more than the stack's own names.
    open_ = {
        name: reason
        for name, reason in new.items()
        if is_unresolved(_with_own_names(name))
    }
    plain = {name: reason for name, reason in new.items() if name not in open_}
    _write(scope, policy, plain)
    if open_:
        late: Any = _Late(scope, policy, open_)
        policy.add_validation(late)


def acknowledge_granted(
    grantee: iam.IGrantable, statements: Iterable[Statement]
) -> None:
    """
    Tell cdk-nag the reason for each wildcard that a principal is granted.

    One that covers everything is left to the principal's owner: it would cover what
    others let the same policy do.
    """
    principal = grantee.grant_principal
    if not isinstance(principal, Construct):
        return
    policy = principal.node.try_find_child("DefaultPolicy")
    if not isinstance(policy, Construct):
        return
    limited = [each for each in statements if "*" not in each.resources]
    acknowledge(policy, policy.node, limited, {})


@jsii.implements(IValidation)
class _Late:
    """
    Tells cdk-nag once references are as templates have them: one of another stack is an
    import then, which it was not before.
    """

    def __init__(
        self, scope: Construct, policy: Node, reasons: Mapping[str, str]
    ) -> None:
        self._scope = scope
        self._policy = policy
        self._reasons = reasons

    def validate(self) -> list[str]:
        """
        Write, and find nothing.
        """
        _write(self._scope, self._policy, self._reasons)
        return []


def _write(scope: Construct, policy: Node, reasons: Mapping[str, str]) -> None:
    if not reasons:
        return
    policy.add_metadata(
        _acknowledged_rules(),
        {
            f"AwsSolutions-IAM5[Resource::{_nag_name(scope, name)}]": reason
            for name, reason in reasons.items()
        },
    )


def _reasons(statements: Iterable[Statement]) -> dict[str, str]:
    found: dict[str, dict[str, None]] = {}
    for statement in statements:
        for resource in statement.resources:
            if "*" in resource:
                found.setdefault(resource, {})[statement.wildcard_reason] = None
    return {resource: "; ".join(reasons) for resource, reasons in found.items()}


@functools.cache
def _acknowledged_rules() -> str:
    return Validations.ACKNOWLEDGED_RULES_METADATA_KEY


def _nag_name(scope: Construct, resource: str) -> str:
    """
    Write a resource as cdk-nag does; what has the stack's own names only needs no call.
    """
    resource = _with_own_names(resource)
    if not is_unresolved(resource):
        return resource
    return _as_nag_writes(stack_of(scope).resolve(resource))


def _with_own_names(resource: str) -> str:
    for placeholder, name in own_names().items():
        resource = resource.replace(placeholder, f"<{name}>")
    return resource


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
