"""
Reading all arguments of a release.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.catalog.arguments import schemas, sglang, vllm
from tools.catalog.arguments.parser import Added, Parser
from tools.catalog.arguments.rows import Known, Row, row_of
from tools.catalog.reading.modules import Modules
from tools.catalog.reading.reader import Reader
from tools.catalog.reading.values import CannotRead

_KNOWN = Path(__file__).with_name("known.json")
_ENGINES: Mapping[str, ModuleType] = {"vllm": vllm, "sglang": sglang}


@dataclass(frozen=True)
class Release:
    """
    What a release's texts say of its arguments.

    Args:
        rows: The arguments that were read, by their long names.

        wanting: Why others could not be read, by their names. They want a hand.

        schemas: The classes that JSON is read into, by their names.
    """

    rows: Mapping[str, Row]
    wanting: Mapping[str, str]
    schemas: Mapping[str, Mapping[str, Any]]


def read(
    engine: str, texts: Callable[[str], str | None], described: frozenset[str]
) -> Release:
    """
    Read a release.

    Args:
        engine: ``vllm`` or ``sglang``.

        texts: Returns the text of a file of its package, by its path, or ``None``.

        described: The classes that are read beside those that its arguments name.

    Raises:
        CannotRead: If its arguments are added in a way that is not understood.
    """
    of = _ENGINES[engine]
    content = declared()
    reader = Reader(Modules(engine, texts), content["surroundings"], of.INSTEAD)
    parser = Parser(reader)
    of.follow(reader, parser)
    if parser.unread:
        raise CannotRead("; ".join(parser.unread))
    known = Known(content["parsers"], content["actions"], content["registries"])
    rows: dict[str, Row] = {}
    wanting: dict[str, str] = {}
    for added in parser.added:
        name = of.name_of(added)
        try:
            rows[name] = _row(of, reader, name, added, known)
        except CannotRead as error:
            if name in content["rows"][engine]:
                rows[name] = content["rows"][engine][name]
            else:
                wanting[name] = str(error)
    named = described | {row["schema"] for row in rows.values() if "schema" in row}
    return Release(rows, wanting, schemas.read(reader, named))


def _row(of: ModuleType, reader: Reader, name: str, added: Added, known: Known) -> Row:
    row = row_of(added, known)
    row |= of.details(reader, name, added, known)
    row["src"] = of.source(added)
    others = sorted(one for one in added.names if one != f"--{name}")
    return {**row, **({"alias": others} if others else {})}


@functools.cache
def declared() -> dict[str, Any]:
    """
    Return what is declared beside this tool, by hand.
    """
    content: dict[str, Any] = json.loads(_KNOWN.read_text("utf-8"))
    return content
