"""
The smallest definition that breaks a rule, as a reader would write it.

The tests share helpers and constants, which are put in their places here, so that
what is left is imports, a few statements and a ``stack``.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
_UNIT = ROOT / "tests" / "unit"
# Where definitions stand, each by its table's name.
TABLES = {
    "rule_examples": "DEFINITIONS",
    "capacity_rule_examples": "CAPACITY",
    "mirroring_rule_examples": "MIRRORING",
    "staging_rule_examples": "STAGING",
}
_STACK = ast.Name("stack", ast.Load())
_ROUNDS = 12
# Left out on purpose, where a helper has them.
_MEANT = ("model", "digest")
_KNOWN = {*dir(builtins), "stack"}


def sources() -> dict[str, str]:
    """
    Return the source of each definition by its rule's code, yet to be formatted.
    """
    found = {}
    for name, table in TABLES.items():
        module = _Module(name)
        for key, value in _entries(module, table):
            found[key] = _source(module, value)
    return found


class _Module:
    """
    What a module of the tests assigns, defines and imports.
    """

    def __init__(self, name: str) -> None:
        self.values: dict[str, ast.expr] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        file = _UNIT / f"{name.replace('.', '/')}.py"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(key)], value=value):
                    self.values[key] = value
                case ast.AnnAssign(target=ast.Name(key), value=ast.expr() as value):
                    self.values[key] = value
                case ast.Assign(targets=[ast.Tuple(keys)], value=ast.Tuple(values)):
                    names = [key.id for key in keys if isinstance(key, ast.Name)]
                    self.values.update(zip(names, values, strict=True))
                case ast.FunctionDef():
                    self.functions[node.name] = node
                case ast.ImportFrom():
                    self._read(node)

    def _read(self, node: ast.ImportFrom) -> None:
        origin = node.module or ""
        for alias in node.names:
            name = alias.asname or alias.name
            if origin == "tests.conftest" and name == "ROOT":
                self.values[name] = ast.parse("Path()", mode="eval").body
                self.imports["Path"] = ("pathlib", "Path")
            elif origin.startswith("tests.unit."):
                other = _module(origin.removeprefix("tests.unit."))
                if alias.name in other.values:
                    self.values[name] = other.values[alias.name]
                if alias.name in other.functions:
                    self.functions[name] = other.functions[alias.name]
                self.imports = {**other.imports, **self.imports}
            else:
                spelled = alias.name + (f" as {alias.asname}" if alias.asname else "")
                self.imports[name] = (origin, spelled)


@functools.cache
def _module(name: str) -> _Module:
    return _Module(name)


def _entries(module: _Module, table: str) -> Iterator[tuple[str, ast.expr]]:
    node = module.values[table]
    assert isinstance(node, ast.Dict)  # noqa: S101 - the tables are dictionaries
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant):
            yield str(key.value), value


def _source(module: _Module, value: ast.expr) -> str:
    body: list[ast.stmt] = [ast.Expr(ast.Call(copy.deepcopy(value), [_STACK], []))]
    for _ in range(_ROUNDS):
        before = ast.dump(ast.Module(body, []))
        body = [each for one in body for each in _spliced(module, one)]
        body = [_Inlined(module).visit(one) for one in body]
        if ast.dump(ast.Module(body, [])) == before:
            break
    # What a test gets back is nothing to a reader.
    text = ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
    return "\n".join([*_imports(module, body), "", text]) + "\n"


def _spliced(module: _Module, statement: ast.stmt) -> Iterator[ast.stmt]:
    """
    Put the body of a helper where a statement is a call of it, and nothing more.
    """
    call = getattr(statement, "value", None)
    function = _called(module, call)
    if isinstance(statement, ast.Try):
        # A test turns one error into another; a reader does not.
        yield from statement.body
    elif isinstance(call, ast.Call) and function is not None:
        for each in _body(function, call):
            if not isinstance(each, ast.Return):
                yield each
            elif each.value is not None:
                yield _given(statement, each.value)
    else:
        yield from _hoisted(module, statement)


def _hoisted(module: _Module, statement: ast.stmt) -> Iterator[ast.stmt]:
    """
    Put a helper's statements before the one that calls it for its value.
    """
    for call in ast.walk(statement):
        function = _called(module, call)
        if not isinstance(call, ast.Call) or function is None:
            continue
        *before, last = _body(function, call)
        if before and isinstance(last, ast.Return) and last.value is not None:
            yield from before
            yield _Instead(call, last.value).visit(statement)
            return
    yield statement


class _Instead(ast.NodeTransformer):
    """
    Puts one expression in the place of another.
    """

    def __init__(self, call: ast.Call, value: ast.expr) -> None:
        self._call = call
        self._value = value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if node is self._call:
            return self._value
        return self.generic_visit(node)


def _body(function: ast.FunctionDef, call: ast.Call) -> list[ast.stmt]:
    bound = _bound(function, call)
    body = _without_docstring(function.body)
    return [_Put(bound).visit(copy.deepcopy(each)) for each in body]


def _given(statement: ast.stmt, value: ast.expr) -> ast.stmt:
    if isinstance(statement, ast.Assign):
        return ast.Assign(statement.targets, value)
    return ast.Expr(value)


def _called(module: _Module, call: object) -> ast.FunctionDef | None:
    if not isinstance(call, ast.Call):
        return None
    match call.func:
        case ast.Name(name):
            return module.functions.get(name)
        case ast.Call(ast.Name(name)) as made if name in module.functions:
            return _made(module.functions[name], made)
    return None


def _made(factory: ast.FunctionDef, call: ast.Call) -> ast.FunctionDef | None:
    """
    Return the function that a factory returns, with what the factory was given.
    """
    inner = [each for each in factory.body if isinstance(each, ast.FunctionDef)]
    if not inner:
        return None
    bound = _bound(factory, call)
    made: ast.FunctionDef = _Put(bound).visit(copy.deepcopy(inner[0]))
    before = [
        _Put(bound).visit(copy.deepcopy(each))
        for each in _without_docstring(factory.body)
        if not isinstance(each, ast.FunctionDef | ast.Return)
    ]
    made.body = [*before, *_without_docstring(made.body)]
    return made


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(ast.Constant(str())), *rest]:
            return rest
    return body


def _bound(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.AST]:
    """
    Return what stands for each parameter of a function in a call.
    """
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args)]
    late = given.defaults
    bound: dict[str, ast.AST] = dict(
        zip(names[len(names) - len(late) :], late, strict=True)
    )
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if default is not None:
            bound[one.arg] = default
    bound |= dict(zip(names, call.args, strict=False))
    if given.vararg:
        bound[given.vararg.arg] = ast.Tuple(call.args[len(names) :], ast.Load())
    known = {*names, *(one.arg for one in given.kwonlyargs)}
    more = [one for one in call.keywords if one.arg not in known]
    bound |= {str(one.arg): one.value for one in call.keywords if one.arg in known}
    if given.kwarg:
        keys: list[ast.expr | None] = [ast.Constant(one.arg) for one in more]
        bound[given.kwarg.arg] = ast.Dict(keys, [one.value for one in more])
    return bound


class _Put(ast.NodeTransformer):
    """
    Puts what was given in the place of a function's parameters.
    """

    def __init__(self, bound: Mapping[str, ast.AST]) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._bound:
            return copy.deepcopy(self._bound[node.id])
        return node


def _put(bound: Mapping[str, ast.AST], value: ast.expr) -> ast.expr:
    inner: ast.expr = _Put(bound).visit(copy.deepcopy(value))
    return inner


class _Inlined(ast.NodeTransformer):
    """
    Puts constants, partial calls and helpers of one expression in their places.
    """

    def __init__(self, module: _Module) -> None:
        self._module = module

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self._module.values.get(node.id)
        if isinstance(node.ctx, ast.Load) and value is not None:
            return copy.deepcopy(value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node.func:
            case ast.Call(ast.Name("partial"), [inner, *first], keywords):
                own = {one.arg for one in node.keywords}
                kept = [one for one in keywords if one.arg not in own]
                node = ast.Call(inner, [*first, *node.args], [*kept, *node.keywords])
            case ast.Lambda(args, body):
                fake = ast.FunctionDef("", args, [], [], None)
                return _put(_bound(fake, node), body)
        function = _called(self._module, node)
        if function is not None:
            match _without_docstring(function.body):
                case [ast.Return(ast.expr() as value)]:
                    return _put(_bound(function, node), value)
        match node.func:
            case ast.Name(name) if name in self._module.functions:
                factory = self._module.functions[name]
                match _without_docstring(factory.body):
                    case [ast.Return(ast.Lambda() as made)]:
                        return _put(_bound(factory, node), made)
            case ast.Name("cast"):
                return node.args[-1]
            case ast.Name("list") if isinstance(node.args[0], ast.Tuple):
                return ast.List(node.args[0].elts, ast.Load())
        return _plainly(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        parts = [
            one.value if isinstance(one, ast.FormattedValue) else one
            for one in node.values
        ]
        if all(isinstance(one, ast.Constant) for one in parts):
            words = [str(one.value) for one in parts if isinstance(one, ast.Constant)]
            return ast.Constant("".join(words))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BoolOp(ast.Or(), [ast.Constant(None), value]):
                return value
            case ast.BoolOp(ast.Or(), [ast.Call() as value, _]):
                return value
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node


def _plainly(node: ast.Call) -> ast.Call:
    """
    Write a call as a reader does: the id second, no argument that is left out.
    """
    args: list[ast.expr] = []
    for one in node.args:
        match one:
            case ast.Starred(ast.Tuple(inner)):
                args += inner
            case _:
                args.append(one)
    keywords: list[ast.keyword] = []
    for key in node.keywords:
        match key:
            case ast.keyword(None, ast.Dict(keys, values)) if all(
                isinstance(one, ast.Constant) for one in keys
            ):
                keywords += [
                    ast.keyword(str(one.value), value)
                    for one, value in zip(keys, values, strict=True)
                    if isinstance(one, ast.Constant)
                ]
            case ast.keyword("id", value) if len(args) == 1 and ast.dump(
                args[0]
            ) == ast.dump(_STACK):
                args.append(value)
            case ast.keyword(str(name), ast.Constant(None)) if name not in _MEANT:
                continue
            case _:
                keywords.append(key)
    last = {one.arg: one for one in keywords}
    return ast.Call(node.func, args, [*last.values()])


def _imports(module: _Module, body: Iterable[ast.stmt]) -> list[str]:
    used = {
        node.id
        for one in body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and node.id not in _KNOWN
    }
    by_origin: dict[str, list[str]] = {}
    for name in sorted(used & set(module.imports)):
        origin, spelled = module.imports[name]
        by_origin.setdefault(origin, []).append(spelled)
    lines = []
    for origin, names in sorted(by_origin.items()):
        # As the formatter of imports writes it: a renamed one has a line of its own.
        plain = [name for name in names if " as " not in name]
        renamed = [name for name in names if " as " in name]
        lines += [f"from {origin} import {', '.join(plain)}"] if plain else []
        lines += [f"from {origin} import {name}" for name in renamed]
    return lines
