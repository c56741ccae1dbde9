"""
A repository of git, of which files are read at a commit.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repository:
    """
    A clone, bare or not, by the name that it is published under.
    """

    name: str
    folder: Path

    def commits(self) -> dict[str, str]:
        """
        Return the commit of each branch, and that of the one checked out as ``HEAD``.
        """
        form = "--format=%(refname:short) %(objectname)"
        rows = self._git("for-each-ref", form, "refs/heads", "refs/remotes/origin")
        found = dict(row.split() for row in rows.splitlines())
        branches = {ref.removeprefix("origin/"): one for ref, one in found.items()}
        return {**branches, "HEAD": self._git("rev-parse", "HEAD").strip()}

    def date(self, commit: str) -> str:
        """
        Return the day of a commit.
        """
        return self._git("log", "-1", "--format=%cs", commit).strip()

    def history(self, commit: str, path: str) -> list[str]:
        """
        Return the commits up to one that changed what is at a path, oldest first.
        """
        return self._git("log", "--reverse", "--format=%H", commit, "--", path).split()

    def files(self, commit: str, *ends: str, under: str = ".") -> list[str]:
        """
        Return the files of a commit whose names end so.
        """
        rows = self._git("ls-tree", "-r", "-z", "--name-only", commit, "--", under)
        return sorted(row for row in rows.split("\0") if row.endswith(ends))

    def text(self, commit: str, path: str) -> str:
        """
        Return a file's text; empty if it is not there.
        """
        try:
            return self._git("show", f"{commit}:{path}")
        except subprocess.CalledProcessError:
            return ""

    def texts(
        self, commit: str, *ends: str, under: str = "."
    ) -> Iterator[tuple[str, str]]:
        """
        Yield such files with their texts.
        """
        for path in self.files(commit, *ends, under=under):
            yield path, self.text(commit, path)

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, capture_output=True, check=True)
        return done.stdout.decode(errors="replace")
