"""
SGLang's ``ServerArgs`` as they are written, laid out as one class: older releases check
themselves in its methods, newer ones in functions that are handed it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    argument_names,
    field_of,
    find_argument,
)
from tools.catalog.sources import Source

# Where a launch begins, of each kind of release.
STARTS = ("run_resolution_pipeline", "__post_init__", "check_server_args")
_ITSELF = ("server_args", "cfg", "view")
_VIEWS = ("resolving_view", "resolved_view")
_SEEN = tuple(f"{view}({one})" for view in _VIEWS for one in _ITSELF)
# What releases call the model's class.
ARCHITECTURE = "model_arch"
# What newer releases fill arguments in with, and where it is called.
_FILLS = "register_post_process"
_RUNS = "run_post_process_pass"
# The images have GPUs of NVIDIA.
_PLATFORM = {
    **dict.fromkeys(("is_cuda", "is_cuda_alike"), True),
    **dict.fromkeys(("is_cpu", "is_hip", "is_hpu", "is_mps", "is_musa"), False),
    **dict.fromkeys(("is_npu", "is_xpu", "is_out_of_tree"), False),
}


# Where the name of an algorithm is looked up, and what else it is called.
_ALGORITHMS = "SpeculativeAlgorithm"
_LOOKS_UP = f"{_ALGORITHMS}.from_string(self.speculative_algorithm)"
_ALIASES = "_RESERVED_ALIASES ="
_ONE_DEVICE = "self.device.split(':')[0]"
# What they are taken for where nothing is written.
_MACHINE = {"device": "('cuda' if device is None else device)"}


class ServerArgs(Source):
    """
    The class of a release, with the functions that are handed it for methods.

    Args:
        folder: Where the release's modules are.

        release: The release, whose arguments the catalogue describes.
    """

    of = "ServerArgs"

    def __init__(self, folder: Path, release: str) -> None:
        self.enums: set[str] = set()
        self.made: dict[str, str] = {}
        self.flags: set[Any] = set()
        self.of_models: dict[str, tuple[str, ...]] = {}
        self.where: dict[str, str] = {}
        self.literals: dict[str, tuple[Any, ...]] = {}
        self._names: dict[str, str] = {ARCHITECTURE: ARCHITECTURE}
        self._defaults: dict[str, Any] = {ARCHITECTURE: None}
        for name in argument_names("sglang", release):
            argument = find_argument("sglang", name, release)
            if argument is not None:
                dashless = name.replace("-", "_")
                # Long spellings are kept under the short ones (from_cli_args).
                self._names |= {field_of("sglang", name): dashless, dashless: dashless}
                self._defaults[dashless] = argument.default
        inside = self._folder = folder / "sglang" / "srt"
        paths = sorted((inside / "arg_groups").rglob("*.py"))
        trees = [ast.parse(one.read_text("utf-8")) for one in paths]
        methods: dict[str, ast.stmt] = {}
        for tree in trees:
            methods |= {
                one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)
            }
        own = ast.parse((inside / "server_args.py").read_text("utf-8"))
        for node in own.body:
            if isinstance(node, ast.ClassDef) and node.name == self.of:
                # A method that only calls a function of its name is that function.
                found = [one for one in node.body if isinstance(one, ast.FunctionDef)]
                methods = {one.name: one for one in found} | methods
        self.constants = dict(_constants([*trees, own]))
        layout = _Layout(methods)
        self._changed = set(_keys(trees, "register_model_override"))
        body = [layout.visit(one) for one in methods.values()]
        node = ast.ClassDef(self.of, [], [], body, [])
        self.classes = {self.of: ast.fix_missing_locations(node)}

    @property
    def fields(self) -> Mapping[str, str]:
        """
        Return the fields that are arguments, each by its own name; what a model may
        decide is told where it is written alone.
        """
        return {
            key: f"(unknown() if {name} == {self._defaults[name]!r} else {name})"
            if key in self._changed
            else name
            for key, name in self._names.items()
        } | _MACHINE

    @property
    def unknown_algorithm(self) -> Iterator[str]:
        """
        Yield the condition under which the launch does not find what is to speculate,
        if the parser leaves that to it.
        """
        if _LOOKS_UP not in ast.unparse(self.classes[self.of]):
            return
        names: dict[str, None] = {}
        for file in ("spec_info.py", "spec_registry.py"):
            path = self._folder / "speculative" / file
            tree = (
                ast.parse(path.read_text("utf-8"))
                if path.exists()
                else ast.Module([], [])
            )
            for line in ast.walk(tree):
                if isinstance(line, ast.ClassDef) and line.name == _ALGORITHMS:
                    members = (one for one in line.body if isinstance(one, ast.Assign))
                    names |= {ast.unparse(one.targets[0]): None for one in members}
                elif isinstance(line, ast.Assign) and _ALIASES in ast.unparse(line):
                    texts = (o for o in ast.walk(line) if isinstance(o, ast.Constant))
                    names |= {str(one.value): None for one in texts}
        if names:
            yield f"upper(speculative_algorithm) not in {tuple(names)}"

    def default(self, name: str, key: str) -> tuple[bool, Any]:
        """
        Return whether a field's default is a plain value, and which.
        """
        return name == self.of and key in self._defaults, self._defaults.get(key)


class _Layout(ast.NodeTransformer):
    """
    Writes functions that are handed the arguments as methods of theirs.
    """

    def __init__(self, methods: Mapping[str, ast.stmt]) -> None:
        self._methods = methods
        self._filling: Mapping[str, ast.expr] = {}
        self._filled = {
            name: dict(_filled(one))
            for name, one in methods.items()
            if isinstance(one, ast.FunctionDef) and _has(one, _FILLS)
        }

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args.args = [one for one in node.args.args if one.arg not in _ITSELF]
        if not node.args.args or node.args.args[0].arg != "self":
            node.args.args.insert(0, ast.arg("self"))
        self._filling = self._filled.get(node.name, {})
        self.generic_visit(node)
        self._filling = {}
        return node

    def visit_Return(self, node: ast.Return) -> Any:  # noqa: ANN401 - statements
        self.generic_visit(node)
        filled = node.value if self._filling else None
        if filled is None:
            return node
        values: Mapping[str, ast.expr] = self._filling
        if isinstance(filled, ast.Dict) and None not in filled.keys:
            keys = [one.value for one in filled.keys if isinstance(one, ast.Constant)]
            if len(keys) == len(filled.keys):
                values = dict(zip(map(str, keys), filled.values, strict=True))
        told = [ast.Assign([_own(k)], v) for k, v in values.items()]
        return [*told, ast.Return(None)]

    def visit_If(self, node: ast.If) -> ast.AST | None:
        # A model that is none is not what anybody deploys.
        if "model_path.lower()" in ast.unparse(node.test):
            return None
        self.generic_visit(node)
        return node if node.body else ast.Pass()

    def visit_Expr(self, node: ast.Expr) -> Any:  # noqa: ANN401 - statements
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        filled = (
            call.args[1].id
            if name == _RUNS
            and len(call.args) > 1
            and isinstance(call.args[1], ast.Name)
            else ""
        )
        if filled in self._filled:
            return ast.Expr(ast.Call(_own(filled), [], []))
        self.generic_visit(node)
        if name == "declare_resolution":
            return [
                ast.Assign([_own(one.arg)], one.value)
                for one in call.keywords
                if one.arg
            ] or node
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in _VIEWS:
            return ast.Pass()
        if ast.unparse(node.targets[0]) == ARCHITECTURE:
            return ast.Pass()
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return _own(ARCHITECTURE) if node.id == ARCHITECTURE else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = ast.unparse(node.value)
        if text == "get_platform()" and node.attr in _PLATFORM:
            return ast.Constant(_PLATFORM[node.attr])
        if text in _SEEN:
            return _own(node.attr)
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id in _ITSELF:
            node.value = ast.Name("self")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        # Which of the devices it is makes no difference.
        return _own("device") if ast.unparse(node) == _ONE_DEVICE else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _PLATFORM and not node.args:
            return ast.Constant(_PLATFORM[name])
        if name == "get_device" and not node.args:
            return ast.Constant("cuda")
        words = [one.id if isinstance(one, ast.Name) else "" for one in node.args]
        if name == "run_hook" and words[0] in self._methods:
            return ast.Call(_own(words[0]), [], [])
        if name == "resolution_result" and isinstance(node.args[1], ast.Constant):
            return _own(str(node.args[1].value))
        self.generic_visit(node)
        if name in self._methods:
            is_handed = bool(words) and words[0] in {*_ITSELF, "self"}
            return ast.Call(_own(name), node.args[is_handed:], node.keywords)
        return node


def _has(node: ast.FunctionDef, decorator: str) -> bool:
    return any(decorator in ast.unparse(one) for one in node.decorator_list)


def _filled(node: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """
    Yield what a function fills in, and what that is behind it: what was written stays
    where it only fills gaps.
    """
    text = ast.unparse(node)
    for key in _keys([ast.Module([node], [])], _FILLS):
        fills_gaps = any(
            f"{one}.{key} is None" in text or f"{one}.{key} is not None" in text
            for one in _ITSELF
        )
        is_open = f"unknown() if self.{key} is None else self.{key}"
        yield key, ast.parse(is_open if fills_gaps else "unknown()", mode="eval").body


def _keys(trees: Iterable[ast.Module], decorator: str) -> Iterator[str]:
    """
    Yield the keys of all that is made in functions of a decorator.
    """
    functions = (
        one
        for tree in trees
        for one in tree.body
        if isinstance(one, ast.FunctionDef) and _has(one, decorator)
    )
    found: dict[str, None] = {}
    for function in functions:
        for one in ast.walk(function):
            keys = (
                one.keys
                if isinstance(one, ast.Dict)
                else [one.slice]
                if isinstance(one, ast.Subscript)
                else []
            )
            found |= {
                str(key.value): None for key in keys if isinstance(key, ast.Constant)
            }
    yield from found


def _constants(trees: Iterable[ast.Module]) -> Iterator[tuple[str, str]]:
    """
    Yield the names of modules that stand for several plain values.
    """
    for tree in trees:
        for line in tree.body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                try:
                    value = ast.literal_eval(line.value)
                except ValueError:
                    continue
                if isinstance(value, list | tuple) and value:
                    yield line.targets[0].id, repr(tuple(value))


def _own(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("self"), name)
