"""
Whether an image exists, and whether its family is still released.
"""

from __future__ import annotations

import pytest
from aws_cdk import Aws

from cdk_sagemaker_llm import (
    DeepSpeed,
    HuggingFaceModel,
    LmiDist,
    LmiVllm,
    NeuronX,
    ServingFolder,
    TensorRtLlm,
    Tgi,
    TgiNeuron,
)
from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving.base import ServingConfiguration
from cdk_sagemaker_llm.serving.images import (
    ChosenImage,
    choose_image,
    image_findings,
    image_version,
)
from tests.conftest import ROOT
from tests.unit.serving.answers import container_of, findings_of

MODEL = HuggingFaceModel("org/llama", architecture="LlamaForCausalLM")
OWN = "111111111111.dkr.ecr.eu-west-1.amazonaws.com/mine:1"

ARCHIVED = "Text Generation Inference was archived in 2026-03"


@pytest.mark.parametrize(
    ("family", "version", "reason"),
    [
        (
            "djl-tensorrtllm",
            "0.26.0",
            "no TensorRT-LLM image was released after LMI 0.33.0",
        ),
        (
            "djl-deepspeed",
            "0.27.0",
            "no DeepSpeed image was released after LMI 0.27.0",
        ),
        ("djl-neuronx", "0.29.0", "no NeuronX image was released after LMI 0.30.0"),
        (
            "djl-fastertransformer",
            "0.24.0",
            "no FasterTransformer image was released after 0.24.0",
        ),
        ("huggingface-llm", "3.3.6", ARCHIVED),
        ("huggingface-llm-neuronx", "0.0.28", ARCHIVED),
    ],
)
def test_warns_of_a_family_that_has_ended(
    family: str, version: str, reason: str
) -> None:
    """
    Why, and what to use instead.
    """
    assert [str(f) for f in image_findings(family, version)] == [
        (
            f"LLM201 {family} {version} gets no fixes any more: {reason}; use vLLM in "
            "AWS's own image for new work"
        )
    ]


def test_a_family_that_is_released_is_not_doubted() -> None:
    """
    LMI's own.
    """
    assert image_findings("djl-lmi", "0.36.0") == []


@pytest.mark.parametrize(
    ("family", "version", "expected"),
    [
        (
            "djl-deepspeed",
            "0.28.0",
            (
                "LLM102 image djl-deepspeed has no version '0.28.0'; use 0.27.0, "
                "0.26.0 or 0.25.0"
            ),
        ),
        (
            "djl-lmy",
            "0.28.0",
            "LLM102 unknown container family 'djl-lmy'; use djl-lmi",
        ),
    ],
)
def test_fails_if_there_is_no_such_image(
    family: str, version: str, expected: str
) -> None:
    """
    The catalogue's own words.
    """
    assert [str(f) for f in image_findings(family, version)] == [expected]


def test_the_image_is_the_catalogues_unless_another_is_named() -> None:
    """
    Nor is one doubted that the catalogue has under that tag.
    """
    release = find_image("djl-lmi", "0.36.0-lmi18")

    assert choose_image("djl-lmi", "0.36.0-lmi18") == ChosenImage(
        release, "djl-lmi", "0.36.0-lmi18", ()
    )
    assert choose_image("djl-lmi", "0.30.0", release.tag) == ChosenImage(
        release, "djl-lmi", "0.36.0-lmi18", ()
    )


@pytest.mark.parametrize(
    ("version", "image", "checked", "told"),
    [
        ("0.36.0", "0.39.0-lmi31.0.0-cu130", "0.38.0", "djl-lmi 0.38.0"),
        ("0.30.0", OWN, "0.30.0", "djl-lmi 0.30.0"),
        ("0.37.0", OWN, "0.36.0-lmi28", "djl-lmi 0.36.0-lmi28"),
        ("0.36.0", f"{OWN[:-1]}0.29.1-lmi", "0.29.0", "djl-lmi 0.29.0"),
    ],
)
def test_another_image_is_checked_as_the_nearest_version(
    version: str, image: str, checked: str, told: str
) -> None:
    """
    Of what its tag names, or else of what was said; and a warning says so.
    """
    chosen = choose_image("djl-lmi", version, image)

    assert chosen.version == checked
    assert [str(f) for f in chosen.findings] == [
        f"LLM224 image {image} is not in the catalogue: it is checked as {told}"
    ]


