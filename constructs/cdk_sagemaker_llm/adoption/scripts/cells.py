"""
A script or a notebook as Python that is read: magic lines become calls, and each line
knows where it stands.
"""

from __future__ import annotations

import ast
import bisect
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# What a line of IPython becomes; no script has such names.
SHELL = "__shell__"
WRITE = "__write__"
SETTING = "__setting__"

_MAGIC = re.compile(
    r"(?P<indent>\s*)(?P<target>[\w, ]+=\s*)?(?P<mark>[!%])(?P<text>.*)"
)
_SETTING = re.compile(r"env\s+(\w+)(?:\s*=\s*|\s+)(.*)")
_CELL = re.compile(r"\s*%%(\w+)[^\S\n]*([^\n]*)\n?")
_SHELLS = ("sh", "bash", "script", "system", "!")
_FILES = ("writefile", "file")
# Cells of other languages, and those that run elsewhere.
_FOREIGN = (
    *("html", "javascript", "js", "latex", "markdown", "perl", "ruby", "svg", "sql"),
    *("spark", "configure", "pyspark", "cmd", "script"),
)
_HELP = re.compile(r"\s*(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*\Z")


@dataclass(frozen=True)
class Script:
    """
    What is read, cell by cell.

    Args:
        trees: The code of each cell, whose lines are counted through the whole file.

        unread: The lines of cells that are no Python, with what is wrong there.

        starts: The line before each cell, in that count, with the cell's number;
            empty of a script.
    """

    trees: Sequence[ast.Module]
    unread: Sequence[tuple[int, str]] = ()
    starts: Sequence[tuple[int, int]] = field(default=())

    def place(self, line: int) -> str:
        """
        Return where a line is, as people count: ``line 3``, or ``cell 2, line 3``.
        """
        if not self.starts:
            return f"line {line}"
        at = bisect.bisect_left(self.starts, (line, 0)) - 1
        start, number = self.starts[at]
        return f"cell {number}, line {line - start}"


def script_of(path: Path) -> Script:
    """
    Read a file as far as it is Python.

    Args:
        path: A script (``.py``), or a notebook (``.ipynb``), whose cells are counted
            from the top, those of text among them.

    Raises:
        ValueError: If the file is neither.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if path.suffix != ".ipynb":
        return _of_file(path, text)
    trees, unread, starts, line = [], [], [], 0
    for number, source in _code_of(path, text):
        starts.append((line, number))
        try:
            tree = _parsed(source)
        except SyntaxError as error:
            unread.append((line + (error.lineno or 1), error.msg))
        else:
            ast.increment_lineno(tree, line)
            trees.append(tree)
        line += len(source.splitlines()) + 1
    return Script(trees, unread, starts)


def _of_file(path: Path, text: str) -> Script:
    try:
        return Script([_parsed(text)])
    except SyntaxError as error:
        raise ValueError(
            f"{path} is not Python of today: line {error.lineno}: {error.msg}"
        ) from None


def _code_of(path: Path, text: str) -> Iterator[tuple[int, str]]:
    try:
        notebook: Any = json.loads(text)
        cells = notebook.get("cells") or notebook["worksheets"][0]["cells"]
        for number, cell in enumerate(cells, 1):
            source = cell.get("source", cell.get("input", ""))
            if cell["cell_type"] == "code":
                yield number, source if isinstance(source, str) else "".join(source)
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(
            f"{path} is no notebook: a file .ipynb is JSON with a list of cells"
        ) from None


def _parsed(source: str) -> ast.Module:
    found = _CELL.match(source)
    if found and found[1] in _FILES:
        name = found[2].replace("-a ", "").strip()
        content = source[found.end() :].rstrip("\n") + "\n"
        return _tree(f"{WRITE}({_expanded(name)}, {content!r})")
    if found and found[1] in _SHELLS:
        return _tree(f"{SHELL}({_expanded(source[found.end() :])})")
    if found and found[1] in _FOREIGN:
        return ast.Module(body=[], type_ignores=[])
    if found:
        source = "\n" * found[0].count("\n") + source[found.end() :]
    try:
        return _tree(source)
    except SyntaxError:
        return _tree(_without_magic(source))


def _tree(source: str) -> ast.Module:
    with warnings.catch_warnings():
        # What a text's backslashes mean is the author's business.
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except ValueError as error:
            raise SyntaxError(str(error)) from None


def _without_magic(source: str) -> str:
    """
    Return a cell in which the lines of IPython are calls, as long as they were.
    """
    lines: list[str] = []
    commands = iter(source.splitlines())
    for line in commands:
        found = _MAGIC.fullmatch(line)
        if _HELP.match(line):
            lines.append("")
        elif found is None:
            lines.append(line)
        else:
            text, more = found["text"], 0
            while text.endswith("\\"):
                text, more = text[:-1] + next(commands, ""), more + 1
            start = found["indent"] + (found["target"] or "")
            lines += [start + _call_of(found["mark"], text), *[""] * more]
    return "\n".join(lines)


def _call_of(mark: str, text: str) -> str:
    setting = _SETTING.fullmatch(text) if mark == "%" else None
    if setting:
        return f"{SETTING}({setting[1]!r}, {_expanded(setting[2])})"
    return f"{SHELL}({_expanded(text if mark == '!' else '')})"


def _expanded(text: str) -> str:
    """
    Return a text as code, in which IPython's braces stand for values.
    """
    plain = repr(text)
    try:
        ast.parse(f"f{plain}", mode="eval")
    except SyntaxError:
        return plain
    return f"f{plain}" if "{" in text else plain
