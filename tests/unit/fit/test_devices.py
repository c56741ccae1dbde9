"""
What CUDA shows of a GPU.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.fit.setting import GIB, are_linked, visible_bytes


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("ml.g4dn.xlarge", 14.56),
        ("ml.g5.xlarge", 22.05),
        ("ml.g6.xlarge", 22.05),
        ("ml.g6e.xlarge", 44.4),
        ("ml.p3.2xlarge", 15.77),
        ("ml.p4d.24xlarge", 39.4),
        ("ml.p4de.24xlarge", 79.19),
        ("ml.p5.48xlarge", 79.19),
        ("ml.p5en.48xlarge", 139.8),
        # Not seen: 0.98 of the 96 that are stated.
        ("ml.g7e.2xlarge", 94.08),
    ],
)
def test_the_driver_keeps_some(name: str, gib: float) -> None:
    """
    Less than the tables say.
    """
    assert visible_bytes(find_instance_type(name)) == int(gib * GIB)


def test_a_described_type_is_taken_to_keep_a_fiftieth() -> None:
    """
    As those that were not seen.
    """
    described = InstanceType.of(
        "ml.p9.huge", accelerators=1, vcpus=8, memory_gib=64, accelerator_memory_gib=100
    )

    assert visible_bytes(described) == 98 * GIB


@pytest.mark.parametrize(
    ("name", "linked"),
    [("ml.p4d.24xlarge", True), ("ml.p3.8xlarge", True), ("ml.g5.12xlarge", False)],
)
def test_the_p_families_have_nvlink(name: str, *, linked: bool) -> None:
    """
    The others exchange over PCIe.
    """
    assert are_linked(find_instance_type(name)) == linked
