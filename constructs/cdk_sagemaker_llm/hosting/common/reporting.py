"""
How constructs report findings: errors together at once, warnings as annotations; and
how their arguments are held to the declared kinds before a body runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

import jsii
from aws_cdk import Annotations
from constructs import Construct, IValidation

from cdk_sagemaker_llm.arguments import Fault, held, raise_faults
from cdk_sagemaker_llm.findings import Finding, Severity, errors_of, raise_errors
from cdk_sagemaker_llm.serving.parameters import WRONG_KIND
from cdk_sagemaker_llm.tokens import is_unresolved

P = ParamSpec("P")
R = TypeVar("R")


def at_synth(construct: Construct, find: Callable[[], Iterable[Finding]]) -> None:
    """
    Check what only shows when everything is defined.

    Errors stop the synthesis, warnings become annotations of the construct.
    """
    check: Any = _Late(construct, find)
    construct.node.add_validation(check)


def annotate(construct: Construct, warnings: Iterable[Finding]) -> None:
    """
    Attach warnings to a construct, each with the code that acknowledges it.
    """
    found = list(warnings)
    if not found:
        return
    annotations = Annotations.of(construct)
    for finding in found:
        remedy = f"; {finding.remedy}" if finding.remedy else ""
        annotations.add_warning_v2(
            f"cdk-sagemaker-llm:{finding.code}", f"{finding.message}{remedy}"
        )


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """
    Let an initialiser, or a method that defines something, refuse arguments that are
    not of the kinds its annotations declare.

    A jsii call would end in an error of its own, far from the caller's words.
    """
    return held(function, refuse=_report)


def report(scope: Construct, id: str, findings: Iterable[Finding]) -> None:
    """
    Raise all errors as one, before anything is created.
    """
    found = list(findings)
    # The path is a call into Node, which is made for an error only.
    if any(finding.severity is Severity.ERROR for finding in found):
        raise_errors("/".join(filter(None, (scope.node.path, id))), found)


@jsii.implements(IValidation)
class _Late:
    """
    A check that is asked when all is defined.
    """

    def __init__(
        self, construct: Construct, find: Callable[[], Iterable[Finding]]
    ) -> None:
        self._construct = construct
        self._find = find

    def validate(self) -> list[str]:
        found = list(self._find())
        warnings = [one for one in found if one.severity is Severity.WARNING]
        annotate(self._construct, warnings)
        return [str(error) for error in errors_of(found)]


def _report(faults: list[Fault], arguments: Mapping[str, object]) -> None:
    scope = arguments.get("scope", arguments.get("self"))
    if isinstance(scope, Construct):
        found = [WRONG_KIND.finding(each.message, each.remedy) for each in faults]
        name = arguments.get("id")
        is_told = isinstance(name, str | int | float) and not is_unresolved(name)
        report(scope, str(name) if is_told else "", found)
    # What is no construct has no path that could be told.
    raise_faults(faults)
