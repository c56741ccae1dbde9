"""
Packing several models onto equal instances.
"""

from __future__ import annotations

from dataclasses import replace
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
from cdk_sagemaker_llm.fit.packing import greedily, most_copies
from cdk_sagemaker_llm.fit.search import MOST_KINDS, Kinds, minus

P4D = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
SMALL = Capacity(accelerators=4, cpus=8, memory_mib=4096)
Needs = dict[str, ResourceRequirements]


def gpus(**copies_of: tuple[int, int]) -> Needs:
    """
    Describe models by copies and accelerators of each.
    """
    return {
        name: ResourceRequirements(copies=copies, accelerators=accelerators)
        for name, (copies, accelerators) in copies_of.items()
    }


def mixed(**kinds: tuple[int, int, float, int]) -> Needs:
    """
    Describe models by copies, accelerators, cores and memory of each.
    """
    return {
        name: ResourceRequirements(
            copies=copies, accelerators=accelerators, cpus=cpus, memory_mib=memory
        )
        for name, (copies, accelerators, cpus, memory) in kinds.items()
    }


def placed(packing: Packing) -> dict[str, int]:
    """
    Count the copies that have a place.
    """
    counts: dict[str, int] = {}
    for instance in packing.instances:
        for name, copies in instance.items():
            counts[name] = counts.get(name, 0) + copies
    return counts


def test_two_models_share_one_instance() -> None:
    """
    Four copies of each, as published.
    """
    needs = ResourceRequirements(
        copies=4, accelerators=1, cpus=10, memory_mib=100 * 1024
    )
    packing = pack({"Llama13B": needs, "Mistral7B": needs}, P4D, 1)

    assert packing.is_complete
    assert packing.explain() == (
        "instance 1: 4 x Llama13B, 4 x Mistral7B; free 0 accelerators, 16 CPU cores, "
        "352 GiB"
    )


def test_instances_are_shown_in_columns() -> None:
    """
    Numbers stand below numbers, and a half-empty fleet shows where there is room.
    """
    models = gpus(Large=(1, 8), Small=(10, 1))
    text = str(pack({**models, "Idle": ResourceRequirements(copies=0)}, P4D, 11))
    lines = text.splitlines()

    assert lines[0] == (
        "instance  1: 1 x Large; free 0 accelerators, 96 CPU cores, 1151 GiB"
    )
    assert lines[1] == (
        "instance  2: 8 x Small; free 0 accelerators, 96 CPU cores, 1144 GiB"
    )
    assert lines[2] == (
        "instance  3: 2 x Small; free 6 accelerators, 96 CPU cores, 1150 GiB"
    )
    assert lines[10] == (
        "instance 11: empty;     free 8 accelerators, 96 CPU cores, 1152 GiB"
    )


def test_what_greed_misses_is_found() -> None:
    """
    The large ones first leave cores where memory is short: only a search places all.
    """
    models = mixed(a=(2, 2, 3, 1500), b=(2, 1, 4, 1000), c=(2, 1, 1, 1500))
    packing = pack(models, SMALL, 2)

    assert any(greedily(Kinds.of(models, SMALL), 2)[1])
    assert packing.is_complete
    assert placed(packing) == {"a": 2, "b": 2, "c": 2}
    assert packing.is_fewest


def test_what_no_packing_holds_is_proven() -> None:
    """
    Three copies of five accelerators are 15 of 16, and yet too many for two instances.
    """
    packing = pack(gpus(a=(3, 5)), P4D, 2)

    assert packing.is_impossible
    assert packing.left_over == {"a": 1}
    assert packing.at_least == 3
    assert packing.explain().endswith("no place: 1 x a")


def test_sizes_that_leave_a_resource_unused_are_named() -> None:
    """
    Three of three and one of seven are 16 in all, which two instances have.
    """
    (reason,) = pack(gpus(a=(3, 3), b=(1, 7)), P4D, 2).reasons

    assert reason == (
        "3 x a, 1 x b cannot be placed on 2 instances in any way: copies of these "
        "sizes can use at most 7 of the 8 accelerators of an instance, and need 16 in "
        "all"
    )


