"""
Asking a release of an engine for its arguments: ``python -m tools.catalog.asking``.

It runs in an environment of its own (``.venv-catalog``), imports the engine's modules
from a folder, and prints what they add to a parser as JSON. Whatever they import that
is not installed there is absent: see ``absent.py``.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import importlib
import inspect
import json
import logging
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from tools.catalog import absent

Row = dict[str, Any]
KNOWN: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("known.json").read_text("utf-8")
)
# Where vLLM's parser is made, newest first.
_PARSERS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)
# What registers operators with PyTorch as it is imported.
_OPERATORS = ("vllm.ir", "vllm.kernels")
# Where its configurations are found by their names.
_CONFIGURATIONS = (
    "vllm.config",
    "vllm.config.attention",
    "vllm.config.compilation",
    "vllm.config.kernel",
    "vllm.config.quantization",
)
# What the engine puts into another configuration itself.
_NOT_OF_JSON = ("LoadConfig", "ModelConfig", "ParallelConfig")
# Who adds an argument, innermost first.
_SOURCES = {
    "EngineArgs.add_cli_args": "engine",
    "AsyncEngineArgs.add_cli_args": "async",
}
_OF_FIELDS = "add_cli_args_from_dataclass"
_DECLARED_AS = "declared as"
# As much of the engine's word as the tables keep.
_WORDS = 110
# How the engines say that an argument is on its way out.
_DEPRECATED = re.compile(
    r"^\W*deprecated\b"
    r"|(?<!\w)(this|it|option|flag|parameter|argument"
    r"|--[\w-]+`?|[a-z]+_[a-z_]+( \(.*?\))?)"
    r" (is|are|has been|will be) (now )?deprecated\b"
    r"|\bwill be (removed|deprecated)\b",
    re.IGNORECASE,
)
_UNWRAPPED: Mapping[str, Row] = {"_optional_type": {"null": True}, "_parse_type": {}}
_SCALARS = {str: "str", bool: "bool", int: "int", float: "float"}


class NotKeptError(Exception):
    """
    What an argument is made of is nothing that a table keeps.
    """


@dataclasses.dataclass(frozen=True)
class Declared:
    """
    A field of a configuration that an argument is made of.
    """

    of: type
    field: dataclasses.Field[Any]

    @property
    def bounds(self) -> Row:
        """
        Return how small and large its value may be.
        """
        marks = getattr(self.field.default, "metadata", ())
        return {
            word: getattr(mark, word)
            for mark in marks
            for word in ("ge", "gt", "le", "lt")
            if hasattr(mark, word)
        }

    @property
    def reads_names(self) -> bool:
        """
        Return whether the class looks at the text first, as it does to take an
        enumeration by its members' names: pydantic takes it by their values.
        """
        found = getattr(self.of, "__pydantic_decorators__", None)
        return found is not None and any(
            one.info.mode == "before" and self.field.name in one.info.fields
            for one in found.field_validators.values()
        )

    @property
    def hint(self) -> Any:  # noqa: ANN401 - a hint
        """
        Return its hint as a type checker reads it.
        """
        for one in self.of.__mro__:
            text = _annotations(one).get(self.field.name)
            if text is not None:
                return eval(text, _checked(one.__module__))  # noqa: S307 - the engine's own
        return self.field.type


class Parser:
    """
    A parser that remembers the rows of what is added, and its groups.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.wanting: dict[str, str] = {}

    def add_argument(self, *names: str, **words: Any) -> None:  # noqa: ANN401 - as argparse
        """
        Take an argument; one that needs no dashes is none of an environment.
        """
        longest = next((one for one in names if one.startswith("--")), None)
        if longest is None:
            return
        name = longest.removeprefix("--")
        try:
            self.rows[name] = self._row(name, words, set(names) - {longest})
        except NotKeptError as error:
            self.wanting[name] = str(error)

    def add_argument_group(self, *_: object, **__: object) -> Parser:
        """
        Return itself: groups are for the reader of the help.
        """
        return self

    add_mutually_exclusive_group = add_argument_group

    def _row(self, name: str, words: Row, others: Iterable[str]) -> Row:
        declared = words.pop(_DECLARED_AS, None)
        row = row_of(name, words)
        if declared is not None and declared.bounds:
            row["bounds"] = declared.bounds
        if not words.get("choices"):
            values = _unchecked(name, words, declared)
            row |= {"known": [plain(one) for one in values]} if values else {}
            if row["type"] == "str" and values:
                row["known"] = [str(one) for one in row["known"]]
        row["src"] = _source()
        return row | ({"alias": sorted(others)} if others else {})


