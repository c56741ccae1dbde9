"""
What can come of an expression that is only read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# What an expression is worth: Python's own value, or one of the classes below.
Value = Any


class CannotRead(Exception):  # noqa: N818 - it is said, not a fault
    """
    What an expression is worth does not follow from the text.
    """


class NotThere(CannotRead):
    """
    The text does say: there is no such attribute.
    """


@dataclass(frozen=True)
class Unread:
    """
    A value that could not be read, kept until somebody needs it.
    """

    why: str


@dataclass(frozen=True)
class Named:
    """
    Something that is not in the text: only its dotted name is known.
    """

    path: str

    @property
    def module(self) -> str:
        """
        Where it is from.
        """
        return self.path.rpartition(".")[0]


@dataclass(frozen=True)
class Module:
    """
    A module of the package.
    """

    name: str


@dataclass(frozen=True)
class Class:
    """
    A class that the package defines.
    """

    module: str
    name: str
    node: ast.ClassDef = field(compare=False, repr=False)


@dataclass(frozen=True)
class Member:
    """
    One of an enumeration.
    """

    of: Class
    name: str
    value: Value


@dataclass(frozen=True)
class Hint:
    """
    A hint with others in brackets, such as ``list[int]`` or ``int | None``.
    """

    origin: Value
    args: tuple[Value, ...]


@dataclass(eq=False)
class Frame:
    """
    Where names are looked up while something is followed.

    Args:
        module: The module that it is in.

        names: The names of a function.

        outer: What that function was defined in.

        owner: The class that it is a method of.

        body: The class whose own statements are read, which see its names.
    """

    module: str
    names: dict[str, Value] = field(default_factory=dict)
    outer: Frame | None = None
    owner: Class | None = None
    body: Class | None = None


@dataclass(eq=False)
class Function:
    """
    A function or a lambda of the package, with what it was defined in.
    """

    node: ast.FunctionDef | ast.Lambda
    frame: Frame
    bound: Value = None
    defaults: Mapping[str, Value] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """
        Its name; a lambda's is its text.
        """
        if isinstance(self.node, ast.Lambda):
            return ast.unparse(self.node.body)
        return self.node.name


@dataclass(eq=False)
class Made:
    """
    What a call would make, which is not made.
    """

    of: Class | Named
    args: tuple[Value, ...] = ()
    words: Mapping[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Method:
    """
    A method of one of Python's own values, or a function that stands for one.
    """

    of: Value
    name: str


@dataclass(frozen=True, eq=False)
class Super:
    """
    A class as those above it in the line of inheritance see it.
    """

    of: Class
    bound: Value


@dataclass(frozen=True, eq=False)
class Field:
    """
    A field that a class declares.
    """

    name: str
    type: Value
    default: Value
    default_factory: Value
    init: bool
    doc: str
    # The hint as a type checker reads it, which may know more values.
    checked: Value
    bounds: Mapping[str, Value]


MISSING = Named("dataclasses.MISSING")
NONE = type(None)


def known(value: Value) -> Value:
    """
    Return a value that somebody needs.

    Raises:
        CannotRead: If it could not be read.
    """
    if isinstance(value, Unread):
        raise CannotRead(value.why)
    return value
