"""
Which properties of a CloudFormation type replace its resources, which cannot be read
back, and which tell one from others: what the registry's schemas say.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.catalog._data import load

_EVERY_ITEM = "*"


def replaces(
    type_name: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> bool:
    """
    Tell whether a change of properties needs a new physical resource; of a type that
    the catalogue does not have, none does.
    """
    return any(
        _value(before, path) != _value(after, path)
        for path in _paths(type_name, "create_only")
    )


def read_only(type_name: str) -> Sequence[str]:
    """
    Return the properties that only the service sets, such as ``ModelArn``, spelt as
    ``Fn::GetAtt`` takes them: with a dot where one is inside another.
    """
    return [".".join(path) for path in _paths(type_name, "read_only")]


def identifier(type_name: str) -> Sequence[str]:
    """
    Return the properties that tell a resource from all others of its type, by which an
    import finds it.
    """
    return [".".join(path) for path in _paths(type_name, "identifier")]


def without_write_only(type_name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return properties without those that the service takes and does not give back.
    """
    kept: dict[str, Any] = dict(properties)
    for path in _paths(type_name, "write_only"):
        kept = _without(kept, path)
    return kept


@functools.cache
def _paths(type_name: str, mark: str) -> tuple[tuple[str, ...], ...]:
    marks = load("resource_types.json")["types"].get(type_name, {})
    return tuple(tuple(path.split("/")) for path in marks.get(mark, ()))


def _value(properties: object, path: tuple[str, ...]) -> object:
    if not path:
        return properties
    if isinstance(properties, list) and path[0] == _EVERY_ITEM:
        return [_value(item, path[1:]) for item in properties]
    if isinstance(properties, Mapping):
        return _value(properties.get(path[0]), path[1:])
    return None


def _without(properties: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
    name, *rest = path
    if isinstance(properties, list) and name == _EVERY_ITEM:
        return [_without(item, tuple(rest)) for item in properties]
    if not isinstance(properties, Mapping) or name not in properties:
        return properties
    if not rest:
        return {key: value for key, value in properties.items() if key != name}
    return {**properties, name: _without(properties[name], tuple(rest))}
