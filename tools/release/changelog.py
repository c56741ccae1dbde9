"""
What CHANGELOG.md says of a version, and of what breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"## \[?(?P<name>[^\]\s]+)\]?(?: - (?P<date>.+))?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Section:
    """
    A version's entries.

    Args:
        name: The version, or ``Unreleased``.

        date: What stands behind it. If omitted, nothing does.

        entries: Its list items, each as one line.
    """

    name: str
    date: str | None
    entries: tuple[str, ...]


def sections(text: str) -> list[Section]:
    """
    Read a changelog, the newest version first.

    Args:
        text: What stands in the file.
    """
    found = []
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        if match := _HEADING.fullmatch(heading.strip()):
            found.append(Section(match["name"], match["date"], (*_entries(body),)))
    return found


def _entries(body: str) -> Iterator[str]:
    entry: list[str] = []
    for line in [*body.splitlines(), ""]:
        if entry and (not line.strip() or line.startswith(("-", "#"))):
            yield " ".join(entry)
            entry = []
        if line.startswith("- "):
            entry = [line[2:].strip()]
        elif entry:
            entry.append(line.strip())


def findings(text: str, version: str, *, is_tagged: bool) -> list[str]:
    """
    Return what the changelog lacks of a version.

    Args:
        text: What stands in the file.

        version: The version that would be released.

        is_tagged: Whether the commit has its tag, and so is released now.
    """
    wrong: list[str] = []
    read = sections(text)
    section = next((part for part in read if part.name == version), None)
    if section is None or not section.entries:
        wrong.append(
            f"CHANGELOG.md has no entry for {version}; write what changed for users "
            f"under a heading of its own: ## {version}"
        )
    elif is_tagged and not _DATE.fullmatch(section.date or ""):
        wrong.append(
            f"CHANGELOG.md does not say when {version} was released; give its heading "
            f"the day: ## {version} - 2026-01-31"
        )
    if any(part.name == "Unreleased" and part.entries for part in read):
        wrong.append(
            f"CHANGELOG.md has unreleased entries; move them under ## {version}"
        )
    return wrong


def entries_since(text: str, release: str) -> list[str]:
    """
    Return the entries above a release's heading.

    Args:
        text: What stands in the file.

        release: The version of that release.
    """
    found: list[str] = []
    for part in sections(text):
        if part.name == release:
            break
        found += part.entries
    return found


def says_that_it_breaks(entries: Sequence[str], names: Sequence[str]) -> bool:
    """
    Say whether a bold entry names all of these.

    Args:
        entries: The entries since the last release.

        names: The words that stand for what broke.
    """
    return any(
        "**" in entry and all(re.search(rf"\b{re.escape(n)}\b", entry) for n in names)
        for entry in entries
    )
