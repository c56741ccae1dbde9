"""
Reading kinds from annotations, so that what is declared is what is held.

Annotations are read as text: many name classes that are imported for types alone.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.arguments import known
from cdk_sagemaker_llm.arguments.kinds import (
    CONTENTS,
    JSON,
    NONE,
    NUMBER,
    SWITCH,
    TEXT,
    WHOLE_NUMBER,
    Kind,
    either,
    list_of,
    map_of,
    one_of,
)

_BUILT_IN: Mapping[str, Kind] = {
    "Any": JSON,
    "bool": SWITCH,
    "bytes": CONTENTS,
    "float": NUMBER,
    "int": WHOLE_NUMBER,
    "str": TEXT,
}


class UnknownKindError(LookupError):
    """
    An annotation names a class that no kind is known for.
    """


@functools.cache
def kind_of(annotation: str) -> Kind:
    """
    Return the kind that an annotation declares.

    Raises:
        UnknownKindError: If it names a class without an entry in ``known``.
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
            return _of_parts(name, inner)
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
    if name in known.ALIASES:
        return kind_of(known.ALIASES[name])
    if name in known.CLASSES:
        return known.CLASSES[name]
    raise UnknownKindError(name)


def _of_parts(name: str, inner: ast.expr) -> Kind:
    items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return one_of(*(ast.literal_eval(item) for item in items))
    if name in ("Sequence", "tuple"):
        return list_of(_read(items[0]))
    if name == "Mapping":
        return map_of(_read(items[1]))
    raise UnknownKindError(name)
