"""
Functions whose results a script's text tells, wholly or in part: Python's own, those
that name things, and those that look images up.
"""

from __future__ import annotations

import builtins
import copy
import itertools
import json
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from cdk_sagemaker_llm.adoption.scripts.values import (
    Called,
    Image,
    Kind,
    Text,
    Unknown,
    is_known,
    joined,
)
from cdk_sagemaker_llm.catalog.images import (
    find_image,
    image_families,
    image_versions,
)

_LARGEST = 10_000
_PLAIN = (
    *("abs", "bool", "dict", "enumerate", "float", "int", "len", "list", "max", "min"),
    *("range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple"),
    "zip",
)
_SEQUENCES = ("enumerate", "range", "reversed", "set", "zip")
_OF_TEXTS = frozenset(
    (
        *("capitalize", "count", "encode", "endswith", "find", "format", "isdigit"),
        *("join", "lower", "lstrip", "partition", "removeprefix", "removesuffix"),
        *("replace", "rpartition", "rsplit", "rstrip", "split", "splitlines"),
        *("startswith", "strip", "title", "upper", "zfill"),
    )
)
_OF_COLLECTIONS = {
    dict: ("copy", "get", "items", "keys", "pop", "setdefault", "update", "values"),
    list: ("append", "copy", "extend", "index", "insert", "pop", "reverse"),
}
_BY_PART = ("capitalize", "lower", "replace", "upper")
_TIMES = ("time", "strftime", "now", "utcnow", "gmtime", "today", "uuid", "random")
_KINDS: Mapping[str, Kind] = {
    "region_name": "region",
    "_region_name": "region",
    "boto_region_name": "region",
    "get_execution_role": "role",
    "account_id": "account",
    "get_caller_identity": "account",
}
# The SDK's names of families: get_huggingface_llm_image_uri has its own.
_FAMILIES = {
    "huggingface-tei": "tei",
    "huggingface-tei-cpu": "tei-cpu",
}
_BACKENDS = {
    "huggingface": "huggingface-llm",
    "huggingface-neuronx": "huggingface-llm-neuronx",
    "lmi": "djl-deepspeed",
}


def kind_of_name(text: str) -> Kind:
    """
    Return what an expression is by its last name, such as ``session.region_name``.
    """
    last = text.rpartition(".")[2].partition("(")[0]
    if last in _KINDS:
        return _KINDS[last]
    return "time" if any(one in last.lower() for one in _TIMES) else ""


def plain_call(  # noqa: PLR0911 - kinds of functions
    name: str, arguments: Sequence[object]
) -> object:
    """
    Return what one of Python's own functions comes to; ``NotImplemented`` of another.
    """
    if name not in _PLAIN:
        return NotImplemented
    if name == "str" and len(arguments) == 1:
        return joined(arguments, "str()")
    if name == "len" and arguments and isinstance(arguments[0], list | dict):
        return len(arguments[0])
    is_wide = name in ("dict", "list", "tuple", *_SEQUENCES)
    if not is_wide and not all(map(is_known, arguments)):
        return Unknown(f"{name}()")
    if name == "range" and not all(_is_count(one) for one in arguments):
        return Unknown("range()")
    try:
        found = getattr(builtins, name)(*arguments)
        return list(found) if name in _SEQUENCES else found
    except (TypeError, ValueError, ArithmeticError):
        return Unknown(f"{name}()")


def method_call(  # noqa: PLR0911 - kinds of owners
    owner: object, name: str, arguments: Sequence[object], named: Mapping[str, object]
) -> object:
    """
    Return what a method of a text, a list or a dictionary comes to; ``NotImplemented``
    of another.
    """
    if isinstance(owner, str) and name in _OF_TEXTS:
        if name == "format":
            return _formatted(owner, arguments, named)
        if name == "join" and arguments and isinstance(arguments[0], list | tuple):
            parts = [part for one in arguments[0] for part in (owner, one)][1:]
            return joined(parts, "join()")
        if not all(map(is_known, arguments)):
            return Unknown(f"{name}()")
    elif isinstance(owner, Text) and name in _BY_PART:
        parts = [
            method_call(one, name, arguments, named) if isinstance(one, str) else one
            for one in owner.parts
        ]
        return joined(parts, name)
    elif not any(
        isinstance(owner, kind) and name in names
        for kind, names in _OF_COLLECTIONS.items()
    ):
        return NotImplemented
    if isinstance(owner, dict) and name == "update":
        owner.update(next((o for o in arguments if isinstance(o, Mapping)), {}))
        owner.update(named)
        return None
    try:
        found = getattr(owner, name)(*arguments, **named)
    except (TypeError, ValueError, LookupError, AttributeError):
        return Unknown(f"{name}()")
    return list(found) if name in ("items", "keys", "values") else found


