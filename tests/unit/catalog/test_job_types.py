"""
Which instance types jobs may run on.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerated_type_names,
    find_instance_type,
    job_kind,
    job_type_like,
    local_storage_gb,
)
from tools.catalog.job_types import build, render

NEWER = InstanceType.of("ml.p9.4xlarge", accelerators=1, vcpus=16, memory_gib=256)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ml.g5.12xlarge", "processing"),
        ("ml.p3.8xlarge", "processing"),
        ("ml.p4d.24xlarge", "training"),
        ("ml.trn1.2xlarge", "training"),
        ("ml.inf2.48xlarge", None),
        ("ml.dl1.24xlarge", None),
    ],
)
def test_a_type_has_its_kind_of_job(name: str, kind: str | None) -> None:
    """
    Processing where both APIs have it.
    """
    assert job_kind(find_instance_type(name)) == kind


def test_a_newer_type_is_tried_as_a_processing_job() -> None:
    """
    The service then says whether it can.
    """
    assert job_kind(NEWER) == "processing"


@pytest.mark.parametrize(
    ("given", "like"),
    [
        # The same device: as many of them as can be, and the smallest host.
        ("ml.g5.24xlarge", "ml.g5.12xlarge"),
        ("ml.g5.16xlarge", "ml.g5.xlarge"),
        ("ml.g5.48xlarge", "ml.g5.48xlarge"),
        ("ml.p4de.24xlarge", "ml.p4de.24xlarge"),
        ("ml.inf2.48xlarge", None),
    ],
)
def test_the_nearest_type_of_the_same_device_is_found(
    given: str, like: str | None
) -> None:
    """
    By its devices, then by its processors.
    """
    found = job_type_like(find_instance_type(given))

    assert (found and found.name) == like


def test_the_nearest_number_of_devices_comes_first() -> None:
    """
    Three A10G are nearer to four than to one.
    """
    three = InstanceType.of(
        "ml.g9.4xlarge",
        accelerators=3,
        accelerator_model="A10G",
        vcpus=4,
        memory_gib=256,
    )
    found = job_type_like(three)

    assert found is not None
    assert found.name == "ml.g5.12xlarge"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ml.g5.xlarge", 250), ("ml.p4d.24xlarge", 8000), ("ml.p3.8xlarge", 0)],
)
def test_own_disks_are_known(name: str, expected: int) -> None:
    """
    EC2's figures.
    """
    assert local_storage_gb(find_instance_type(name)) == expected
    assert local_storage_gb(NEWER) == 0


def test_the_file_is_what_botocore_says() -> None:
    """
    Every accelerated type is in one of three lists.
    """
    kinds = load("job_types.json")
    lists = [kinds[each] for each in ("processing", "training", "neither")]
    every = [name for each in lists for name in each]

    assert len(every) == len(set(every))
    assert set(every) == set(accelerated_type_names())
    assert build(every) == kinds
    assert render(kinds).endswith("\n")
    assert [each == sorted(each) for each in lists] == [True] * 3


def test_kinds_are_told_apart() -> None:
    """
    What is no name of an API is in none, and what both have is a processing job's.
    """
    made = build(["ml.g5.xlarge", "ml.p4d.24xlarge", "ml.inf2.xlarge"])
    del made["about"]

    assert made == {
        "processing": ["ml.g5.xlarge"],
        "training": ["ml.p4d.24xlarge"],
        "neither": ["ml.inf2.xlarge"],
    }
