"""
Names that a stack has given away: the service refuses one twice, whatever its case.

They are remembered here, since looking through the constructs would ask Node.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from aws_cdk import Stack
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import name_findings
from cdk_sagemaker_llm.hosting.scope import stack_of
from cdk_sagemaker_llm.serving.rules import API

NAME_TWICE = Rule(
    "LLM183", "an endpoint's or component's name is used twice in a stack", API
)

_taken: WeakKeyDictionary[Stack, dict[tuple[str, str], str]] = WeakKeyDictionary()


def own_name_findings(
    scope: Construct, parameter: str, name: str | None
) -> list[Finding]:
    """
    Check a name of the user's: its form, and that the stack has it once.

    Args:
        scope: Where it is to be given.

        parameter: What the user calls it; each has names of its own.

        name: The name; ``None`` if CloudFormation makes one.
    """
    return [
        *name_findings(parameter, name),
        *twice_findings(scope, parameter, name),
    ]


def twice_findings(scope: Construct, parameter: str, name: str | None) -> list[Finding]:
    """
    Check that the stack has a name once.

    Args:
        scope: Where it is to be given.

        parameter: What the user calls it.

        name: The name; ``None`` if CloudFormation makes one.
    """
    if name is None or is_unresolved(name):
        return []
    other = _taken.get(stack_of(scope), {}).get((parameter, name.lower()))
    if other is None:
        return []
    return [
        NAME_TWICE.finding(
            f"{parameter} {name!r} is taken: this stack names {other!r} already, and "
            "the service sees no case",
            "choose another, or leave it out",
        )
    ]


def take_name(scope: Construct, parameter: str, name: str | None) -> None:
    """
    Remember a name that was given.

    Args:
        scope: Where it was given.

        parameter: What the user calls it.

        name: The name; ``None`` if CloudFormation makes one.
    """
    if name is not None and not is_unresolved(name):
        names = _taken.setdefault(stack_of(scope), {})
        names[parameter, name.lower()] = name
