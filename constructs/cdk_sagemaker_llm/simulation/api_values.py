"""
Values of AWS's APIs, as requests and templates write them.

Templates write numbers and switches as text, too, and leave as ``${...}`` what
deployment alone knows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Shape = Mapping[str, Any]

# More instances or copies than anyone runs: such a number is a slip.
_MOST = 100_000
_LAST = 100


def is_open(value: object) -> bool:
    """
    Whether deployment alone knows a value.
    """
    return isinstance(value, str) and value.startswith("${")


def number(value: object) -> float | None:
    """
    Read a number; ``None`` for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def integer(value: object) -> int | None:
    """
    Read a whole number; ``None`` for anything else.
    """
    found = number(value)
    return int(found) if found is not None and found.is_integer() else None


def whole(value: object) -> int | None:
    """
    Read how many there are of something; ``None`` for what is no such number.
    """
    found = integer(value)
    return found if found is not None and 0 <= found <= _MOST else None


def switch(value: object) -> bool:
    """
    Read a switch.
    """
    return value is True or str(value).lower() == "true"


def moment(value: object) -> datetime | None:
    """
    Read a moment: seconds since 1970, ISO 8601, or nothing; without a zone it is UTC.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def map_of(holder: object, key: str) -> Shape:
    """
    Return the map that a key holds; an empty one for anything else.
    """
    found = holder.get(key) if isinstance(holder, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def maps_of(holder: object, key: str) -> list[Shape]:
    """
    Return the maps in the list that a key holds; none for anything else.
    """
    found = holder.get(key) if isinstance(holder, Mapping) else None
    several = found if isinstance(found, list | tuple) else []
    return [each for each in several if isinstance(each, Mapping)]


def value_text(value: object) -> str:
    """
    Write a value for a message.
    """
    if value is None:
        return "nothing"
    return f"{value}, known at deployment only" if is_open(value) else repr(value)


def pools_of(variant: Shape) -> list[Shape]:
    """
    Return the instance pools of a production variant, the first choice first; the
    variant itself if it has one instance type.
    """
    several = maps_of(variant, "InstancePools")
    if not several:
        return [variant]
    ranks = [priority_of(pool, order) for order, pool in enumerate(several, start=1)]
    order = sorted(range(len(several)), key=ranks.__getitem__)
    return [several[index] for index in order]


def priority_of(pool: Shape, order: int) -> int:
    """
    Return when an instance pool is tried: one without a priority in its order, and one
    whose priority deployment alone knows last.
    """
    found = pool.get("Priority")
    return whole(found) or (order if found is None else _LAST)


def model_on(variant: Shape, pool: Shape) -> object:
    """
    Return what names the model that fills the instances of a pool; ``None`` if
    inference components share them.
    """
    return pool.get("ModelNameOverride", variant.get("ModelName"))


def specifications_of(component: Shape) -> list[Shape]:
    """
    Return what the copies of an inference component are: once, or once for each type.
    """
    several = maps_of(component, "Specifications")
    return several or [map_of(component, "Specification")]


def specification_on(component: Shape, instance_type: object) -> Shape:
    """
    Return what the copies of an inference component are on a type of instance.
    """
    several = specifications_of(component)
    own = (one for one in several if one.get("InstanceType") == instance_type)
    return next(own, several[0])
