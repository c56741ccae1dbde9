"""
The configurations that vLLM reads JSON into: their keys, and the kinds of their values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tools.catalog.arguments.rows import Row, plain
from tools.catalog.reading.reader import Reader
from tools.catalog.reading.values import (
    NONE,
    CannotRead,
    Class,
    Function,
    Hint,
    Member,
    Named,
    Value,
    known,
)

# Where the configurations are found by their names.
_MODULES = ("vllm.config", "vllm.config.quantization", "vllm.config.kernel")
_SCALARS = {str: "str", bool: "bool", int: "int", float: "float"}
_FORBIDDING = "extra='forbid'"
_LISTS = (list, set, tuple)


def read(reader: Reader, names: Iterable[str]) -> dict[str, Row]:
    """
    Return the configurations that a release has, by their names.
    """
    return {
        name: {"keys": _keys(reader, of), "rejects": _rejects(reader, of)}
        for name in sorted(names)
        if (of := _found(reader, name)) is not None
    }


def _found(reader: Reader, name: str) -> Class | None:
    for module in _MODULES:
        if reader.modules.bound(module, name):
            found = reader.member_of(module, name)
            return found if isinstance(found, Class) else None
    return None


def _keys(reader: Reader, of: Class) -> dict[str, list[Any]]:
    return {
        one.name: _kind(reader, known(one.checked))
        for one in reader.fields(of)
        if one.init
    }


def _rejects(reader: Reader, of: Class) -> bool:
    """
    Whether keys that a class does not have are refused: by its mark, or since the mark
    of all of them does so.
    """
    marks = [mark for one in reader.line_of(of) for mark in one.node.decorator_list]
    if any(_FORBIDDING in ast.unparse(one) for one in marks):
        return True
    names = [ast.unparse(m.func if isinstance(m, ast.Call) else m) for m in marks]
    if "config" not in names:
        return False
    mark = reader.member_of(of.module, "config")
    return isinstance(mark, Function) and _FORBIDDING in ast.unparse(mark.node)


def _kind(reader: Reader, hint: Value) -> list[Any]:
    """
    Return the kind of a key's value, and its choices where it has some.
    """
    parts = _parts(hint)
    for one in parts:
        if isinstance(one, Class) and reader.fields(one):
            return [f"object:{one.name}"]
    literal = [one for one in parts if isinstance(one, Hint) and _is_literal(one)]
    if literal:
        values = sorted({plain(_value(v)) for one in literal for v in one.args})
        return [_SCALARS[type(values[0])], *([] if str in parts else [values])]
    for one in parts:
        origin = one.origin if isinstance(one, Hint) else one
        if origin in _LISTS:
            inner = _kind(reader, one.args[0]) if isinstance(one, Hint) else ["str"]
            return [f"list of {inner[0]}", *inner[1:]]
        if origin is dict:
            return ["object"]
    for scalar, word in _SCALARS.items():
        if scalar in parts:
            return [word]
    return ["str"]


def _value(of: Value) -> Value:
    return of.value if isinstance(of, Member) else of


def _is_literal(of: Hint) -> bool:
    return isinstance(of.origin, Named) and of.origin.path.endswith("Literal")


def _parts(hint: Value) -> list[Value]:
    """
    Return what a hint may be, one by one.
    """
    if isinstance(hint, Hint) and isinstance(hint.origin, Named):
        last = hint.origin.path.rpartition(".")[2]
        if last == "Annotated":
            return _parts(hint.args[0])
        if last == "Union":
            return [part for one in hint.args for part in _parts(one)]
    if isinstance(hint, str):
        raise CannotRead(f"{hint} is a hint within a hint")
    return [] if hint is NONE else [hint]
