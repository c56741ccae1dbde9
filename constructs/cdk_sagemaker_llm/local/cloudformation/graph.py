"""
Which resources a template declares, and in which order they can be made.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from cdk_sagemaker_llm.local.cloudformation.resource import Declaration, Resource
from cdk_sagemaker_llm.local.untyped import Untyped

_SUBSTITUTION = re.compile(r"\$\{([^!}][^}]*)\}")


class CircularDependencyError(Exception):
    """
    Resources of a template that wait for each other.
    """


def declarations(
    template: dict[str, Any], conditions: Mapping[str, Any]
) -> list[Declaration]:
    """
    Return the resources that the conditions let through, dependencies first.

    Raises:
        CircularDependencyError: If there is no such order.
    """
    active = {
        logical_id: body
        for logical_id, body in template.get("Resources", {}).items()
        if "Condition" not in body or conditions[body["Condition"]]
    }
    declared = [_declare(name, body, active) for name, body in active.items()]
    return _in_order(declared)


def deletion_order(resources: Iterable[Resource]) -> list[Resource]:
    """
    Return resources so that nothing goes before what depends on it.
    """
    by_id = {resource.logical_resource_id: resource for resource in resources}
    ordered = _in_order([resource.declaration for resource in by_id.values()])
    return [by_id[declaration.logical_id] for declaration in reversed(ordered)]


def references(value: Untyped) -> Iterator[str]:
    """
    Name what ``Ref``, ``Fn::GetAtt`` and ``Fn::Sub`` in a value point at.
    """
    for pointer in pointers(value):
        yield pointer.partition(".")[0]


def pointers(value: Untyped) -> Iterator[str]:
    """
    Name what a value points at: ``Name`` of a ``Ref``, ``Name.Attribute`` otherwise.
    """
    if isinstance(value, list):
        for item in value:
            yield from pointers(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref" and isinstance(item, str):
                yield item
            elif key == "Fn::GetAtt":
                yield item if isinstance(item, str) else ".".join(map(str, item))
            else:
                yield from _substitutions(item) if key == "Fn::Sub" else ()
                yield from pointers(item)


def _substitutions(value: Untyped) -> Iterator[str]:
    text = value[0] if isinstance(value, list) else value
    yield from _SUBSTITUTION.findall(text)


def _declare(
    logical_id: str, body: dict[str, Any], active: Collection[str]
) -> Declaration:
    explicit = body.get("DependsOn", [])
    explicit = [explicit] if isinstance(explicit, str) else explicit
    properties = body.get("Properties") or {}
    found = {*references(properties), *explicit} & {*active}
    return Declaration(
        logical_id=logical_id,
        type=body["Type"],
        properties=properties,
        depends_on=frozenset(found),
        retain_on_delete=body.get("DeletionPolicy") == "Retain",
        retain_on_replace=body.get("UpdateReplacePolicy") == "Retain",
    )


def _in_order(declared: list[Declaration]) -> list[Declaration]:
    by_id = {declaration.logical_id: declaration for declaration in declared}
    sorter = TopologicalSorter(
        {name: d.depends_on & by_id.keys() for name, d in by_id.items()}
    )
    try:
        return [by_id[name] for name in sorter.static_order()]
    except CycleError as error:
        cycle = ", ".join(sorted(set(error.args[1])))
        raise CircularDependencyError(
            f"Circular dependency between resources: [{cycle}]"
        ) from error
