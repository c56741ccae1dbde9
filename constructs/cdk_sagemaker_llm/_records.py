"""
Data classes that are quick to load, for what every synthesis loads.

What belongs here is what the standard library compiles anew for each data class, and
need not be: comparing, hashing and showing, which were a fifth of the time that
importing the constructs took.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]


def _dataclass(
    cls: type | None = None, /, **options: bool
) -> type | Callable[[type], type]:
    """
    Make a data class, as ``dataclasses.dataclass`` does.
    """

    def wrap(plain: type) -> type:
        made: type = dataclasses.dataclass(plain, **options, repr=False, eq=False)
        _compare(made, plain, is_frozen=options.get("frozen", False))
        if "__repr__" not in vars(plain):
            _show(made)
        return made

    return wrap if cls is None else wrap(cls)


def _compare(made: Any, plain: type, *, is_frozen: bool) -> None:  # noqa: ANN401 - a class that is written to
    values = _values_of(f.name for f in dataclasses.fields(made) if f.compare)

    def __eq__(self: object, other: object) -> bool:  # noqa: N807 - it becomes the method
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: object) -> int:  # noqa: N807 - likewise
        return hash(values(self))

    if "__eq__" not in vars(plain):
        made.__eq__ = __eq__
    if "__hash__" not in vars(plain):
        made.__hash__ = __hash__ if is_frozen else None


def _show(made: Any) -> None:  # noqa: ANN401 - a class that is written to
    names = [f.name for f in dataclasses.fields(made) if f.repr]

    @recursive_repr()
    def __repr__(self: object) -> str:  # noqa: N807 - it becomes the method
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    made.__repr__ = __repr__


def _values_of(names: Iterable[str]) -> Callable[[object], object]:
    every = tuple(names)
    return attrgetter(*every) if every else lambda _: ()


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass
