"""
What an expression of a class is over the names of arguments, as far as it is made of
them and of plain values alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.catalog.sources import (
    COMPARED,
    SIGNS,
    SUMS,
    Source,
    answer_to,
    is_own,
    name_of,
)

# The images have GPUs of NVIDIA.
_PLATFORM = {"is_cuda": True, "is_cuda_alike": True}
_PLATFORMS_ELSE = ("is_cpu", "is_rocm", "is_tpu", "is_xpu", "is_out_of_tree")
CLASS = " class"
_PLAIN_CALLS = ("len", "max", "min")
_MAYBE = re.compile(r"\((\w+) if (.+) else unknown\(\)\)")
# Methods of texts, which conditions call as functions.
_OF_TEXTS = ("lower", "upper")

Known = str | Mapping[str, Any] | None


@dataclass
class State:
    """
    What is known at a line: which conditions led here, and what names stand for.
    """

    path: tuple[str, ...] = ()
    names: dict[str, Known] = field(default_factory=dict)
    own: dict[str, str | None] = field(default_factory=dict)
    is_lost: bool = False
    # What the fields are where the method returned early, and when it does.
    left: list[tuple[str | None, dict[str, str | None]]] = field(default_factory=list)

    def branch(self, condition: str | None) -> State:
        """
        Return the state behind a condition; ``None`` for one that cannot be told.
        """
        path = self.path if condition is None else (*self.path, condition)
        lost = self.is_lost or condition is None
        return State(path, dict(self.names), dict(self.own), lost)


class Expressions:
    """
    Writes what a class says, whose fields stand for what a mapping says.
    """

    def __init__(
        self, source: Source, of: str, fields: Mapping[str, str | None]
    ) -> None:
        self.source, self.of, self.fields = source, of, fields
        self.methods = source.methods(of)

    def _told(self, node: ast.expr, state: State, *, wanted: bool) -> str | None:
        """
        Return a condition that makes another one true, or not, whatever cannot be told.
        """
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._told(node.operand, state, wanted=not wanted)
        if isinstance(node, ast.BoolOp):
            parts = [self._told(one, state, wanted=wanted) for one in node.values]
            if isinstance(node.op, ast.And) == wanted:
                known = [one for one in parts if one]
                return f"({' and '.join(known)})" if len(known) == len(parts) else None
            known = [one for one in parts if one]
            return f"({' or '.join(known)})" if known else None
        text = self._text(node, state)
        return None if text is None else text if wanted else f"not ({text})"

    def _text(self, node: ast.expr, state: State) -> str | None:  # noqa: PLR0911, PLR0912, C901 - a case each
        if isinstance(node, ast.Constant):
            is_plain = node.value is None or isinstance(
                node.value, bool | int | float | str
            )
            return repr(node.value) if is_plain else None
        if isinstance(node, ast.Name):
            known = state.names.get(node.id, self.source.constants.get(node.id))
            return known if isinstance(known, str) else None
        if isinstance(node, ast.Attribute):
            return self._attribute(node, state)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = [self._text(one, state) for one in node.elts]
            is_told = parts and None not in parts
            return f"({', '.join(map(str, parts))},)" if is_told else None
        if isinstance(node, ast.Compare):
            if not all(isinstance(op, COMPARED) for op in node.ops):
                return None
            sides = [node.left, *node.comparators]
            parts = [self._text(one, state) for one in sides]
            if any(part is not None and part.startswith("upper(") for part in parts):
                # What was looked up by its name is compared by it.
                names = map(self._member, sides)
                parts = [a or b for a, b in zip(parts, names, strict=True)]
            if None in parts:
                return None
            text = str(parts[0])
            for op, part in zip(node.ops, parts[1:], strict=True):
                text += f" {SIGNS[type(op)]} {part}"
            return f"({text})"
        if isinstance(node, ast.BoolOp):
            parts = [self._text(one, state) for one in node.values]
            word = " and " if isinstance(node.op, ast.And) else " or "
            told = word.join(one or "unknown()" for one in parts)
            return f"({told})" if any(parts) else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            inner = self._text(node.operand, state)
            sign = "not " if isinstance(node.op, ast.Not) else "-"
            return None if inner is None else f"({sign}{inner})"
        if isinstance(node, ast.BinOp) and type(node.op) in SUMS:
            left, right = self._text(node.left, state), self._text(node.right, state)
            is_known = left is not None and right is not None
            return f"({left} {SUMS[type(node.op)]} {right})" if is_known else None
        if isinstance(node, ast.IfExp):
            parts = [
                self._text(one, state) for one in (node.body, node.test, node.orelse)
            ]
            return None if None in parts else "({} if {} else {})".format(*parts)
        if isinstance(node, ast.Call):
            return self._call(node, state)
        if isinstance(node, ast.NamedExpr):
            return self._text(node.value, state)
        if isinstance(node, ast.Subscript):
            of, inner = self._text(node.value, state), self._text(node.slice, state)
            if ast.unparse(node.value) in self.source.enums:
                return inner
            return f"{of}[{inner}]" if of and inner and inner.isdigit() else None
        return None

    def _member(self, node: ast.expr) -> str | None:
        is_one = (
            isinstance(node, ast.Attribute)
            and ast.unparse(node.value) in self.source.enums
        )
        return repr(node.attr) if is_one and isinstance(node, ast.Attribute) else None

    def _call(self, node: ast.Call, state: State) -> str | None:  # noqa: PLR0911 - a case each
        if isinstance(node.func, ast.Attribute):
            is_platform = ast.unparse(node.func.value) == "current_platform"
            if is_platform and node.func.attr in _PLATFORM:
                return "True"
            if is_platform:
                return "False" if node.func.attr in _PLATFORMS_ELSE else None
            if node.func.attr in _OF_TEXTS and not node.args:
                text = self._text(node.func.value, state)
                return None if text is None else f"{node.func.attr}({text})"
            method = self.methods.get(node.func.attr)
            parts = [self._text(one, state) for one in node.args]
            if method is not None and parts and parts[0] is not None:
                return self._answer(method, node.args[0], parts[0])
            return None
        if ast.unparse(node) == "unknown()":
            return "unknown()"
        if name_of(node) == "isinstance":
            return self._is_of(node, state)
        if ast.unparse(node.func) == "get_args" and isinstance(node.args[0], ast.Name):
            values = self.source.literals.get(node.args[0].id)
            return None if values is None else repr(values)
        if isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS:
            parts = [self._text(one, state) for one in node.args]
            return (
                None
                if None in parts
                else f"{node.func.id}({', '.join(map(str, parts))})"
            )
        return None

    def _answer(
        self, method: ast.FunctionDef, given: ast.expr, text: str
    ) -> str | None:
        """
        Return what a method makes of its first argument, as far as that shows.
        """
        answer = answer_to(method, None)
        if answer != "None":
            return f"({answer} if {text} is None else unknown())" if answer else None
        key = given.attr if isinstance(given, ast.Attribute) else ""
        values = (None, *self.source.compared(key))
        same = tuple(one for one in values if answer_to(method, one) == repr(one))
        return f"({text} if {text} in {same} else unknown())"

    def _is_of(self, node: ast.Call, state: State) -> str | None:
        """
        Return whether an argument is of a class: it is a text, or what JSON holds.
        """
        of, kind = node.args[0], ast.unparse(node.args[1])
        if kind == "type" and self._text(of, state) is not None:
            return "False"
        hint = (
            self.source.class_of(self.of, of.attr, is_enum=True) if is_own(of) else ""
        )
        return "True" if kind == "str" and hint else None

    def _attribute(self, node: ast.Attribute, state: State) -> str | None:  # noqa: PLR0911 - a case each
        if is_own(node):
            if node.attr in state.own:
                return state.own[node.attr]
            if node.attr in self.fields:
                mine = self.fields[node.attr]
                return mine if isinstance(mine, str) else None
            return self._property(node.attr, state)
        if is_own(node.value) and node.value.attr not in state.own:
            inner = self.fields.get(node.value.attr)
            if isinstance(inner, Mapping):
                return self._inside(inner, node.attr)
        if isinstance(node.value, ast.Name):
            known = state.names.get(node.value.id)
            if isinstance(known, Mapping):
                return self._inside(known, node.attr)
            if known is not None:
                return self._key(known, node.attr)
            if (
                known is None
                and node.value.id in self.source.classes
                and node.value.id not in self.source.enums
            ):
                is_plain, value = self.source.default(node.value.id, node.attr)
                return repr(value) if is_plain else None
            return None
        base = (
            self._attribute(node.value, state)
            if isinstance(node.value, ast.Attribute)
            else None
        )
        return f"{base}.{node.attr}" if base and base.isidentifier() else None

    def _key(self, text: str, key: str) -> str | None:
        """
        Return a key of an argument's JSON, where it may be something else as well.
        """
        found = _MAYBE.fullmatch(text)
        name = found[1] if found else text
        of = self.source.class_of(self.source.of, name)
        if not of or key not in self.source.defaults(of):
            return None
        return (
            f"({name}.{key} if {found[2]} else unknown())" if found else f"{name}.{key}"
        )

    def _inside(self, fields: Mapping[str, Any], name: str) -> str | None:
        known = fields.get(name)
        if name in fields or fields.get(CLASS) not in self.source.classes:
            return known if isinstance(known, str) else None
        return Expressions(self.source, fields[CLASS], fields)._property(name, State())  # noqa: SLF001 - of the same class

    def _property(self, name: str, state: State) -> str | None:
        method = self.methods.get(name)
        if method is None or not any(
            isinstance(one, ast.Name) and one.id == "property"
            for one in method.decorator_list
        ):
            return None
        lines = [one for one in method.body if not isinstance(one, ast.Expr)]
        if len(lines) == 1 and isinstance(lines[0], ast.Return) and lines[0].value:
            return self._text(lines[0].value, state)
        return None
