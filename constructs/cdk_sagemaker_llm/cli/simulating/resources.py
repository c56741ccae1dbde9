"""
The resources of an app with their values computed, and what cannot be played out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.cli.assembly import Assembly, Stack
from cdk_sagemaker_llm.cli.simulating.values import (
    evaluate,
    exists,
    is_open,
    references_in,
)

Properties = Mapping[str, Any]
# More instances or copies than anyone runs: such a number is a slip.
_MOST = 100_000
# Where a literal name may stand, which another place may refer to by reference.
_NAMES: Mapping[str, str] = {
    "Endpoint": "EndpointName",
    "InferenceComponent": "InferenceComponentName",
}


@dataclass(frozen=True, slots=True)
class Resource:
    """
    A resource with its values computed.

    Args:
        stack: The stack it is in.

        name: Its logical id.

        properties: Its properties, references written as ``${Stack/LogicalId}``.
    """

    stack: Stack = field(repr=False)
    name: str
    properties: Properties

    @property
    def key(self) -> str:
        """
        Stack and logical id, by which it is known everywhere.
        """
        return f"{self.stack.name}/{self.name}"


@dataclass(slots=True)
class Resources:
    """
    All resources of an app.

    Args:
        stacks: The stacks.

        left_out: What is not simulated, and why, one sentence each.

        assumed: What the app leaves open and AWS does not document.
    """

    stacks: Sequence[Stack]
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    _literals: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, app: Assembly) -> Resources:
        """
        Take over what was read of an app, and what was not.
        """
        found = cls(app.stacks)
        found.left_out += app.faults
        found.left_out += [
            f"{name}: its template is not in the assembly" for name in app.unopened
        ]
        for kind, key in _NAMES.items():
            for one in found.of_type(kind):
                literal = one.properties.get(key)
                if literal is not None:
                    found._literals[str(literal)] = one.key
        return found

    def of_type(self, kind: str, service: str = "SageMaker") -> Iterator[Resource]:
        """
        Return the resources of a type that are there, as far as conditions say it.
        """
        for stack in self.stacks:
            for name, properties in stack.of_type(kind, service):
                is_there = exists(stack, name)
                if is_there is False:
                    continue
                given = evaluate(stack, properties)
                if isinstance(given, Mapping):
                    yield Resource(stack, name, given)
                else:
                    key = f"{stack.name}/{name}"
                    self.tell(key, "its properties are known at deployment only")

    def find(self, value: object) -> str:
        """
        Return the resource that a value names, or else the value as text.
        """
        named = references_in(value)
        if named:
            return named[-1]
        text = str(value)
        return self._literals.get(
            text, self._literals.get(text.rpartition("/")[2], text)
        )

    def tell(self, subject: str, why: str) -> None:
        """
        Note something that is not simulated.
        """
        told = f"{subject}: {why}"
        if told not in self.left_out:
            self.left_out.append(told)


def whole(value: object) -> int | None:
    """
    Read how many there are of something, which CloudFormation takes as text too.
    """
    found = number(value)
    is_count = found is not None and found.is_integer() and 0 <= found <= _MOST
    return int(found) if found is not None and is_count else None


def number(value: object) -> float | None:
    """
    Read a number; ``None`` for what is none, or is known at deployment only.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def switch(value: object) -> bool:
    """
    Read a switch, which CloudFormation takes as text too.
    """
    return value is True or str(value).lower() == "true"


def map_of(holder: object, key: str) -> Properties:
    """
    Return the map that a key holds; an empty one for anything else.
    """
    found = holder.get(key) if isinstance(holder, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def maps_of(holder: object, key: str) -> list[Properties]:
    """
    Return the maps in the list that a key holds; none for anything else.
    """
    found = holder.get(key) if isinstance(holder, Mapping) else None
    several = found if isinstance(found, list) else []
    return [each for each in several if isinstance(each, Mapping)]


def shown(value: object) -> str:
    """
    Write a value for a message.
    """
    if value is None:
        return "nothing"
    return f"{value}, known at deployment only" if is_open(value) else repr(value)
