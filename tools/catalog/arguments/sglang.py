"""
Reading SGLang's arguments: those written out one by one, and those made of fields.
"""

from __future__ import annotations

import ast

from tools.catalog.arguments.parser import Added, Parser
from tools.catalog.arguments.rows import Known, Row
from tools.catalog.reading import natives
from tools.catalog.reading.reader import Reader
from tools.catalog.reading.values import (
    CannotRead,
    Class,
    Field,
    Frame,
    Made,
    Unread,
    Value,
)

_SERVER = "sglang.srt.server_args"
_ARGUMENTS = "sglang.srt.arg_groups.arg_utils"
_ENVIRONMENT = "sglang.srt.environ"
# What takes the fields of several classes together.
_COLLECTING = "collect_input_fields"


def _fields(reader: Reader, of: Class) -> list[Field]:
    """
    Return the fields of a record; of the server's arguments, those of the classes that
    they are collected from too.
    """
    found = [*_collected(reader, of), *reader.fields(of)]
    return [natives.readable(one) for one in found]


def _collected(reader: Reader, of: Class) -> list[Field]:
    tree = reader.modules.tree(of.module)
    if tree is None or of.name != "ServerArgs":
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    sources = [
        source
        for call in calls
        if ast.unparse(call.func) == _COLLECTING
        for source in reader.evaluate(call.args[0], Frame(of.module))
    ]
    return [one for source in sources for one in reader.fields(source)]


def _hints(reader: Reader, of: Class, **_: Value) -> dict[str, Value]:
    found = _fields(reader, of)
    return {one.name: one.type for one in found}


def _declared_default(reader: Reader, name: str) -> Value:
    of = reader.member_of(_SERVER, "ServerArgs")
    return next(one.default for one in _fields(reader, of) if one.name == name)


def _unset(_: Reader, variable: Made) -> Value:
    """
    Return what a variable of the environment is worth where nobody sets it.
    """
    return variable.args[0] if variable.args else None


INSTEAD = {
    "dataclasses.fields": _fields,
    "msgspec.structs.fields": _fields,
    "typing.get_type_hints": _hints,
    f"{_ARGUMENTS}.record_fields": _fields,
    f"{_ARGUMENTS}.is_record": lambda *_: True,
    f"{_SERVER}._declared_default": _declared_default,
    f"{_ENVIRONMENT}.EnvBool.get": _unset,
}


def follow(reader: Reader, parser: Parser) -> None:
    """
    Have the package add its arguments to a parser.
    """
    reader.surroundings = {**reader.surroundings, **_server_args(reader)}
    of = reader.member_of(_SERVER, "ServerArgs")
    # A field whose hint cannot be read would be passed over as one without an argument.
    for one in [*_collected(reader, of), *reader.fields(of)]:
        if isinstance(one.type, Unread):
            parser.unread.append(f"{one.name}: {one.type.why}")
    reader.call(reader.attribute(of, "add_cli_args"), [parser], {})


def _server_args(reader: Reader) -> dict[str, Value]:
    """
    Return the class as it is written, which is later made another one by its fields.
    """
    bound = reader.modules.bound(_SERVER, "ServerArgs")
    for one in bound:
        if isinstance(one.statement, ast.ClassDef):
            of = Class(_SERVER, "ServerArgs", one.statement)
            return {f"{_SERVER}.ServerArgs": of}
    raise CannotRead("this release keeps its server's arguments elsewhere")


def name_of(added: Added) -> str:
    """
    Return the long name of an argument.
    """
    return added.longest.removeprefix("--")


def source(added: Added) -> str:
    """
    Return how an argument was declared: ``auto``, by a field, or ``server_args``.
    """
    of_fields = f"{_ARGUMENTS}.add_cli_args_from_dataclass"
    return "auto" if of_fields in added.within else "server_args"


def details(_: Reader, __: str, added: Added, ___: Known) -> Row:
    """
    Return its choices in the table's order, whatever the engine's is.
    """
    choices = added.words.get("choices")
    return {"choices": sorted(choices, key=str)} if choices else {}