def _formatted(
    template: str, arguments: Sequence[object], named: Mapping[str, object]
) -> object:
    """
    Return ``template.format(...)`` of plain fields: ``{}``, ``{0}`` and ``{name}``.
    """
    import string  # noqa: PLC0415 - few scripts format so

    parts: list[object] = []
    try:
        numbers = itertools.count()
        for text, key, form, _ in string.Formatter().parse(template):
            parts.append(text)
            if key is None:
                continue
            at: Any = key or next(numbers)
            at = int(at) if str(at).isdigit() else at
            value = arguments[at] if isinstance(at, int) else named[at]
            is_number = isinstance(value, int | float)
            parts.append(format(value, form) if form and is_number else value)
    except (ValueError, LookupError):
        return Unknown(f"{template!r}.format()")
    return joined(parts, "format()")


def library_call(called: Called) -> object:
    """
    Return what a function of a library comes to, by its last names;
    ``NotImplemented`` of another.
    """
    name, first, text = called.name, called.first, called.text
    found: object = NotImplemented
    if name in ("name_from_base", "unique_name_from_base"):
        base = called.keywords.get("base", first)
        found = joined([base, "-", called.unknown(kind="time")], text)
    elif name == "dumps":
        found = json_of(first, called.keywords)
    elif name == "loads" and isinstance(first, str):
        found = _loaded(first)
    elif text.endswith(("path.join", "s3_path_join")):
        found = path_of(called.arguments, text)
    elif name in ("basename", "dirname") and isinstance(first, str):
        found = getattr(posixpath, name)(first)
    elif name in ("deepcopy", "copy", "abspath") and called.arguments:
        found = copy.deepcopy(first)
    elif name == "get_huggingface_llm_image_uri":
        family = str(called.keywords.get("backend", first))
        found = _image(_BACKENDS.get(family, family), called.keywords)
    elif name == "retrieve" and text.endswith(("image_uris.retrieve", "retrieve")):
        found = retrieved(called.by_name("framework", "region", "version"))
    return found


def path_of(parts: Sequence[object], text: str) -> str | Text | Unknown:
    """
    Return the path that parts make, as plain text.
    """
    return joined([one for part in parts for one in ("/", part)][1:], text)


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return Unknown("json.loads()")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and abs(value) <= _LARGEST


def json_of(value: object, named: Mapping[str, object]) -> object:
    """
    Return a value as ``json.dumps`` writes it.
    """
    if not is_known(value) or isinstance(value, set):
        return Unknown("json.dumps()")
    options = {key: one for key, one in named.items() if key in ("indent", "sort_keys")}
    return json.dumps(value, **options)  # type: ignore[arg-type] # what it was given


def retrieved(arguments: Mapping[str, object]) -> object:
    """
    Return the image that ``image_uris.retrieve`` finds.

    Args:
        arguments: Its arguments by their names.
    """
    if arguments.get("model_id") is not None:
        why = f"which image JumpStart has for {arguments['model_id']} only AWS knows"
        return Unknown("retrieve()", name="image_uri", why=why)
    return _image(str(arguments.get("framework")), arguments)


def _image(family: str, arguments: Mapping[str, object]) -> object:
    family = _FAMILIES.get(family, family)
    version, region = arguments.get("version"), arguments.get("region")
    if family not in image_families():
        why = f"image {family!r} is not in this library's catalogue"
        return Unknown("retrieve()", name="image_uri", why=why)
    try:
        if not isinstance(version, str):
            # The SDK takes the newest that it knows.
            return Image(find_image(family, image_versions(family)[-1]), is_newest=True)
        release = find_image(family, version)
        return release.uri(region) if isinstance(region, str) else Image(release)
    except ValueError as error:
        return Unknown("retrieve()", name="image_uri", why=str(error))
