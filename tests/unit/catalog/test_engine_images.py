"""
The images of today's engines: where they are, how they are named and recognised.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.engine_releases import find_engine_release
from cdk_sagemaker_llm.catalog.host_images import Match, host_image_for, match
from cdk_sagemaker_llm.catalog.images import (
    ImageRelease,
    family_at,
    find_image,
    image_at,
    image_near,
    image_versions,
    named_version,
    nearest_version,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type

GPU_3_1 = "al2-ami-sagemaker-inference-gpu-3-1"
GPU_4_1 = "al2023-ami-sagemaker-inference-gpu-4-1"
USUAL = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
FAMILIES = load("engine_releases.json")["families"]
DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("family", "version", "region", "uri"),
    [
        (
            "vllm",
            "0.30.0",
            "us-east-1",
            f"{USUAL}/vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker",
        ),
        ("vllm-server", "2.6", "us-east-1", f"{USUAL}/vllm:server-sagemaker-cuda-v2.6"),
        (
            "vllm-server",
            "2.4",
            "cn-north-1",
            (
                "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/"
                "vllm:server-sagemaker-cuda-v2.4"
            ),
        ),
        (
            "vllm-server",
            "2",
            "us-gov-west-1",
            (
                "442386744353.dkr.ecr.us-gov-west-1.amazonaws.com/"
                "vllm:server-sagemaker-cuda-v2"
            ),
        ),
        (
            "sglang",
            "0.5.20",
            "me-west-1",
            (
                "124382933778.dkr.ecr.me-west-1.amazonaws.com/"
                "sglang:0.5.20-gpu-py312-cu130-ubuntu24.04-sagemaker"
            ),
        ),
        (
            "sglang-server",
            "1.4",
            "us-east-1",
            f"{USUAL}/sglang:server-sagemaker-cuda-v1.4",
        ),
        (
            "huggingface-vllm",
            "0.29.0",
            "us-east-1",
            (
                f"{USUAL}/huggingface-vllm:"
                "0.29.0-transformers5.15.0-gpu-py312-cu130-ubuntu24.04-v1.0"
            ),
        ),
        (
            "huggingface-sglang",
            "0.5.8",
            "us-east-1",
            (
                f"{USUAL}/huggingface-sglang:"
                "0.5.8-transformers4.57.3-gpu-py312-cu129-ubuntu24.04"
            ),
        ),
        ("vllm-omni", "1.8", "us-east-1", f"{USUAL}/vllm:omni-sagemaker-cuda-v1.8"),
        (
            "huggingface-vllm-omni",
            "0.20.0",
            "us-east-1",
            (
                f"{USUAL}/huggingface-vllm-omni:"
                "0.20.0-transformers5.8.1-gpu-py312-cu130-amzn2023"
            ),
        ),
        (
            "llama-cpp",
            "1.0.1",
            "us-iso-east-1",
            (
                "886529160074.dkr.ecr.us-iso-east-1.c2s.ic.gov/"
                "llama-cpp:server-sagemaker-cuda-v1.0.1"
            ),
        ),
        (
            "llama-cpp-cpu",
            "1.0.1",
            "us-east-1",
            f"{USUAL}/llama-cpp:server-sagemaker-cpu-v1.0.1",
        ),
        (
            "llama-cpp-arm64",
            "1.0.1",
            "us-east-1",
            f"{USUAL}/llama-cpp-arm64:server-sagemaker-cpu-v1.0.1",
        ),
        (
            "huggingface-llamacpp",
            "b9522",
            "us-east-1",
            f"{USUAL}/huggingface-llamacpp:b9522-gpu-cu130-ubuntu24.04",
        ),
        (
            "huggingface-llamacpp-cpu",
            "b9522",
            "us-east-1",
            f"{USUAL}/huggingface-llamacpp:b9522-cpu-ubuntu24.04",
        ),
        (
            "huggingface-vllm-neuronx",
            "0.4.4",
            "us-east-1",
            (
                f"{USUAL}/huggingface-vllm-inference-neuronx:"
                "0.11.0-optimum0.4.4-neuronx-py310-sdk2.26.1-ubuntu22.04"
            ),
        ),
        (
            "tei",
            "1.8.2",
            "us-east-1",
            (
                "683313688378.dkr.ecr.us-east-1.amazonaws.com/"
                "tei:2.0.1-tei1.8.2-gpu-py310-cu122-ubuntu22.04"
            ),
        ),
        (
            "tei-cpu",
            "1.8.2",
            "cn-north-1",
            (
                "450853457545.dkr.ecr.cn-north-1.amazonaws.com.cn/"
                "tei-cpu:2.0.1-tei1.8.2-cpu-py310-ubuntu22.04"
            ),
        ),
        (
            "ray-serve",
            "1.4",
            "us-east-1",
            f"{USUAL}/ray:serve-ml-sagemaker-cuda-v1.4",
        ),
        (
            "ray-serve-cpu",
            "1.4",
            "us-east-1",
            f"{USUAL}/ray:serve-ml-sagemaker-cpu-v1.4",
        ),
    ],
)
def test_each_family_has_its_repository(
    family: str, version: str, region: str, uri: str
) -> None:
    """
    Account, domain, repository and tag.
    """
    assert find_image(family, version).uri(region) == uri


@pytest.mark.parametrize(
    ("family", "version", "region", "message"),
    [
        (
            "vllm-server",
            "2.6",
            "cn-north-1",
            (
                "image vllm-server 2.6 is not listed in cn-north-1; in that region are "
                "2.2, 2.3 or 2.4"
            ),
        ),
        (
            "vllm",
            "0.30.0",
            "us-gov-west-1",
            (
                "image vllm 0.30.0 is not listed in us-gov-west-1; in that region are "
                "0.27.1 or 0.28.0"
            ),
        ),
        (
            "tei",
            "1.8.2",
            "mx-central-1",
            (
                "image tei 1.8.2 is not listed in mx-central-1; no version of tei is "
                "listed there: use another container"
            ),
        ),
        (
            "huggingface-vllm",
            "0.29.0",
            "me-west-1",
            (
                "image huggingface-vllm 0.29.0 is not listed in me-west-1; no version "
                "of huggingface-vllm is listed there: use another container"
            ),
        ),
    ],
)
def test_fails_if_the_region_does_not_list_it(
    family: str, version: str, region: str, message: str
) -> None:
    """
    What is there is named.
    """
    with pytest.raises(ValueError, match=re.escape(message)):
        find_image(family, version).uri(region)


@pytest.mark.parametrize(
    ("family", "version", "number"),
    [
        ("vllm", "0.30.0", 35),
        ("vllm", "0.28.0", 45),
        ("vllm-server", "2", 45),
        ("vllm-server", "2.6", 35),
        ("sglang-server", "1", 39),
        ("sglang-server", "1.0", 45),
        ("vllm-omni", "1", 39),
        ("huggingface-vllm", "0.29.0", 42),
        ("huggingface-llamacpp-cpu", "b9522", 42),
        ("huggingface-vllm-neuronx", "0.4.4", 11),
        ("tei", "1.8.2", 35),
        ("llama-cpp-arm64", "1.0.1", 45),
        ("ray-serve", "1.2", 35),
        ("ray-serve", "1.4", 45),
    ],
)
def test_regions_differ_by_version(family: str, version: str, number: int) -> None:
    """
    As the SageMaker SDK lists them.
    """
    assert len(find_image(family, version).regions) == number


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_inside_is_said_of_every_version(family: str) -> None:
    """
    And of no other: both files are changed together.
    """
    assert list(FAMILIES[family]["versions"]) == image_versions(family)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_tag_is_recognised_and_names_its_family(family: str) -> None:
    """
    One repository may hold three families.
    """
    for version in image_versions(family):
        release = find_image(family, version)
        uri = release.uri("us-east-1")
        # The one tag of optimum on Neuron that does not name it.
        unnamed = release.tag.startswith("0.10.2-neuronx")

        assert image_at(uri) == release
        assert family_at(uri) == (None if unnamed else family)
        assert image_near(uri) == (None if unnamed else release)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tags_and_the_rows_tell_the_same_cuda_version(family: str) -> None:
    """
    Where a tag names one; tags of Amazon Linux do not.
    """
    for version in image_versions(family):
        release = find_image(family, version)
        named = re.search(r"-cu(\d\d)(\d)-", release.tag)
        row = FAMILIES[family]["versions"][version]

        assert release.cuda_version == row.get("cuda")
        assert named is None or f"{named[1]}.{named[2]}" == row["cuda"]


@pytest.mark.parametrize(
    ("family", "version", "cuda"),
    [
        ("vllm-server", "2.6", "13.0"),
        ("vllm-server", "1.4", "12.9"),
        ("vllm-omni", "1.0", "12.9"),
        ("vllm-omni", "1.8", "13.0"),
        ("sglang-server", "1.4", "13.0"),
        ("llama-cpp", "1.0.1", "13.0"),
        ("llama-cpp-cpu", "1.0.1", None),
        ("llama-cpp-arm64", "1.0.1", None),
        ("tei", "1.8.2", "12.2"),
        ("tei-cpu", "1.8.2", None),
        ("ray-serve", "1.4", "12.9"),
        ("ray-serve-cpu", "1.4", None),
    ],
)
def test_cuda_is_known_where_the_tag_names_none(
    family: str, version: str, cuda: str | None
) -> None:
    """
    The host driver has to match it.
    """
    release = find_image(family, version)

    assert release.cuda_version == cuda
    assert not release.is_for_neuron


@pytest.mark.parametrize(
    ("instance_type", "family", "version", "host"),
    [
        ("ml.g5.12xlarge", "vllm-server", "2.6", GPU_4_1),
        ("ml.g6e.12xlarge", "vllm", "0.30.0", GPU_4_1),
        ("ml.p5.48xlarge", "sglang-server", "1.4", GPU_4_1),
        ("ml.g7e.2xlarge", "vllm-server", "2.6", None),
        ("ml.g5.12xlarge", "vllm", "0.19.1", GPU_3_1),
        ("ml.g5.12xlarge", "tei", "1.9.3", GPU_3_1),
        ("ml.g5.12xlarge", "tei", "1.8.2", None),
        ("ml.g5.12xlarge", "llama-cpp-cpu", "1.0.1", None),
        ("ml.g5.12xlarge", "llama-cpp-arm64", "1.0.1", None),
        ("ml.inf2.xlarge", "huggingface-vllm-neuronx", "0.4.4", None),
    ],
)
def test_the_host_image_follows_the_image(
    instance_type: str, family: str, version: str, host: str | None
) -> None:
    """
    CUDA 13 needs the newest driver, 12.9 never gets it, and CPUs need none.
    """
    release = find_image(family, version)
    hardware = find_instance_type(instance_type)

    assert host_image_for(hardware, release.cuda_version) == host
    assert match(hardware, host, release) is Match.RUNS


def test_cuda_12_9_does_not_start_with_the_newest_driver() -> None:
    """
    Whatever the engine.
    """
    release = find_image("vllm", "0.19.1")

    assert match(find_instance_type("ml.g5.xlarge"), GPU_4_1, release) is Match.FAILS


@pytest.mark.parametrize(
    ("family", "name", "version"),
    [
        ("vllm", "0.30", "0.30.0"),
        ("vllm", "0.25", "0.25.1"),
        ("vllm-server", "latest", "2"),
        ("sglang", "0.5", "0.5.20"),
        ("sglang-server", "latest", "1"),
        ("vllm-omni", "latest", "1"),
        ("huggingface-vllm", "0.22", "0.22.1"),
        ("huggingface-vllm-neuronx", "0.4", "0.4.4"),
        ("llama-cpp-cpu", "latest", "1"),
        ("tei", "1.8", "1.8.2"),
    ],
)
def test_the_sdks_other_names_of_versions_are_taken(
    family: str, name: str, version: str
) -> None:
    """
    The release then has the version's own name.
    """
    assert find_image(family, name) == find_image(family, version)
    assert find_image(family, name).version == version
    assert nearest_version(family, name) == version
    assert name not in image_versions(family)
    assert find_engine_release(family, name) == find_engine_release(family, version)


@pytest.mark.parametrize(
    ("family", "version", "message"),
    [
        ("vllm", "0.31.0", "image vllm has no version '0.31.0'; use 0.30.0, 0.29.0 or"),
        ("vllm-server", "3", "image vllm-server has no version '3'; use 2.6, 2.5 or"),
        ("vllm-server", "v2.6", "has no version 'v2.6'; use 2.6"),
        ("vllm", "0.10.2", "has no version '0.10.2'; use 0.13.0, 0.14.0 or 0.15.1"),
        ("vllm", "0.27.0", "has no version '0.27.0'; use 0.26.0, 0.27.1 or 0.25.1"),
        ("vllm", "V0.28.0", "has no version 'V0.28.0'; use 0.28.0"),
        ("sglang", "latest", "has no version 'latest'; use 0.5.20"),
        ("vllm-omni", "Newest", "has no version 'Newest'; use 1.8"),
        ("djl-lmi", "latest", "image djl-lmi has no version 'latest'"),
        ("huggingface-llm", "3.3", "image huggingface-llm has no version '3.3'"),
        ("vllm-sever", "2.6", "unknown container family 'vllm-sever'; use vllm-server"),
    ],
)
def test_fails_if_there_is_no_such_version(
    family: str, version: str, message: str
) -> None:
    """
    The nearest are named, and none that moves.
    """
    with pytest.raises(ValueError, match=re.escape(message)):
        find_image(family, version)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm:server-sagemaker-cuda-v2.6", "2.6"),
        ("vllm:server-sagemaker-cuda-v2.6.1", "2.6.1"),
        ("vllm:server-sagemaker-cuda", "latest"),
        ("vllm:omni-sagemaker-cuda-v1", "1"),
        ("vllm:server-arm64-sagemaker-cpu-v1.0", None),
        ("vllm:server-cuda-v2.6", None),
        ("vllm:0.30-gpu-py312-cu130-ubuntu24.04-sagemaker-v1", "0.30"),
        ("tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04", "1.9.3"),
        ("huggingface-llamacpp:b9600-cpu-ubuntu24.04", "b9600"),
        ("ray:serve-ml-sagemaker-cpu-v1.4", "1.4"),
        ("ray:serve-llm-cuda", None),
    ],
)
def test_a_tag_names_its_version(image: str, version: str | None) -> None:
    """
    As AWS writes it on each track.
    """
    assert named_version(image) == version


@pytest.mark.parametrize(
    ("image", "family", "version"),
    [
        ("vllm:server-sagemaker-cuda-v2.7", "vllm-server", "2.6"),
        ("vllm:server-sagemaker-cuda-v2.4.1", "vllm-server", "2.4"),
        ("vllm:server-sagemaker-cuda", "vllm-server", "2"),
        ("vllm:omni-sagemaker-cuda-v1.9", "vllm-omni", "1.8"),
        ("vllm:0.31.0-gpu-py312-cu130-ubuntu24.04-sagemaker", "vllm", "0.30.0"),
        ("vllm:0.30-gpu-py312-cu130-ubuntu24.04-sagemaker-v1", "vllm", "0.30.0"),
        ("vllm:0.25.0-gpu-py312", "vllm", "0.25.0"),
        ("vllm:0.11.2-gpu-py312-cu128-ubuntu22.04-sagemaker", "vllm", "0.13.0"),
        ("sglang:0.5.21-gpu-py312-cu130-ubuntu24.04-sagemaker", "sglang", "0.5.20"),
        ("sglang:server-sagemaker-cuda-v1.5", "sglang-server", "1.4"),
        (
            "huggingface-vllm:0.29.0-transformers5.15.0-gpu-py312-cu130-ubuntu24.04",
            "huggingface-vllm",
            "0.29.0",
        ),
        ("llama-cpp:server-sagemaker-cpu-v1.0.2", "llama-cpp-cpu", "1.0.1"),
        ("huggingface-llamacpp:b9600-gpu-cu130-ubuntu24.04", "huggingface-llamacpp", 0),
        ("tei-cpu:2.0.1-tei1.9.0-cpu-py310-ubuntu22.04", "tei-cpu", "1.8.2"),
    ],
)
def test_a_newer_image_is_like_the_newest_before(
    image: str, family: str, version: str
) -> None:
    """
    Of its own family, whichever share the repository.
    """
    found = image_near(f"111111111111.dkr.ecr.eu-west-1.amazonaws.com/mirror/{image}")

    assert found == find_image(family, version or "b9522")


@pytest.mark.parametrize(
    "image",
    [
        "vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-ec2",
        "vllm:server-cuda-v2.6",
        "vllm:server-arm64-sagemaker-cpu-v1.0",
        "vllm:latest",
        "vllm-openai:0.30.0",
        "ray:serve-llm-cuda",
        "tei:cpu-1.9",
    ],
)
def test_an_image_for_another_service_is_none(image: str) -> None:
    """
    It has another entry point.
    """
    assert image_near(f"{USUAL}/{image}") is None
    assert image_at(f"{USUAL}/{image}") is None


@pytest.mark.parametrize(
    ("family", "image", "rolls"),
    [
        ("vllm-server", "server-sagemaker-cuda-v2", True),
        ("vllm-server", "server-sagemaker-cuda-v3", True),
        ("vllm-server", "server-sagemaker-cuda", True),
        ("vllm-server", "server-sagemaker-cuda-v2.6", False),
        ("vllm-server", f"{USUAL}/vllm:server-sagemaker-cuda-v2", True),
        ("vllm-server", f"{USUAL}/vllm@{DIGEST}", False),
        ("vllm-server", DIGEST, False),
        ("vllm-server", "111111111111.dkr.ecr.us-east-1.amazonaws.com/v:1", False),
        ("vllm", "0.30-gpu-py312-cu130-ubuntu24.04-sagemaker-v1", True),
        ("vllm", "0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker", False),
        ("vllm-server", "server-sagemaker-cuda-v2-soci", True),
        ("vllm-server", "server-sagemaker-cuda-soci", True),
        ("vllm-server", "server-sagemaker-cuda-v2.6-soci", False),
        ("vllm", "0.30-gpu-py312-soci", True),
        ("vllm", "0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker-soci", False),
        ("llama-cpp", "server-sagemaker-cuda-v1.0-soci", True),
        ("llama-cpp", "server-sagemaker-cuda-v1.0.1-soci", False),
        ("djl-lmi", "0.36.0-lmi27.0.0-cu130", False),
    ],
)
def test_a_tag_that_moves_is_told(family: str, image: str, *, rolls: bool) -> None:
    """
    By its form; a digest never moves, and nobody moves a mirror's but its owner.
    """
    near = nearest_version(family, named_version(image) or image_versions(family)[-1])

    assert ImageRelease.of(family, image, near=near).is_rolling is rolls


@pytest.mark.parametrize(
    ("tag", "family", "version"),
    [
        ("server-sagemaker-cuda-v2-soci", "vllm-server", "2"),
        ("server-sagemaker-cuda-v2.6-soci", "vllm-server", "2.6"),
        ("0.28.0-gpu-py312-cu130-ubuntu24.04-sagemaker-soci", "vllm", "0.28.0"),
        ("0.28.0-gpu-py312-soci", "vllm", "0.28.0"),
        ("0.28.0-gpu-py312-cu130-ubuntu24.04-ec2-soci", None, None),
    ],
)
def test_an_index_makes_no_other_image(
    tag: str, family: str | None, version: str | None
) -> None:
    """
    What stands before ``-soci`` says which image it is.
    """
    known = image_near(f"{USUAL}/vllm:{tag}")

    assert (known and known.family, known and known.version) == (family, version)


@pytest.mark.parametrize(
    ("family", "version", "rolls"),
    [
        ("vllm-server", "2", True),
        ("vllm-server", "2.6", False),
        ("vllm-server", "latest", True),
        ("llama-cpp", "1.0", True),
        ("llama-cpp", "1.0.0", False),
        ("sglang-server", "1.0", False),
        ("tei", "1.8.2", False),
        ("huggingface-llm", "3.3.6", False),
    ],
)
def test_a_version_whose_tag_moves_is_told(
    family: str, version: str, *, rolls: bool
) -> None:
    """
    Of llama.cpp 1.0 moves too, which of SGLang does not.
    """
    assert find_image(family, version).is_rolling is rolls


@pytest.mark.parametrize(
    ("family", "near", "cuda"),
    [
        ("vllm-server", "2.6", "13.0"),
        ("vllm", "0.19.1", "12.9"),
        ("djl-lmi", "0.36.0", "13.0"),
        ("tei-cpu", "1.8.2", None),
    ],
)
def test_a_digest_stands_for_the_tag(family: str, near: str, cuda: str | None) -> None:
    """
    In the family's own repository; the rest is that of the version.
    """
    known = find_image(family, near)
    release = ImageRelease.of(family, DIGEST, near=near)
    address = known.uri("us-east-1").removesuffix(f":{known.tag}")

    assert release.uri("us-east-1") == f"{address}@{DIGEST}"
    assert (release.family, release.version) == (family, near)
    assert (release.cuda_version, release.regions) == (cuda, known.regions)


@pytest.mark.parametrize(
    ("family", "version", "is_for_cpu"),
    [
        ("llama-cpp-cpu", "1.0.1", True),
        ("llama-cpp-arm64", "1.0.1", True),
        ("huggingface-llamacpp-cpu", "b9522", True),
        ("tei-cpu", "1.8.2", True),
        ("ray-serve-cpu", "1.4", True),
        ("llama-cpp", "1.0.1", False),
        ("tei", "1.8.2", False),
        ("vllm-server", "2.6", False),
        ("huggingface-vllm-neuronx", "0.4.4", False),
    ],
)
def test_images_for_cpus_are_told(
    family: str, version: str, *, is_for_cpu: bool
) -> None:
    """
    Also by a digest.
    """
    digest = ImageRelease.of(family, DIGEST, near=version)

    assert find_image(family, version).is_for_cpu is is_for_cpu
    assert digest.is_for_cpu is is_for_cpu


def test_a_digest_for_neuron_is_for_neuron() -> None:
    """
    Though it does not say so.
    """
    assert ImageRelease.of("djl-neuronx", DIGEST, near="0.29.0").is_for_neuron


@pytest.mark.parametrize(
    "digest",
    ["sha256:", "sha256:" + "0" * 63, "sha256:" + "0" * 65, "sha256:" + "0A" * 32],
)
def test_fails_if_a_digest_has_not_64_digits(digest: str) -> None:
    """
    Word for word.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        ImageRelease.of("vllm-server", digest, near="2.6")

    assert str(caught.value) == (
        "the digest of an image is 'sha256:' and 64 hexadecimal digits in small "
        f"letters, got {digest!r}"
    )


def test_a_version_that_is_known_only_at_deployment_is_no_other_version() -> None:
    """
    It is said so, and no placeholder is shown.
    """
    with pytest.raises(ValueError, match="is known only at deployment") as caught:
        find_image("tei", "${Token[TOKEN.12]}")

    assert str(caught.value) == (
        "the version of image tei is known only at deployment, and is looked up at "
        "synth; use one such as 1.9.3"
    )
