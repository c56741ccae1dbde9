"""
Packing several models onto equal instances.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.fit import (
    Capacity,
    Packing,
    ResourceRequirements,
    fewest_instances,
    pack,
)

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


def test_what_greed_misses_is_found() -> None:
    """
    The large ones first leaves no room in pairs: 4 of 3 and 2 of 2 on two instances.
    """
    models = {
        "a": ResourceRequirements(copies=2, accelerators=2, cpus=3, memory_mib=128),
        "b": ResourceRequirements(copies=2, accelerators=2, cpus=5, memory_mib=128),
        "c": ResourceRequirements(copies=0, accelerators=1),
    }

    assert pack(models, SMALL, 2).is_complete


def test_what_no_packing_holds_is_proven() -> None:
    """
    Three copies of five accelerators are 15 of 16, and yet too many for two instances.
    """
    packing = pack(gpus(a=(3, 5)), P4D, 2)

    assert packing.is_impossible
    assert packing.left_over == {"a": 1}
    assert packing.explain().endswith("no place: 1 x a")


def test_sums_that_fit_can_be_impossible_together() -> None:
    """
    Three of three and one of seven are 16 in all, which two instances have.
    """
    packing = pack(gpus(a=(3, 3), b=(1, 7)), P4D, 2)

    assert packing.is_impossible


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
    assert len(fewest_instances(models, P4D).instances) == instances


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


def test_fifty_models_fill_twenty_instances() -> None:
    """
    All but a few of their accelerators, and no search without end where it is tight.
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
    taken = sum(n.copies * (n.accelerators or 0) for n in models.values())
    tight = {
        f"Odd{number}": ResourceRequirements(accelerators=3, cpus=7 + number / 100)
        for number in range(50)
    }

    assert taken == 150
    assert pack(models, P4D, 20).is_complete
    assert not pack(tight, P4D, 20).is_complete


requirements = st.builds(
    ResourceRequirements,
    copies=st.integers(0, 3),
    accelerators=st.integers(1, 4),
    cpus=st.sampled_from([None, 0.5, 1, 2.5, 4, 8]),
    memory_mib=st.sampled_from([128, 1024, 2048, 4000]),
)
small = st.dictionaries(st.sampled_from("abc"), requirements, max_size=3)
large = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3), requirements, max_size=9
)


def brute_force(models: Needs, instances: int) -> bool:
    """
    Try every instance for every copy.
    """
    copies = [needs for needs in models.values() for _ in range(needs.copies)]
    return any(
        all(
            sum(c.accelerators or 0 for c in held) <= SMALL.accelerators
            and sum(c.cpus or 0 for c in held) <= SMALL.cpus
            and sum(c.memory_mib for c in held) <= SMALL.memory_mib
            for index in range(instances)
            for held in [[c for c, i in zip(copies, where, strict=True) if i == index]]
        )
        for where in itertools.product(range(instances), repeat=len(copies))
    )


@given(small, st.integers(1, 2))
def test_small_packings_are_exact(models: Needs, instances: int) -> None:
    """
    Placed if, and only if, trying everything places it.
    """
    packing = pack(models, SMALL, instances)

    assert packing.is_complete == brute_force(models, instances)
    assert packing.is_complete or packing.is_impossible


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
        assert left.cpus >= -1e-9
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
        fewer = ResourceRequirements(
            copies=max(needs.copies - 1, 0),
            accelerators=needs.accelerators,
            cpus=needs.cpus,
            memory_mib=needs.memory_mib,
        )
        assert pack({**models, name: fewer}, SMALL, instances).is_complete


@given(large, st.integers(1, 4), st.randoms())
def test_the_order_of_models_does_not_matter(
    models: Needs, instances: int, random: Random
) -> None:
    """
    The same fleet in another order fits the same instances.
    """
    order = list(models)
    random.shuffle(order)
    shuffled = {name: models[name] for name in order}

    assert (
        pack(models, SMALL, instances).is_complete
        == pack(shuffled, SMALL, instances).is_complete
    )