@pytest.mark.parametrize(
    ("family", "image", "code"),
    [
        ("djl-lmi", "", "LLM102"),
        ("djl-lmi", "docker.io/mine:1", "LLM102"),
        ("djl-lmy", "1", "LLM102"),
        pytest.param("djl-lmi", Aws.ACCOUNT_ID, "LLM114", id="placeholder"),
    ],
)
def test_fails_if_another_image_is_none(family: str, image: str, code: str) -> None:
    """
    Or is known too late to be checked.
    """
    chosen = choose_image(family, "0.36.0", image)

    assert chosen.release is None
    assert [f.code for f in errors_of(chosen.findings)] == [code]


def test_an_unknown_family_has_no_image() -> None:
    """
    The catalogue's own words say which there are.
    """
    chosen = choose_image("djl-lmy", "0.36.0")

    assert chosen.release is None
    assert [f.code for f in chosen.findings] == ["LLM102"]


def test_the_tag_says_which_version_is_asked_for() -> None:
    """
    Where it can be read.
    """
    assert image_version("0.36.0", None) == "0.36.0"
    assert image_version("0.36.0", "0.30.0-lmi12.0.0-cu124") == "0.30.0"
    assert image_version("0.36.0", OWN) == "0.36.0"
    assert image_version("0.36.0", Aws.ACCOUNT_ID) == "0.36.0"


NEWER_TGI = "2.7.0-tgi3.3.7-gpu-py311-cu124-ubuntu22.04"
NEURON_TGI = "2.1.2-optimum0.0.26-neuronx-py310-ubuntu22.04"
MIXTRAL = ROOT / "assets" / "mixtral-8x7b"


@pytest.mark.parametrize(
    "serving",
    [
        LmiVllm(image=OWN),
        LmiDist("0.30.0", image=OWN),
        DeepSpeed("0.27.0", image=OWN),
        TensorRtLlm("0.30.0", image=OWN),
        NeuronX("0.29.0", image=OWN),
        Tgi("3.3.6", image=OWN),
        TgiNeuron("0.0.28", image=OWN),
        LmiVllm(image="0.39.0-lmi31.0.0-cu130"),
        LmiDist("0.32.0", image="0.32.0-lmi14.1.0-cu126"),
        DeepSpeed("0.27.0", image="0.27.1-deepspeed0.12.6-cu121"),
        TensorRtLlm("0.30.0", image="0.31.0-tensorrtllm0.12.0-cu125"),
        NeuronX("0.29.0", image="0.30.1-neuronx-sdk2.20.2"),
        Tgi("3.3.6", image=NEWER_TGI),
        TgiNeuron("0.0.28", image=NEURON_TGI),
    ],
    ids=lambda serving: f"{type(serving).__name__} {serving.image}",
)
def test_every_class_has_a_way_past_the_catalogue(
    serving: ServingConfiguration,
) -> None:
    """
    The image is the one that was named, and a warning says what it is checked as.
    """
    named = serving.image  # type: ignore[attr-defined] # of each class here
    image = container_of(serving, MODEL, 8).image

    assert named in (image.tag, image.uri("us-east-1"))
    assert "LLM224" in [f.code for f in findings_of(serving, MODEL, 8)]


def test_a_folder_has_a_way_past_the_catalogue() -> None:
    """
    Its file is checked as that of the nearest version.
    """
    serving = ServingFolder(
        MIXTRAL, container_family="djl-tensorrtllm", version="0.26.0", image=OWN
    )

    assert container_of(serving, None, 8).image.uri("us-east-1") == OWN
    assert [f.code for f in findings_of(serving, None, 8)] == ["LLM201", "LLM224"]


def test_what_is_written_is_for_the_version_that_the_tag_names() -> None:
    """
    Up to 0.34 vLLM is asked for by name.
    """
    files = container_of(LmiVllm(image="0.30.1-lmi12.1.0-cu124"), MODEL, 8).files
    newest = container_of(LmiVllm(image="0.36.0-lmi40.0.0-cu130"), MODEL, 8).files

    assert b"option.rolling_batch=vllm" in files["serving.properties"]
    assert b"rolling_batch" not in newest["serving.properties"]


def test_what_is_checked_is_what_the_nearest_version_reads() -> None:
    """
    MAX_INPUT_LENGTH by its newer name, for instance.
    """
    serving = Tgi("1.4.5", image=NEWER_TGI, max_input_length=8, max_total_tokens=9)

    assert container_of(serving, MODEL, 1).environment["MAX_INPUT_TOKENS"] == "8"


