"""
Host images of GPU instances, and the containers that run on them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.host_images import host_image_for, runs_on
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
        ("ml.g5.xlarge", "12.5", GPU_4_1),
        ("ml.g5.xlarge", "13.0", GPU_4_1),
        ("ml.g5.xlarge", "13.1", None),
        ("ml.g5.xlarge", "13", GPU_4_1),
        ("ml.g5.xlarge", None, None),
        # That of a newer type runs every minor version of its own.
        ("ml.g6.xlarge", "12.9", None),
        ("ml.g6.xlarge", "13.0", GPU_4_1),
        ("ml.p5en.48xlarge", "13.0", GPU_4_1),
        ("ml.g7.2xlarge", "13.0", None),
        # Those of which nothing is known are not asked for.
        ("ml.inf2.xlarge", "13.0", None),
        ("ml.p3.2xlarge", "13.0", None),
    ],
)
def test_the_oldest_host_that_will_do_is_asked_for(
    name: str, cuda: str | None, expected: str | None
) -> None:
    """
    Where the type's default will not.
    """
    assert host_image_for(find_instance_type(name), cuda) == expected


@pytest.mark.parametrize(
    ("instance_type", "host_image", "cuda", "runs"),
    [
        (find_instance_type("ml.g5.xlarge"), None, "12.2", True),
        (find_instance_type("ml.g5.xlarge"), None, "12.3", False),
        (find_instance_type("ml.g5.xlarge"), None, None, True),
        (find_instance_type("ml.g5.xlarge"), GPU_2, "12.9", True),
        (find_instance_type("ml.g5.xlarge"), GPU_2, "13.0", False),
        (find_instance_type("ml.g5.xlarge"), GPU_2_1, "12.0", True),
        (find_instance_type("ml.g5.xlarge"), GPU_2_1, "13.0", False),
        (find_instance_type("ml.g5.xlarge"), GPU_3_1, "13.0", False),
        (find_instance_type("ml.g5.xlarge"), GPU_4_1, "13.9", True),
        (find_instance_type("ml.g5.xlarge"), GPU_4_1, "14.0", False),
        (find_instance_type("ml.g5.xlarge"), GPU_4_1, "12.2", True),
        (find_instance_type("ml.g5.xlarge"), "one-of-tomorrow", "99.0", True),
        (find_instance_type("ml.g6.xlarge"), None, "13.0", False),
        (find_instance_type("ml.g6.xlarge"), GPU_4_1, "13.0", True),
        (NEW, None, "99.0", True),
        (NEW, GPU_2, "13.0", False),
        (SOME, None, "12.3", False),
        (OTHER, None, "99.0", True),
    ],
)
def test_a_container_runs_on_a_host_as_far_as_is_known(
    instance_type: InstanceType, host_image: str | None, cuda: str | None, *, runs: bool
) -> None:
    """
    By the major version of CUDA; what nothing is known of is not doubted.
    """
    assert runs_on(instance_type, host_image, cuda) is runs


def test_a_host_that_is_not_described_is_not_asked_for() -> None:
    """
    Though the type has it.
    """
    assert host_image_for(SOME, "12.3") == GPU_3_1
    assert host_image_for(SOME, "13.0") is None
    assert host_image_for(OTHER, "13.0") is None
