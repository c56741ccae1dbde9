"""
Where a resource is: its template, its construct, and the line of the app that made it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from cdk_sagemaker_llm.cli.app.assembly import Stack

_PATH = "aws:cdk:path"
_LOGICAL_ID = "aws:cdk:logicalId"
_TEMPLATE = "aws:cdk:templateFile"
_CREATION = "aws:cdk:creationStack"
# As Node writes a frame: `at new Chat (/app/lib/chat.ts:12:5)`, or without a function.
_FRAME = re.compile(r"(?:^|[(\s])(?P<file>[^\s()]+):(?P<line>\d+):\d+\)?\s*\Z")
_NOT_THE_APP = ("node_modules", "node:", "jsii", "aws-cdk-lib")
_WORD = re.compile(r"[\w.-]+")
_KEY = re.compile(r'"(?P<key>[^"\\]+)"\s*:')


@dataclass(frozen=True, slots=True)
class Place:
    """
    Where a resource is.

    Args:
        stack: The name of its stack.

        logical_id: What its template calls it; for Terraform its address.

        construct_path: The construct that made it; empty if nothing says it.

        app_file: The file of the app that made it, and the line; ``None`` if nothing
            says it, as for apps that are not in TypeScript or JavaScript.
    """

    stack: str
    template: Path
    logical_id: str
    construct_path: str = ""
    app_file: tuple[Path, int] | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """
        The construct's path, or else the stack and the logical id.
        """
        return self.construct_path or f"{self.stack}/{self.logical_id}"

    def line(self, message: str = "") -> int:
        """
        Return the line of the template that a message is about: that of the first key
        of the resource that it names, or else the resource's own.
        """
        try:
            text = self.template.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return 1
        begin, end = _span(text, self.logical_id)
        keys = {
            match["key"]: match.start()
            for match in reversed([*_KEY.finditer(text, begin, end)])
        }
        named = next((one for one in _WORD.findall(message) if one in keys), None)
        return text.count("\n", 0, begin if named is None else keys[named]) + 1


def place_of(stack: Stack, logical_id: str) -> Place:
    """
    Return where a resource of a stack is.
    """
    path = _construct_path(stack, logical_id)
    frames = _values(stack.metadata, f"/{path}", _CREATION) if path else ()
    return Place(
        stack.name,
        stack.template,
        logical_id,
        path,
        next(filter(None, map(_frame, frames)), None),
    )


def _construct_path(stack: Stack, logical_id: str) -> str:
    metadata = stack.resources.get(logical_id, {}).get("Metadata", {})
    path = metadata.get(_PATH)
    if isinstance(path, str) and path:
        return path
    # Apps may leave paths out of templates; the assembly has them all the same, a
    # nested stack's among those of the stack around it.
    homes = {
        path: str(name)
        for path in stack.metadata
        for name in _values(stack.metadata, path, _TEMPLATE)
    }
    found = (
        path
        for path in stack.metadata
        if logical_id in _values(stack.metadata, path, _LOGICAL_ID)
        if not homes or homes.get(_home(path, homes)) == stack.template.name
    )
    return next(found, "").removeprefix("/")


def _home(path: str, homes: Mapping[str, str]) -> str:
    around = (str(one) for one in (PurePath(path), *PurePath(path).parents))
    return next((one for one in around if one in homes), "")


def _values(metadata: Mapping[str, Any], path: str, kind: str) -> Iterator[Any]:
    entries = metadata.get(path)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and entry.get("type") == kind:
            data = entry.get("data")
            yield from data if isinstance(data, list) else (data,)


def _frame(line: object) -> tuple[Path, int] | None:
    match = _FRAME.search(str(line))
    if match is None or any(each in match["file"] for each in _NOT_THE_APP):
        return None
    return Path(match["file"].removeprefix("file://")), int(match["line"])


def _span(text: str, logical_id: str) -> tuple[int, int]:
    """
    Return where a resource begins and ends in the text of a template.
    """
    start = max(text.find('"Resources"'), 0)
    head = re.compile(rf'"{re.escape(logical_id)}"\s*:\s*(?=\{{)')
    # What a parameter or a reference is called alike has no type.
    for match in head.finditer(text, start):
        end = _end(text, match.end())
        if '"Type"' in text[match.end() : end]:
            return match.start(), end
    # A plan of Terraform's lists its resources by their addresses.
    address = re.search(rf'"address"\s*:\s*{re.escape(json.dumps(logical_id))}', text)
    if address is None:
        return start, len(text)
    return address.start(), _end(text, text.rfind("{", 0, address.start()))


def _end(text: str, begin: int) -> int:
    try:
        return json.JSONDecoder().raw_decode(text, max(begin, 0))[1]
    except ValueError:
        return len(text)
