"""
Synthesis of every example beside its twin: the same resources on the CDK's L1 classes.

Both run as processes of their own, one after the other, in an order that turns from
round to round; ratios are taken within a round. The twin is written from the example's
own templates (``benchmarks/twins.py``) and must make the very same ones.
"""

from __future__ import annotations

import argparse
import operator
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import ROOT, Run, measure, ratio
from benchmarks.twins import templates, write_twin

BAR = "The bar for example/L1: at most 1.20."
_ROUNDS = 5


def synthesise(app: Path, outdir: Path) -> None:
    """
    Run an app once, into a folder that stays.
    """
    done = subprocess.run(
        [sys.executable, app],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "CDK_OUTDIR": str(outdir)},
    )
    if done.returncode:
        sys.exit(f"{app} failed:\n{done.stderr}")


def twin_of(example: Path, folder: Path) -> Path:
    """
    Write the twin of an example; it makes the same templates, or that is the end.
    """
    synthesise(example, folder / "example")
    twin = folder / "twin.py"
    twin.write_text(write_twin(folder / "example"), encoding="utf-8")
    synthesise(twin, folder / "twin")
    if templates(folder / "example") != templates(folder / "twin"):
        sys.exit(f"the twin of {example} makes another template; look at {folder}")
    return twin


def report(name: str, resources: int, runs: dict[str, list[Run]]) -> str:
    """
    Render one row of the table.
    """
    cells = [name, str(resources), str(len(runs["example"]))]
    for app in ("example", "twin"):
        wall = statistics.median(run.wall for run in runs[app])
        cpu = statistics.median(run.cpu for run in runs[app])
        cells.append(f"{wall:.2f} s, {cpu:.2f} s")
    for clock in ("wall", "cpu"):
        seconds = operator.attrgetter(clock)
        cells.append(ratio(runs["example"], runs["twin"], seconds))
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """
    Print the table as Markdown, row by row as it is measured.
    """
    names = sorted(app.parent.name for app in (ROOT / "examples").glob("*/app.py"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="counted rounds")
    parser.add_argument("names", nargs="*", default=names, help="examples")
    options = parser.parse_args()
    print("Synthesis of each example and of its twin on L1 classes: wall and CPU time,")
    print("medians of the rounds after one that is not counted; ratios: median (least")
    print("to greatest).\n")
    heads = ["example", "resources", "rounds", "example, wall and CPU"]
    heads += ["L1 classes", "example/L1, wall", "example/L1, CPU"]
    print(f"| {' | '.join(heads)} |")
    print(f"|{' --- |' * len(heads)}")
    for name in options.names:
        example = ROOT / "examples" / name / "app.py"
        with tempfile.TemporaryDirectory() as folder:
            twin = twin_of(example, Path(folder))
            made = templates(Path(folder) / "example").values()
            resources = sum(len(each["Resources"]) for each in made)
            apps = {"example": [str(example)], "twin": [str(twin)]}
            print(report(name, resources, measure(apps, options.rounds)), flush=True)
    print(f"\n{BAR}")


if __name__ == "__main__":
    main()
