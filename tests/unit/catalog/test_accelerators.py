"""
What accelerators read and compute.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.instances import find_accelerator


def test_every_accelerator_of_the_instance_types_is_there() -> None:
    """
    And none that no instance type has.
    """
    rows = load("instances.json")["instances"].values()
    used = {row["accelerator"]["model"] for row in rows}

    assert set(load("accelerators.json")["accelerators"]) == used


def test_each_says_where_it_is_from() -> None:
    """
    What is not stated as it stands says how it is worked out.
    """
    rows = load("accelerators.json")["accelerators"].values()

    assert all(row["source"] for row in rows)
    assert {row["basis"] for row in rows} == {"stated", "derived"}
    assert all("note" in row for row in rows if row["basis"] == "derived")


@pytest.mark.parametrize(
    ("model", "bandwidth", "tflops"),
    [
        ("T4", 300, 65),
        ("A10G", 600, 70),
        ("L4", 300, 121),
        ("L40S", 864, 362),
        ("A100-80GB", 2039, 312),
        ("H100", 3350, 989),
        ("H200", 4800, 989),
        ("Inferentia2", 880.5, 190),
        ("HL-205", 1000, None),
    ],
)
def test_nameplates_are_known(
    model: str, bandwidth: float, tflops: float | None
) -> None:
    """
    Those of the data sheets, without sparsity.
    """
    found = find_accelerator(model)

    assert found is not None
    assert found.memory_gb_per_second == bandwidth
    assert found.tflops_16bit == tflops


def test_an_unknown_one_is_none() -> None:
    """
    As of an instance type that is described by hand.
    """
    assert find_accelerator("B9") is None
