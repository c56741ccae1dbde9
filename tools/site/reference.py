"""
The reference of the Python API: a page a noun, with every parameter of every name.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from tools.site.docstrings import Docstring, said_of_members
from tools.site.public_names import (
    PACKAGE,
    PACKAGES,
    Parameter,
    PublicName,
    bases,
    members,
    parameters,
    parameters_of,
    public_names,
    said_of,
)

FOLDER = "reference/python"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_FOUND_FIRST = "---\nsearch:\n  boost: 1.5\n---\n\n"
_INDEX = """\
# Python API

Every public class and function, with its parameters, defaults, units and errors.
A *required* parameter has no default; beside each other stands what happens if it is \
omitted.
Import a name from the package that it is listed under.
"""
_WORDS_OF = {
    "": "Constructs, and what they take.",
    "serving": "How containers serve, and checks without the CDK.",
    "fit": "What fits where.",
    "client": "Ask a model; needs boto3 alone.",
    "simulation": "What scaling does over time.",
    "load": "Load tests.",
    "local": "The embedded AWS, in a test.",
    "catalog": "What is known of images and instances.",
    "testing": "Fixtures for tests of your own.",
}


def pages() -> Iterator[tuple[str, str]]:
    """
    Yield each page: its path below the site's source, and its text.
    """
    titles: dict[str, str] = {}
    found: dict[str, list[PublicName]] = {}
    for name in public_names():
        slug, title = name.page
        titles[slug] = title
        found.setdefault(slug, []).append(name)
    yield f"{FOLDER}/index.md", _index()
    for slug, names in found.items():
        heads = "\n".join(entry(name) for name in names)
        yield f"{FOLDER}/{slug}.md", f"{_FOUND_FIRST}# {titles[slug]}\n\n{heads}"


def link(name: PublicName) -> str:
    """
    Return a link to a name, from another page of the reference.
    """
    return f"[`{name.name}`]({name.page[0]}.md#{name.anchor})"


def entry(name: PublicName) -> str:
    """
    Return what the reference says of a name.
    """
    said = name.said
    lines = [
        f"## `{name.name}` {{ #{name.anchor} }}",
        f"`from {name.package} import {name.name}`",
        said.text,
        *_base_lines(name),
        *_alias_lines(name),
        *_constants(name),
        *_parameters(parameters(name)),
        *_errors(said),
        *_returned(name.value, said),
        *_member_lines(name),
    ]
    return "\n\n".join(filter(None, lines)) + "\n"


def _index() -> str:
    parts = [_INDEX]
    for package in PACKAGES:
        full = f"{PACKAGE}.{package}".rstrip(".")
        names = [name for name in public_names() if name.package == full]
        if not names:
            continue
        parts.append(f"## `{full}`\n\n{_WORDS_OF[package]}\n")
        parts += [
            f"- {link(name)}: {_first(name.said.text) or 'an alias'}" for name in names
        ]
        parts.append("")
    return "\n".join(parts)


def _first(text: str) -> str:
    """
    Return the first sentence, in one line.
    """
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[a-z`)]{2}\.) (?=[A-Z`])", paragraph)[0]


def _base_lines(name: PublicName) -> Iterator[str]:
    if found := bases(name):
        yield f"Has the members of {', '.join(map(link, found))} too."


def _alias_lines(name: PublicName) -> Iterator[str]:
    value = name.value
    if inspect.isclass(value) or inspect.isfunction(value):
        return
    if "Literal" in str(get_origin(value)):
        yield "One of " + ", ".join(f'`"{each}"`' for each in get_args(value)) + "."
    else:
        yield f"Stands for {_type(_short(value))}."


def _short(value: Any) -> str:  # noqa: ANN401 - a type of any kind
    if isinstance(value, type) and not get_args(value):
        return value.__name__
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", str(value))


def _constants(name: PublicName) -> Iterator[str]:
    value = name.value
    if not (inspect.isclass(value) and issubclass(value, enum.Enum)):
        return
    texts = said_of_members(value.__module__, value.__name__)
    arguments = name.said.arguments
    for each in value:
        text = texts.get(each.name) or arguments.get(each.name, "")
        yield f"- `{each.name}` (`{each.value!r}`){_after(text)}"


def _parameters(found: list[Parameter]) -> Iterator[str]:
    if found:
        yield "**Parameters**"
        yield "\n".join(_parameter(one) for one in found)


def _parameter(one: Parameter) -> str:
    needed = "" if one.name.startswith("*") else ", *required*"
    default = needed if one.default is None else f", default `{one.default}`"
    kind = _type(one.type)
    return f"- `{one.name}` ({kind}{default}){_after(one.text)}"


def _after(text: str) -> str:
    if not text:
        return ""
    first, _, rest = text.partition("\n\n")
    more = "".join(
        f"\n\n    {part}" if not part.startswith(" ") else f"\n\n{part}"
        for part in filter(None, rest.split("\n\n"))
    )
    return f": {' '.join(first.split())}{more}"


def _type(text: str) -> str:
    """
    Return a type with links to what is public of it.
    """
    known = {name.name: name for name in public_names()}
    parts: list[str] = []
    plain = ""
    for piece in _pieces(" ".join(text.split())):
        name = known.get(piece.rpartition(".")[2]) if piece[0].isalpha() else None
        if name is None:
            plain += piece
            continue
        parts += [f"`{plain.strip()}`" if plain.strip() else "", link(name)]
        plain = ""
    if plain.strip():
        parts.append(f"`{plain.strip()}`")
    return " ".join(filter(None, parts))


def _pieces(text: str) -> Iterator[str]:
    place = 0
    quoted = [found.span() for found in _QUOTED.finditer(text)]
    for found in _WORD.finditer(text):
        if any(begin <= found.start() < end for begin, end in quoted):
            continue
        if found.start() > place:
            yield text[place : found.start()]
        yield found[0]
        place = found.end()
    if text[place:]:
        yield text[place:]


def _errors(said: Docstring) -> Iterator[str]:
    if said.errors:
        yield "**Errors**"
        yield "\n".join(
            f"- `{name}`{_after(text)}" for name, text in said.errors.items()
        )


def _returned(value: object, said: Docstring) -> Iterator[str]:
    if not inspect.isfunction(value):
        return
    annotation = inspect.signature(value).return_annotation
    kind = annotation if isinstance(annotation, str) else ""
    if kind and kind != "None":
        yield f"**Returns** {_type(kind)}{_after(said.returned)}"


def _member_lines(name: PublicName) -> Iterator[str]:
    found = [*members(name)]
    attributes = [(key, each) for key, each, _ in found if isinstance(each, property)]
    if attributes:
        yield "**Attributes**"
        yield "\n".join(_attribute(name, key, each) for key, each in attributes)
    for key, member, _ in found:
        if not isinstance(member, property):
            yield from _method(name, key, member)


def _attribute(name: PublicName, key: str, member: property) -> str:
    hints = getattr(member.fget, "__annotations__", {})
    said = said_of(name, key, member)
    kind = hints.get("return", "")
    written = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    return f"- `{key}` ({_type(written)}){_after(said.text)}"


def _method(name: PublicName, key: str, member: object) -> Iterator[str]:
    function = getattr(member, "__func__", member)
    said = said_of(name, key, member)
    yield f"### `{name.name}.{key}` {{ #{name.anchor}-{key.replace('_', '-')} }}"
    yield said.text
    yield from _parameters(parameters_of(name, key, member))
    yield from _errors(said)
    yield from _returned(function, said)
