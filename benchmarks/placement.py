"""
What packing costs, and how often it comes to an answer.

Each fleet is packed onto as few ml.p4d.24xlarge as possible, and then onto one fewer,
which is the hardest question that one can ask of it. Verdicts and steps are the same
on every machine; seconds are the processor's, for the slowest question in the row.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import (
    Capacity,
    Packing,
    ResourceRequirements,
    fewest_instances,
    pack,
)
from cdk_sagemaker_llm.fit._kinds import Kinds
from cdk_sagemaker_llm.fit._search import search

P4D = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
INSTANCES = 20
# Models, and copies of each on average.
SIZES = ((3, 10), (5, 5), (8, 3), (8, 5), (8, 20), (12, 3), (20, 1), (20, 3), (50, 1))
Fleet = dict[str, ResourceRequirements]


@dataclass
class Row:
    """
    What the fleets of one size came to.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    steps: int = 0
    seconds: float = 0.0

    def ask(self, question: Callable[[], Packing]) -> Packing:
        """
        Time one question, without what other processes take meanwhile.
        """
        began = time.process_time()
        answer = question()
        self.seconds = max(self.seconds, time.process_time() - began)
        return answer

    def pack(self, models: Fleet, instances: int) -> None:
        """
        Ask for a packing, and note the verdict and the work.
        """
        packing = self.ask(partial(pack, models, P4D, instances))
        self.verdicts[_verdict(packing)] += 1
        if not packing.is_complete:
            steps = search(Kinds.of(models, P4D), instances).steps
            self.steps = max(self.steps, steps)


def fleet(random: Random, models: int, copies: int) -> Fleet:
    """
    Make models of which each may be short of another resource.
    """
    return {
        f"Model{number}": ResourceRequirements(
            copies=max(1, round(copies * random.uniform(0.3, 1.7))),
            accelerators=random.choice((1, 1, 2, 2, 3, 4, 5)),
            cpus=random.choice((None, 4, 10, 11, 12.5, 24, 30, 40)),
            memory_mib=random.choice((1024, 50_000, 100_000, 150_000, 300_000)),
        )
        for number in range(models)
    }


def full_fleet(random: Random, models: int, load: float) -> Fleet:
    """
    Make models with as many copies as fill that part of the scarcest resource.
    """
    # Half the accelerators at first, so that there are copies to add.
    made = {
        name: replace(needs, accelerators=random.choice((1, 1, 2)))
        for name, needs in fleet(random, models, 1).items()
    }
    while True:
        name = random.choice(list(made))
        more = {**made, name: replace(made[name], copies=made[name].copies + 1)}
        if _load(more) > load:
            return made
        made = more


def fewest(sizes: tuple[int, int], fleets: int) -> Row:
    """
    Pack fleets of one size as tightly as they go, and one instance tighter.
    """
    row = Row()
    for random in _randoms(fleets, *sizes):
        models = fleet(random, *sizes)
        packing = row.ask(partial(fewest_instances, models, P4D))
        if len(packing.instances) > 1:
            row.pack(models, len(packing.instances) - 1)
    return row


def full(load: float, fleets: int) -> Row:
    """
    Pack fifty models onto the twenty instances that they fill to a part.
    """
    row = Row()
    for random in _randoms(fleets, load):
        row.pack(full_fleet(random, 50, load), INSTANCES)
    return row


def line(name: str, row: Row, bar: str = "") -> str:
    """
    Write one line of the table.
    """
    counts = " | ".join(str(row.verdicts[v]) for v in ("placed", "impossible", "open"))
    return f"| {name} | {counts} | {row.steps:,} | {row.seconds:.3f} s | {bar} |"


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=30, help="fleets in each row")
    fleets = parser.parse_args().fleets
    print(f"Packing copies onto ml.p4d.24xlarge, {fleets} fleets a line.\n")
    print("| what | placed | impossible | open | most steps | slowest | bar |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for load in (0.9, 0.95, 1.0):
        name = f"50 models on {INSTANCES} instances, {load:.0%} full"
        print(line(name, full(load, fleets), "1 s"), flush=True)
    for models, copies in SIZES:
        name = f"{models} models of about {copies} copies, one instance too few"
        print(line(name, fewest((models, copies), fleets)), flush=True)


def _randoms(fleets: int, *key: float) -> Iterator[Random]:
    for number in range(fleets):
        # Text, because it seeds alike in every process.
        yield Random(f"{number} {key}")  # noqa: S311 # repeatable, no secret


def _load(models: Fleet) -> float:
    kinds = Kinds.of(models, P4D)
    return max(
        sum(s[axis] * c for s, c in zip(kinds.sizes, kinds.counts, strict=True)) / has
        for axis, has in enumerate(kinds.room)
    ) / float(INSTANCES)


def _verdict(packing: Packing) -> str:
    if packing.is_complete:
        return "placed"
    return "impossible" if packing.is_impossible else "open"


if __name__ == "__main__":
    main()