def main() -> None:
    """
    Print what a release says as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.catalog.asking")
    parser.add_argument("engine", choices=("vllm", "sglang"))
    parser.add_argument("folder", help="where its modules are")
    parser.add_argument("schemas", nargs="*", help="configurations beside those named")
    options = parser.parse_args()
    sys.path.insert(0, options.folder)
    absent.install(options.engine, *_OPERATORS)
    # Without it, vLLM leaves its descriptions out.
    sys.argv = [options.engine, "--help"]
    logging.disable()
    found = Parser()
    (_ask_vllm if options.engine == "vllm" else _ask_sglang)(found)
    named = {row["schema"] for row in found.rows.values() if "schema" in row}
    schemas = dict(_schemas({*options.schemas, *named}))
    content = {"rows": found.rows, "wanting": found.wanting, "schemas": schemas}
    sys.stdout.write(json.dumps(content))


def _ask_vllm(parser: Parser) -> None:
    platforms = importlib.import_module("vllm.platforms")
    interface = importlib.import_module("vllm.platforms.interface")
    facts = {"_enum": interface.PlatformEnum.CUDA, "device_type": "cuda"}
    cuda = type("Cuda", (interface.Platform,), {**facts, "device_name": "cuda"})()
    vars(platforms).update(current_platform=cuda, _current_platform=cuda)
    arguments = importlib.import_module("vllm.engine.arg_utils")
    _let_nothing_be_made()
    # Old releases write their arguments out.
    if hasattr(arguments, "get_kwargs"):
        vars(arguments)["get_kwargs"] = _with_fields(arguments.get_kwargs)
    _imported(*_PARSERS).make_arg_parser(parser)


def _with_fields(rules: Callable[[type], Row]) -> Callable[[type], Row]:
    """
    Follow the engine's own rules, and keep the field that each answer is of.
    """

    def get_kwargs(of: type) -> Row:
        found = dict(rules(of))
        for one in dataclasses.fields(of):
            found[one.name][_DECLARED_AS] = Declared(of, one)
        return found

    return get_kwargs


def _let_nothing_be_made() -> None:
    """
    Let configurations of the defaults stay empty: they look at the machine.
    """
    for name, module in list(sys.modules.items()):
        for one in (
            list(vars(module).values()) if name.startswith("vllm.config") else ()
        ):
            if isinstance(one, type) and dataclasses.is_dataclass(one):
                type.__setattr__(one, "__init__", lambda *_, **__: None)


def _ask_sglang(parser: Parser) -> None:
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
    for row in parser.rows.values():
        if "choices" in row:
            row["choices"].sort(key=str)


def _imported(*names: str) -> Any:  # noqa: ANN401 - a module
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not name.startswith(str(error.name)):
                raise
    raise ModuleNotFoundError(f"this release has none of {', '.join(names)}")


def row_of(name: str, words: Row) -> Row:
    """
    Return the row of an argument: how it reads its value.
    """
    field = words.get("dest") or name.replace("-", "_")
    row: Row = {"default": None, **_action(words.get("action")), "field": field}
    if "type" not in row or words.get("type") is not None:
        kept = {"action": row["action"]} if "action" in row else {}
        row |= _kind(words.get("type") or str) | kept
    for key in ("nargs", "const"):
        if words.get(key) is not None:
            row[key] = words[key]
    if words.get("choices"):
        unsaid = [None, "None"] if row.get("null") else [None]
        row["choices"] = [plain(one) for one in words["choices"] if one not in unsaid]
    if words.get("required"):
        row["required"] = True
    if "default" in words:
        row["default"] = plain(words["default"])
    if words.get("new_flag"):
        row["use"] = words["new_flag"]
    return row | _deprecated(words)


def _action(action: Any) -> Row:  # noqa: ANN401 - a word or a class
    if action is None or action == "store_true":
        return {"type": "bool", "default": False} if action else {}
    if action == "append":
        return {"action": "append"}
    if action is argparse.BooleanOptionalAction:
        return {"type": "bool", "no": True}
    name = getattr(action, "__name__", str(action))
    if name not in KNOWN["actions"]:
        raise NotKeptError(f"known.json has no action {name}")
    return {"action": name, **KNOWN["actions"][name]}


def _kind(of: Any) -> Row:  # noqa: ANN401 - anything that is called
    """
    Return the columns that stand for what makes a value of a text.
    """
    if of in _SCALARS and of is not bool:
        return {"type": _SCALARS[of]}
    name = getattr(of, "__name__", str(of))
    if name in _UNWRAPPED:
        inner = inspect.getclosurevars(of).nonlocals["return_type"]
        return {**_kind(inner), **_UNWRAPPED[name]}
    name = "json.loads" if of is json.loads else _lambda(of) or name
    if name not in KNOWN["parsers"]:
        raise NotKeptError(f"known.json has no parser {name}")
    schema = (getattr(of, "__defaults__", None) or (None,))[0]
    found = dict(KNOWN["parsers"][name])
    return {**found, "schema": schema.__name__} if isinstance(schema, type) else found


def _lambda(of: Any) -> str | None:  # noqa: ANN401 - anything that is called
    if getattr(of, "__name__", "") != "<lambda>":
        return None
    tree = ast.parse(Path(of.__code__.co_filename).read_text("utf-8"))
    line = of.__code__.co_firstlineno
    return next(
        ast.unparse(node.body)
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == line
    )


def _deprecated(words: Row) -> Row:
    text = words.get("help")
    if isinstance(text, str) and _DEPRECATED.search(" ".join(text.split())):
        return {"deprecated": " ".join(text.split())[:_WORDS]}
    name = getattr(words.get("action"), "__name__", "")
    is_marked = words.get("deprecated") or name.startswith("Deprecated")
    return {"deprecated": True} if is_marked else {}


def plain(value: Any) -> Any:  # noqa: ANN401 - what JSON holds
    """
    Return a value as the tables keep it.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if type(value).__name__ == "_UnsetType":
        # A default of some of vLLM's classes: the engine decides.
        value = None
    if dataclasses.is_dataclass(value) or type(value).__bases__ == (dict,):
        return f"{type(value).__name__}()"
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(one) for one in value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return None if value == argparse.SUPPRESS else value
    raise NotKeptError(f"{value} is no value that a table keeps")