@pytest.mark.parametrize(
    ("family", "repository", "refused"),
    [
        ("djl-lmi", "djl-inference:0.33.0-lmi15.0.0-cu128", False),
        ("djl-lmi", "vllm:0.11.0-gpu-py312-cu129-ubuntu22.04-sagemaker", True),
        ("huggingface-llm", "djl-inference:0.33.0-lmi15.0.0-cu128", True),
    ],
)
def test_fails_if_an_image_of_awss_own_is_of_another_family(
    family: str, repository: str, *, refused: bool
) -> None:
    """
    It reads none of what is written for this one; a mirror may have any name.
    """
    versions = {"djl-lmi": "0.33.0", "huggingface-llm": "3.3.6"}
    uri = f"763104351884.dkr.ecr.us-east-1.amazonaws.com/{repository}"
    mirror = f"111111111111.dkr.ecr.us-east-1.amazonaws.com/{repository}"
    found = choose_image(family, versions[family], uri).findings

    assert ("LLM102" in [each.code for each in found]) is refused
    assert choose_image(family, versions[family], mirror).release is not None


AWS = "763104351884.dkr.ecr.us-east-1.amazonaws.com"


@pytest.mark.parametrize(
    ("family", "version", "image", "refused"),
    [
        ("vllm-server", "2.6", "server-sagemaker-cuda-v2.7", False),
        ("vllm-server", "2.6", "omni-sagemaker-cuda-v1.8", True),
        ("vllm-server", "2.6", f"{AWS}/vllm:omni-sagemaker-cuda-v1.8", True),
        ("vllm-server", "2.6", "0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker", True),
        ("vllm", "0.30.0", "0.31.0-gpu-py312-cu130-ubuntu24.04-sagemaker", False),
        ("vllm", "0.30.0", "of-tomorrow", False),
        ("sglang", "0.5.20", "server-sagemaker-cuda-v1.4", True),
        ("llama-cpp", "1.0.1", "server-sagemaker-cpu-v1.0.1", True),
        ("llama-cpp-cpu", "1.0.1", "server-sagemaker-cpu-v1.0.1", False),
        ("vllm", "0.30.0", f"{AWS}/sglang:server-sagemaker-cuda-v1.4", True),
        (
            "vllm",
            "0.30.0",
            "111111111111.dkr.ecr.us-east-1.amazonaws.com/vllm:omni-sagemaker-cuda-v1",
            False,
        ),
    ],
)
def test_families_that_share_a_repository_are_told_apart(
    family: str, version: str, image: str, *, refused: bool
) -> None:
    """
    By the form of the tag, where it is AWS's own.
    """
    found = choose_image(family, version, image)

    assert ("LLM102" in [each.code for each in found.findings]) is refused
    assert (found.release is None) is refused


def test_the_family_that_an_image_is_of_is_named() -> None:
    """
    Word for word.
    """
    (found,) = choose_image("vllm", "0.30.0", "omni-sagemaker-cuda-v1.8").findings

    assert str(found) == (
        "LLM102 image omni-sagemaker-cuda-v1.8 is of vllm-omni, and what is written "
        "here is for images of vllm; use the serving class of that one, or "
        "CustomContainer"
    )


def test_an_image_is_pinned_by_its_digest() -> None:
    """
    It is checked as the version beside it, and runs on the hosts of that one.
    """
    digest = "sha256:" + "0a" * 32
    found = choose_image("vllm-server", "2.6", digest)

    assert found.release is not None
    assert found.release.uri("us-east-1") == f"{AWS}/vllm@{digest}"
    assert found.release.cuda_version == "13.0"
    assert found.version == "2.6"
    assert [each.code for each in found.findings] == ["LLM224"]


def test_fails_if_a_digest_is_cut_short() -> None:
    """
    In the caller's words.
    """
    (found,) = choose_image("vllm-server", "2.6", "sha256:0a").findings

    assert str(found) == (
        "LLM102 the digest of an image is 'sha256:' and 64 hexadecimal digits in small "
        "letters, got 'sha256:0a'"
    )


def test_another_name_of_a_version_is_that_version() -> None:
    """
    From there on.
    """
    release = find_image("vllm", "0.30.0")

    assert choose_image("vllm", "0.30") == ChosenImage(release, "vllm", "0.30.0", ())


@pytest.mark.parametrize(
    ("family", "version", "checked_as"),
    [("vllm-server", "2.5", "2.5"), ("djl-lmi", "0.36.0", "0.36.0")],
)
def test_a_tag_that_follows_all_releases_is_checked_as_what_was_said(
    family: str, version: str, checked_as: str
) -> None:
    """
    It names no version.
    """
    assert choose_image(family, version, "server-sagemaker-cuda").version == checked_as
