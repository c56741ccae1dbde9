"""
The classes of a release as they are written, and what single lines of them say.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

COMPARED = (
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.Is,
    ast.IsNot,
    ast.In,
    ast.NotIn,
)

SIGNS: Mapping[type, str] = dict(
    zip(
        COMPARED,
        ("==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"),
        strict=True,
    )
)

SUMS: Mapping[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}


class Source:
    """
    The classes of a release, as they are written.
    """

    # The class whose fields are the arguments.
    of = "EngineArgs"

    def __init__(self, folder: Path) -> None:
        files = [*(folder / "vllm" / "config").glob("*.py")]
        files.append(folder / "vllm" / "engine" / "arg_utils.py")
        self.classes = {
            node.name: node
            for path in files
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.ClassDef)
        }

        self.where: dict[str, str] = {}
        # What names of modules stand for, as Python writes it.
        self.constants: dict[str, str] = {}
        self.literals: dict[str, tuple[Any, ...]] = {}
        for path in files:
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
                    target = (
                        node.targets[0] if isinstance(node, ast.Assign) else node.target
                    )
                    values = self._literal(node.value)
                    if values is not None and isinstance(target, ast.Name):
                        self.literals[target.id] = values

    def _literal(self, node: ast.expr) -> tuple[Any, ...] | None:
        is_literal = (
            isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
        )
        if not is_literal:
            return None
        inner = node.slice  # type: ignore[attr-defined] # what is told above
        found: list[Any] = []
        for one in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
            if isinstance(one, ast.Constant):
                found.append(one.value)
            else:
                values = self.literals.get(ast.unparse(one)) or self._literal(one)
                if values is None:
                    return None
                found += values
        return tuple(found)

    def methods(self, name: str) -> dict[str, ast.FunctionDef]:
        """
        Return the methods of a class.
        """
        body = self.classes[name].body
        return {one.name: one for one in body if isinstance(one, ast.FunctionDef)}

    def defaults(self, name: str) -> dict[str, ast.expr | None]:
        """
        Return the fields of a class, with what stands behind them.
        """
        return {
            one.target.id: one.value
            for one in self.classes[name].body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }

    def default(self, name: str, key: str) -> tuple[bool, Any]:
        """
        Return whether a field's default is a plain value, and which.
        """
        value = self.defaults(name).get(key) if name in self.classes else None
        if isinstance(value, ast.Call):
            words = {one.arg: one.value for one in value.keywords}
            value = words.get("default")
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            return self.default(value.value.id, value.attr)
        try:
            return (False, None) if value is None else (True, ast.literal_eval(value))
        except ValueError:
            return False, None


def is_own(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """
    Whether it is an attribute of ``self``.
    """
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def answer_to_none(method: ast.FunctionDef) -> str:
    """
    Return what a method answers at once where it is given nothing; empty if it does
    not.
    """
    lines = [one for one in method.body if not isinstance(one, ast.Expr)]
    first = lines[0] if lines else None
    if not isinstance(first, ast.If) or not ast.unparse(first.test).endswith(
        " is None"
    ):
        return ""
    answer = first.body[0]
    is_plain = isinstance(answer, ast.Return) and isinstance(answer.value, ast.Constant)
    return ast.unparse(answer.value) if is_plain else ""  # type: ignore[attr-defined] # as told above


def name_of(call: ast.Call) -> str:
    """
    Return the name that is called; empty where it is none.
    """
    return call.func.id if isinstance(call.func, ast.Name) else ""


def words_of(node: ast.expr | None) -> str:
    """
    Return what an error says, with dots for what it fills in.
    """
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(
        str(one.value) if isinstance(one, ast.Constant) else "..." for one in parts
    )
    return " ".join(text.split())


def returns(line: ast.stmt) -> bool:
    """
    Whether something in a line returns.
    """
    return any(isinstance(one, ast.Return) for one in ast.walk(line))
