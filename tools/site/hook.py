"""
What mkdocs calls while it builds: the pages that are made from the code.

This runs in an environment of its own, where the library is not; the pages are made by
the project's Python.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
_PYTHON = ROOT / ".venv" / "bin" / "python"
_ALL = "/*"
_NAV = re.compile("<nav\\b[^>]*>|</nav>")
_INNER = re.compile(
    '<nav (class="md-nav" data-md-level="[1-9]".*?)( aria-expanded="\\w+")?>'
)
_MENDED = (
    # Code that scrolls is reached by the keyboard.
    (re.compile("<pre><span></span><code>"), '<pre><span></span><code tabindex="0">'),
    (
        re.compile('data-md-component="search" role="dialog"'),
        r'\g<0> aria-label="Search"',
    ),
)


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401 - mkdocs has no types here
    """
    Put the pages in place of those of ``docs/``, and name them in the navigation.
    """
    for path, text in _pages().items():
        if known := files.get_file_from_path(path):
            files.remove(known)
        files.append(File.generated(config, path, content=text))
    paths = sorted(file.src_uri for file in files.documentation_pages())
    config["nav"] = _expanded(config["nav"], paths, {*_named(config["nav"])})
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ANN401 - likewise
    """
    Mend what the theme leaves out for those who do not see, or have no mouse.
    """
    del page, config
    for theirs, ours in _MENDED:
        output = theirs.sub(ours, output)
    return _with_one_menu(output)


def _with_one_menu(output: str) -> str:
    """
    Make menus within the menu groups of it, and no landmarks of their own.
    """
    inner: list[bool] = []

    def mended(found: re.Match[str]) -> str:
        if found[0] == "</nav>":
            return "</div>" if inner.pop() else found[0]
        own = _INNER.fullmatch(found[0])
        inner.append(own is not None)
        return f'<div {own[1]} role="group">' if own else found[0]

    return _NAV.sub(mended, output)


def _pages() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pages.json"
        subprocess.run(
            [_PYTHON, "-m", "tools.site", file],
            cwd=ROOT,
            # What jsii says of old versions of Node is no part of the site.
            env={**os.environ, "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1"},
            check=True,
        )
        found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return found


def _named(nav: Any) -> list[str]:  # noqa: ANN401 - lists, dictionaries and texts
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [path for each in inner for path in _named(each)]


def _expanded(nav: Any, paths: list[str], named: set[str]) -> Any:  # noqa: ANN401 - likewise
    if isinstance(nav, dict):
        inner = {key: _expanded(each, paths, named) for key, each in nav.items()}
        return {key: each for key, each in inner.items() if each != []}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for each in nav:
        if isinstance(each, str) and each.endswith(_ALL):
            folder = each.removesuffix("*")
            inside = [
                path
                for path in paths
                if path.startswith(folder)
                and "/" not in path.removeprefix(folder)
                and path not in named
            ]
            # The index stands for its section.
            found += sorted(
                inside, key=lambda path: (not path.endswith("/index.md"), path)
            )
        elif (inner := _expanded(each, paths, named)) not in ([], {}):
            found.append(inner)
    return found
