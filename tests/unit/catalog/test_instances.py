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
            lambda: find_instance_type("ml.m5.xlarge"),
            (
                "ml.m5.xlarge has no accelerator; use ml.g5.xlarge, ml.g5.8xlarge or "
                "ml.g5.4xlarge"
            ),
        ),
        (
            lambda: find_instance_type("ml.t2.medium"),
            "ml.t2.medium has no accelerator; use one such as ml.g5.12xlarge",
        ),
        (
            lambda: find_instance_type("m5.xlarge"),
            (
                "unknown instance type 'm5.xlarge'; use ml.g5.xlarge, ml.g5.8xlarge or "
                "ml.g5.4xlarge, or describe a newer type with InstanceType.of(...)"
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


def test_every_type_of_the_api_is_known_or_has_no_accelerator() -> None:
    """
    Of botocore's list, so that a real type is never called unknown.
    """
    model = botocore.session.get_session().get_service_model("sagemaker")
    shape = cast("StringShape", model.shape_for("ProductionVariantInstanceType"))
    others = set(shape.enum) - set(instance_type_names())

    assert others
    for name in others:
        with pytest.raises(ValueError, match=f"^{name} has no accelerator; use "):
            find_instance_type(name)


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
