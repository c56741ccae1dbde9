"""
Host images of GPU instances, and the containers that run on them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.host_images import (
    Match,
    has_host_of,
    host_image_for,
    is_listed,
    match,
    shared_host_image,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type

GPU_2 = "al2-ami-sagemaker-inference-gpu-2"
GPU_2_1 = "al2-ami-sagemaker-inference-gpu-2-1"
GPU_3_1 = "al2-ami-sagemaker-inference-gpu-3-1"
GPU_4_1 = "al2023-ami-sagemaker-inference-gpu-4-1"
NEW = InstanceType.of("ml.p9.48xlarge", accelerators=8, vcpus=192, memory_gib=4096)
SOME = InstanceType(
    "ml.x.large", 1, "X", 1, 1, 1, compatible_inference_amis=(GPU_2, GPU_3_1, "other")
)
OTHER = InstanceType("ml.x.large", 1, "X", 1, 1, 1, compatible_inference_amis=("x",))


@pytest.mark.parametrize(
    ("name", "cuda", "expected"),
    [
        # The oldest host runs up to 12.2 by its compatibility packages.
        ("ml.g5.xlarge", "11.8", None),
        ("ml.g5.xlarge", "12.2", None),
        ("ml.g5.xlarge", "12.3", GPU_3_1),
        ("ml.g5.xlarge", "12.4", GPU_3_1),
        ("ml.g5.xlarge", "12.5", GPU_3_1),
        ("ml.g5.xlarge", "12.8", GPU_3_1),
        ("ml.g5.xlarge", "12.9", GPU_3_1),
        ("ml.p4d.24xlarge", "12.8", GPU_3_1),
        ("ml.g5.xlarge", "13.0", GPU_4_1),
        ("ml.g5.xlarge", "13.1", GPU_4_1),
        ("ml.g5.xlarge", "14.0", None),
        ("ml.g5.xlarge", "13", GPU_4_1),
        ("ml.g5.xlarge", None, None),
        # That of a newer type runs every minor version of its own.
        ("ml.g6.xlarge", "12.9", None),
        ("ml.g6.xlarge", "13.0", GPU_4_1),
        ("ml.p5en.48xlarge", "13.0", GPU_4_1),
        ("ml.g7.2xlarge", "13.0", None),
        ("ml.g7.2xlarge", "12.8", None),
        # Those of which nothing is known are not asked for.
        ("ml.inf2.xlarge", "13.0", None),
        ("ml.p3.2xlarge", "13.0", None),
    ],
)
def test_the_host_of_the_images_own_cuda_is_asked_for(
    name: str, cuda: str | None, expected: str | None
) -> None:
    """
    Where the type's default will not.
    """
    assert host_image_for(find_instance_type(name), cuda) == expected


G5 = find_instance_type("ml.g5.xlarge")
G6 = find_instance_type("ml.g6.xlarge")
G7 = find_instance_type("ml.g7.2xlarge")
P3 = find_instance_type("ml.p3.2xlarge")
P5 = find_instance_type("ml.p5.48xlarge")
RUNS, DOUBTFUL, FAILS = Match.RUNS, Match.DOUBTFUL, Match.FAILS


def image(cuda: str | None, family: str = "djl-lmi") -> ImageRelease:
    """
    Describe an image whose tag names a CUDA version.
    """
    mark = "" if cuda is None else f"-cu{cuda.replace('.', '')}"
    return ImageRelease(family, "1", "repository", f"1{mark}", frozenset())


@pytest.mark.parametrize(
    ("instance_type", "host_image", "cuda", "expected"),
    [
        # Driver 470 runs what is known to come with its compatibility packages.
        (G5, None, "11.8", RUNS),
        (G5, None, "12.2", RUNS),
        (G5, None, "12.3", DOUBTFUL),
        (G5, None, "12.9", DOUBTFUL),
        (G5, None, "13.0", FAILS),
        (G5, None, None, RUNS),
        # Any driver of CUDA 12 runs 12 and 11.
        (G5, GPU_2, "11.8", RUNS),
        (G5, GPU_2, "12.9", RUNS),
        (G5, GPU_2_1, "12.0", RUNS),
        (G5, GPU_3_1, "12.9", RUNS),
        (G6, None, "12.9", RUNS),
        # CUDA 13: with driver 535 it was measured, with 550 it is told both ways.
        (G5, GPU_2, "13.0", FAILS),
        (G5, GPU_2_1, "13.0", FAILS),
        (G6, None, "13.0", FAILS),
        (P5, None, "13.0", FAILS),
        (G5, GPU_3_1, "13.0", DOUBTFUL),
        (G6, GPU_4_1, "13.0", RUNS),
        (G5, GPU_4_1, "13.9", RUNS),
        (G5, GPU_4_1, "14.0", DOUBTFUL),
        # CUDA 12 with a driver of 13: 12.8 and 12.9 were measured.
        (G5, GPU_4_1, "11.8", DOUBTFUL),
        (G5, GPU_4_1, "12.2", DOUBTFUL),
        (G5, GPU_4_1, "12.7", DOUBTFUL),
        (G5, GPU_4_1, "12.8", FAILS),
        (G5, GPU_4_1, "12.9", FAILS),
        # Where the type has no other, nobody has measured it.
        (G7, None, "12.8", DOUBTFUL),
        (G7, GPU_4_1, "12.9", DOUBTFUL),
        (G7, None, "13.0", RUNS),
        # A type that has the oldest host alone.
        (P3, None, "12.1", RUNS),
        (P3, None, "12.4", DOUBTFUL),
        (P3, None, "13.0", FAILS),
        # What is not described is not doubted.
        (G5, "one-of-tomorrow", "99.0", RUNS),
        (NEW, None, "99.0", RUNS),
        (SOME, None, "12.3", DOUBTFUL),
        (OTHER, None, "99.0", RUNS),
    ],
    ids=str,
)
def test_a_container_is_judged_by_what_was_documented_or_measured(
    instance_type: InstanceType,
    host_image: str | None,
    cuda: str | None,
    expected: Match,
) -> None:
    """
    An inference alone is a doubt.
    """
    assert match(instance_type, host_image, image(cuda)) is expected


def test_other_images_of_cuda_13_were_not_measured_with_driver_535() -> None:
    """
    Hugging Face's switch to their compatibility packages by themselves.
    """
    assert match(P5, None, image("13.0", "huggingface-vllm")) is DOUBTFUL
    assert match(G5, None, image("13.0", "huggingface-vllm")) is FAILS


def test_a_host_that_is_not_described_is_not_asked_for() -> None:
    """
    Though the type has it.
    """
    assert host_image_for(SOME, "12.3") == GPU_3_1
    assert host_image_for(SOME, "13.0") is None
    assert host_image_for(OTHER, "13.0") is None


@pytest.mark.parametrize(
    ("name", "host_image", "expected"),
    [
        ("ml.c5.xlarge", "al2-ami-sagemaker-inference-gpu-2", False),
        ("ml.g5.xlarge", "al2-ami-sagemaker-inference-gpu-2-1", True),
        ("ml.g5.xlarge", "al2-ami-sagemaker-inference-gpu-9", False),
        ("ml.g5.xlarge", "al2023-ami-sagemaker-inference-neuron-2", False),
    ],
)
def test_a_host_image_is_listed_for_its_types(
    name: str, host_image: str, *, expected: bool
) -> None:
    """
    None is for hosts without accelerators.
    """
    assert is_listed(find_instance_type(name), host_image) is expected


def test_of_a_type_that_nothing_is_known_of_all_may_be() -> None:
    """
    Whatever is asked for.
    """
    newer = InstanceType.of(
        "ml.p9.48xlarge", accelerators=8, vcpus=192, memory_gib=2048
    )

    assert is_listed(newer, "any")
    assert has_host_of(newer, "99.0")
    assert host_image_for(newer, "13.0") is None
    assert shared_host_image([newer], "13.0") is None


@pytest.mark.parametrize(
    ("name", "cuda_version", "expected"),
    [
        ("ml.g5.xlarge", "12.8", True),
        ("ml.g5.xlarge", "13.0", True),
        ("ml.g5.xlarge", "14.0", False),
        ("ml.p3.2xlarge", "11.4", True),
        ("ml.p3.2xlarge", "13.0", False),
    ],
)
def test_a_type_has_hosts_of_a_cuda_version(
    name: str, cuda_version: str, *, expected: bool
) -> None:
    """
    By the newest driver of its host images.
    """
    assert has_host_of(find_instance_type(name), cuda_version) is expected


def test_one_host_image_serves_several_types() -> None:
    """
    The newest that all of them take; none is asked for where the defaults will do.
    """
    names = ("ml.g5.xlarge", "ml.g6.xlarge", "ml.p3.2xlarge")
    g5, g6, p3 = map(find_instance_type, names)

    assert shared_host_image([g5], None) is None
    assert shared_host_image([g5, p3], None) is None
    assert shared_host_image([g5, g6], "13.0") == host_image_for(g5, "13.0")
    with pytest.raises(
        ValueError,
        match=r"^no host image with a driver for CUDA 13.0 is taken by all of "
        r"ml.g5.xlarge, ml.p3.2xlarge$",
    ):
        shared_host_image([g5, p3], "13.0")