def _unchecked(name: str, words: Row, declared: Declared | None) -> list[Any]:
    """
    Return the values that the engine knows, and its parser does not check.
    """
    module, _, registry = KNOWN["registries"].get(name, "").rpartition(".")
    if module.partition(".")[0] in sys.modules:
        found = getattr(importlib.import_module(module), registry)
        return _values(found) if typing.get_origin(found) else list(found)
    if isinstance(words.get("metavar"), list):
        return list(words["metavar"])
    if declared is None:
        return []
    return _values(declared.hint, reads_names=declared.reads_names)


def _values(hint: Any, *, reads_names: bool = False) -> list[Any]:  # noqa: ANN401 - a hint
    """
    Return the values that a hint names, which no parser need check.
    """
    if isinstance(hint, enum.EnumType):
        return list(hint.__members__) if reads_names else list(hint)
    if typing.get_origin(hint) is Literal:
        return sorted(typing.get_args(hint))
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        parts = typing.get_args(hint)
        found = (_values(one, reads_names=reads_names) for one in parts)
        return next(filter(None, found), [])
    return []


def _source() -> str:
    """
    Return who adds an argument, by the functions that are running.
    """
    frame, is_vllm = sys._getframe(), False  # noqa: SLF001 - the documented way
    names: list[str] = []
    while frame.f_back is not None:
        frame = frame.f_back
        names.append(frame.f_code.co_qualname)
        is_vllm = is_vllm or frame.f_code.co_name == "make_arg_parser"
    if is_vllm:
        return next((_SOURCES[one] for one in names if one in _SOURCES), "frontend")
    return "auto" if _OF_FIELDS in names else "server_args"


