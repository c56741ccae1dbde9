"""
What Python's own functions and its modules of hints and records do with what is read.
"""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from tools.catalog.reading import expressions
from tools.catalog.reading.values import (
    MISSING,
    NONE,
    CannotRead,
    Class,
    Field,
    Frame,
    Function,
    Hint,
    Made,
    Member,
    Method,
    Named,
    NotThere,
    Unread,
    Value,
    known,
)

if TYPE_CHECKING:
    from tools.catalog.reading.reader import Reader

_OWN = (str, list, dict, set, frozenset, tuple, int, float, bool)
_TYPES = ("str", "int", "float", "bool", "list", "dict", "set", "tuple", "frozenset")
_BOUNDS = ("ge", "gt", "le", "lt")
# Functions that make a field's default, by the last part of their names.
_FIELDS = {"field", "Field"}
# What marks a class as a record, by the last part of the name.
_RECORDS = {"dataclass", "config", "Struct", "BaseModel"}


def attribute(reader: Reader, of: Value, name: str) -> Value:
    """
    Return an attribute of what is neither a module nor a class.
    """
    if name == "__module__":
        return _module_of(of)
    for kinds, answer in _ATTRIBUTES:
        if isinstance(of, kinds):
            return answer(reader, of, name)
    # What stands for a parser answers for itself.
    if hasattr(of, "add_argument") and hasattr(of, name):
        return getattr(of, name)
    raise CannotRead(f"what {name} of {reader.said(of)} is, is not known")


def _of_named(reader: Reader, of: Named, name: str) -> Value:
    path = f"{of.path}.{name}"
    return reader.surroundings.get(path, Named(path))


def _of_member(_: Reader, of: Member, name: str) -> Value:
    return {"name": of.name, "value": of.value}[name]


def _of_field(_: Reader, of: Field, name: str) -> Value:
    return getattr(of, name)


def _of_type(_: Reader, of: type, name: str) -> Value:
    if name != "__name__":
        raise CannotRead(f"what {name} of {of.__name__} is, is not known")
    return of.__name__


def _of_own(_: Reader, of: Value, name: str) -> Value:
    if not hasattr(of, name):
        raise NotThere(f"{of!r} has no {name}")
    return Method(of, name)


def _module_of(of: Value) -> str:
    if isinstance(of, Hint):
        return _module_of(of.origin)
    if isinstance(of, Class | Named):
        return of.module
    return "builtins"


def _of_made(reader: Reader, of: Made, name: str) -> Value:
    if name in of.words:
        return of.words[name]
    if is_field_call(of):
        if name == "default":
            return of.args[0] if of.args else MISSING
        return None
    if isinstance(of.of, Class):
        for one in reader.fields(of.of):
            if one.name == name:
                return default_of(reader, one)
        found = reader.attribute(of.of, name)
        return Method(of, name) if isinstance(found, Function | Method) else found
    return Method(of, name)


# What answers for an attribute, by what it is of.
_ATTRIBUTES: tuple[tuple[Any, Callable[[Reader, Any, str], Value]], ...] = (
    (Named, _of_named),
    (Member, _of_member),
    (Field, _of_field),
    (Made, _of_made),
    (type, _of_type),
    (_OWN, _of_own),
)


def call(
    reader: Reader, of: Value, args: Sequence[Value], words: Mapping[str, Value]
) -> Value:
    """
    Return what a call of a function of Python's, or of a method of its values, returns.
    """
    if isinstance(of, Method):
        return _method(reader, of, args, words)
    if isinstance(of, type):
        return _convert(reader, of, args, words)
    if callable(of):
        return of(*args, **words)
    raise CannotRead(f"what {reader.said(of)} returns is not known")


def _method(
    reader: Reader, of: Method, args: Sequence[Value], words: Mapping[str, Value]
) -> Value:
    path = of.name
    if isinstance(of.of, Made):
        path = f"{reader.path_of(of.of.of)}.{of.name}"
        return reader.call(Named(path), [of.of, *args], words)
    if isinstance(of.of, Class):
        return reader.call(Named(path), args, words)
    found = getattr(of.of, of.name, None)
    if found is None:
        raise CannotRead(f"{of.of!r} has no {of.name}")
    given = {word: known(value) for word, value in words.items()}
    return found(*(known(one) for one in args), **given)


