"""
Telling cdk-nag the reason for each wildcard, at the policy that has it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from aws_cdk import Validations
from constructs import Construct, Node

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.hosting.arns import own_names
from cdk_sagemaker_llm.hosting.scope import stack_of
from cdk_sagemaker_llm.hosting.statements import Statement


def acknowledge(
    scope: Construct,
    policy: Node,
    statements: Iterable[Statement],
    told: dict[str, str],
) -> None:
    """
    Tell cdk-nag the reason for each wildcard that it was not told before.

    ``Validations.acknowledge`` takes an id with one ``::`` only, and those of
    resources have several (aws-cdk-lib 2.275.0): the record is written as it would be.

    Args:
        scope: A construct in the policy's stack.

        policy: The policy's place in the tree.

        statements: All that the policy says.

        told: What was told of this policy; what is told now is added.
    """
    new = {
        resource: reason
        for resource, reason in _reasons(statements).items()
        if told.get(resource) != reason
    }
    if not new:
        return
    told.update(new)
    policy.add_metadata(
        _acknowledged_rules(),
        {
            f"AwsSolutions-IAM5[Resource::{_nag_name(scope, name)}]": reason
            for name, reason in new.items()
        },
    )


def _reasons(statements: Iterable[Statement]) -> dict[str, str]:
    """
    Return the reasons for each resource with a wildcard; one may have several.
    """
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
