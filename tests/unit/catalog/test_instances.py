"""
The instance catalogue.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    find_instance_type,
    instance_type_names,
)


@pytest.mark.parametrize(
    ("name", "accelerators", "model", "gib", "vcpus", "memory"),
    [
        ("ml.g5.12xlarge", 4, "A10G", 22.35, 48, 192),
        ("ml.p4d.24xlarge", 8, "A100-40GB", 40, 96, 1152),
        ("ml.inf2.48xlarge", 12, "Inferentia2", 32, 192, 768),
    ],
)
def test_hardware_is_known(
    name: str, accelerators: int, model: str, gib: float, vcpus: int, memory: float
) -> None:
    """
    Counts and sizes are those of the EC2 tables.
    """
    found = find_instance_type(name)

    assert found.accelerators == accelerators
    assert found.accelerator_model == model
    assert found.accelerator_memory_gib == gib
    assert found.vcpus == vcpus
    assert found.memory_gib == memory


def test_every_type_that_can_host_is_complete() -> None:
    """
    70 types, each with accelerators, CPU cores and memory.
    """
    types = [find_instance_type(name) for name in instance_type_names()]

    assert len(types) == 70
    assert all(t.accelerators > 0 and t.vcpus > 0 and t.memory_gib > 0 for t in types)


def test_fails_if_the_type_is_unknown() -> None:
    """
    The nearest ones and the way in are named.
    """
    with pytest.raises(ValueError, match=r"'ml\.g5\.13xlarge'; use .*InstanceType\.of"):
        find_instance_type("ml.g5.13xlarge")


def test_fails_if_the_type_cannot_host() -> None:
    """
    ``ml.gr6`` is in EC2 but not behind endpoints.
    """
    with pytest.raises(ValueError, match=r"ml\.gr6\.4xlarge cannot host endpoints"):
        find_instance_type("ml.gr6.4xlarge")


def test_a_new_type_can_be_described() -> None:
    """
    What the catalogue lacks has a way in.
    """
    new = InstanceType.of("ml.p9.48xlarge", accelerators=8, vcpus=192, memory_gib=4096)

    assert str(new) == "ml.p9.48xlarge"
    assert new.family == "p9"