def _convert(
    reader: Reader, of: type, args: Sequence[Value], words: Mapping[str, Value]
) -> Value:
    if of is dict:
        return {**dict(*args), **words}
    if words:
        raise CannotRead(f"{of.__name__} of words is not known")
    if of in (list, tuple, set, frozenset) and args:
        return of(expressions.iterated(reader, args[0]))
    if of is type:
        return NONE if args[0] is None else _kind(args[0])
    if args and not isinstance(args[0], _OWN):
        raise CannotRead(f"{of.__name__} of {reader.said(args[0])} is not known")
    return of(*args)


def _kind(value: Value) -> Value:
    if isinstance(value, Made | Member):
        return value.of
    return type(value)


def _is_instance(reader: Reader, value: Value, of: Value) -> bool:
    if isinstance(of, tuple):
        return any(_is_instance(reader, value, one) for one in of)
    if of is type:
        return isinstance(value, type | Class)
    if isinstance(of, type):
        return isinstance(value, of)
    if isinstance(value, Made):
        if is_field_call(value):
            return isinstance(of, Named) and of.path.endswith("FieldInfo")
        line = reader.bases(value.of) if isinstance(value.of, Class) else [value.of]
        return of in line
    return False


def _is_subclass(reader: Reader, value: Value, of: Value) -> bool:
    if isinstance(of, tuple):
        return any(_is_subclass(reader, value, one) for one in of)
    if isinstance(value, Class):
        line = reader.bases(value)
        return any(of == (b.origin if isinstance(b, Hint) else b) for b in line)
    if isinstance(value, type) and isinstance(of, type):
        return issubclass(value, of)
    return bool(value == of)


def _next(reader: Reader, value: Value, *default: Value) -> Value:
    found = expressions.iterated(reader, value)
    if not found and not default:
        raise CannotRead("there is no first one")
    return found[0] if found else default[0]


def _get_attribute(reader: Reader, of: Value, name: str, *default: Value) -> Value:
    try:
        return reader.attribute(of, name)
    except NotThere:
        if default:
            return default[0]
        raise


def _has_attribute(reader: Reader, of: Value, name: str) -> bool:
    if isinstance(of, Named) and of.module:
        raise CannotRead(f"whether {of.path} has {name} is not in the text")
    try:
        reader.attribute(of, name)
    except NotThere:
        return False
    return True


def _sorted(reader: Reader, value: Value, **words: Value) -> list[Value]:
    if words:
        raise CannotRead("an order of its own is not followed")
    return sorted(expressions.iterated(reader, value))


def _origin(_: Reader, hint: Value) -> Value:
    return hint.origin if isinstance(hint, Hint) else None


def _args(_: Reader, hint: Value) -> tuple[Value, ...]:
    return hint.args if isinstance(hint, Hint) else ()


def _is_typed_dict(reader: Reader, of: Value) -> bool:
    return isinstance(of, Class) and any(
        isinstance(one, Named) and one.path.endswith("TypedDict")
        for one in reader.bases(of)
    )


def _is_record(reader: Reader, of: Value) -> bool:
    if not isinstance(of, Class):
        return False
    marks = [mark for one in reader.line_of(of) for mark in one.node.decorator_list]
    calls = [mark.func if isinstance(mark, ast.Call) else mark for mark in marks]
    names = [ast.unparse(one) for one in calls]
    names += [one.path for one in reader.bases(of) if isinstance(one, Named)]
    return any(name.rpartition(".")[2] in _RECORDS for name in names)


def _all_hints(reader: Reader, of: Class, **_: Value) -> dict[str, Value]:
    return {one.name: one.type for one in reader.fields(of)}


def _fields(reader: Reader, of: Class) -> list[Field]:
    """
    Return the fields of a record; what cannot be read of one spoils no other.
    """
    return [readable(one) for one in reader.fields(of)]


def readable(of: Field) -> Field:
    """
    Return a field with a name for what cannot be read of it.
    """
    if isinstance(of.type, Unread):
        of = replace(of, type=Named(of.type.why))
    if isinstance(of.default, Unread):
        of = replace(of, default=Named(of.default.why))
    return of


def _copy(_: Reader, value: Value) -> Value:
    if isinstance(value, dict):
        return {key: _copy(_, one) for key, one in value.items()}
    return list(value) if isinstance(value, list) else copy.copy(value)


def is_field_call(value: Value) -> TypeGuard[Made]:
    """
    Whether a default is made by a function for fields.
    """
    return (
        isinstance(value, Made)
        and isinstance(value.of, Named)
        and value.of.path.rpartition(".")[2] in _FIELDS
    )


