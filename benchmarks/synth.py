"""
Synthesis with the library, with hand-written L1 classes, and of an empty app.

Every round runs all three, one after the other, as processes of their own, so that
a machine whose speed drifts slows all of them; ratios are taken within a round. Each
round goes through them in the other direction, so that none always runs second.
"""

from __future__ import annotations

import argparse
import operator
import statistics

from benchmarks.processes import Run, measure, ratio

APPS = ("library", "l1", "empty")
SIZES = (3, 15, 30, 60)
BAR = "The bar for library/L1, wall and CPU: at most 1.08 at 3 stacks, 1.20 at 60."
_SMALL = 15  # Stacks; start-up is most of their time, and the noisiest part of it.
_ROUNDS_SMALL = 15
_ROUNDS = 9


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
        apps = {app: ("-m", f"benchmarks.{app}_app", str(stacks)) for app in APPS}
        print(report(stacks, measure(apps, rounds)), flush=True)
    print(f"\n{BAR}")


if __name__ == "__main__":
    main()
