"""
What an expression comes to without a run: plain Python, and what is not known of it.
"""

from __future__ import annotations

import ast
import copy
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.text import redacted

Kind = Literal["", "account", "region", "role", "time"]

_WIDTH = 60
# What is called a secret is none of the reader's, whatever its form.
_SECRET = re.compile(
    r"((?:token|key|secret|passw\w*|credentials?)[\"']?\s*(?:=|:|,|\]\s*=)\s*)"
    r"([\"'])(?:(?!\2).)*\2",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Unknown:
    """
    A value that only a run has.

    Args:
        text: The expression, as it stands there.

        kind: What it is, where that is known: a region can be filled in, and what holds
            the time only makes a name unique.

        name: What the script calls it.

        why: Why nobody knows it. If omitted, it is known when the script runs.
    """

    text: str = field(compare=False)
    kind: Kind = field(default="", compare=False)
    name: str = field(default="", compare=False)
    why: str = field(default="", compare=False)
    # Two evaluations of one expression need not come to the same.
    evaluation: object = field(default_factory=object, repr=False)

    @property
    def reason(self) -> str:
        """
        Why it is not known, as a sentence.
        """
        return self.why or f"{self.text} is known when the script runs"

    def __deepcopy__(self, memo: object) -> Unknown:
        return self


@dataclass(frozen=True)
class Text:
    """
    A text with parts that are not known.
    """

    parts: tuple[str | Unknown, ...]
    name: str = field(default="", compare=False)

    def __deepcopy__(self, memo: object) -> Text:
        return self

    @property
    def holes(self) -> list[Unknown]:
        """
        The parts that are not known.
        """
        return [one for one in self.parts if isinstance(one, Unknown)]


@dataclass(frozen=True)
class Image:
    """
    An image of the catalogue, whose address depends on the region.

    Args:
        release: The image.

        is_newest: Whether the script names no version, and takes the newest.
    """

    release: ImageRelease
    is_newest: bool = False


@dataclass(eq=False)
class Thing:
    """
    An object that the script makes: its class, the arguments, and what was set since.
    """

    kind: str
    arguments: dict[str, Any] = field(default_factory=dict, repr=False)
    # One object stays one in copies, for what is compared after either of two ways.
    number: int = field(default_factory=itertools.count().__next__)

    def get(self, *names: str) -> Any:  # noqa: ANN401 - whatever it was given
        """
        Return the first of the arguments that it has, else ``None``.
        """
        found = (self.arguments.get(name) for name in names)
        return next((one for one in found if one is not None), None)


@dataclass(frozen=True)
class Called:
    """
    A call of a function, with its arguments.

    Args:
        node: The call, as it stands there.

        owner: The object that it is a method of, or what it is looked up in; ``None``
            of a function's bare name.

        arguments: The positional arguments.

        keywords: The keyword arguments.
    """

    node: ast.Call
    owner: Any
    arguments: list[Any]
    keywords: dict[str, Any]

    @property
    def name(self) -> str:
        """
        The function's last name.
        """
        return last_name(self.node.func)

    @property
    def text(self) -> str:
        """
        The function, as it stands there, such as ``sagemaker.image_uris.retrieve``.
        """
        return ast.unparse(self.node.func)

    @property
    def line(self) -> int:
        """
        Where it stands.
        """
        return self.node.lineno

    @property
    def first(self) -> Any:  # noqa: ANN401 - whatever it was given
        """
        The first argument; ``None`` without one.
        """
        return self.arguments[0] if self.arguments else None

    def by_name(self, *names: str) -> dict[str, Any]:
        """
        Return its arguments by their names, the positional ones as well.
        """
        return {**dict(zip(names, self.arguments, strict=False)), **self.keywords}

    def unknown(self, **said: Any) -> Unknown:  # noqa: ANN401 - fields of Unknown
        """
        Return its answer, which only a run has.
        """
        return Unknown(short(self.node), **said)


def last_name(node: ast.expr) -> str:
    """
    Return the last name of a function: ``retrieve`` of ``image_uris.retrieve``.
    """
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_known(value: object) -> bool:
    """
    Whether a value is plain Python through and through.
    """
    if isinstance(value, Mapping):
        return all(map(is_known, value.values())) and all(map(is_known, value))
    if isinstance(value, list | tuple | set):
        return all(map(is_known, value))
    return value is None or isinstance(value, str | int | float | bool)


def joined(values: Iterable[object], text: str) -> str | Text | Unknown:
    """
    Return texts put together, with what is not known in its place.

    Args:
        values: The parts.

        text: The whole expression, for what is no text at all.
    """
    parts: list[str | Unknown] = []
    for value in values:
        own = value.parts if isinstance(value, Text) else (value,)
        for one in own:
            part = one if isinstance(one, Unknown) else _part(one, text)
            if isinstance(part, str) and parts and isinstance(parts[-1], str):
                parts[-1] += part
            elif part != "":
                parts.append(part)
    if not any(isinstance(one, Unknown) for one in parts):
        return "".join(str(one) for one in parts)
    if len(parts) == 1:
        (hole,) = parts
        return hole
    return Text(tuple(parts))


def _part(value: object, text: str) -> str | Unknown:
    return str(value) if is_known(value) else Unknown(text)


def named(value: object, name: str) -> object:
    """
    Return what a variable is set to: what is not known is called by its first name.
    """
    if isinstance(value, Unknown) and not value.name:
        return replace(value, name=name)
    if isinstance(value, Text) and not value.name:
        return Text(value.parts, name)
    return value


def snapshot(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Return copies of variables, in which what is one object stays one.
    """
    return copy.deepcopy(frames)


def merged(one: object, other: object, why: str) -> object:
    """
    Return what a value is after either of two ways.

    Args:
        one: The value after the first.

        other: The value after the second.

        why: What decides between them.
    """
    return _merged(one, other, why, set())


def _merged(one: object, other: object, why: str, seen: set[int]) -> object:
    if (
        isinstance(one, Thing)
        and isinstance(other, Thing)
        and one.number == other.number
    ):
        if one.number not in seen:
            seen.add(one.number)
            _merged(one.arguments, other.arguments, why, seen)
    elif isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            if key in one and key in other:
                one[key] = _merged(one[key], other[key], why, seen)
            else:
                one.setdefault(key, other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        one[:] = [_merged(*pair, why, seen) for pair in zip(one, other, strict=True)]
    elif isinstance(one, Unknown) and isinstance(other, Unknown):
        return other if other.kind and not one.kind else one
    elif type(one) is not type(other) or one != other:
        return Unknown(why, why=why)
    return one


def short(node: ast.AST) -> str:
    """
    Return an expression on one line without credentials, and the beginning of a long
    one.
    """
    text = redacted(" ".join(ast.unparse(node).split()))
    text = _SECRET.sub(r"\1\2***\2", text)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
