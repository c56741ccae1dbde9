"""
The forms of expressions that are understood.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tools.catalog.reading.values import (
    CannotRead,
    Class,
    Frame,
    Function,
    Hint,
    Made,
    Named,
    Super,
    Value,
    known,
)

if TYPE_CHECKING:
    from tools.catalog.reading.reader import Reader

# What a field's default is where it has none: never a value.
_SENTINELS = {"dataclasses.MISSING", "msgspec.NODEFAULT"}
_UNION = Named("typing.Union")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    # Two readings of one thing are equal, not the same.
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}
_PLAIN = (bool, int, float, str, list, tuple, set, frozenset, dict)


def evaluate(reader: Reader, node: ast.expr, frame: Frame) -> Value:
    """
    Return what an expression is worth.
    """
    form = _FORMS.get(type(node))
    if form is None:
        raise CannotRead(f"{ast.unparse(node)} is of a form that is not understood")
    return form(reader, node, frame)


def combine(how: ast.operator, left: Value, right: Value, text: str) -> Value:
    """
    Return two values combined.
    """
    if isinstance(how, ast.BitOr) and not (
        isinstance(left, _PLAIN) and isinstance(right, _PLAIN)
    ):
        return union([left, right])
    if not (isinstance(left, _PLAIN) and isinstance(right, _PLAIN)):
        raise CannotRead(f"{text} is made of what is not known")
    try:
        return _OPERATORS[type(how)](left, right)
    except (KeyError, TypeError, ArithmeticError) as error:
        raise CannotRead(f"{text}: {error!r}") from error


def truth(value: Value) -> bool:
    """
    Return whether a condition holds.

    Raises:
        CannotRead: If that is not in the text.
    """
    if isinstance(value, Named) or _is_of_elsewhere(value):
        raise CannotRead(f"whether {_said(value)} holds is not in the text")
    return bool(value)


def _is_of_elsewhere(value: Value) -> bool:
    return isinstance(value, Made) and isinstance(value.of, Named)


def _is_open(one: Value, other: Value, *, is_identity: bool) -> bool:
    """
    Whether comparing two values would be a guess at what one of them is.
    """
    if isinstance(one, Named):
        if is_identity:
            return isinstance(other, bool) and one.path not in _SENTINELS
        return isinstance(other, str | int | float) or (
            isinstance(other, list | tuple | set | dict)
            and any(isinstance(item, str | int | float) for item in other)
        )
    return _is_of_elsewhere(one) and not isinstance(other, Named | Class | tuple)


def _said(value: Value) -> str:
    return value.of.path if isinstance(value, Made) else value.path  # type: ignore[union-attr] # asked of what is named only


def union(parts: Sequence[Value]) -> Hint:
    """
    Return a hint for any of some.
    """
    found: list[Value] = []
    for one in parts:
        value = type(None) if one is None else one
        if isinstance(value, Hint) and value.origin == _UNION:
            found += value.args
        else:
            found.append(value)
    return Hint(_UNION, tuple(found))


def _constant(_: Reader, node: ast.Constant, __: Frame) -> Value:
    return node.value


def _name(reader: Reader, node: ast.Name, frame: Frame) -> Value:
    return reader.name(node.id, frame)


def _attribute(reader: Reader, node: ast.Attribute, frame: Frame) -> Value:
    return reader.attribute(reader.evaluate(node.value, frame), node.attr)


def _items(reader: Reader, nodes: Sequence[ast.expr], frame: Frame) -> list[Value]:
    found: list[Value] = []
    for one in nodes:
        if isinstance(one, ast.Starred):
            found += list(reader.evaluate(one.value, frame))
        else:
            found.append(reader.evaluate(one, frame))
    return found


def _list(reader: Reader, node: ast.List, frame: Frame) -> Value:
    return _items(reader, node.elts, frame)


def _tuple(reader: Reader, node: ast.Tuple, frame: Frame) -> Value:
    return tuple(_items(reader, node.elts, frame))


def _set(reader: Reader, node: ast.Set, frame: Frame) -> Value:
    return set(_items(reader, node.elts, frame))


def _dict(reader: Reader, node: ast.Dict, frame: Frame) -> Value:
    found: dict[Value, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found |= reader.evaluate(value, frame)
        else:
            found[reader.evaluate(key, frame)] = reader.attempt(value, frame)
    return found


def _binary(reader: Reader, node: ast.BinOp, frame: Frame) -> Value:
    left, right = (reader.evaluate(one, frame) for one in (node.left, node.right))
    return combine(node.op, left, right, ast.unparse(node))


def _unary(reader: Reader, node: ast.UnaryOp, frame: Frame) -> Value:
    value = reader.evaluate(node.operand, frame)
    if isinstance(node.op, ast.Not):
        return not truth(value)
    if isinstance(node.op, ast.USub) and isinstance(value, int | float):
        return -value
    raise CannotRead(f"{ast.unparse(node)} is of a form that is not understood")


def _boolean(reader: Reader, node: ast.BoolOp, frame: Frame) -> Value:
    value: Value = None
    for one in node.values:
        value = reader.evaluate(one, frame)
        # What is imported by its name is there, whatever it is.
        is_true = isinstance(value, Named) or truth(value)
        if is_true == isinstance(node.op, ast.Or):
            break
    return value


def _compare(reader: Reader, node: ast.Compare, frame: Frame) -> Value:
    left = reader.evaluate(node.left, frame)
    for how, other in zip(node.ops, node.comparators, strict=True):
        right = reader.evaluate(other, frame)
        same = isinstance(how, ast.Is | ast.IsNot)
        if any(
            _is_open(one, another, is_identity=same)
            for one, another in ((left, right), (right, left))
        ):
            raise CannotRead(f"{ast.unparse(node)} depends on what is not in the text")
        try:
            if not _COMPARISONS[type(how)](left, right):
                return False
        except TypeError as error:
            raise CannotRead(f"{ast.unparse(node)}: {error!r}") from error
        left = right
    return True


def _conditional(reader: Reader, node: ast.IfExp, frame: Frame) -> Value:
    chosen = node.body if truth(reader.evaluate(node.test, frame)) else node.orelse
    return reader.evaluate(chosen, frame)


def _text(reader: Reader, node: ast.JoinedStr, frame: Frame) -> Value:
    parts: list[str] = []
    for one in node.values:
        inner = one.value if isinstance(one, ast.FormattedValue) else one
        parts.append(str(reader.evaluate(inner, frame)))
    return "".join(parts)


def _subscript(reader: Reader, node: ast.Subscript, frame: Frame) -> Value:
    of = reader.evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        ends = [None if one is None else reader.evaluate(one, frame) for one in bounds]
        return of[slice(*ends)]
    if isinstance(of, type | Class | Named | Hint):
        return _hint(reader, of, node.slice, frame)
    inner = reader.evaluate(node.slice, frame)
    try:
        return known(of[inner])
    except (LookupError, TypeError) as error:
        raise CannotRead(f"{ast.unparse(node)}: {error!r}") from error


def _hint(reader: Reader, of: Value, node: ast.expr, frame: Frame) -> Value:
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    name = of.path.rpartition(".")[2] if isinstance(of, Named) else ""
    if name == "Literal":
        return Hint(of, tuple(_values(_items(reader, nodes, frame))))
    if name == "Annotated":
        first = reader.hint(nodes[0], frame)
        return Hint(of, (first, *(reader.evaluate(n, frame) for n in nodes[1:])))
    if name == "SkipValidation":
        return reader.hint(nodes[0], frame)
    found = [reader.hint(one, frame) for one in nodes]
    args = [tuple(one) if isinstance(one, list) else one for one in found]
    if name in {"Union", "Optional"}:
        return union([*args, *([None] if name == "Optional" else [])])
    return Hint(_PLAIN_OF.get(name, of), tuple(args))


# The older names of Python's own types.
_PLAIN_OF: dict[str, Value] = {
    "List": list,
    "Dict": dict,
    "Set": set,
    "Tuple": tuple,
    "Type": type,
}


def _values(of: Sequence[Value]) -> Iterator[Value]:
    """
    Return the values of a literal, those of others in it among them.
    """
    for one in of:
        if isinstance(one, Hint):
            yield from one.args
        else:
            yield one


def _call(reader: Reader, node: ast.Call, frame: Frame) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super":
        return _super(reader, frame)
    of = reader.evaluate(node.func, frame)
    args: list[Value] = []
    for one in node.args:
        if isinstance(one, ast.Starred):
            args += list(reader.evaluate(one.value, frame))
        else:
            args.append(reader.attempt(one, frame))
    words: dict[str, Value] = {}
    for word in node.keywords:
        if word.arg is None:
            words |= reader.evaluate(word.value, frame)
        else:
            words[word.arg] = reader.attempt(word.value, frame)
    try:
        return reader.call(of, args, words)
    except (TypeError, ValueError, LookupError, AttributeError, StopIteration) as error:
        raise CannotRead(f"{ast.unparse(node)}: {error!r}") from error


def _super(reader: Reader, frame: Frame) -> Value:
    owner = frame.owner or (frame.outer.owner if frame.outer else None)
    if owner is None:
        raise CannotRead("super() outside of a class")
    return Super(owner, reader.name("cls", frame))


def _named(reader: Reader, node: ast.NamedExpr, frame: Frame) -> Value:
    value = reader.evaluate(node.value, frame)
    bind(node.target, value, frame)
    return value


def _lambda(_: Reader, node: ast.Lambda, frame: Frame) -> Value:
    return Function(node, frame)


def _comprehended(
    reader: Reader, clauses: Sequence[ast.comprehension], frame: Frame
) -> Iterator[Frame]:
    if not clauses:
        yield frame
        return
    first, *others = clauses
    for value in iterated(reader, reader.evaluate(first.iter, frame)):
        inner = Frame(frame.module, {}, frame, frame.owner)
        bind(first.target, value, inner)
        if all(truth(reader.evaluate(test, inner)) for test in first.ifs):
            yield from _comprehended(reader, others, inner)


def iterated(reader: Reader, value: Value) -> list[Value]:
    """
    Return what a loop goes through.
    """
    known(value)
    if isinstance(value, Class) and reader.is_enum(value):
        return list(reader.members(value))
    if isinstance(value, list | tuple | set | frozenset | dict | str) or hasattr(
        value, "__next__"
    ):
        return list(value)
    try:
        return list(value)
    except TypeError as error:
        raise CannotRead(f"{reader.said(value)} is not known item by item") from error


def bind(target: ast.expr, value: Value, frame: Frame) -> None:
    """
    Give names their values.
    """
    if isinstance(target, ast.Name):
        frame.names[target.id] = value
    elif isinstance(target, ast.Tuple):
        for one, part in zip(target.elts, value, strict=True):
            bind(one, part, frame)
    else:
        raise CannotRead(f"{ast.unparse(target)} cannot be bound")


def _listed(
    reader: Reader, node: ast.ListComp | ast.GeneratorExp, frame: Frame
) -> Value:
    inner = _comprehended(reader, node.generators, frame)
    return [reader.evaluate(node.elt, one) for one in inner]


def _set_of(reader: Reader, node: ast.SetComp, frame: Frame) -> Value:
    inner = _comprehended(reader, node.generators, frame)
    return {reader.evaluate(node.elt, one) for one in inner}


def _dict_of(reader: Reader, node: ast.DictComp, frame: Frame) -> Value:
    inner = _comprehended(reader, node.generators, frame)
    return {
        reader.evaluate(node.key, one): reader.evaluate(node.value, one)
        for one in inner
    }


_FORMS: dict[type[ast.expr], Callable[[Reader, Any, Frame], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.JoinedStr: _text,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.ListComp: _listed,
    ast.GeneratorExp: _listed,
    ast.SetComp: _set_of,
    ast.DictComp: _dict_of,
}
