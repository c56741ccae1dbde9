"""
Docstrings of the house, taken apart: what is said first, and of each parameter.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, ModuleType

_SECTIONS = ("Args", "Attributes", "Raises", "Returns", "Yields")
_SECTION = re.compile(rf"^({'|'.join(_SECTIONS)}):[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\*{0,2}[A-Za-z_][\w.]*):(?:[ \t]+|$)", re.MULTILINE)
# Of a literal in reStructuredText; Markdown takes one tick.
_TICKS = re.compile(r"``(.+?)``", re.DOTALL)
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Docstring:
    """
    What a docstring says.

    Args:
        text: All before the first section, in Markdown.

        sections: The sections that name things, each by those names.

        returned: What is said of the value returned, where it has a section.
    """

    text: str = ""
    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    returned: str = ""

    @property
    def arguments(self) -> Mapping[str, str]:
        """
        What is said of each parameter or attribute.
        """
        return {
            **self.sections.get("Attributes", _NOTHING),
            **self.sections.get("Args", _NOTHING),
        }

    @property
    def errors(self) -> Mapping[str, str]:
        """
        When each error is raised.
        """
        return self.sections.get("Raises", _NOTHING)


def docstring(written: object) -> Docstring:
    """
    Take apart what a class or a function says itself, and not what it inherits.
    """
    own = vars(written).get("__doc__") if isinstance(written, type) else None
    text = own if isinstance(written, type) else getattr(written, "__doc__", None)
    return parsed(inspect.cleandoc(text)) if text else Docstring()


def parsed(text: str) -> Docstring:
    """
    Take a docstring apart, which is cleaned of its indentation.
    """
    head, *rest = _SECTION.split(text)
    sections, returned, after = {}, "", []
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        # What stands at the left again is no part of the section.
        inner, outer = _split(body)
        after.append(outer)
        if title in {"Returns", "Yields"}:
            returned = markdown(textwrap.dedent(inner))
        else:
            sections[title] = _entries(textwrap.dedent(inner))
    said = "\n\n".join(filter(None, (head.strip(), *after)))
    return Docstring(markdown(said), sections, returned)


def markdown(text: str) -> str:
    """
    Return a docstring's text with literals as Markdown writes them.
    """
    return _TICKS.sub(_literal, text).strip()


def _literal(found: re.Match[str]) -> str:
    return f"`{' '.join(found[1].split())}`"


def _split(body: str) -> tuple[str, str]:
    lines = body.strip("\n").split("\n")
    for number, line in enumerate(lines):
        if line and not line.startswith(" "):
            return "\n".join(lines[:number]), "\n".join(lines[number:]).strip()
    return "\n".join(lines), ""


def _entries(body: str) -> dict[str, str]:
    _, *rest = _ENTRY.split(body.strip("\n"))
    return {
        name.lstrip("*"): markdown(_unwrapped(text))
        for name, text in zip(rest[::2], rest[1::2], strict=True)
    }


def _unwrapped(text: str) -> str:
    # The first line may stand beside the name, the others below it.
    first, _, more = text.strip("\n").partition("\n")
    return f"{first.strip()}\n{textwrap.dedent(more)}".strip()


@functools.cache
def said_below(module: str) -> Mapping[str, str]:
    """
    Return what stands as a text below the assignments of a module, by their names.
    """
    return _below(_tree(sys.modules[module]).body)


@functools.cache
def said_of_members(module: str, name: str) -> Mapping[str, str]:
    """
    Return what stands as a text below the members of a class, by their names.
    """
    for node in ast.walk(_tree(sys.modules[module])):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _below(node.body)
    return {}


def _tree(module: ModuleType) -> ast.Module:
    return _parsed(str(module.__file__))


@functools.cache
def _parsed(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _below(body: list[ast.stmt]) -> dict[str, str]:
    found = {}
    for node, after in pairwise(body):
        match node, after:
            case (
                ast.Assign(targets=[ast.Name(name)]) | ast.AnnAssign(ast.Name(name)),
                ast.Expr(ast.Constant(str(text))),
            ):
                found[name] = markdown(inspect.cleandoc(text))
    return found
