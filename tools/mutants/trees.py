"""
Private copies of the checkout, in which the tests run against one mutant at a time.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO

from tools.mutants import plugin
from tools.mutants.changes import Mutant

_PLUGIN = ("-p", "tools.mutants.plugin", "-p", "no:cacheprovider")
_OURS = ("COVERAGE_", "MUTANTS_")
_START = 60.0  # Seconds that a run of pytest may take on top of its tests.
_SLACK = 5.0  # How many times slower than measured a test may be.
_LEAST = 20.0


class Outcome(StrEnum):
    """
    What the tests said to a mutant.
    """

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


@dataclass
class Tree:
    """
    A copy of the checkout.

    Args:
        root: The folder of the copy.
    """

    root: Path
    # Python tells a changed module by the second it was written in: each gets its own.
    _stamp: int = field(default_factory=lambda: int(time.time()), init=False)

    @classmethod
    def copy(cls, checkout: Path, target: Path) -> Tree:
        """
        Copy what belongs to the project, and link what npm installed.
        """
        for name in project_files(checkout):
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(checkout / name, file)
            shutil.copymode(checkout / name, file)
        (target / "node_modules").symlink_to(checkout / "node_modules")
        return cls(target)

    def judge(self, mutant: Mutant, tests: dict[str, float]) -> Outcome:
        """
        Run tests, whose usual seconds are given, against a mutant.
        """
        with self._with(mutant):
            return self._run(tests)

    @contextmanager
    def _with(self, mutant: Mutant) -> Iterator[None]:
        file = self.root / mutant.path
        before = file.read_text(encoding="utf-8")
        self._write(file, mutant.text)
        try:
            yield
        finally:
            self._write(file, before)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        self._stamp += 1
        os.utime(file, (self._stamp, self._stamp))

    def _run(self, tests: dict[str, float]) -> Outcome:
        chosen = self.root / ".chosen.json"
        chosen.write_text(json.dumps(list(tests)), encoding="utf-8")
        each = _LEAST + _SLACK * max(tests.values())
        options = ("-x", "-q", f"--timeout={each:.0f}")
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        status = run_pytest(
            self.root,
            (*options, *files),
            {plugin.CHOSEN: str(chosen)},
            _START + _SLACK * sum(tests.values()),
        )
        if status is None:
            return Outcome.TIMED_OUT
        return Outcome.KILLED if status else Outcome.SURVIVED


def project_files(checkout: Path) -> list[str]:
    """
    Return what git would keep, added or not, sorted.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
        cwd=checkout,
    )
    names = sorted(set(filter(None, listed.stdout.split("\0"))))
    return [name for name in names if (checkout / name).is_file()]


def run_pytest(
    root: Path,
    arguments: Sequence[str],
    variables: dict[str, str],
    limit: float,
    log: Path | None = None,
) -> int | None:
    """
    Run pytest in a copy; return its exit status, or None if it took too long.
    """
    with Path(log or os.devnull).open("wb") as output:
        running = _start(root, arguments, variables, output)
    try:
        return running.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_session(running)


def _start(
    root: Path,
    arguments: Sequence[str],
    variables: dict[str, str],
    output: IO[bytes],
) -> subprocess.Popen[bytes]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # Tests of this tool run it while it measures or judges them.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *_PLUGIN, *arguments],
        cwd=root,
        env={
            **kept,
            "PATH": path,
            "PYTHONPATH": f"{root / 'constructs'}{os.pathsep}{root}",
            **variables,
        },
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Node and servers end with it.
    )


def _end_session(running: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.wait()
