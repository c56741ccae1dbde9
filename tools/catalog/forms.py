"""
Which forms of values a class of vLLM refuses: its own validators of single fields and
the kinds of its fields are run over examples of each form.
"""

from __future__ import annotations

import ast
import importlib
import re
import typing
from collections.abc import Callable, Iterator
from typing import Any

import pydantic

from tools.catalog.sources import Source

# A field, a condition, and what is said.
Found = tuple[str, str, str]
# What is made of the arguments whatever they are.
_ALWAYS_MADE = (
    "CacheConfig",
    "LoadConfig",
    "ModelConfig",
    "ObservabilityConfig",
    "ParallelConfig",
    "SchedulerConfig",
)
# Forms of texts, each with examples: a form counts as refused if all of them are.
_TEXTS = {
    r"[A-Za-z]+": ("a", "v", "x", "rc", "dev", "auto", "none", "Fast"),
    r"[A-Za-z]{2,}\d+": ("fp8", "ab12", "rc1"),
    r"\d+": ("0", "7", "64"),
    r"\d+\.\d+": ("0.7", "1.25"),
    r"\d+(\.\d+){2}": ("0.7.0", "1.2.3"),
    r"-\d+": ("-1", "-20"),
}
# Likewise of what JSON says, by what refusals call it.
_JSON: dict[str, tuple[Any, ...]] = {
    "list": ([], [1], ["a"]),
    "number": (0, 2, 1.5),
    "object of numbers": ({"a": 1}, {"a": 0, "b": 2}),
    "object of words": ({"a": "x"}, {"a": "auto"}),
}
_PLAIN = {
    **{one.__name__: one for one in (str, int, float, bool, list, dict)},
    "Any": Any,
    "Literal": typing.Literal,
    "None": None,
}


def form_refusals(source: Source) -> Iterator[Found]:
    """
    Yield conditions under which a field's form is refused, with what is said of it.
    """
    arguments = source.defaults(source.of)
    for of in (one for one in _ALWAYS_MADE if one in source.classes):
        hints = {
            ast.unparse(one.target): ast.unparse(one.annotation)
            for one in source.classes[of].body
            if isinstance(one, ast.AnnAssign)
        }
        for name in (one for one in hints if one in arguments):
            hint = hints[name].removeprefix("InitVar[")
            hint = hint.removesuffix("]") if hint != hints[name] else hint
            yield from _by_kind(name, hint)
            for method in source.methods(of).values():
                words = [ast.unparse(one) for one in method.decorator_list]
                if f"field_validator('{name}')" in words and "str" in hint:
                    yield from _by_validator(source, method, name, hint)


def _by_kind(name: str, hint: str) -> Iterator[Found]:
    """
    Let pydantic take what JSON may say for a field of plain kinds.
    """
    try:
        kind = pydantic.TypeAdapter(eval(hint, {"__builtins__": {}}, _PLAIN))  # noqa: S307 - names of kinds alone
    except NameError:
        return
    if "dict" not in hint:
        return
    for form, values in _JSON.items():
        said = [_said(kind.validate_python, value) for value in values]
        if all(said):
            yield name, f"kind({name}) == {form!r}", said[0]


def _by_validator(
    source: Source, method: ast.FunctionDef, name: str, hint: str
) -> Iterator[Found]:
    """
    Run a class's own validator of a field.
    """
    try:
        validator = _function(source, method)
    except (ImportError, NameError):
        return
    is_several = "list" in hint
    for form, values in _TEXTS.items():
        given = [[one] if is_several else one for one in values]
        said = [_said(validator, value) for value in given]
        if all(said):
            yield name, f"like({name}, {form!r})", said[0]


def _said(call: Callable[[Any], object], value: object) -> str:
    """
    Return what is said of a value; empty where it is taken, or cannot be tried.
    """
    try:
        call(value)
    except pydantic.ValidationError as error:
        return str(error.errors()[0]["msg"])
    except ValueError as error:
        return str(error).replace(repr(value), "...")
    except Exception:  # noqa: BLE001 - what it needs is not there
        return ""
    return ""


def _function(source: Source, method: ast.FunctionDef) -> Callable[[Any], object]:
    """
    Return a method as a function, with what it uses of its module.
    """
    names: dict[str, Any] = {"re": re}
    used = {one.id for one in ast.walk(method) if isinstance(one, ast.Name)}
    for name, line in source.lines.items():
        if name in used and isinstance(line, ast.ImportFrom):
            module = importlib.import_module(str(line.module))
            names[name] = getattr(module, name)
        elif name in used and isinstance(line, ast.Assign):
            names[name] = eval(ast.unparse(line.value), {"re": re})  # noqa: S307 - a pattern
    tree = ast.parse(f"def {method.name}(value): pass")
    tree.body[0].body = method.body  # type: ignore[attr-defined] # a function
    code = compile(ast.fix_missing_locations(tree), "validator", "exec")
    exec(code, names)  # noqa: S102 - the engine's own
    found: Callable[[Any], object] = names[method.name]
    return found
