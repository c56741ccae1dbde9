"""
Placing copies on instances.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.fit.placement import (
    Capacity,
    ResourceRequirements,
    overflow,
    place,
)

P4D = Capacity.of(find_instance_type("ml.p4d.24xlarge"))
LLAMA = ResourceRequirements(copies=8, accelerators=1, cpus=10, memory_mib=100 * 1024)

REQUIREMENTS = st.builds(
    ResourceRequirements,
    copies=st.integers(0, 12),
    accelerators=st.none() | st.integers(1, 8),
    cpus=st.none() | st.floats(0.25, 96),
    memory_mib=st.integers(128, 400_000),
)
MODELS = st.dictionaries(st.sampled_from("abcd"), REQUIREMENTS, max_size=4)


def test_eight_copies_of_llama_13b_fill_one_p4d() -> None:
    """
    Reference deployment C.
    """
    placed, left = place({"llama": LLAMA}, P4D, 1)

    assert placed == [{"llama": 8}]
    assert left == {}


def test_four_and_four_share_one_instance() -> None:
    """
    Reference deployment C, mixed: two models on the same instance.
    """
    four = replace(LLAMA, copies=4)

    placed, left = place({"llama": four, "mistral": four}, P4D, 1)

    assert placed == [{"llama": 4, "mistral": 4}]
    assert left == {}


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (ResourceRequirements(copies=9, accelerators=1), "9 copies of m do not fit"),
        (ResourceRequirements(accelerators=16), "accelerators: needs 16, free 8"),
        (ResourceRequirements(cpus=100), "CPU cores: needs 100, free 96"),
        (ResourceRequirements(memory_mib=2_000_000), r"memory \(MiB\): needs 2e\+06"),
    ],
)
def test_what_cannot_fit_is_said_with_the_number(
    needs: ResourceRequirements, reason: str
) -> None:
    """
    The deciding resource is named with need and supply.
    """
    (found,) = overflow({"m": needs}, P4D, 1)

    assert re.search(reason, found)


def test_models_that_fit_alone_can_be_too_many_together() -> None:
    """
    What is already placed is named.
    """
    five = ResourceRequirements(copies=5, accelerators=1)

    (found,) = overflow({"a": five, "b": five}, P4D, 1)

    assert found == "5 x a, 5 x b need 10 accelerators, one instance holds 8"


@given(models=MODELS, instances=st.integers(1, 4))
def test_no_instance_is_given_more_than_it_has(
    models: dict[str, ResourceRequirements], instances: int
) -> None:
    """
    Every resource of every instance stays within its capacity.
    """
    placed, _ = place(models, P4D, instances)

    for instance in placed:
        free = P4D
        for name, count in instance.items():
            free = free.minus(models[name], count)
        assert min(free.accelerators, free.cpus, free.memory_mib) >= -1e-6


@given(models=MODELS, instances=st.integers(1, 4))
def test_every_copy_is_placed_or_left(
    models: dict[str, ResourceRequirements], instances: int
) -> None:
    """
    No copy is lost or made.
    """
    placed, left = place(models, P4D, instances)
    counted = Counter(left)
    for instance in placed:
        counted.update(instance)

    assert all(counted[name] == needs.copies for name, needs in models.items())


@given(models=MODELS, instances=st.integers(1, 4))
def test_what_is_proved_impossible_is_never_placed(
    models: dict[str, ResourceRequirements], instances: int
) -> None:
    """
    A refusal at synth is never one that a better packing would contradict.
    """
    _, left = place(models, P4D, instances)

    assert left or not overflow(models, P4D, instances)


@pytest.mark.parametrize(
    "wrong",
    [{"copies": -1}, {"accelerators": 0}, {"cpus": 0.1}, {"memory_mib": 127}],
    ids=str,
)
def test_fails_if_a_requirement_is_below_the_apis_bound(wrong: dict[str, int]) -> None:
    """
    Bounds are those of the service's API.
    """
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least"):
        ResourceRequirements(**wrong)
