"""
Pages of the documentation: the blocks of code in them, the shell in which a reader
would try them, and the places that their links lead to.

Comments, which no reader sees, say what the tests need to know of the block below:
``<!-- not run: REASON -->``, ``<!-- held by: TEST -->``, ``<!-- fails -->``, and
``<!-- first: COMMAND -->`` or ``<!-- prelude: PYTHON -->`` for what the text leaves to
the reader.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
# An app is bootstrapped, deployed and asked in one block.
LIMIT = 280
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=indent)```$"
    r"|^<!-- (?P<word>not run|held by|fails|first|prelude)(?::\s(?P<said>.*?))?\s-->$"
    r"|^(?P<heading>#+ [^\n]*)$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="(.+?)"')
# What another machine, or the next minute, has otherwise.
_FIGURE = re.compile(r"\d[\d.,]*(?= (?:s|ms|min|tokens/s|requests/s)\b)")
_LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_FENCE = re.compile(r"^( *)```.*?^\1```$|<!--.*?-->", re.MULTILINE | re.DOTALL)
_ANCHOR = re.compile(r"\s*\{[ :]*#([\w-]+)[^}]*\}\s*$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """
    A block of code of a page.

    Args:
        number: Which of the page's blocks it is, from 1 on.

        line: The line of the page on which it begins.

        language: What its fence says.

        title: The file that it is. If empty, it is none.

        body: What stands in it.

        reason: Why it is not run. If empty, it is.

        holder: The file of the test that runs it instead, if there is one.

        fails: Whether it is to fail, since the page shows a mistake.

        before: What is run ahead of it, in its own language.

        answers: The number of the block whose output it is. If zero, it is of none.
    """

    number: int
    line: int
    language: str
    title: str
    body: str
    reason: str
    holder: str
    fails: bool
    before: str
    answers: int


def blocks(page: str) -> list[Block]:
    """
    Return the blocks of a page, in their order.

    A text is the output of the last command or program above it in its section.
    """
    found: list[Block] = []
    said: dict[str, str] = {}
    asked = 0
    for match in _BLOCK.finditer(page):
        if match["heading"]:
            asked = 0
        elif match["word"]:
            said[match["word"]] = match["said"] or ""
        else:
            language, _, rest = match["info"].strip().partition(" ")
            title = _TITLE.search(rest)
            number = len(found) + 1
            found.append(
                Block(
                    number=number,
                    line=page.count("\n", 0, match.start()) + 1,
                    language=language,
                    title=title[1] if title else "",
                    body=re.sub(
                        f"^{match['indent']}", "", match["body"], flags=re.MULTILINE
                    ),
                    reason=said.get("not run", ""),
                    holder=said.get("held by", ""),
                    fails="fails" in said,
                    before=said.get("first", said.get("prelude", "")),
                    answers=asked if language == "text" else 0,
                )
            )
            runs = language in {"sh", "python"} and not title
            asked = number if runs else 0
            said = {}
    return found


def shows(shown: str, output: str, errors: str = "") -> bool:
    """
    Say whether a page shows what was printed: all of the output, or what is among the
    errors. Dots stand for anything, and figures of time and pace may differ.
    """
    lines = [
        r"(?:.*\n)*?"
        if line.strip() in {"...", "…"}
        else re.sub(r"\\\.\\\.\\\.|…", ".*", re.escape(line.rstrip())) + r"[ ]*\n"
        for line in _masked(shown).strip("\n").splitlines()
    ]
    pattern = "".join(lines)
    if re.fullmatch(pattern, _masked(output).strip("\n") + "\n"):
        return True
    return bool(re.search(f"^{pattern}", _masked(errors) + "\n", re.MULTILINE))


def _masked(text: str) -> str:
    return _FIGURE.sub("0", text)


class Shell:
    """
    The terminal of a reader who follows a page: a folder, variables that stay set, and
    one Python that remembers.

    Args:
        folder: An empty folder, in which the reader begins.

        environment: The variables of the process, without those of an account.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self._state = folder.with_name(folder.name + ".sh")
        home = folder.with_name(folder.name + ".home")
        for each in (folder, home):
            each.mkdir()
        # What an app's own `npm install` would bring.
        (folder / "node_modules").symlink_to(ROOT / "node_modules")
        places = (Path(sys.executable).parent, ROOT / "node_modules" / ".bin")
        # A reader's terminal is no CI, where programs print other things.
        unwanted = {"http_proxy", "https_proxy", "all_proxy", "ci"}
        self._environment = {
            **{k: v for k, v in environment.items() if k.lower() not in unwanted},
            "COLUMNS": "200",
            "HOME": str(home),
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            # What a page's comment copies from the repository.
            "PROJECT": str(ROOT),
            "PATH": os.pathsep.join([*map(str, places), environment["PATH"]]),
        }
        self._names: dict[str, object] = {"__name__": "__main__"}

    def write(self, name: str, text: str) -> str:
        """
        Write a file where the reader is, and return what is in it: if the reader has
        it already, the page shows a part of it.
        """
        file = self._place() / name
        if not file.exists():
            file.write_text(text, encoding="utf-8")
        return file.read_text(encoding="utf-8")

    def _place(self) -> Path:
        state = self._state.read_text() if self._state.exists() else ""
        return Path(state.rstrip().rpartition("cd ")[2] or self.folder)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """
        Run commands where those before them ended, with the variables that they set.
        """
        state = self._state
        before = f". {state}\n" if state.exists() else f"cd {self.folder}\n"
        keep = f"trap '{{ export -p; echo \"cd $PWD\"; }} > {state}' EXIT\n"
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{before}{keep}{script}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def python(self, code: str, page: str, line: int = 1) -> str:
        """
        Run a part of the page's program in this process, and return what it printed.

        Args:
            code: The part.

            page: The page's name, for tracebacks.

            line: The line of the page on which the part begins.
        """
        printed = io.StringIO()
        whole = compile("\n" * (line - 1) + code, page, "exec")
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(printed),
        ):
            exec(whole, self._names)  # noqa: S102 - our own pages
        return printed.getvalue()


def links(page: str) -> Iterator[str]:
    """
    Return where a page's links and pictures lead to.
    """
    # A picture may be the words of a link.
    text = re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page))
    yield from _LINK.findall(text)
    yield from re.findall(r"!\[[^\]]*\]\(([^()\s]+)\)", text)


@cache
def anchors(page: str) -> set[str]:
    """
    Return the anchors that GitHub gives to a page's headings.
    """
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", _FENCE.sub("", page), re.MULTILINE):
        if own := _ANCHOR.search(heading):
            found.add(own[1])
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = "".join(one for one in words if _stays(one)).replace(" ", "-")
        again = sum(1 for one in found if re.fullmatch(rf"{re.escape(slug)}-\d+", one))
        found.add(f"{slug}-{again + 1}" if slug in found else slug)
    return found | set(re.findall(r'<a (?:id|name)="([^"]+)"', page))


def _stays(character: str) -> bool:
    return character in " -_" or unicodedata.category(character)[0] in "LN"