def is_field(statement: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    """
    Whether a statement of a class declares a field.
    """
    if not isinstance(statement, ast.AnnAssign):
        return False
    hint = ast.unparse(statement.annotation)
    outer = hint.partition("[")[0].rpartition(".")[2]
    return isinstance(statement.target, ast.Name) and outer not in {
        "ClassVar",
        "InitVar",
        "KW_ONLY",
    }


def field(reader: Reader, of: Class, statement: ast.AnnAssign) -> Field:
    """
    Return the field that a statement of a class declares.
    """
    frame = Frame(of.module, body=of)
    value = (
        MISSING if statement.value is None else reader.attempt(statement.value, frame)
    )
    words = value.words if is_field_call(value) else {}
    factory = words.get("default_factory", MISSING)
    default = value
    if is_field_call(value) and not value.of.path.startswith("pydantic"):  # type: ignore[union-attr] # is_field_call says that it is named
        default = _of_made(reader, value, "default")
    kind = _hint_of(reader, statement.annotation, frame)
    with reader.checking():
        checked = _hint_of(reader, statement.annotation, frame)
    return Field(
        name=statement.target.id,  # type: ignore[union-attr] # is_field says that it is a name
        type=kind,
        default=default,
        default_factory=factory if not is_pydantic(value) else MISSING,
        init=words.get("init", True) is not False,
        doc=_doc_after(of.node, statement),
        checked=checked,
        bounds=_bounds([value, *(kind.args[1:] if isinstance(kind, Hint) else ())]),
    )


def is_pydantic(value: Value) -> bool:
    """
    Whether a default is pydantic's description of a field.
    """
    return is_field_call(value) and value.of.path.startswith("pydantic")  # type: ignore[union-attr] # as above


def _hint_of(reader: Reader, node: ast.expr, frame: Frame) -> Value:
    try:
        return reader.hint(node, frame)
    except CannotRead as error:
        return Unread(str(error))


def _bounds(values: Sequence[Value]) -> dict[str, Value]:
    return {
        word: one.words[word]
        for one in values
        if is_field_call(one)
        for word in _BOUNDS
        if word in one.words
    }


def _doc_after(node: ast.ClassDef, statement: ast.stmt) -> str:
    after = node.body[node.body.index(statement) + 1 :][:1]
    for one in after:
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
            return str(one.value.value)
    return ""


def default_of(reader: Reader, of: Field) -> Value:
    """
    Return what a field is worth where nothing is given.
    """
    words = of.default.words if is_field_call(of.default) else {}
    factory = words.get("default_factory", of.default_factory)
    if factory not in (None, MISSING):
        return reader.call(factory, [], {})
    if is_field_call(of.default):
        return _of_made(reader, of.default, "default")
    return of.default


def _default_field(reader: Reader, of: Class, name: str) -> Value:
    """
    Return what a class has as a field's default, under another name.
    """
    found = next((one for one in reader.fields(of) if one.name == name), None)
    if found is None:
        raise CannotRead(f"{of.name} has no field {name}")
    return default_of(reader, found)


def _function(of: Callable[..., Value]) -> Callable[..., Value]:
    return lambda _, *args, **words: of(*args, **words)


BUILTINS: dict[str, Value] = {
    **{name: getattr(builtins, name) for name in (*_TYPES, "object", "type")},
    **{
        name: Named(f"builtins.{name}")
        for name in (
            *("isinstance", "issubclass", "next", "getattr", "hasattr", "sorted"),
            *("any", "all", "len", "zip", "range", "min", "max", "vars", "dir"),
            *("enumerate", "reversed", "map", "filter", "callable", "print"),
            *("property", "super", "Exception", "ValueError", "NotImplemented"),
        )
    },
}
NATIVES: dict[str, Callable[..., Value]] = {
    "builtins.isinstance": _is_instance,
    "builtins.issubclass": _is_subclass,
    "builtins.next": _next,
    "builtins.getattr": _get_attribute,
    "builtins.hasattr": _has_attribute,
    "builtins.sorted": _sorted,
    "builtins.any": _function(any),
    "builtins.all": _function(all),
    "builtins.len": _function(len),
    "builtins.range": _function(lambda *ends: list(range(*ends))),
    "builtins.min": _function(min),
    "builtins.max": _function(max),
    "builtins.zip": _function(lambda *many: list(zip(*many, strict=False))),
    "typing.get_origin": _origin,
    "typing.get_args": _args,
    "typing.get_type_hints": _all_hints,
    "typing.is_typeddict": _is_typed_dict,
    "typing.cast": lambda _, __, value: value,
    "dataclasses.fields": _fields,
    "dataclasses.is_dataclass": _is_record,
    "itertools.permutations": _function(itertools.permutations),
    "copy.deepcopy": _copy,
    "copy.copy": _copy,
}
