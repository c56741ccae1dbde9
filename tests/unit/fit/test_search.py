"""
Searching packings: proofs that hold, and work that ends.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import (
    Capacity,
    ResourceRequirements,
    fewest_instances,
    pack,
)
from cdk_sagemaker_llm.fit._filling import greedily
from cdk_sagemaker_llm.fit._kinds import Kinds
from cdk_sagemaker_llm.fit._proofs import Budget, cuts
from cdk_sagemaker_llm.fit._search import (
    MOST_PROOF_STEPS,
    MOST_SEARCH_STEPS,
    search,
)

P4D = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
SMALL = Capacity(accelerators=4, cpus=8, memory_mib=4096)
FLEETS = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3),
    st.builds(
        ResourceRequirements,
        copies=st.integers(0, 3),
        accelerators=st.none() | st.integers(1, 4),
        cpus=st.none() | st.floats(0.25, 8),
        memory_mib=st.integers(128, 4096),
    ),
    max_size=9,
)


def fleet(
    random: Random, models: int, accelerators: int
) -> dict[str, ResourceRequirements]:
    """
    Make many models that share so many accelerators, with three scarce resources.
    """
    sizes = [random.choice((1, 1, 1, 2, 2, 3, 4, 5)) for _ in range(models)]
    spare = max(accelerators - sum(sizes), 0)
    return {
        f"Model{number}": ResourceRequirements(
            copies=1 + (size == 1) * (spare // max(sizes.count(1), 1)),
            accelerators=size,
            cpus=random.choice((None, 4, 10, 11, 12.5)),
            memory_mib=random.choice((1024, 50_000, 100_000, 140_000)),
        )
        for number, size in enumerate(sizes)
    }


def test_fifty_sizes_that_never_go_three_to_an_instance_are_refused() -> None:
    """
    In sum they fit; counting what an instance can use proves it without a search.
    """
    tight = {
        f"Odd{number}": ResourceRequirements(accelerators=3, cpus=7 + number / 100)
        for number in range(50)
    }
    packing = pack(tight, P4D, 20)
    verdict = search(Kinds.of(tight, P4D), 20)

    assert packing.is_impossible
    assert "can use at most 6 of the 8 accelerators" in packing.reasons[0]
    assert verdict.steps < 2000
    assert len(fewest_instances(tight, P4D).instances) == 25


@pytest.mark.parametrize("seed", range(10))
def test_the_work_for_fifty_models_is_bounded(seed: int) -> None:
    """
    On one instance fewer than they are known to need, where a search is hardest.
    """
    models = fleet(Random(seed), 50, 150)  # noqa: S311 # repeatable, no secret
    instances = len(fewest_instances(models, P4D).instances)
    verdict = search(Kinds.of(models, P4D), instances - 1)

    assert verdict.steps <= MOST_PROOF_STEPS + MOST_SEARCH_STEPS


@settings(max_examples=300)
@given(FLEETS, st.integers(1, 6), st.integers(0, 600))
def test_no_proof_contradicts_a_packing(
    models: dict[str, ResourceRequirements], instances: int, steps: int
) -> None:
    """
    What instances can hold is never counted too low, also if steps run out.
    """
    kinds = Kinds.of(models, SMALL)
    if any(greedily(kinds, instances)[1]):
        return

    for cut in cuts(kinds, instances, Budget(steps)):
        assert cut.instances_for(kinds.counts) <= instances