@pytest.mark.parametrize(
    ("cores", "resources"), [(4, "accelerators and CPU cores"), (1, "accelerators")]
)
def test_the_resource_that_a_copy_lacks_is_named(cores: float, resources: str) -> None:
    """
    Two take an instance each for their accelerators; on the third is room for two.
    """
    models = mixed(a=(3, 2, cores, 500), b=(2, 3, 2, 2500))
    (reason,) = pack(models, SMALL, 3).reasons

    assert reason == (
        "3 x a, 2 x b cannot be placed on 3 instances in any way: the best leaves "
        f"1 x a over for want of {resources}"
    )


def test_sums_that_are_too_large_name_all_copies_and_the_resource() -> None:
    """
    No search is needed for that, and none is made.
    """
    packing = pack(gpus(a=(3, 3), b=(2, 4)), P4D, 2)

    assert packing.reasons == (
        "3 x a, 2 x b need 17 accelerators, 2 instances hold 16",
    )
    assert packing.at_least == 3


def test_what_is_open_is_neither_placed_nor_refused() -> None:
    """
    More sizes than the search takes on: no place was found, and nothing is claimed.
    """
    models = {
        f"m{number:03}": ResourceRequirements(memory_mib=1000 + 2 * number)
        for number in range(MOST_KINDS + 1)
    }
    total = sum(needs.memory_mib for needs in models.values())
    exact = Capacity(accelerators=0, cpus=0, memory_mib=total / 20)
    packing = pack(models, exact, 20)

    assert not packing.is_complete
    assert not packing.is_impossible
    assert not packing.reasons
    assert packing.at_least == 20
    assert not fewest_instances(models, exact).is_fewest


@pytest.mark.parametrize(
    ("models", "instances"),
    [
        (gpus(a=(8, 1)), 1),
        (gpus(a=(9, 1)), 2),
        (gpus(a=(3, 4), b=(9, 1)), 3),
        (gpus(a=(0, 1)), 1),
    ],
)
def test_as_few_instances_as_possible(models: Needs, instances: int) -> None:
    """
    Nine copies of one accelerator need a second instance.
    """
    packing = fewest_instances(models, P4D)

    assert len(packing.instances) == instances
    assert packing.is_fewest


@pytest.mark.parametrize(
    ("models", "instances", "at_least"),
    [
        # By accelerators two, by memory one.
        (gpus(a=(9, 1)), 3, 2),
        # Three sizes of three accelerators use six of eight.
        (gpus(a=(5, 3)), 3, 3),
        (gpus(), 2, 0),
        # Larger than an instance in everything: no number does, least of all one.
        (mixed(a=(1, 9, 97, 1_200_000)), 1, 2),
    ],
)
def test_what_is_needed_at_least_is_that_of_the_scarcest_resource(
    models: Needs, instances: int, at_least: int
) -> None:
    """
    Whether all have a place or not; and all instances are needed if it is as many.
    """
    packing = pack(models, P4D, instances)

    assert packing.at_least == at_least
    assert packing.is_fewest == (at_least == instances)


def test_fails_if_a_copy_is_larger_than_an_instance() -> None:
    """
    No number of instances helps.
    """
    with pytest.raises(ValueError, match="a copy of a is larger than an instance"):
        fewest_instances(gpus(a=(1, 9)), P4D)


def test_fractions_of_cores_add_up() -> None:
    """
    Ten tenths are one: no rounding takes the last place.
    """
    needs = ResourceRequirements(copies=26, cpus=0.3, memory_mib=128)

    assert pack({"a": needs}, SMALL, 1).is_complete


def test_the_most_copies_beside_others() -> None:
    """
    Two of five leave three on two instances; what does not fit at all is none.
    """
    one = ResourceRequirements(accelerators=1)

    assert most_copies(one, P4D, 2, beside=gpus(a=(2, 5))) == 6
    assert most_copies(one, P4D, 2, beside=gpus(a=(2, 8))) == 0
    assert most_copies(one, P4D, 100, beside={}) == 800


def test_fifty_models_fill_twenty_instances() -> None:
    """
    All but a few of their accelerators, without a search.
    """
    models = {
        f"Model{number}": ResourceRequirements(
            copies=1 + number % 2,
            accelerators=(1, 2, 2, 2, 4)[number % 5] if number % 7 else 1,
            cpus=2 + number % 7,
            memory_mib=(1 + number % 9) * 8192,
        )
        for number in range(50)
    }

    assert sum(n.copies * (n.accelerators or 0) for n in models.values()) == 150
    assert pack(models, P4D, 20).is_complete
    assert len(fewest_instances(models, P4D).instances) == 19


