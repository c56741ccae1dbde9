"""
What packing copies of models onto instances costs, and how often its answer is open.

Fleets as users write them, and random ones that are made to be hard, are packed onto
every number of instances from what their sums need up to what is found to suffice: the
numbers between are the hard ones.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import (
    Capacity,
    Packing,
    ResourceRequirements,
    fewest_instances,
    pack,
)

CAPACITY = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
TYPES = ("ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.p5.48xlarge")
# Accelerators of a copy: as parallel engines split models, and any number.
USUAL = (None, 1, 1, 1, 1, 2, 2, 4, 4, 8)
ANY = (1, 2, 3, 4, 5, 6, 7, 8)
# Sizes of copies, and copies of each on average.
SHAPES = (
    (3, 3),
    (3, 10),
    (3, 40),
    (5, 2),
    (5, 5),
    (5, 20),
    (8, 2),
    (8, 5),
    (8, 20),
    (12, 1),
    (12, 5),
    (20, 1),
    (20, 3),
    (50, 1),
    (50, 2),
)
Fleet = Mapping[str, ResourceRequirements]


def written(random: Random, sizes: Sequence[int | None]) -> tuple[Fleet, Capacity]:
    """
    Make 2 to 12 models as users write them, and choose the type of their instances.
    """
    capacity = Capacity.of(find_instance_type(random.choice(TYPES)))
    models = {}
    for number in range(random.randrange(2, 13)):
        accelerators = random.choice(sizes)
        # Cores and memory are thought of as those of an accelerator.
        share = accelerators or 1
        cpus = random.choice((None, None, 1, 2, 4, 6, 8, 10, 12))
        memory_gib = random.choice((1, 4, 8, 16, 20, 32, 48, 64, 90))
        models[f"Model{number}"] = ResourceRequirements(
            copies=random.choice((1, 1, 2, 2, 3, 4, 4, 6, 8)),
            accelerators=accelerators,
            cpus=cpus and cpus * share,
            memory_mib=memory_gib * share * 1024,
        )
    return models, capacity


def fleet(random: Random, sizes: int, copies: int) -> Fleet:
    """
    Make models of as many sizes that compete for all three resources.
    """
    return {
        f"Model{number}": ResourceRequirements(
            copies=max(1, round(copies * random.uniform(0.3, 1.7))),
            accelerators=random.choice((1, 1, 2, 2, 3, 4, 5)),
            cpus=random.choice((None, 4, 10, 11, 12.5, 24, 30, 40)),
            memory_mib=random.choice((1, 50, 100, 150, 200, 300, 400)) * 1024,
        )
        for number in range(sizes)
    }


def twenty_instances(random: Random) -> Fleet:
    """
    Make fifty models of which all copies together nearly fill twenty instances.
    """
    models: dict[str, ResourceRequirements] = {}
    taken = 0
    for number in range(50):
        # What is left over is for models of one accelerator each.
        most = min(5, 156 - taken - (49 - number))
        accelerators = min(random.choice((1, 2, 3, 4, 4, 5, 5)), most)
        taken += accelerators
        models[f"Model{number}"] = ResourceRequirements(
            accelerators=accelerators,
            cpus=accelerators * random.choice((8, 10, 11.5, 12)),
            memory_mib=accelerators * random.randrange(40, 144) * 1024,
        )
    return models


def repeatable(seed: int) -> Random:
    """
    Start the same numbers anew.
    """
    return Random(seed)  # noqa: S311 # no secret comes of them


def answer(packing: Packing) -> str:
    """
    Name what a packing came to.
    """
    if packing.is_complete:
        return "placed"
    return "impossible" if packing.is_impossible else "open"


def timed(
    models: Fleet, instances: int, capacity: Capacity = CAPACITY
) -> tuple[str, float]:
    """
    Pack, and tell the answer and the seconds.
    """
    began = time.perf_counter()
    packing = pack(models, capacity, instances)
    return answer(packing), time.perf_counter() - began


def hard(models: Fleet, capacity: Capacity = CAPACITY) -> list[tuple[str, float]]:
    """
    Pack onto ever more instances until all copies have a place.
    """
    least = max(
        -(-sum(n.copies * n.units[axis] for n in models.values()) // have)
        for axis, have in enumerate(capacity.units)
    )
    found = [timed(models, least, capacity)]
    while found[-1][0] != "placed":
        found.append(timed(models, least + len(found), capacity))
    return found


def row(name: str, found: list[tuple[str, float]]) -> str:
    """
    Write one line of the table.
    """
    counts = Counter(kind for kind, _ in found)
    slowest = max(seconds for _, seconds in found)
    kinds = " | ".join(str(counts[kind]) for kind in ("placed", "impossible", "open"))
    return f"| {name} | {kinds} | {slowest:.3f} s |"


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fleets", type=int, default=60, help="fleets a line")
    parser.add_argument(
        "--written", type=int, default=3000, help="fleets as users write them, a line"
    )
    arguments = parser.parse_args()
    seeds = range(arguments.fleets)
    print("| fleets | placed | impossible | open | slowest answer |")
    print("| --- | --- | --- | --- | --- |")
    for name, choices in (("usual", USUAL), ("any", ANY)):
        found = [
            each
            for seed in range(arguments.written)
            for each in hard(*written(repeatable(seed), choices))
        ]
        print(row(f"as written, {name} numbers of accelerators", found), flush=True)
    for sizes, copies in SHAPES:
        found = [
            each
            for seed in seeds
            for each in hard(fleet(repeatable(seed), sizes, copies))
        ]
        print(row(f"{sizes} sizes, {copies} copies of each", found), flush=True)
    fleets = [twenty_instances(repeatable(seed)) for seed in seeds]
    for instances in (20, 19):
        found = [timed(models, instances) for models in fleets]
        print(row(f"50 models on {instances} instances", found), flush=True)
    proven = sum(fewest_instances(models, CAPACITY).is_fewest for models in fleets)
    print(f"\nThe fewest instances were proven for {proven} of the last {len(seeds)}.")


if __name__ == "__main__":
    main()