def _schemas(names: Iterable[str]) -> Iterator[tuple[str, Row]]:
    """
    Return the configurations that JSON is read into, and those inside of them: keys,
    and kinds of their values.
    """
    found: dict[str, Row] = {}
    left = sorted(names)
    while left:
        name = left.pop(0)
        schema = None if name in found else _schema(name)
        if schema is not None:
            found[name] = schema
            kinds = (kind[0] for kind in schema["keys"].values())
            inner = (one.partition(":")[2] for one in kinds if ":" in one)
            left += [one for one in inner if one not in _NOT_OF_JSON]
    yield from sorted(found.items())


def _schema(name: str) -> Row | None:
    for module in _CONFIGURATIONS:
        try:
            of = getattr(importlib.import_module(module), name, None)
        except ModuleNotFoundError:
            continue
        if of is not None:
            keys = {
                one.name: [*_kinds(declared.hint), *filter(None, [declared.bounds])]
                for one in dataclasses.fields(of)
                if one.init
                for declared in [Declared(of, one)]
            }
            rules = getattr(of, "__pydantic_config__", None) or {}
            return {"keys": keys, "rejects": rules.get("extra") == "forbid"}
    return None


def _kinds(hint: Any) -> list[Any]:  # noqa: ANN401 - a hint
    """
    Return the kind of a key's value, and its choices where it has some.
    """
    parts = list(_parts(hint))
    for one in parts:
        if isinstance(one, type) and dataclasses.is_dataclass(one):
            return [f"object:{one.__name__}"]
    literals = [one for one in parts if typing.get_origin(one) is Literal]
    if literals:
        values = sorted({plain(v) for one in literals for v in typing.get_args(one)})
        return [_SCALARS[type(values[0])], *([] if str in parts else [values])]
    for one in parts:
        origin = typing.get_origin(one) or one
        if origin in {list, set, tuple}:
            inner = _kinds(typing.get_args(one)[0]) if one is not origin else ["str"]
            return [f"list of {inner[0]}", *inner[1:]]
        if origin is dict:
            return ["object"]
    return [next((word for of, word in _SCALARS.items() if of in parts), "str")]


def _parts(hint: Any) -> Iterator[Any]:  # noqa: ANN401 - a hint
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        yield from _parts(typing.get_args(hint)[0])
    elif origin in {typing.Union, types.UnionType}:
        for one in typing.get_args(hint):
            yield from _parts(one)
    elif hint not in {None, types.NoneType}:
        yield hint


def _annotations(of: type) -> dict[str, str]:
    """
    Return the texts of a class's hints.
    """
    tree = _tree(of.__module__)
    node = next(
        (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == of.__name__),
        None,
    )
    return {
        one.target.id: ast.unparse(one.annotation)
        for one in (node.body if node else ())
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }


_CHECKED: dict[str, Row] = {}


def _checked(module: str) -> Row:
    """
    Return the names of a module with what it imports for type checkers alone.
    """
    if module not in _CHECKED:
        names = _CHECKED[module] = dict(vars(sys.modules[module]))
        for one in _tree(module).body:
            if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING":
                for line in one.body:
                    code = compile(ast.Module([line], []), module, "exec")
                    exec(code, names)  # noqa: S102 - the engine's own
    return _CHECKED[module]


def _tree(module: str) -> ast.Module:
    path = getattr(sys.modules[module], "__file__", None)
    return ast.parse(Path(path).read_text("utf-8") if path else "")


if __name__ == "__main__":
    main()
