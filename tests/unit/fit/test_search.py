"""
Searching packings: proofs that hold, and work that ends.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import (
    Capacity,
    Packing,
    ResourceRequirements,
    fewest_instances,
    pack,
)
from cdk_sagemaker_llm.fit import search as _search
from cdk_sagemaker_llm.fit.packing import greedily
from cdk_sagemaker_llm.fit.search import MOST_STEPS, Kinds, limits, search

P4D = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
SMALL = Capacity(accelerators=4, cpus=8, memory_mib=4096)
Needs = dict[str, ResourceRequirements]
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


def repeatable(seed: int) -> Random:
    """
    Start the same numbers anew.
    """
    return Random(seed)  # noqa: S311 # no secret comes of them


def hard(random: Random, sizes: int, copies: int) -> Needs:
    """
    Make models that compete for all three resources.
    """
    return {
        f"Model{number}": ResourceRequirements(
            copies=copies,
            accelerators=random.choice((1, 1, 2, 2, 3, 4, 5)),
            cpus=random.choice((None, 4, 10, 11, 12.5, 24, 30, 40)),
            memory_mib=random.choice((1, 50, 100, 150, 200, 300, 400)) * 1024,
        )
        for number in range(sizes)
    }


def written(random: Random) -> Needs:
    """
    Make 2 to 12 models as users write them: powers of two, and round numbers of each.
    """
    models = {}
    for number in range(random.randrange(2, 13)):
        accelerators = random.choice((None, 1, 1, 2, 4, 8))
        share = accelerators or 1
        models[f"Model{number}"] = ResourceRequirements(
            copies=random.randrange(1, 9),
            accelerators=accelerators,
            cpus=share * random.choice((1, 2, 4, 8, 10, 12)),
            memory_mib=share * random.choice((1, 8, 16, 32, 64, 100, 128)) * 1024,
        )
    return models


def answers(models: Needs) -> list[Packing]:
    """
    Pack onto ever more instances, from too few up to those that suffice.
    """
    found = [pack(models, P4D, 1)]
    while not found[-1].is_complete:
        found.append(pack(models, P4D, max(len(found) + 1, found[-1].at_least)))
    return found


def test_fifty_sizes_that_never_go_three_to_an_instance_are_refused() -> None:
    """
    In sum they fit; counting what an instance can use proves it without a search.
    """
    tight = {
        f"Odd{number}": ResourceRequirements(accelerators=3, cpus=7 + number / 100)
        for number in range(50)
    }
    packing = pack(tight, P4D, 20)

    assert packing.is_impossible
    assert packing.at_least == 25
    assert "can use at most 6 of the 8 accelerators" in packing.reasons[0]
    assert len(fewest_instances(tight, P4D).instances) == 25


@pytest.mark.parametrize(
    ("needs", "accelerators", "cpus", "memory"),
    [
        # 3 + 3 of 8, 12 + 12 of 96, and two fill the memory.
        ([(2, 3, 12, 576 * 1024)], 6, 24, 1152 * 1024),
        # One copy less than fit: what is not there cannot be used.
        ([(1, 3, 12, 576 * 1024)], 3, 12, 576 * 1024),
        # 3 + 5 is 8, although 5 + 5 and 3 + 3 are not.
        ([(2, 3, 90, 1024), (2, 5, 7, 1024)], 8, 90, 4 * 1024),
        # 7 and one of 4 are too many; 4 + 4 are not.
        ([(1, 7, 0.5, 128), (3, 4, 0.25, 128)], 8, 1.25, 512),
    ],
)
def test_what_an_instance_can_use_is_counted(
    needs: list[tuple[int, int, float, int]],
    accelerators: float,
    cpus: float,
    memory: float,
) -> None:
    """
    Of each resource by itself: the largest sum of sizes that it holds.
    """
    models = {
        f"m{number}": ResourceRequirements(
            copies=copies, accelerators=each, cpus=cores, memory_mib=mib
        )
        for number, (copies, each, cores, mib) in enumerate(needs)
    }
    found = [limit.most for limit in limits(Kinds.of(models, P4D))]

    assert found == [
        accelerators * 10**9,
        cpus * 10**9,
        memory * 10**9,
    ]


def test_what_has_too_many_amounts_to_count_is_all_of_it() -> None:
    """
    A fraction with nine digits: the bound is then what the instance has.
    """
    odd = {
        "a": ResourceRequirements(cpus=0.333333333),
        "b": ResourceRequirements(cpus=0.5),
    }
    found = {limit.axis: limit.most for limit in limits(Kinds.of(odd, P4D))}

    # No copy wants accelerators: of these nothing limits how many copies there are.
    assert found == {0: 8 * 10**9, 1: 96 * 10**9, 2: 2048 * 10**9}


def test_what_instances_do_not_have_limits_nothing() -> None:
    """
    A type without accelerators: copies that want none are counted by the others.
    """
    host = Capacity(accelerators=0, cpus=4, memory_mib=8192)
    models = {"a": ResourceRequirements(copies=3, cpus=3)}
    packing = pack(models, host, 2)

    assert packing.reasons == ("3 copies of a do not fit, 2 instances hold 2",)
    assert packing.at_least == 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("sizes", "copies"), [(50, 3), (8, 20)])
def test_the_work_is_bounded(seed: int, sizes: int, copies: int) -> None:
    """
    On one instance fewer than they are known to need, where a search is hardest.
    """
    models = hard(repeatable(seed), sizes, copies)
    instances = len(fewest_instances(models, P4D).instances)
    kinds = Kinds.of(models, P4D)

    assert search(kinds, instances - 1, limits(kinds)).steps <= MOST_STEPS


@pytest.mark.parametrize("seed", range(60))
def test_fleets_as_users_write_them_are_decided(seed: int) -> None:
    """
    Placed or refused on every number of instances: nothing stays open.
    """
    found = answers(written(repeatable(seed)))

    assert [packing.is_impossible for packing in found[:-1]] == [True] * (
        len(found) - 1
    )
    assert found[-1].is_fewest


def test_what_runs_out_of_steps_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The copies may have a place that was not found.
    """
    models = {
        "a": ResourceRequirements(copies=3, accelerators=2, cpus=4, memory_mib=500),
        "b": ResourceRequirements(copies=2, accelerators=3, cpus=2, memory_mib=2500),
    }
    assert pack(models, SMALL, 3).is_impossible
    monkeypatch.setattr(_search, "MOST_STEPS", 1)
    packing = pack(models, SMALL, 3)

    assert not packing.is_complete
    assert not packing.is_impossible
    assert packing.reasons == ()
    assert packing.at_least == 3


