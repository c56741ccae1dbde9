"""
The values of an app's requests: which are known, and what is wrong with those, by the
names that the API has for them.
"""

from __future__ import annotations

from typing import NamedTuple

from cdk_sagemaker_llm.cli.app.hosting import Resource
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.limits import (
    bounds_findings,
    count_findings,
    least_findings,
    name_findings,
    range_findings,
)
from cdk_sagemaker_llm.serving.parameters import WRONG_KIND
from cdk_sagemaker_llm.simulation.api_values import Shape, number


class Refusal(NamedTuple):
    """
    What is wrong with one resource.
    """

    resource: Resource
    findings: list[Finding]


def literal(value: object) -> str | None:
    """
    Return a text of which no part is known at deployment alone.
    """
    is_whole = isinstance(value, str) and "${" not in value and "{{" not in value
    return str(value) if is_whole else None


def name_of(parameter: str, value: object) -> list[Finding]:
    return name_findings(parameter, literal(value))


def count_of(key: str, shape: Shape, least: int) -> list[Finding]:
    value = number(shape.get(key))
    if value is None:
        return _no_number(key, shape)
    return count_findings(key, _plain(value), least)


def at_least(key: str, shape: Shape, least: float) -> list[Finding]:
    value = number(shape.get(key))
    return _no_number(key, shape) or least_findings(key, value, least)


def within(key: str, shape: Shape, bounds: tuple[float, float]) -> list[Finding]:
    value = number(shape.get(key))
    return _no_number(key, shape) or range_findings(key, value, *bounds)


def _no_number(key: str, shape: Shape) -> list[Finding]:
    """
    Check that what stands for a number is one, where deployment does not decide it.
    """
    value = shape.get(key)
    if value is None or number(value) is not None:
        return []
    if isinstance(value, str) and literal(value) is None:
        return []
    return [WRONG_KIND.finding(f"{key} must be a number, got {value!r}")]


def order_of(least_key: str, most_key: str, shape: Shape) -> list[Finding]:
    least, most = number(shape.get(least_key)), number(shape.get(most_key))
    if least is None or most is None:
        return []
    return bounds_findings(least_key, _plain(least), most_key, _plain(most))


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value
