"""
Gathering the checks of an engine, so that a new one need not be listed anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.rules import OUTSIDE_RANGE
from cdk_sagemaker_llm.tokens import is_unresolved

_PREFIX = "check_"

Check = Callable[[Any], Iterator[Finding]]


def checks_of(*modules: ModuleType) -> tuple[Check, ...]:
    """
    Return the checks that modules define, in the order in which they stand there.

    ``checks_of(model, variables, combinations)``

    A check is a function ``check_...`` that takes what is checked, and nothing else.
    """
    return tuple(
        value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith(_PREFIX)
        and getattr(value, "__module__", None) == module.__name__
    )


def device_findings(accelerators: int | None) -> list[Finding]:
    """
    Find a number of devices that no copy can have; on a host without any it is 0.
    """
    if accelerators is None or is_unresolved(accelerators) or accelerators >= 0:
        return []
    return [
        OUTSIDE_RANGE.finding(f"accelerators must be at least 0, got {accelerators}")
    ]
