"""
Synthesis with the library, with hand-written L1 classes, and of an empty app.

Every round runs all three, one after the other, as processes of their own, so that
a machine whose speed drifts slows all of them; ratios are taken within a round. Each
round goes through them in the other direction, so that none always runs second.
"""

from __future__ import annotations

import argparse
import operator
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

APPS = ("library", "l1", "empty")
SIZES = (3, 15, 30, 60)
BAR = "The bar for library/L1, wall and CPU: at most 1.08 at 3 stacks, 1.20 at 60."
_SMALL = 15  # Stacks; start-up is most of their time, and the noisiest part of it.
_ROUNDS_SMALL = 15
_ROUNDS = 9


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
    wall, cpu, peak = done.stdout.split()
    return Run(float(wall), float(cpu), int(peak) * _BYTES_PER_UNIT / 2**20)


def order(index: int) -> Sequence[str]:
    """
    Return the order of the apps in a round: there and back.
    """
    return APPS[::-1] if index % 2 else APPS


def measure(stacks: int, rounds: int) -> dict[str, list[Run]]:
    """
    Run all apps in turn, after one round that is not counted.
    """
    runs: dict[str, list[Run]] = {app: [] for app in APPS}
    for index in range(rounds + 1):
        for app in order(index):
            run = synthesise(app, stacks)
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


def report(stacks: int, runs: dict[str, list[Run]]) -> str:
    """
    Render one row of the table.
    """
    cells = [str(stacks), str(len(runs["library"]))]
    for app in APPS:
        wall = statistics.median(run.wall for run in runs[app])
        cpu = statistics.median(run.cpu for run in runs[app])
        memory = statistics.median(run.mebibytes for run in runs[app])
        cells.append(f"{wall:.2f} s, {cpu:.2f} s, {memory:.0f} MiB")
    for other in ("l1", "empty"):
        for clock in ("wall", "cpu"):
            seconds = operator.attrgetter(clock)
            cells.append(ratio(runs["library"], runs[other], seconds))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """
    Print the table as Markdown, row by row as it is measured.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        help="counted rounds a size; if left out, "
        f"{_ROUNDS_SMALL} up to {_SMALL} stacks and {_ROUNDS} above",
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="numbers of stacks"
    )
    options = parser.parse_args()
    print("Synthesis, medians of the rounds after one that is not counted.")
    print("Each app: wall time, CPU time of all its processes, and the peak of the")
    print("largest of them, which is Node. Ratios: median (least to greatest).\n")
    heads = ["stacks", "rounds", "library", "L1 classes", "empty app"]
    heads += [f"library/{b}, {c}" for b in ("L1", "empty") for c in ("wall", "CPU")]
    print(f"| {' | '.join(heads)} |")
    print(f"|{' --- |' * len(heads)}")
    for stacks in options.sizes:
        rounds = options.rounds or (_ROUNDS_SMALL if stacks <= _SMALL else _ROUNDS)
        print(report(stacks, measure(stacks, rounds)), flush=True)
    print(f"\n{BAR}")


if __name__ == "__main__":
    main()
