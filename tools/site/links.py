"""
Links of the documentation, which lead to files of the repository, on the site.

On GitHub a link to an example's code opens the file; on the site it opens the page of
the example. What has no page is named and leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

from tools.site.examples import TASKS, path_of

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```|^~~~.*?^~~~)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"\bLLM\d{3}\b")
# A drawing of boxes, which GitHub shows by a script from elsewhere.
_DRAWING = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ARROW = re.compile(r"^ *(\w+) --> (\w+)$", re.MULTILINE)
# Where a code is no link yet: outside of literals and links.
_KEPT = re.compile(r"`[^`\n]*`|\[[^\[\]]*\]\([^()\s]*\)|\bLLM\d{3}\b")
CHANGELOG, RULES = "changelog.md", "reference/rules"


def on_site(path: str, text: str) -> str:
    """
    Return a page of ``docs/`` as the site has it.

    Args:
        path: Where it is, below the site's source.

        text: What it says, in Markdown.
    """
    parts = _FENCE.split(_DRAWING.sub(_as_table, text))
    parts[::2] = [_LINK.sub(lambda one: _link(path, one), part) for part in parts[::2]]
    return "".join(parts)


def with_rules(path: str, text: str, codes: Collection[str]) -> str:
    """
    Return a page with its rules' codes as links to the pages of the rules.

    Args:
        path: Where it is, below the site's source.

        text: What it says, in Markdown.

        codes: The rules that there are; a changelog names some that are gone.
    """
    folder = posixpath.dirname(path)

    def linked(found: re.Match[str]) -> str:
        code = found[0].strip("`")
        if code not in codes:
            return found[0]
        target = posixpath.relpath(f"{RULES}/{code.lower()}.md", folder or ".")
        return f"[{found[0]}]({target})"

    parts = _FENCE.split(text)
    parts[::2] = [_KEPT.sub(linked, part) for part in parts[::2]]
    return "".join(parts)


def _as_table(drawing: re.Match[str]) -> str:
    leads: dict[str, list[str]] = {}
    for begin, end in _ARROW.findall(drawing[1]):
        leads.setdefault(begin, []).append(f"`{end}`")
    rows = [f"| `{begin}` | {', '.join(ends)} |" for begin, ends in leads.items()]
    return "\n".join(["| from | to |", "| --- | --- |", *rows])


def _link(path: str, found: re.Match[str]) -> str:
    words, target = found[1], found[2]
    if "://" in target or target.startswith(("#", "mailto:")):
        return found[0]
    file, cut, anchor = target.partition("#")
    folder = posixpath.dirname(path)
    # Pages are in docs/, but for the changelog, and the repository goes on beside it.
    begin = "" if path == CHANGELOG else f"docs/{folder}"
    place = posixpath.normpath(posixpath.join(begin, file))
    if _CODE.fullmatch(words):
        page = f"{RULES}/{words.lower()}.md"
        return f"[{words}]({posixpath.relpath(page, folder or '.')})"
    if place.startswith("docs/"):
        page = place.removeprefix("docs/")
        return f"[{words}]({posixpath.relpath(page, folder or '.')}{cut}{anchor})"
    if place == "CHANGELOG.md":
        return f"[{words}]({posixpath.relpath(CHANGELOG, folder or '.')})"
    parts = place.split("/")
    if parts[0] == "examples" and len(parts) > 1 and parts[1] in TASKS:
        page = posixpath.relpath(path_of(parts[1]), folder or ".")
        return f"[{words}]({page})"
    return words if place in words else f"{words} (`{place}`)"
