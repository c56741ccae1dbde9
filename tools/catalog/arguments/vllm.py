"""
Reading vLLM's arguments: the front end's, and those of the engine's configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.catalog.arguments.parser import DECLARED_AS, Added, Parser
from tools.catalog.arguments.rows import Known, Row, plain
from tools.catalog.reading import statements
from tools.catalog.reading.reader import Reader
from tools.catalog.reading.values import (
    CannotRead,
    Class,
    Hint,
    Named,
    Unread,
    Value,
    known,
)

# Where the server's parser is made, newest first.
_PARSERS = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)
_ARGUMENTS = "vllm.engine.arg_utils"
_CLASSES = {
    f"{_ARGUMENTS}.EngineArgs.add_cli_args": "engine",
    f"{_ARGUMENTS}.AsyncEngineArgs.add_cli_args": "async",
}


def _get_kwargs(reader: Reader, of: Class) -> dict[str, Any]:
    """
    Follow the engine's own rules, and keep the field that each answer is of.
    """
    rules = reader.member_of(_ARGUMENTS, "get_kwargs")
    found = known(statements.follow(reader, rules, [of], {}))
    for one in reader.fields(of):
        answer = found.setdefault(one.name, {})
        answer[DECLARED_AS] = one
        if isinstance(one.type, Unread):
            answer["type"] = one.type
    return dict(found)


INSTEAD = {
    f"{_ARGUMENTS}.get_kwargs": _get_kwargs,
    # The documents of the fields are kept with the fields.
    "vllm.config.utils.get_attr_docs": lambda *_: {},
    "vllm.config.get_attr_docs": lambda *_: {},
    f"{_ARGUMENTS}._maybe_add_docs_url": lambda *_: "",
}


def follow(reader: Reader, parser: Parser) -> None:
    """
    Have the package add its arguments to a parser.
    """
    module = next((one for one in _PARSERS if reader.modules.has(one)), None)
    if module is None:
        raise CannotRead("this release makes its server's parser elsewhere")
    reader.call(reader.member_of(module, "make_arg_parser"), [parser], {})


def source(added: Added) -> str:
    """
    Return who adds an argument: ``engine``, ``async`` or ``frontend``.
    """
    return next(
        (_CLASSES[one] for one in reversed(added.within) if one in _CLASSES),
        "frontend",
    )


def name_of(added: Added) -> str:
    """
    Return the long name of an argument.
    """
    return added.longest.removeprefix("--")


def details(reader: Reader, name: str, added: Added, known_here: Known) -> Row:
    """
    Return what is said of an argument elsewhere than to the parser.
    """
    found: Row = {}
    if added.field is not None and added.field.bounds:
        bounds = added.field.bounds
        found["bounds"] = {word: known(bounds[word]) for word in sorted(bounds)}
    if not added.words.get("choices"):
        values = _unchecked(reader, name, added, known_here)
        found |= {"known": [plain(one) for one in values]} if values else {}
    return found


def _unchecked(
    reader: Reader, name: str, added: Added, known_here: Known
) -> Sequence[Value]:
    """
    Return the values that the engine knows, and its parser does not check.
    """
    if name in known_here.registries:
        module, _, attribute = known_here.registries[name].rpartition(".")
        values = reader.imported(module, attribute)
        return _values(reader, values) if isinstance(values, Hint) else list(values)
    metavar = added.words.get("metavar")
    if isinstance(metavar, list):
        return metavar
    return _values(reader, known(added.field.checked)) if added.field else []


def _values(reader: Reader, hint: Value) -> Sequence[Value]:
    """
    Return the values that a hint names, which no parser need check.
    """
    if isinstance(hint, Class) and reader.is_enum(hint):
        return [one.name for one in reader.members(hint)]
    if not isinstance(hint, Hint):
        return []
    if isinstance(hint.origin, Named) and hint.origin.path.endswith("Literal"):
        return sorted(hint.args)
    if isinstance(hint.origin, Named) and hint.origin.path.endswith("Union"):
        return next(filter(None, (_values(reader, one) for one in hint.args)), [])
    return []
