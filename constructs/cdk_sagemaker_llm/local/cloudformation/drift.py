"""
Drift: what became of a stack's resources without the stack's doing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from cdk_sagemaker_llm.catalog.resource_types import without_write_only
from cdk_sagemaker_llm.local.aws.clock import current
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.cloudformation.registry import resource_type
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Observable,
    Properties,
    Resource,
    Scope,
)

DRIFTED = frozenset({"MODIFIED", "DELETED"})


@dataclass(frozen=True, slots=True)
class Drift:
    """
    How a resource differs from its template.
    """

    resource: Resource
    status: str
    actual: Properties
    differences: list[dict[str, str]]
    time: datetime

    def as_answer(self, stack_id: str) -> dict[str, Any]:
        return {
            "StackId": stack_id,
            "LogicalResourceId": self.resource.logical_resource_id,
            "PhysicalResourceId": self.resource.physical_resource_id,
            "ResourceType": self.resource.cf_resource_type,
            "ExpectedProperties": _text(self.resource.properties),
            "ActualProperties": _text(self.actual) if self.actual else None,
            "PropertyDifferences": self.differences,
            "StackResourceDriftStatus": self.status,
            "Timestamp": self.time,
        }


def detect(resource: Resource, scope: Scope) -> Drift | None:
    """
    Compare a resource with its template, or return nothing for an unchecked type.

    Only the properties that the template declares are compared.
    """
    kind = resource_type(resource.cf_resource_type)
    if not isinstance(kind, Observable):
        return None
    now = current()
    found = kind.actual(resource, scope)
    if found is None:
        return Drift(resource, "DELETED", {}, [], now)
    comparable = without_write_only(resource.cf_resource_type, resource.properties)
    expected = {k: v for k, v in comparable.items() if k in found}
    differences = list(_differences(expected, found, ""))
    status = "MODIFIED" if differences else "IN_SYNC"
    # The properties that cannot be read back are as they should be, for all one knows.
    declared = {
        k: found[k] if k in expected else v for k, v in resource.properties.items()
    }
    return Drift(resource, status, declared, differences, now)


def _differences(
    expected: Untyped, actual: Untyped, path: str
) -> Iterator[dict[str, str]]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key, item in expected.items():
            yield from _differences(item, actual.get(key), f"{path}/{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        pairs = zip_longest(_in_order(expected), _in_order(actual))
        for index, (item, found) in enumerate(pairs):
            yield from _differences(item, found, f"{path}/{index}")
    elif not _same(expected, actual):
        kind = "REMOVE" if actual is None else "NOT_EQUAL"
        yield {
            "PropertyPath": path,
            "ExpectedValue": _text(expected),
            "ActualValue": _text(actual),
            "DifferenceType": "ADD" if expected is None else kind,
        }


def _in_order(items: list[Untyped]) -> list[Untyped]:
    # Tags and dimensions are sets, whatever order a service keeps them in.
    for name in ("Key", "Name", "ScheduledActionName"):
        if all(isinstance(item, dict) and name in item for item in items):
            return sorted(items, key=lambda item: str(item[name]))
    return items


def _same(expected: Untyped, actual: Untyped) -> bool:
    if isinstance(expected, str) and "{{resolve:" in expected:
        # What it stands for is not looked at, and a secret shown nowhere.
        return actual is not None
    return bool(_plain(expected) == _plain(actual))


def _plain(value: Untyped) -> Untyped:
    # A template may write a number or a boolean as a string.
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _text(value: Untyped) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
