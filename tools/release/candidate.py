"""
The commit that would be released, its packages, and the releases before it.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.release import StepError, run
from tools.release.packages import Packages, build

_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


def released(tags: Iterable[str]) -> list[str]:
    """
    Return the tags that name a release, such as v0.1.0, the oldest first.
    """
    return sorted(filter(_TAG.fullmatch, tags), key=numbers)


def numbers(version: str) -> tuple[int, ...]:
    """
    Return the numbers of a version, with or without its ``v``.
    """
    return tuple(map(int, re.findall(r"\d+", version)))


@dataclass(frozen=True)
class Candidate:
    """
    A commit that would be released.

    Args:
        root: The repository, whose HEAD it is.

        folder: Where it is exported to, and built.

        dist: Where what would be published is put.
    """

    root: Path
    folder: Path
    dist: Path

    @functools.cached_property
    def commit(self) -> str:
        """
        The commit's short name.
        """
        return self._git("rev-parse", "--short", "HEAD").strip()

    @functools.cached_property
    def source(self) -> Path:
        """
        The files of the commit, and no others.
        """
        return self.exported("HEAD")

    @functools.cached_property
    def version(self) -> str:
        """
        The version that pyproject.toml says.
        """
        return str(self.project["version"])

    @functools.cached_property
    def project(self) -> dict[str, Any]:
        """
        The metadata in pyproject.toml.
        """
        text = (self.source / "pyproject.toml").read_text(encoding="utf-8")
        project: dict[str, Any] = tomllib.loads(text)["project"]
        return project

    @functools.cached_property
    def own_tags(self) -> list[str]:
        """
        The release tags that the commit itself has.
        """
        return released(self._git("tag", "--points-at", "HEAD").split())

    @functools.cached_property
    def last_release(self) -> str | None:
        """
        The newest tag of another release, None before the first one.
        """
        tags = released(self._git("tag").split())
        return next((tag for tag in reversed(tags) if tag not in self.own_tags), None)

    @functools.cached_property
    def packages(self) -> Packages:
        """
        The wheel and the sdist, built once for all checks.
        """
        return build(self.source, self.folder / "built", self.epoch)

    @functools.cached_property
    def epoch(self) -> str:
        """
        The commit's time in seconds, which stands in for the clock in a build.
        """
        return self._git("show", "--no-patch", "--format=%ct", "HEAD").strip()

    @functools.cached_property
    def uncommitted(self) -> list[str]:
        """
        Changed files that the commit does not have.
        """
        changed = self._git("status", "--porcelain", "--untracked-files=no")
        return [line[3:] for line in changed.splitlines()]

    def exported(self, ref: str) -> Path:
        """
        Write the files of a commit into a folder of their own.

        Args:
            ref: The commit or tag.
        """
        folder = self.folder / "source" / ref
        if not folder.exists():
            archive = folder.with_suffix(".tar")
            archive.parent.mkdir(parents=True, exist_ok=True)
            self._git("archive", "--output", archive, ref)
            folder.mkdir()
            run("tar", "-xf", archive, "-C", folder)
        return folder

    def _git(self, *words: str | Path) -> str:
        try:
            return run("git", "-C", self.root, *words)
        except FileNotFoundError:
            raise StepError("git is needed; install it") from None
