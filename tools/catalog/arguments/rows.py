"""
Rows of the tables: how an argument that was added reads its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.catalog.arguments.parser import Added
from tools.catalog.reading.values import (
    CannotRead,
    Class,
    Function,
    Made,
    Member,
    Named,
    Value,
    known,
)

Row = dict[str, Any]
# As much of the engine's word as the tables keep.
_WORDS = 110
# What is for the reader of the help.
_SHOWN = ("help", "metavar")
# How the engines say that an argument is on its way out.
_DEPRECATED = re.compile(
    r"^\W*deprecated\b"
    r"|(?<!\w)(this|it|option|flag|parameter|argument"
    r"|--[\w-]+`?|[a-z]+_[a-z_]+( \(.*?\))?)"
    r" (is|are|has been|will be) (now )?deprecated\b"
    r"|\bwill be (removed|deprecated)\b",
    re.IGNORECASE,
)
_UNWRAPPED = {"_optional_type": {"null": True}, "_parse_type": {}}
_PLAIN = {str: "str", int: "int", float: "float"}


@dataclass(frozen=True)
class Known:
    """
    What is declared beside this tool: see ``known.json``.
    """

    parsers: Mapping[str, Row]
    actions: Mapping[str, Row]
    registries: Mapping[str, str]

    def kind(self, of: Value) -> Row:
        """
        Return the columns that stand for what makes a value of a text.

        Raises:
            CannotRead: If nobody has said what it does.
        """
        if of in _PLAIN:
            return {"type": _PLAIN[of]}
        if isinstance(of, Function) and of.name in _UNWRAPPED:
            inner = of.frame.names["return_type"]
            return {**self.kind(known(inner)), **_UNWRAPPED[of.name]}
        name = of.path if isinstance(of, Named) else getattr(of, "name", str(of))
        if name not in self.parsers:
            raise CannotRead(f"known.json has no parser {name}")
        schema = of.defaults.get("cls") if isinstance(of, Function) else None
        found = dict(self.parsers[name])
        return {**found, "schema": schema.name} if isinstance(schema, Class) else found


def row_of(added: Added, known_here: Known) -> Row:
    """
    Return the row of an argument.

    Raises:
        CannotRead: If what it is made of cannot be read.
    """
    words = {
        key: known(value) for key, value in added.words.items() if key not in _SHOWN
    }
    row: Row = {"default": None, **_action(words, known_here), "field": added.dest}
    if "type" not in row or words.get("type") is not None:
        row |= known_here.kind(words.get("type") or str) | _kept(row)
    if words.get("nargs") is not None:
        row["nargs"] = words["nargs"]
    if words.get("const") is not None:
        row["const"] = words["const"]
    if words.get("choices"):
        row["choices"] = _choices(words["choices"], is_none=bool(row.get("null")))
    if words.get("required"):
        row["required"] = True
    if "default" in words:
        row["default"] = plain(words["default"])
    if words.get("new_flag"):
        row["use"] = words["new_flag"]
    return row | _deprecated(added)


def _choices(values: Sequence[Value], *, is_none: bool) -> list[Any]:
    """
    Return the values of a choice; that none is one is told by a column of its own.
    """
    said = [None, "None"] if is_none else [None]
    return [plain(one) for one in values if one not in said]


def _kept(row: Row) -> Row:
    return {key: row[key] for key in ("action",) if key in row}


def _action(words: Mapping[str, Value], known_here: Known) -> Row:
    action = words.get("action")
    if action is None:
        return {}
    if action == "store_true":
        return {"type": "bool", "default": False}
    if action == "append":
        return {"action": "append"}
    name = action.path if isinstance(action, Named) else getattr(action, "name", "")
    if name == "argparse.BooleanOptionalAction":
        return {"type": "bool", "no": True}
    if name not in known_here.actions:
        raise CannotRead(f"known.json has no action {name or action}")
    return {"action": name, **known_here.actions[name]}


def _deprecated(added: Added) -> Row:
    described = added.field.doc if added.field else ""
    for one in (added.words.get("help"), described):
        if isinstance(one, str) and _DEPRECATED.search(" ".join(one.split())):
            return {"deprecated": " ".join(one.split())[:_WORDS]}
    name = getattr(added.words.get("action"), "name", "")
    is_marked = added.words.get("deprecated") or name.startswith("Deprecated")
    return {"deprecated": True} if is_marked else {}


def plain(value: Value) -> Any:  # noqa: ANN401 - what JSON holds
    """
    Return a value as the tables keep it.

    Raises:
        CannotRead: If it is none that they can keep.
    """
    value = known(value)
    if isinstance(value, Member):
        return plain(value.value)
    if isinstance(value, Made) and isinstance(value.of, Class) and not value.args:
        return f"{value.of.name}()"
    if isinstance(value, dict):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(one) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Named):
        raise CannotRead(f"what is not in the text: {value.path}")
    raise CannotRead(f"{value} is no value that a table keeps")
