"""
The instance catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import botocore.session
import pytest
from botocore.model import StringShape

from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    Processor,
    accelerated_type_names,
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

    with_accelerators = [each for each in types if each.accelerators > 0]

    assert len(types) == 277
    assert [each.name for each in with_accelerators] == accelerated_type_names()
    assert len(with_accelerators) == 70
    assert all(each.vcpus > 0 and each.memory_gib > 0 for each in types)


@pytest.mark.parametrize(
    ("name", "vcpus", "memory", "processor", "volume"),
    [
        ("ml.t2.medium", 2, 4, "x86_64", True),
        ("ml.c4.large", 2, 3.75, "x86_64", True),
        ("ml.c4.8xlarge", 36, 60, "x86_64", True),
        ("ml.m4.10xlarge", 40, 160, "x86_64", True),
        ("ml.m5.large", 2, 8, "x86_64", True),
        ("ml.m5d.large", 2, 8, "x86_64", False),
        ("ml.c5.18xlarge", 72, 144, "x86_64", True),
        ("ml.c6i.32xlarge", 128, 256, "x86_64", True),
        ("ml.c6in.large", 2, 4, "x86_64", True),
        ("ml.r7i.48xlarge", 192, 1536, "x86_64", True),
        ("ml.c6g.large", 2, 4, "arm64", True),
        ("ml.c6gn.16xlarge", 64, 128, "arm64", True),
        ("ml.m6gd.16xlarge", 64, 256, "arm64", False),
        ("ml.c7g.xlarge", 4, 8, "arm64", True),
        ("ml.r7gd.medium", 1, 8, "arm64", False),
        ("ml.r8g.48xlarge", 192, 1536, "arm64", True),
    ],
)
def test_types_without_accelerators_are_known(
    name: str, vcpus: int, memory: float, processor: Processor, *, volume: bool
) -> None:
    """
    Cores and memory are those of the EC2 tables; NVMe storage leaves no volume to ask
    for, and no host image is to be chosen.
    """
    assert find_instance_type(name) == InstanceType(
        name=name,
        accelerators=0,
        accelerator_model="none",
        accelerator_memory_gib=0,
        vcpus=vcpus,
        memory_gib=memory,
        volume_size_supported=volume,
        processor=processor,
    )


@pytest.mark.parametrize(
    ("name", "processor"),
    [("ml.g5.xlarge", "x86_64"), ("ml.p6e-gb200.36xlarge", "arm64")],
)
def test_accelerated_types_have_processors_too(name: str, processor: str) -> None:
    """
    Grace among them.
    """
    assert find_instance_type(name).processor == processor


def test_gravitons_are_the_families_of_g() -> None:
    """
    Behind the generation's number, as AWS names them.
    """
    arm = {
        each.family
        for each in map(find_instance_type, instance_type_names())
        if not each.accelerators and each.processor == "arm64"
    }

    assert arm == {
        *("c6g", "c6gd", "c6gn", "c7g", "c8g"),
        *("m6g", "m6gd", "m8g"),
        *("r6g", "r6gd", "r7gd", "r8g"),
    }


def test_a_type_of_ones_own_may_be_of_graviton() -> None:
    """
    If left out, it is not.
    """
    size: dict[str, Any] = {"accelerators": 0, "vcpus": 4, "memory_gib": 8}

    assert InstanceType.of("ml.c9.xlarge", **size).processor == "x86_64"
    new = InstanceType.of("ml.c9g.xlarge", **size, processor="arm64")
    assert new.processor == "arm64"
    wrong: Any = "graviton"
    with pytest.raises(ValueError, match="processor must be 'x86_64' or 'arm64'"):
        InstanceType.of("ml.c9g.xlarge", **size, processor=wrong)


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


def test_a_type_is_described_whole() -> None:
    """
    Hardware, storage, and host images.
    """
    assert find_instance_type("ml.g5.12xlarge") == InstanceType(
        name="ml.g5.12xlarge",
        accelerators=4,
        accelerator_model="A10G",
        accelerator_memory_gib=22.35,
        vcpus=48,
        memory_gib=192,
        hosting_supported=True,
        volume_size_supported=False,
        default_inference_ami=None,
        compatible_inference_amis=(
            "al2-ami-sagemaker-inference-gpu-2",
            "al2-ami-sagemaker-inference-gpu-2-1",
            "al2-ami-sagemaker-inference-gpu-3-1",
            "al2023-ami-sagemaker-inference-gpu-4-1",
        ),
    )


@pytest.mark.parametrize(
    ("name", "volume", "default", "compatible"),
    [
        ("ml.p3.2xlarge", True, None, ()),
        ("ml.inf1.xlarge", True, None, ()),
        (
            "ml.g6.xlarge",
            False,
            "al2-ami-sagemaker-inference-gpu-2",
            (
                "al2-ami-sagemaker-inference-gpu-3-1",
                "al2023-ami-sagemaker-inference-gpu-4-1",
            ),
        ),
        ("ml.g7.2xlarge", False, "al2023-ami-sagemaker-inference-gpu-4-1", ()),
    ],
)
def test_storage_and_host_images_differ_by_type(
    name: str, *, volume: bool, default: str | None, compatible: tuple[str, ...]
) -> None:
    """
    As the service has them.
    """
    found = find_instance_type(name)

    assert found.volume_size_supported is volume
    assert found.default_inference_ami == default
    assert found.compatible_inference_amis == compatible


def test_a_new_type_is_as_it_is_described() -> None:
    """
    Nothing is known of its storage and its host images.
    """
    assert InstanceType.of(
        "ml.p9.48xlarge",
        accelerators=8,
        vcpus=192,
        memory_gib=4096,
        accelerator_model="B9",
        accelerator_memory_gib=500,
    ) == InstanceType(
        "ml.p9.48xlarge",
        8,
        "B9",
        500,
        192,
        4096,
        hosting_supported=True,
        volume_size_supported=False,
        default_inference_ami=None,
        compatible_inference_amis=(),
    )
    assert InstanceType.of(
        "ml.p9.4xlarge", accelerators=1, vcpus=16, memory_gib=256
    ) == InstanceType("ml.p9.4xlarge", 1, "unknown", 0.0, 16, 256)


@pytest.mark.parametrize(
    ("name", "neuron"),
    [
        ("ml.inf2.48xlarge", True),
        ("ml.trn1.32xlarge", True),
        ("ml.g5.xlarge", False),
    ],
)
def test_neuron_cores_are_inferentias_and_trainiums(name: str, *, neuron: bool) -> None:
    """
    By the device's name.
    """
    assert find_instance_type(name).has_neuron_cores is neuron


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: find_instance_type("ml.g5.13xlarge"),
            (
                "unknown instance type 'ml.g5.13xlarge'; use ml.g5.16xlarge, "
                "ml.g5.12xlarge or ml.g5.xlarge, or describe a newer type with "
                "InstanceType.of(...)"
            ),
        ),
        (
            lambda: find_instance_type("ml.m5.3xlarge"),
            (
                "unknown instance type 'ml.m5.3xlarge'; use ml.m5.xlarge, "
                "ml.m5d.xlarge or ml.m5.4xlarge, or describe a newer type with "
                "InstanceType.of(...)"
            ),
        ),
        (
            lambda: find_instance_type("m5.xlarge"),
            (
                "unknown instance type 'm5.xlarge'; use ml.r5.xlarge, ml.m5.xlarge or "
                "ml.c5.xlarge, or describe a newer type with InstanceType.of(...)"
            ),
        ),
        (
            lambda: find_instance_type("zzz"),
            (
                "unknown instance type 'zzz'; use one such as ml.g5.12xlarge, or "
                "describe a newer type with InstanceType.of(...)"
            ),
        ),
        (
            lambda: find_instance_type("ml.gr6.4xlarge"),
            (
                "ml.gr6.4xlarge cannot host endpoints; use ml.g6.4xlarge, "
                "ml.g6e.4xlarge or ml.g6.48xlarge"
            ),
        ),
    ],
)
def test_what_is_wrong_is_told_word_for_word(
    call: Callable[[], object], message: str
) -> None:
    """
    With the nearest ones, and the way in.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        call()

    assert str(caught.value) == message


