"""
Names and ARNs: those that a stack has given away, which the service refuses twice
whatever their case, and those by which a user imports what exists.

Names are remembered here, since looking through the constructs would ask Node.
"""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from aws_cdk import Arn, ArnFormat, Stack
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import name_findings
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.hosting.common.rules import NAME_TWICE
from cdk_sagemaker_llm.hosting.common.scope import (
    account_of,
    is_defined_at,
    region_of,
    stack_of,
)
from cdk_sagemaker_llm.serving.parameters import API
from cdk_sagemaker_llm.tokens import is_unresolved

NAME_IN_TWO = Rule(
    "LLM812",
    "two stacks of one account and region give an endpoint or a component one name",
    API,
)

# Beside each name, where it was given.
_taken: WeakKeyDictionary[Stack, dict[tuple[str, str], tuple[str, str]]] = (
    WeakKeyDictionary()
)

_ARN = (
    r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]+:\d{{12}}:{kind}/[a-zA-Z0-9](-*[a-zA-Z0-9])*"
)

OTHER_ARN = Rule("LLM195", "an ARN is not that of what is imported by it", API)


def own_name_findings(
    scope: Construct, parameter: str, name: str | None
) -> list[Finding]:
    """
    Check a name of the user's: its form, and that the stack has it once.
    """
    return [
        *name_findings(parameter, name),
        *twice_findings(scope, parameter, name),
    ]


def twice_findings(scope: Construct, parameter: str, name: str | None) -> list[Finding]:
    """
    Check that the stack has a name once.
    """
    if name is None or is_unresolved(name):
        return []
    other = _taken_in(stack_of(scope), (parameter, name.lower()))
    if other is None:
        return _elsewhere_findings(stack_of(scope), parameter, name)
    return [
        NAME_TWICE.finding(
            f"{parameter} {name!r} is taken: this stack names {other!r} already, and "
            "the service sees no case",
            "choose another, or leave it out",
        )
    ]


def _taken_in(stack: Stack, key: tuple[str, str]) -> str | None:
    name, path = _taken.get(stack, {}).get(key, ("", ""))
    return name if name and is_defined_at(stack, path) else None


def _elsewhere_findings(stack: Stack, parameter: str, name: str) -> list[Finding]:
    key = (parameter, name.lower())
    others = [each for each in _taken if _taken_in(each, key)]
    if not others or region_of(stack) is None or is_unresolved(account_of(stack)):
        return []
    root, environment = stack.node.root, stack.environment
    return [
        NAME_IN_TWO.finding(
            f"{parameter} {name!r} is named in the stack {other.node.path} too, of the "
            "same account and region: SageMaker lets one of them deploy",
            "choose another, or leave it out",
        )
        for other in others
        if other.environment == environment and other.node.root is root
    ]


def take_name(construct: Construct, parameter: str, name: str | None) -> None:
    """
    Remember the name that a construct was given.
    """
    if name is not None and not is_unresolved(name):
        names = _taken.setdefault(stack_of(construct), {})
        names[parameter, name.lower()] = (name, construct.node.path)


def named(scope: Construct, id: str, kind: str, name: str) -> str:
    """
    Return the ARN of what has a name in the stack's account and region, of a kind as
    ARNs say it, such as ``inference-component``.
    """
    report(scope, id, name_findings(f"{kind.replace('-', '_')}_name", name))
    return Stack.of(scope).format_arn(
        service="sagemaker",
        resource=kind,
        resource_name=in_arn(name) if kind == "endpoint" else name,
    )


def in_arn(endpoint_name: str) -> str:
    """
    Write an endpoint's name as the service does in its ARN, in lower case.

    One that is decided at deployment stays as it is: CloudFormation has no such word.
    """
    return endpoint_name if is_unresolved(endpoint_name) else endpoint_name.lower()


def name_in(scope: Construct, id: str, kind: str, arn: str) -> str:
    """
    Return the name in an ARN.
    """
    report(scope, id, _arn_findings(kind, arn))
    name = Arn.split(arn, ArnFormat.SLASH_RESOURCE_NAME).resource_name
    return name or ""


def _arn_findings(kind: str, arn: str) -> list[Finding]:
    if is_unresolved(arn) or re.fullmatch(_ARN.format(kind=kind), arn):
        return []
    parameter = f"{kind.replace('-', '_')}_arn"
    example = f"arn:aws:sagemaker:eu-west-1:111111111111:{kind}/name"
    return [OTHER_ARN.finding(f"{parameter} must be such as {example}, got {arn!r}")]
