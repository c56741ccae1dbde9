"""
Syntheses as processes of their own, measured in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Run:
    """
    One synthesis.

    Args:
        wall: Seconds from the start to the end of the process, Node included.

        cpu: Seconds of user and system time of it and its children, Node included.

        mebibytes: Peak resident memory of its largest process, which is Node's.
    """

    wall: float
    cpu: float
    mebibytes: float


# The helper waits for the app and tells the time and the peak of what it waited for,
# which includes the Node process that the app itself waited for.
_HELPER = """\
import resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
wall = time.perf_counter() - began
if done.returncode:
    sys.exit(done.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(wall, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
_BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024


def environment(**more: str) -> dict[str, str]:
    """
    Return what a process is run with: bytecode is kept, as that of an installed wheel
    is, so that nobody compiles its sources in the rounds that count.
    """
    given = {**os.environ, **more}
    given.pop("PYTHONDONTWRITEBYTECODE", None)
    return given


def synthesise(arguments: Sequence[str]) -> Run:
    """
    Run one app as a process of its own, into a fresh folder.

    Args:
        arguments: What Python is given: a file, or ``-m`` and a module.
    """
    command = [sys.executable, *arguments]
    with tempfile.TemporaryDirectory() as outdir:
        done = subprocess.run(
            [sys.executable, "-c", _HELPER, *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env=environment(CDK_OUTDIR=outdir),
        )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    wall, cpu, peak = done.stdout.split()
    return Run(float(wall), float(cpu), int(peak) * _BYTES_PER_UNIT / 2**20)


def order(names: Sequence[str], index: int) -> Sequence[str]:
    """
    Return the order of the apps in a round: there and back.
    """
    return names[::-1] if index % 2 else names


def measure(apps: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Run]]:
    """
    Run all apps in turn, after one round that is not counted.
    """
    runs: dict[str, list[Run]] = {app: [] for app in apps}
    for index in range(rounds + 1):
        for app in order(tuple(apps), index):
            run = synthesise(apps[app])
            if index:
                runs[app].append(run)
    return runs


def ratio(
    ours: Sequence[Run], theirs: Sequence[Run], seconds: Callable[[Run], float]
) -> str:
    """
    Render our seconds over theirs, taken round by round: median, least and greatest.
    """
    pairs = [seconds(a) / seconds(b) for a, b in zip(ours, theirs, strict=True)]
    return f"{statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
