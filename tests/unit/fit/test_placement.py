"""
What copies need, what instances have, and what is certainly too much.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.fit.placement import (
    Capacity,
    ResourceRequirements,
    overflow,
    shortened,
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
    assert P4D.copies_of(LLAMA) == 8
    assert P4D.minus(LLAMA, 8) == Capacity(
        accelerators=0, cpus=16, memory_mib=352 * 1024
    )


def test_one_copy_is_taken_away_unless_told_otherwise() -> None:
    """
    What is left beside it.
    """
    assert P4D.minus(LLAMA) == Capacity(accelerators=7, cpus=86, memory_mib=1052 * 1024)


def test_what_there_is_just_enough_of_is_no_limit() -> None:
    """
    A copy may take all of an instance, and not a thousandth more.
    """
    whole = ResourceRequirements(accelerators=8, cpus=96, memory_mib=1152 * 1024)

    assert P4D.limits_for(whole) == []
    assert P4D.limits_for(replace(whole, cpus=96.001)) == [
        "CPU cores: needs 96.001, free 96"
    ]


def test_left_out_a_copy_reserves_a_gibibyte_and_nothing_else() -> None:
    """
    The reservation that is known to be accepted on the smallest host.
    """
    assert ResourceRequirements() == ResourceRequirements(
        copies=1, accelerators=None, cpus=None, memory_mib=1024
    )
    assert ResourceRequirements(cpus=0.25).units == (0, 250_000_000, 1024 * 10**9)


@pytest.mark.parametrize(
    "least", [{"copies": 0}, {"accelerators": 1}, {"cpus": 0.25}, {"memory_mib": 128}]
)
def test_the_apis_bounds_are_accepted(least: dict[str, int]) -> None:
    """
    The least of each.
    """
    (name,) = least

    assert getattr(ResourceRequirements(**least), name) == least[name]


@pytest.mark.parametrize(
    ("name", "memory"),
    # 16 and 1152 GiB less 13; of 8 GiB what was accepted on the smallest host.
    [("ml.g5.xlarge", 3072), ("ml.p4d.24xlarge", 1_166_336), ("ml.inf1.xlarge", 1024)],
)
def test_thirteen_gibibytes_are_likely_the_services(name: str, memory: int) -> None:
    """
    Of each type's nameplate.
    """
    assert Capacity.schedulable(find_instance_type(name)).memory_mib == memory


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        (ResourceRequirements(copies=9, accelerators=1), "9 copies of m do not fit"),
        (ResourceRequirements(accelerators=16), "accelerators: needs 16, free 8"),
        (ResourceRequirements(cpus=100), "CPU cores: needs 100, free 96"),
        (
            ResourceRequirements(memory_mib=2_000_000),
            r"memory \(MiB\): needs 2000000, free 1179648",
        ),
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


def test_copies_that_are_not_wanted_are_not_named() -> None:
    """
    A model that scales from zero takes no place yet.
    """
    models = {
        "a": ResourceRequirements(copies=3, accelerators=3),
        "idle": ResourceRequirements(copies=0, accelerators=8),
    }

    assert overflow(models, P4D, 1) == [
        "3 copies of a do not fit, one instance holds 2"
    ]


def test_fractions_of_cores_are_added_without_rounding() -> None:
    """
    Three times 1.1 is 3.3, although floating-point numbers make it more.
    """
    one = Capacity(accelerators=0, cpus=3.3, memory_mib=4096)
    needs = ResourceRequirements(copies=3, cpus=1.1, memory_mib=128)

    assert overflow({"a": needs}, one, 1) == []
    assert one.copies_of(needs) == 3
    assert one.minus(needs, 3).cpus == 0


def test_nothing_is_certain_of_memory_that_the_service_keeps() -> None:
    """
    What is refused goes by the nameplate, what is advised by what was measured.
    """
    small = find_instance_type("ml.g5.xlarge")
    needs = ResourceRequirements(accelerators=1, memory_mib=4096)
    accepted = replace(needs, memory_mib=1024)

    assert overflow({"a": needs}, Capacity.of(small), 1) == []
    assert Capacity.schedulable(small).copies_of(needs) == 0
    assert Capacity.schedulable(small).copies_of(accepted) == 1


def test_the_memory_that_the_service_keeps_can_be_measured_anew() -> None:
    """
    The figure comes from one type; who knows better says so.
    """
    p4d = find_instance_type("ml.p4d.24xlarge")

    reserved = Capacity.schedulable(p4d, memory_reserve_mib=52 * 1024)

    assert reserved == replace(P4D, memory_mib=1100 * 1024)
    assert Capacity.schedulable(p4d).copies_of(LLAMA) == 8


@pytest.mark.parametrize("name", ["ml.inf1.xlarge", "ml.g5.xlarge", "ml.p5.48xlarge"])
def test_every_instance_can_schedule_something(name: str) -> None:
    """
    The smallest reservation that was measured is left on the smallest hosts too.
    """
    instance_type = find_instance_type(name)

    assert Capacity.schedulable(instance_type).memory_mib >= 1024


@given(models=MODELS, instances=st.integers(1, 4))
def test_nothing_is_wrong_with_half_of_what_fits(
    models: dict[str, ResourceRequirements], instances: int
) -> None:
    """
    Fewer copies, or more instances, never fail where more copies fit fewer.
    """
    fewer = {n: replace(m, copies=m.copies // 2) for n, m in models.items()}

    if not overflow(models, P4D, instances):
        assert not overflow(fewer, P4D, instances)
        assert not overflow(models, P4D, instances + 1)


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


@pytest.mark.parametrize("name", ["copies", "accelerators", "cpus", "memory_mib"])
def test_a_requirement_is_known_if_every_number_is(name: str) -> None:
    """
    One that the deployment decides makes it unknown.
    """
    known = {"copies": 1, "accelerators": 1, "cpus": 1, "memory_mib": 1024}
    token = -1.8881545897087503e289

    assert ResourceRequirements(**known).is_known
    assert not ResourceRequirements(**{**known, name: token}).is_known  # type: ignore[arg-type] # a placeholder is a float


def test_of_many_models_the_largest_are_named_and_counted() -> None:
    """
    A message stays a line: eight are named, of nine the five largest.
    """
    needs = {
        f"M{number}": ResourceRequirements(copies=2, accelerators=number % 8 + 1)
        for number in range(150)
    }
    eight = dict(list(needs.items())[:8])

    assert shortened(eight).count("2 x M") == 8
    assert "more" not in shortened(eight)
    assert shortened(needs) == (
        "2 x M7, 2 x M15, 2 x M23, 2 x M31, 2 x M39 and 145 more models"
    )


def test_a_model_without_copies_is_not_counted() -> None:
    """
    It asks for nothing.
    """
    none = dict.fromkeys("ABCDEFGHI", ResourceRequirements(copies=0, accelerators=1))
    one = {**none, "J": ResourceRequirements(accelerators=1)}

    assert shortened(one) == "1 x J"