@settings(max_examples=300)
@given(FLEETS, st.integers(1, 6))
def test_no_limit_contradicts_a_packing(models: Needs, instances: int) -> None:
    """
    What instances can use is never counted too low.
    """
    kinds = Kinds.of(models, SMALL)
    if any(greedily(kinds, instances)[1]):
        return

    for limit in limits(kinds):
        assert limit.instances_for(kinds.counts) <= instances


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(1, 100))
def test_a_limit_is_the_largest_sum(cores: list[int], has: int) -> None:
    """
    As trying all of them finds.
    """
    models = {
        f"m{number}": ResourceRequirements(cpus=each)
        for number, each in enumerate(cores)
    }
    host = Capacity(accelerators=0, cpus=has, memory_mib=10**6)
    found = {limit.axis: limit.most for limit in limits(Kinds.of(models, host))}
    chosen = (itertools.combinations(cores, n) for n in range(len(cores) + 1))
    largest = max(sum(c) for cs in chosen for c in cs if sum(c) <= has)

    assert found.get(1, 0) == largest * 10**9


def test_steps_are_counted_up_to_the_most() -> None:
    """
    The search gives up when the last one was taken, and takes no further.
    """
    steps = _search._Steps(2)  # noqa: SLF001 - what ends every search
    taken = [steps.take(), steps.are_spent, steps.take(), steps.are_spent, steps.take()]

    assert taken == [True, False, True, True, False]
    assert steps.taken == 2
