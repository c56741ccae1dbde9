"""
The resources of a stack: as declared, in the order they can be made, and as they exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Protocol, runtime_checkable

from moto.moto_api._internal import mock_random

from cdk_sagemaker_llm.catalog import resource_types
from cdk_sagemaker_llm.local.aws.clock import current
from cdk_sagemaker_llm.local.aws.untyped import Untyped

Properties = dict[str, Any]
_SUFFIX_LENGTH = 12  # What CloudFormation appends to the names it makes.
# What fails to be created is rolled back whatever its policy is.
_RETAINED = ("Retain", "RetainExceptOnCreate")
_SUBSTITUTION = re.compile(r"\$\{([^!}][^}]*)\}")


class ResourceError(Exception):
    """
    Resources could not be put in order, created, updated or deleted; the text says why.
    """


@dataclass(frozen=True, slots=True)
class Scope:
    """
    The account, region and stack that a resource belongs to.
    """

    account: str
    region: str
    stack_id: str
    stack_name: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """
    A resource as the template declares it, intrinsic functions unresolved.
    """

    logical_id: str
    type: str
    properties: Properties
    depends_on: frozenset[str]
    retain_on_delete: bool = False
    retain_on_replace: bool = False
    # Also where the operation is rolled back that made it.
    retain_on_create: bool = False


@dataclass
class Resource:
    """
    A resource that exists, by the names that moto's responses ask for.

    Args:
        properties: The resolved properties; dynamic references are left as written,
            because CloudFormation compares them so and stores no secret.

        read_attribute: What ``Fn::GetAtt`` calls.

        native: The object behind it, for the resource type's own use.

        reason: A remark that goes with the resource's event.
    """

    declaration: Declaration
    properties: Properties
    physical_resource_id: str
    read_attribute: Callable[[str], Any]
    native: Any = None
    reason: str | None = None
    status: str = "CREATE_COMPLETE"
    updated: datetime = field(default_factory=current)

    @property
    def logical_resource_id(self) -> str:
        return self.declaration.logical_id

    @property
    def cf_resource_type(self) -> str:
        return self.declaration.type

    def get_cfn_attribute(self, name: str) -> Untyped:
        """
        Answer ``Fn::GetAtt``; a truth value is text in small letters.
        """
        value = self.read_attribute(name)
        return scalar_text(value) if isinstance(value, bool) else value


class UnstableError(ResourceError):
    """
    A resource was made, and never came to be what was asked for.
    """

    def __init__(self, reason: str, resource: Resource) -> None:
        super().__init__(reason)
        self.resource = resource


class ResourceType(Protocol):
    """
    How resources of one type come, change in place and go.

    Dynamic references in the properties are resolved.
    """

    def create(
        self, declaration: Declaration, properties: Properties, scope: Scope
    ) -> Resource: ...

    def update(
        self, resource: Resource, properties: Properties, scope: Scope
    ) -> None: ...

    def delete(self, resource: Resource, scope: Scope) -> None: ...


@runtime_checkable
class Observable(Protocol):
    """
    A type whose resources can be read back, which is what finds drift.
    """

    def actual(self, resource: Resource, scope: Scope) -> Properties | None:
        """
        Return the properties as they are, or ``None`` if the resource is gone.

        A property that cannot be read back is left out; one that was taken away is
        there with ``None``.
        """


@runtime_checkable
class Importable(Protocol):
    """
    A type of which a stack can take over what exists.
    """

    def existing(
        self,
        declaration: Declaration,
        properties: Properties,
        identifier: Mapping[str, str],
        scope: Scope,
    ) -> Resource | None:
        """
        Return what exists, by the properties that identify it; ``None`` if it does not.
        """


def physical_id(kind: str, identifier: Mapping[str, str]) -> str:
    """
    Return what a resource is called, by the properties that identify it: an ARN says
    all, and what has none is told by them together.
    """
    names = resource_types.identifier(kind)
    return identifier.get("Arn") or "|".join(identifier.get(one, "") for one in names)


def scalar_text(value: Untyped) -> str:
    """
    Write a value of a template as text: a truth value in small letters.
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def physical_name(logical_id: str, longest: int = 63) -> str:
    """
    Make a name as CloudFormation does: the logical id and a random suffix.
    """
    suffix = mock_random.get_random_string(_SUFFIX_LENGTH)
    return f"{logical_id[: longest - _SUFFIX_LENGTH - 1]}-{suffix}"


def changed_names(before: Properties, after: Properties) -> set[str]:
    """
    Name the top-level properties that differ.
    """
    names = before.keys() | after.keys()
    return {name for name in names if before.get(name) != after.get(name)}


def attributes(values: dict[str, Any]) -> Callable[[str], Any]:
    """
    Answer ``Fn::GetAtt`` from a table.
    """

    def read(name: str) -> Untyped:
        if name not in values:
            raise ResourceError(f"Attribute '{name}' does not exist")
        return values[name]

    return read


def declarations(
    template: dict[str, Any], conditions: Mapping[str, Any]
) -> list[Declaration]:
    """
    Return the resources that the conditions let through, dependencies first.
    """
    active = {
        logical_id: body
        for logical_id, body in template.get("Resources", {}).items()
        if "Condition" not in body or conditions[body["Condition"]]
    }
    declared = []
    for name, body in active.items():
        explicit = body.get("DependsOn", [])
        explicit = [explicit] if isinstance(explicit, str) else explicit
        properties = body.get("Properties") or {}
        implicit = {pointer.partition(".")[0] for pointer in pointers(properties)}
        declaration = Declaration(
            logical_id=name,
            type=body["Type"],
            properties=properties,
            depends_on=frozenset({*implicit, *explicit} & active.keys()),
            retain_on_delete=body.get("DeletionPolicy") in _RETAINED,
            retain_on_replace=body.get("UpdateReplacePolicy") == "Retain",
            retain_on_create=body.get("DeletionPolicy") == "Retain",
        )
        declared.append(declaration)
    return _in_order(declared)


def deletion_order(resources: Iterable[Resource]) -> list[Resource]:
    """
    Return resources so that nothing goes before what depends on it.
    """
    # One that is replaced has two.
    by_id: dict[str, list[Resource]] = {}
    for resource in resources:
        by_id.setdefault(resource.logical_resource_id, []).append(resource)
    ordered = _in_order([same[0].declaration for same in by_id.values()])
    return [each for what in reversed(ordered) for each in by_id[what.logical_id]]


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
                if key == "Fn::Sub":
                    text = item[0] if isinstance(item, list) else item
                    yield from _SUBSTITUTION.findall(text)
                yield from pointers(item)


def _in_order(declared: list[Declaration]) -> list[Declaration]:
    by_id = {declaration.logical_id: declaration for declaration in declared}
    sorter = TopologicalSorter(
        {name: d.depends_on & by_id.keys() for name, d in by_id.items()}
    )
    try:
        return [by_id[name] for name in sorter.static_order()]
    except CycleError as error:
        cycle = ", ".join(sorted(set(error.args[1])))
        raise ResourceError(
            f"Circular dependency between resources: [{cycle}]"
        ) from error
