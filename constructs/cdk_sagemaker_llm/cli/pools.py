"""
The instance types of a variant in a template, and what is specified for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Properties = Mapping[str, Any]
_LAST = 6


def pools_in(variant: Properties) -> list[Properties]:
    """
    Return the pools of a variant, the first choice first; itself if it has one type.
    """
    return sorted(_maps(variant.get("InstancePools")), key=_priority) or [variant]


def model_in(variant: Properties, pool: Properties) -> object:
    """
    Return what names the model that fills the instances of a pool.
    """
    return pool.get("ModelNameOverride", variant.get("ModelName"))


def specifications_in(component: Properties) -> Iterator[Properties]:
    """
    Return what a component's copies are: once, or once for each type.
    """
    several = _maps(component.get("Specifications"))
    if several:
        yield from several
    else:
        yield _map(component.get("Specification"))


def specification_on(component: Properties, instance_type: object) -> Properties:
    """
    Return what a component's copies are on a type of instance.
    """
    several = list(specifications_in(component))
    own = (one for one in several if one.get("InstanceType") == instance_type)
    return next(own, several[0])


def _priority(pool: Properties) -> int:
    found = pool.get("Priority")
    # One that deployment alone knows is tried last.
    return found if isinstance(found, int) else _LAST


def _map(value: object) -> Properties:
    return value if isinstance(value, Mapping) else {}


def _maps(value: object) -> Sequence[Properties]:
    several = value if isinstance(value, list) else []
    return [each for each in several if isinstance(each, Mapping)]
