"""
The classes of a release as they are written, and what single lines of them say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from cdk_sagemaker_llm.serving.engines.checks.refusals import UNKNOWN, holds

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


# What the configuration asks for a connector by its name.
_CONNECTORS = "distributed/kv_transfer/kv_connector/factory.py"
# Where models change the configuration (vLLM).
_MODELS = "vllm/model_executor/models/config.py"


class Source:
    """
    The classes of a release, as they are written.
    """

    # The class whose fields are the arguments.
    of = "EngineArgs"

    def __init__(self, folder: Path) -> None:
        files = [*(folder / "vllm" / "config").glob("*.py")]
        files.append(folder / "vllm" / "engine" / "arg_utils.py")
        files += [one for one in [folder / "vllm" / _CONNECTORS] if one.exists()]
        self.classes = {
            node.name: node
            for path in files
            for node in ast.parse(path.read_text("utf-8")).body
            if isinstance(node, ast.ClassDef)
        }

        self.enums = {
            name
            for name, node in self.classes.items()
            if any(ast.unparse(one).endswith("Enum") for one in node.bases)
        }
        arguments = ast.walk(self.classes[self.of])
        self.flags = {one.value for one in arguments if isinstance(one, ast.Constant)}
        self.of_models = _of_models(folder / _MODELS)
        # What modules import, and what short patterns of theirs are called.
        self.lines = {
            name: line
            for path in files
            for line in ast.parse(path.read_text("utf-8")).body
            for name in _named(line)
        }
        # What methods answer, as far as it is known beforehand.
        self.made: dict[str, str] = {}
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
        body = self.classes[name].body if name in self.classes else ()
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

    def class_of(self, name: str, key: str, *, is_enum: bool = False) -> str:
        """
        Return the class that a field is of, an enumeration if that is asked for; empty
        if it is of none.
        """
        hints = (
            one.annotation
            for one in self.classes[name].body
            if isinstance(one, ast.AnnAssign) and ast.unparse(one.target) == key
        )
        names = [ast.unparse(one) for hint in hints for one in ast.walk(hint)]
        found = (one for one in names if one in self.classes)
        return next((one for one in found if (one in self.enums) == is_enum), "")

    def compared(self, key: str) -> tuple[str, ...]:
        """
        Return the texts that a field is compared with.
        """
        found: dict[str, None] = {}
        for node in ast.walk(self.classes[self.of]):
            is_one = isinstance(node, ast.Compare) and isinstance(
                node.left, ast.Attribute
            )
            if is_one and node.left.attr == key:  # type: ignore[attr-defined] # as told above
                texts = (
                    one.value for one in ast.walk(node) if isinstance(one, ast.Constant)
                )
                found |= {one: None for one in texts if isinstance(one, str)}
        return tuple(found)

    def read_first(self, name: str) -> Iterator[str]:
        """
        Yield the fields whose values a class looks at before their kinds are.
        """
        for method in self.methods(name).values():
            for one in method.decorator_list:
                text = ast.unparse(one)
                if text.startswith("field_validator") and "after" not in text:
                    yield from re.findall(r"'(\w+)'", text)

    def default(self, name: str, key: str) -> tuple[bool, Any]:
        """
        Return whether a field's default is a plain value, and which.
        """
        value = self.defaults(name).get(key) if name in self.classes else None
        if isinstance(value, ast.Call):
            words = {one.arg: one.value for one in value.keywords}
            value = words.get("default")
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
            if value.value.id in self.enums:
                return True, value.attr
            return self.default(value.value.id, value.attr)
        try:
            return (False, None) if value is None else (True, ast.literal_eval(value))
        except ValueError:
            return False, None


def _named(line: ast.stmt) -> Iterator[str]:
    is_outside = isinstance(line, ast.ImportFrom) and line.module == "packaging.version"
    if isinstance(line, ast.ImportFrom) and is_outside:
        yield from (one.name for one in line.names)
    elif isinstance(line, ast.Assign) and "re.compile" in ast.unparse(line.value):
        yield ast.unparse(line.targets[0])


def _of_models(path: Path) -> dict[str, tuple[str, ...]]:
    """
    Return what the classes of models change of the cache's configuration, each with
    the models whose classes do.
    """
    tree = ast.parse(path.read_text("utf-8")) if path.exists() else ast.Module([], [])
    texts = {
        one.name: ast.unparse(one) for one in tree.body if isinstance(one, ast.ClassDef)
    }
    models: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            models |= {
                str(key.value): ast.unparse(value)
                for key, value in pairs
                if isinstance(key, ast.Constant)
            }
    found: dict[str, tuple[str, ...]] = {}
    for key in re.findall(r"cache_config\.(\w+) = ", "".join(texts.values())):
        by = {one for one, text in texts.items() if f"cache_config.{key} = " in text}
        # And what derives from such a class, or calls it.
        by |= {one for one, text in texts.items() for of in by if f"{of}." in text}
        by |= {one for one, text in texts.items() for of in by if f"({of})" in text}
        found[key] = tuple(sorted(one for one, of in models.items() if of in by))
    return found


def is_own(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """
    Whether it is an attribute of ``self``.
    """
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def answer_to(method: ast.FunctionDef, value: object) -> str:
    """
    Return what a method answers to a value of its first argument; empty if that cannot
    be told.
    """
    first = next((one.arg for one in method.args.args if one.arg != "self"), "")

    def answer(lines: Sequence[ast.stmt]) -> str | None:
        for line in lines:
            if isinstance(line, ast.Return):
                is_first = line.value is not None and ast.unparse(line.value) == first
                is_plain = isinstance(line.value, ast.Constant)
                plain = ast.unparse(line.value) if line.value and is_plain else ""
                return repr(value) if is_first else plain
            if isinstance(line, ast.If):
                test = holds(
                    ast.unparse(line.test), lambda n: value if n == first else UNKNOWN
                )
                taken = line.body if test else line.orelse
                found = answer(taken) if test is not UNKNOWN else None
                if found is not None:
                    return found
                if test is not UNKNOWN:
                    continue
            if returns(line) or first in _assigned(line):
                return ""
        return None

    return answer(method.body) or ""


def _assigned(line: ast.stmt) -> set[str]:
    names = (one for one in ast.walk(line) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(getattr(one, "ctx", None), ast.Store)}


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
