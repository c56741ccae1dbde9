"""
Arguments that are not of their declared kind: one message each, in the caller's words.

What belongs here reads the kind from the annotation, so that nothing is said twice;
annotations are text, as many name classes that are imported for types alone. It knows
no range and no service: those are checked where the value is used.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cdk_sagemaker_llm.arguments.classes import ALIASES, CLASSES
from cdk_sagemaker_llm.arguments.kinds import (
    CONTENTS,
    JSON,
    NONE,
    NUMBER,
    SWITCH,
    TEXT,
    WHOLE_NUMBER,
    Fault,
    Kind,
    either,
    list_of,
    map_of,
    one_of,
)
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

P = ParamSpec("P")
R = TypeVar("R")
D = TypeVar("D", bound="DataclassInstance")

_BUILT_IN: Mapping[str, Kind] = {
    "Any": JSON,
    "bool": SWITCH,
    "bytes": CONTENTS,
    "float": NUMBER,
    "int": WHOLE_NUMBER,
    "str": TEXT,
}
# What kinds are known by, of what is the same to them.
_SAME = {"dict": "Mapping", "list": "Sequence"}
_PLAIN = (str, int, float, type(None))
Refuse = Callable[[list[Fault], Mapping[str, object]], None]


class UnknownKindError(LookupError):
    """
    An annotation names a class that no kind is known for.
    """


@functools.cache
def kind_of(annotation: str) -> Kind:
    """
    Return the kind that an annotation declares.
    """
    return _read(ast.parse(annotation, mode="eval").body)


def _read(node: ast.expr) -> Kind:
    match node:
        case ast.BinOp(op=ast.BitOr()):
            return either(*map(_read, _alternatives(node)))
        case ast.Constant(value=None):
            return NONE
        case ast.Name() | ast.Attribute():
            return _named(ast.unparse(node))
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name == "Literal":
                return one_of(*(ast.literal_eval(item) for item in items))
            if name in ("Sequence", "tuple"):
                return list_of(_read(items[0]))
            if name == "Mapping":
                return map_of(_read(items[1]))
            raise UnknownKindError(name)
    raise UnknownKindError(ast.unparse(node))


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _alternatives(left)
            yield right
        case _:
            yield node


def _named(name: str) -> Kind:
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if name in ALIASES:
        return kind_of(ALIASES[name])
    if name in CLASSES:
        return CLASSES[name]
    raise UnknownKindError(name)


def raise_faults(
    faults: Iterable[Fault], _: Mapping[str, object] | None = None
) -> None:
    """
    Refuse values with all that is wrong with them.
    """
    text = "; ".join(map(str, faults))
    if text:
        raise ValueError(text)


def hold_kinds(instance: DataclassInstance) -> None:
    """
    Refuse the fields of a data class that are not of their declared kinds, and keep
    lists and mappings as they are now: the caller may go on to change them.

    What a subclass of the user's declares beside is held where its kind is known.
    """
    declared = _declared(type(instance))
    raise_faults(
        _faults(declared, {name: getattr(instance, name) for name in declared})
    )
    keep_copies(instance)


@functools.cache
def _declared(owner: type[DataclassInstance]) -> Mapping[str, str]:
    declared = {field.name: _written(field.type) for field in dataclasses.fields(owner)}
    return {name: kind for name, kind in declared.items() if _is_known(kind)}


def keep_copies(instance: DataclassInstance) -> None:
    """
    Copy the lists and mappings of a frozen data class, whole.
    """
    for name in _field_names(type(instance)):
        value = getattr(instance, name)
        # Most are text, numbers or nothing, of which this is told at once.
        if not isinstance(value, _PLAIN) and isinstance(value, Mapping | list | tuple):
            object.__setattr__(instance, name, _copied(value))


@functools.cache
def _field_names(owner: type[DataclassInstance]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(owner))


def _copied(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [*map(_copied, value)]
    # A named tuple stays what it is.
    return tuple(map(_copied, value)) if type(value) is tuple else value


def _written(annotation: object) -> str:
    """
    Write an annotation as it stands in the source: it is an object where a module
    does not postpone annotations.
    """
    if isinstance(annotation, str):
        return annotation
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in (None, types.NoneType):
        return "None"
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_written, parts))
    name = getattr(origin or annotation, "__name__", "")
    name = _SAME.get(name, name)
    return f"{name}[{', '.join(map(_written, parts))}]" if parts else name


def _is_known(annotation: str) -> bool:
    try:
        kind_of(annotation)
    except (UnknownKindError, SyntaxError):
        return False
    return True


def hold_known(instance: DataclassInstance) -> None:
    """
    Refuse the fields of a data class that only deployment knows: they are computed
    with at synth.
    """
    raise_faults(
        Fault(f"{name} is known only at deployment, and is needed at synth")
        for name in _later_fields(instance)
    )


def known_at_synth(instance: D) -> D:
    """
    Return a data class without the numbers that only deployment knows.
    """
    later = _later_fields(instance)
    # Most have none, and a copy would be checked once more.
    return dataclasses.replace(instance, **dict.fromkeys(later)) if later else instance


def _later_fields(instance: DataclassInstance) -> list[str]:
    return [
        name
        for name in _field_names(type(instance))
        if is_later(getattr(instance, name))
    ]


def is_later(value: object) -> bool:
    """
    Whether a value is, or has in it, a number that only deployment knows.
    """
    return not isinstance(value, str) and is_unresolved(value)


def held(function: Callable[P, R], *, refuse: Refuse = raise_faults) -> Callable[P, R]:
    """
    Let a function refuse arguments that are not of the kinds its annotations declare.

    The annotations are text. What is done with the faults of a call, and with its
    arguments, is to raise them as one ``ValueError`` if omitted.
    """

    names = function.__code__.co_varnames[: function.__code__.co_argcount]

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        faults = _faults(function.__annotations__, values)
        if faults and _binds(function, args, kwargs):
            refuse(faults, values)
        try:
            return function(*args, **kwargs)
        except TypeError as fault:
            if _binds(function, args, kwargs):
                raise
            # Python's own error names the arguments that are missing or unknown, and
            # the class that has the method, of which the caller need not know.
            owner, _, name = function.__qualname__.rpartition(".")
            called = owner if name == "__init__" else name
            text = str(fault).replace(function.__qualname__, called)
            raise TypeError(text) from None

    return call


def _binds(
    function: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> bool:
    """
    Whether a call has the arguments that a function takes.

    It takes long, and is asked of calls that fail only.
    """
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _faults(
    declared: Mapping[str, object], values: Mapping[str, object]
) -> list[Fault]:
    return [
        fault
        for name, value in values.items()
        # Most arguments are omitted.
        if name in declared
        and not (value is None and str(declared[name]).endswith("| None"))
        for fault in kind_of(str(declared[name])).faults(name, value)
    ]


__all__ = [
    "Fault",
    "UnknownKindError",
    "held",
    "hold_kinds",
    "hold_known",
    "is_later",
    "keep_copies",
    "kind_of",
    "known_at_synth",
    "raise_faults",
]