requirements = st.builds(
    ResourceRequirements,
    copies=st.integers(0, 3),
    accelerators=st.none() | st.integers(1, 4),
    cpus=st.sampled_from([None, 0.5, 1, 1.1, 2.5, 3.3, 4, 8]),
    memory_mib=st.sampled_from([128, 1024, 1365, 2048, 4000]),
)
small = st.dictionaries(st.sampled_from("abcd"), requirements, max_size=4)
large = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3), requirements, max_size=9
)


def brute_force(models: Needs, instances: int) -> bool:
    """
    Try every instance for every copy, apart from instances with the same free.
    """
    states = {(SMALL.units,) * instances}
    for needs in models.values():
        for _ in range(needs.copies):
            states = {
                tuple(sorted((*state[:at], left, *state[at + 1 :])))
                for state in states
                for at, free in enumerate(state)
                for left in [minus(free, needs.units, 1)]
                if min(left) >= 0
            }
    return bool(states)


@settings(max_examples=300)
@given(small, st.integers(1, 4))
def test_small_packings_are_exact(models: Needs, instances: int) -> None:
    """
    Placed if, and only if, trying everything places it; else refused with a reason.
    """
    packing = pack(models, SMALL, instances)

    assert packing.is_complete == brute_force(models, instances)
    assert packing.is_complete != packing.is_impossible
    assert packing.is_impossible == (packing.at_least > instances)


@given(small)
def test_the_fewest_instances_are_the_fewest(models: Needs) -> None:
    """
    One fewer does not do, whatever is tried.
    """
    packing = fewest_instances(models, SMALL)
    instances = len(packing.instances)

    assert packing.is_fewest
    assert brute_force(models, instances)
    assert instances == 1 or not brute_force(models, instances - 1)


@given(small, requirements, st.integers(1, 3))
def test_the_most_copies_are_the_most(
    models: Needs, needs: ResourceRequirements, instances: int
) -> None:
    """
    So many fit beside the others, and not one more.
    """
    most = most_copies(needs, SMALL, instances, beside=models)
    one_more = {**models, "e": replace(needs, copies=most + 1)}

    assert not brute_force(one_more, instances)
    assert not most or brute_force(
        {**models, "e": replace(needs, copies=most)}, instances
    )


@given(large, st.integers(1, 6))
def test_no_packing_exceeds_an_instance(models: Needs, instances: int) -> None:
    """
    Whatever is asked, each instance holds what it has, and no copy is lost.
    """
    packing = pack(models, SMALL, instances)
    counts = placed(packing)

    for index in range(instances):
        left = packing.free(index)
        assert left.accelerators >= 0
        assert left.cpus >= 0
        assert left.memory_mib >= 0
    for name, needs in models.items():
        assert counts.get(name, 0) + packing.left_over.get(name, 0) == needs.copies


@given(large, st.integers(1, 5))
def test_more_room_never_hurts(models: Needs, instances: int) -> None:
    """
    What fits some instances fits one more, and one copy fewer fits too.
    """
    if not pack(models, SMALL, instances).is_complete:
        return

    assert pack(models, SMALL, instances + 1).is_complete
    for name, needs in models.items():
        fewer = replace(needs, copies=max(needs.copies - 1, 0))
        assert pack({**models, name: fewer}, SMALL, instances).is_complete


@given(large, st.integers(1, 4), st.randoms())
def test_the_order_of_models_does_not_matter(
    models: Needs, instances: int, random: Random
) -> None:
    """
    The same fleet in another order has the same places.
    """
    order = list(models)
    random.shuffle(order)
    shuffled = {name: models[name] for name in order}

    one, other = pack(models, SMALL, instances), pack(shuffled, SMALL, instances)
    assert one.instances == other.instances
    assert one.left_over == other.left_over
    assert one.is_impossible == other.is_impossible


def test_a_model_without_copies_may_be_larger_than_an_instance() -> None:
    """
    None of it has to have a place.
    """
    capacity = Capacity(accelerators=4, cpus=8, memory_mib=4096)
    models = {
        "None": ResourceRequirements(copies=0, accelerators=8),
        "One": ResourceRequirements(copies=1, accelerators=4),
    }

    assert len(fewest_instances(models, capacity).instances) == 1