def test_what_cannot_host_is_not_named() -> None:
    """
    Though the catalogue knows it.
    """
    names = instance_type_names()

    assert "ml.g5.12xlarge" in names
    assert "ml.gr6.4xlarge" not in names


def test_every_type_of_the_api_is_known() -> None:
    """
    Of botocore's list, so that a real type is never called unknown.
    """
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = cast("StringShape", model.shape_for("ProductionVariantInstanceType"))

    assert set(shape.enum) == set(instance_type_names())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accelerators": -1}, "accelerators must be at least 0, got -1"),
        ({"accelerators": "8"}, "accelerators must be a whole number, got '8' (str)"),
        ({"vcpus": 0}, "vcpus must be at least 1, got 0"),
        ({"memory_gib": 0}, "memory_gib must be at least 1, got 0"),
        ({"name": "p9"}, "name must be such as 'ml.g5.12xlarge', got 'p9'"),
        (
            {"accelerators": -1.8881545897087626e289},
            "accelerators is known only at deployment, and is needed at synth",
        ),
    ],
)
def test_fails_for_hardware_that_cannot_be(given: dict[str, Any], message: str) -> None:
    """
    A type of one's own is described right, or not at all.
    """
    usual = {"name": "ml.p9.4xlarge", "accelerators": 1, "vcpus": 1, "memory_gib": 1}
    described: dict[str, Any] = {**usual, **given}
    with pytest.raises(ValueError, match="name|accelerators|vcpus|memory") as caught:
        InstanceType.of(**described)

    assert message in str(caught.value)
