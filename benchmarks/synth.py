"""
Synthesis with the library, with hand-written L1 classes, and of an empty app.

Every round runs all three, one after the other, as processes of their own, so that
a machine whose speed drifts slows all of them; ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

APPS = ("library", "l1", "empty")
SIZES = (3, 15, 30, 60)


@dataclass(frozen=True)
class Run:
    """
    One synthesis.

    Args:
        seconds: Wall time of the whole process, Node included.

        mebibytes: Peak resident memory of its largest process, which is Node's.
    """

    seconds: float
    mebibytes: float


# The helper waits for the app and tells the peak of what it waited for, which
# includes the Node process that the app itself waited for.
_HELPER = """\
import resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
seconds = time.perf_counter() - began
if done.returncode:
    sys.exit(done.stderr)
print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
_BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024


def synthesise(app: str, stacks: int) -> Run:
    """
    Run one app as a process of its own, into a fresh folder.
    """
    command = [sys.executable, "-m", f"benchmarks.{app}_app", str(stacks)]
    with tempfile.TemporaryDirectory() as outdir:
        done = subprocess.run(
            [sys.executable, "-c", _HELPER, *command],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parent.parent,
            env={**os.environ, "CDK_OUTDIR": outdir},
        )
    if done.returncode:
        sys.exit(f"benchmarks.{app}_app {stacks} failed:\n{done.stderr}")
    seconds, peak = done.stdout.split()
    return Run(float(seconds), int(peak) * _BYTES_PER_UNIT / 2**20)


def measure(stacks: int, rounds: int) -> dict[str, list[Run]]:
    """
    Run all apps in turn, after one round that is not counted.
    """
    runs: dict[str, list[Run]] = {app: [] for app in APPS}
    for index in range(rounds + 1):
        for app in APPS:
            run = synthesise(app, stacks)
            if index:
                runs[app].append(run)
    return runs


def ratios(ours: Sequence[Run], theirs: Sequence[Run]) -> list[float]:
    """
    Return our wall time over theirs, round by round.
    """
    return [a.seconds / b.seconds for a, b in zip(ours, theirs, strict=True)]


def report(stacks: int, runs: dict[str, list[Run]]) -> str:
    """
    Render one row of the table.
    """
    cells = [str(stacks)]
    for app in APPS:
        seconds = statistics.median(run.seconds for run in runs[app])
        memory = statistics.median(run.mebibytes for run in runs[app])
        cells.append(f"{seconds:.2f} s, {memory:.0f} MiB")
    for other in ("l1", "empty"):
        pairs = ratios(runs["library"], runs[other])
        cells.append(
            f"{statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"
        )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """
    Print the table as Markdown, row by row as it is measured.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds a size")
    rounds = parser.parse_args().rounds
    print(f"Synthesis, medians of {rounds} rounds after one that is not counted.")
    print("Memory is the peak of the largest process, which is Node.\n")
    print("| stacks | library | L1 classes | empty app | library/L1 | library/empty |")
    print("| --- | --- | --- | --- | --- | --- |")
    for stacks in SIZES:
        print(report(stacks, measure(stacks, rounds)), flush=True)


if __name__ == "__main__":
    main()
