"""
Holding a construct's arguments to their declared kinds, before its body runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from constructs import Construct

from cdk_sagemaker_llm.arguments import Fault, held, raise_faults
from cdk_sagemaker_llm.hosting.reporting import report
from cdk_sagemaker_llm.serving.rules import WRONG_KIND

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """
    Let an initialiser, or a method that defines something, refuse arguments that are
    not of the kinds its annotations declare.

    A jsii call would end in an error of its own, far from the caller's words.
    """
    return held(function, refuse=_report)


def _report(faults: list[Fault], given: Mapping[str, object]) -> None:
    scope = given.get("scope", given.get("self"))
    if isinstance(scope, Construct):
        found = [WRONG_KIND.finding(each.message, each.remedy) for each in faults]
        report(scope, str(given.get("id", "")), found)
    # What is no construct has no path that could be told.
    raise_faults(faults)
