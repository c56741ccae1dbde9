"""
The statements of functions that are followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tools.catalog.reading import expressions
from tools.catalog.reading.values import (
    CannotRead,
    Class,
    Frame,
    Function,
    Unread,
    Value,
)

if TYPE_CHECKING:
    from tools.catalog.reading.reader import Reader


# What is followed is a parser, wherever it comes from.
_ADDING = "add_argument"


class _Return(Exception):  # noqa: N818 - it ends a function, as the statement does
    def __init__(self, value: Value) -> None:
        self.value = value


class _Continue(Exception):  # noqa: N818 - likewise a loop's turn
    pass


def defined(reader: Reader, statement: ast.stmt, frame: Frame) -> Value:
    """
    Return a class or a function as it is defined.
    """
    if isinstance(statement, ast.ClassDef):
        return Class(frame.module, statement.name, statement)
    if not isinstance(statement, ast.FunctionDef):
        raise CannotRead(f"{ast.unparse(statement)} defines nothing")
    return Function(statement, frame, defaults=_defaults(reader, statement, frame))


def _defaults(
    reader: Reader, node: ast.FunctionDef | ast.Lambda, frame: Frame
) -> dict[str, Value]:
    given = node.args
    last = [*given.posonlyargs, *given.args][-len(given.defaults) :]
    pairs = list(zip(last, given.defaults, strict=False)) if given.defaults else []
    pairs += [
        (one, value)
        for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if value is not None
    ]
    return {one.arg: reader.attempt(value, frame) for one, value in pairs}


def follow(
    reader: Reader, of: Function, args: Sequence[Value], words: Mapping[str, Value]
) -> Value:
    """
    Return what a function returns.
    """
    inner = Frame(of.frame.module, {}, of.frame, of.frame.owner)
    inner.names |= of.defaults or _defaults(reader, of.node, of.frame)
    names = [one.arg for one in [*of.node.args.posonlyargs, *of.node.args.args]]
    given = [*([] if of.bound is None else [of.bound]), *args]
    inner.names |= dict(zip(names, given, strict=False))
    if of.node.args.vararg is not None:
        inner.names[of.node.args.vararg.arg] = tuple(given[len(names) :])
    inner.names |= words
    if isinstance(of.node, ast.Lambda):
        return reader.evaluate(of.node.body, inner)
    try:
        run(reader, of.node.body, inner)
    except _Return as ended:
        return ended.value
    return None


def run(reader: Reader, body: Sequence[ast.stmt], frame: Frame) -> None:
    """
    Follow statements one after the other.
    """
    for one in body:
        form = _FORMS.get(type(one))
        if form is None:
            first = ast.unparse(one).partition("\n")[0]
            raise CannotRead(f"{frame.module}: {first} is not understood")
        form(reader, one, frame)


def _assign(reader: Reader, node: ast.Assign, frame: Frame) -> None:
    value = reader.attempt(node.value, frame)
    for target in node.targets:
        _put(reader, target, value, frame)


def _annotated(reader: Reader, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        _put(reader, node.target, reader.attempt(node.value, frame), frame)


def _put(reader: Reader, target: ast.expr, value: Value, frame: Frame) -> None:
    if isinstance(target, ast.Subscript):
        of = reader.evaluate(target.value, frame)
        of[reader.evaluate(target.slice, frame)] = value
    elif isinstance(target, ast.Tuple) and isinstance(value, Unread):
        for one in target.elts:
            _put(reader, one, value, frame)
    else:
        expressions.bind(target, value, frame)


def _augmented(reader: Reader, node: ast.AugAssign, frame: Frame) -> None:
    together = ast.BinOp(_loaded(node.target), node.op, node.value)
    _put(reader, node.target, reader.attempt(together, frame), frame)


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _deleted(reader: Reader, node: ast.Delete, frame: Frame) -> None:
    for target in node.targets:
        if not isinstance(target, ast.Subscript):
            raise CannotRead(f"{ast.unparse(node)} is not understood")
        of = reader.evaluate(target.value, frame)
        of.pop(reader.evaluate(target.slice, frame), None)


def _expression(reader: Reader, node: ast.Expr, frame: Frame) -> None:
    # What is called for an effect elsewhere (a log, a plugin) has none here, unless
    # it is handed what is being followed.
    try:
        reader.evaluate(node.value, frame)
    except CannotRead:
        if isinstance(node.value, ast.Call) and _touches(node.value, frame):
            raise


def _touches(call: ast.Call, frame: Frame) -> bool:
    if ast.unparse(call.func).endswith(f".{_ADDING}"):
        return True
    names = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
    inner: Frame | None = frame
    while inner is not None:
        if any(_is_followed(v) for n, v in inner.names.items() if n in names):
            return True
        inner = inner.outer
    return False


def _is_followed(value: Value) -> bool:
    return isinstance(value, dict | list | set) or hasattr(value, _ADDING)


def _if(reader: Reader, node: ast.If, frame: Frame) -> None:
    holds = expressions.truth(reader.evaluate(node.test, frame))
    run(reader, node.body if holds else node.orelse, frame)


def _for(reader: Reader, node: ast.For, frame: Frame) -> None:
    for value in expressions.iterated(reader, reader.evaluate(node.iter, frame)):
        expressions.bind(node.target, value, frame)
        try:
            run(reader, node.body, frame)
        except _Continue:
            continue


def _with(reader: Reader, node: ast.With, frame: Frame) -> None:
    run(reader, node.body, frame)


def _try(reader: Reader, node: ast.Try, frame: Frame) -> None:
    run(reader, node.body, frame)


def _return(reader: Reader, node: ast.Return, frame: Frame) -> None:
    raise _Return(None if node.value is None else reader.evaluate(node.value, frame))


def _continue(_: Reader, __: ast.Continue, ___: Frame) -> None:
    raise _Continue


def _define(reader: Reader, node: ast.FunctionDef, frame: Frame) -> None:
    frame.names[node.name] = defined(reader, node, frame)


def _import_from(reader: Reader, node: ast.ImportFrom, frame: Frame) -> None:
    source = reader.modules.absolute(node, frame.module)
    for one in node.names:
        try:
            value = reader.imported(source, one.name)
        except CannotRead as error:
            value = Unread(str(error))
        frame.names[one.asname or one.name] = value


def _import(reader: Reader, node: ast.Import, frame: Frame) -> None:
    for one in node.names:
        name = one.name if one.asname else one.name.partition(".")[0]
        frame.names[one.asname or name] = reader.module(name)


def _nothing(_: Reader, __: ast.stmt, ___: Frame) -> None:
    """
    An assertion holds, or the engine would not start.
    """


_FORMS: dict[type[ast.stmt], Callable[[Reader, Any, Frame], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _deleted,
    ast.Expr: _expression,
    ast.If: _if,
    ast.For: _for,
    ast.With: _with,
    ast.Try: _try,
    ast.Return: _return,
    ast.Continue: _continue,
    ast.FunctionDef: _define,
    ast.ImportFrom: _import_from,
    ast.Import: _import,
    ast.Pass: _nothing,
    ast.Assert: _nothing,
}
