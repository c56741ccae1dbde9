"""
What checks and plans cost: a whole process that makes one, and many in one process.

Each process is paired with a bare start of Python in the same round.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.processes import environment
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import Capacity, ResourceRequirements, pack
from cdk_sagemaker_llm.serving import check_properties

ROOT = Path(__file__).parent.parent
FILE = ROOT / "assets" / "mixtral-8x7b" / "serving.properties"
BARE = [sys.executable, "-c", "pass"]
_PROGRAM = f"""\
from pathlib import Path
from cdk_sagemaker_llm.serving import check_properties
check_properties(
    Path({str(FILE)!r}).read_text(),
    container="djl-tensorrtllm", version="0.26.0", accelerators=8,
)
"""
ONE_CHECK = [sys.executable, "-c", _PROGRAM]
_TOOL = str(Path(sys.executable).with_name("sagemaker-llm"))
CHECK = [_TOOL, "check", str(FILE)]
PLAN = [_TOOL, "plan", "mistralai/Mistral-7B-v0.1"]
# Fifty models with 150 of the 160 accelerators that twenty instances have.
MODELS = {
    f"Model{number}": ResourceRequirements(
        copies=1 + number % 2,
        accelerators=(1, 2, 2, 2, 4)[number % 5] if number % 7 else 1,
        cpus=2 + number % 7,
        memory_mib=(1 + number % 9) * 8192,
    )
    for number in range(50)
}
CHECKS = 1000
# Half of them have an option that nothing knows, which costs a search for the nearest.
TEXTS = (
    FILE.read_text(encoding="ascii"),
    "engine=Python\noption.max_modl_len{0}=4096\noption.enforce_eager=true\n",
)


def process_seconds(command: Sequence[str]) -> float:
    """
    Run a command to its end.
    """
    told = environment()
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=told)
    return time.perf_counter() - began


def thousand_checks() -> float:
    """
    Check a thousand files, no two of those with faults alike.
    """
    began = time.perf_counter()
    for number in range(CHECKS // 2):
        check_properties(
            TEXTS[0], container="djl-tensorrtllm", version="0.26.0", accelerators=8
        )
        check_properties(
            TEXTS[1].format(number),
            container="djl-lmi",
            version="0.36.0",
            accelerators=8,
        )
    return time.perf_counter() - began


def fifty_models() -> float:
    """
    Pack fifty models onto twenty instances that they nearly fill, and look for room on
    nineteen.
    """
    capacity = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
    began = time.perf_counter()
    pack(MODELS, capacity, 20)
    pack(MODELS, capacity, 19)
    return time.perf_counter() - began


def row(name: str, bar: float, run: Callable[[], float], rounds: int) -> str:
    """
    Measure one line of the table, paired with Python's own start.
    """
    pairs = [(run(), process_seconds(BARE)) for _ in range(rounds + 1)][1:]
    ours = [pair[0] for pair in pairs]
    ratios = [pair[0] / pair[1] for pair in pairs]
    return (
        f"| {name} | {statistics.median(ours):.3f} s "
        f"({min(ours):.3f} to {max(ours):.3f}) | {statistics.median(ratios):.1f} "
        f"| {bar:g} s |"
    )


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="counted rounds a line")
    rounds = parser.parse_args().rounds
    print(
        f"Checks and plans, medians of {rounds} rounds after one that is not counted.\n"
    )
    print("| what | time | times a bare start of Python | bar |")
    print("| --- | --- | --- | --- |")
    for name, bar, run in (
        ("process: import and one check", 0.3, lambda: process_seconds(ONE_CHECK)),
        ("process: `sagemaker-llm check`", 0.3, lambda: process_seconds(CHECK)),
        ("process: `sagemaker-llm plan`", 0.5, lambda: process_seconds(PLAN)),
        ("1,000 checks in one process", 2.0, thousand_checks),
        ("50 models on 20 instances, and on 19", 1.0, fifty_models),
    ):
        print(row(name, bar, run, rounds), flush=True)


if __name__ == "__main__":
    main()
