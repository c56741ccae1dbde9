"""
What a host needs to start an image, without a stack.
"""

from __future__ import annotations

import dataclasses

import pytest
from aws_cdk import CfnParameter, Stack

from cdk_sagemaker_llm.catalog.images import ImageRelease, find_image
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    loading_timeout_findings,
)
from cdk_sagemaker_llm.serving.images import host_findings

G5 = find_instance_type("ml.g5.12xlarge")
INF2 = find_instance_type("ml.inf2.48xlarge")
LMI = find_image("djl-lmi", "0.36.0")
NEURON = find_image("djl-neuronx", "0.29.0")
OLD_HOST = "al2-ami-sagemaker-inference-gpu-2"
NEW_HOST = "al2023-ami-sagemaker-inference-gpu-4-1"


def findings_of(
    hardware: InstanceType | None, image: ImageRelease, host_image: str | None
) -> list[Finding]:
    """
    Check the hosts of one model.
    """
    return host_findings(hardware, image, host_image, hosts_components=False)


@pytest.mark.parametrize(
    ("instance_type", "image", "host_image"),
    [
        ("ml.g5.12xlarge", LMI, NEW_HOST),
        ("ml.inf2.48xlarge", NEURON, None),
        ("ml.g5.12xlarge", find_image("huggingface-llm", "1.4.5"), OLD_HOST),
    ],
)
def test_hosts_that_have_what_an_image_needs_pass(
    instance_type: str, image: ImageRelease, host_image: str | None
) -> None:
    """
    Devices of its kind, and a driver that is new enough.
    """
    assert findings_of(find_instance_type(instance_type), image, host_image) == []


def test_hosts_that_are_not_known_pass() -> None:
    """
    Nor is an image of one's own checked: who made it knows where it runs.
    """
    own = ImageRelease.from_uri("222222222222.dkr.ecr.eu-west-1.amazonaws.com/a:1")

    assert findings_of(None, NEURON, OLD_HOST) == []
    assert findings_of(INF2, own, None) == []


@pytest.mark.parametrize(
    ("account", "codes"), [("763104351884", ["LLM521"]), ("222222222222", [])]
)
def test_an_address_in_a_registry_of_aws_is_checked_as_its_image(
    account: str, codes: list[str]
) -> None:
    """
    In another registry it may have been built otherwise.
    """
    registry = f"{account}.dkr.ecr.us-east-1.amazonaws.com"
    named = ImageRelease.from_uri(f"{registry}/vllm:server-sagemaker-cuda-v2.6")
    bare = find_instance_type("ml.c7i.xlarge")

    assert [each.code for each in findings_of(bare, named, None)] == codes


def test_of_tei_there_is_no_image_for_graviton() -> None:
    """
    Nor does LlamaCpp take its place.
    """
    image = find_image("tei-cpu", "1.9.3")
    (told,) = findings_of(find_instance_type("ml.c7g.xlarge"), image, None)

    assert (told.code, told.remedy) == ("LLM523", "choose an instance type of x86_64")


def test_what_was_not_asked_for_is_not_to_be_left_out() -> None:
    """
    As in pools of types that share no host image.
    """
    (told,) = findings_of(G5, find_image("llama-cpp", "1.0.1"), None)

    assert told.code == "LLM198"
    assert told.remedy == (
        "ask for the host image al2023-ami-sagemaker-inference-gpu-4-1, which all "
        "types of the variant must have, or choose another image"
    )


@pytest.mark.parametrize("family", ["llama-cpp-cpu", "llama-cpp-arm64"])
def test_an_image_for_cpus_needs_no_devices(family: str) -> None:
    """
    Nor a driver; one for GPUs does.
    """
    image = find_image(family, "1.0.1")
    with_gpu = dataclasses.replace(G5, processor=image.processor or "x86_64")
    bare = dataclasses.replace(with_gpu, accelerators=0)
    told = [
        each.code for each in findings_of(bare, find_image("llama-cpp", "1.0.1"), None)
    ]

    assert findings_of(bare, image, None) == []
    assert findings_of(with_gpu, image, OLD_HOST) == []
    assert told == ["LLM521"]


def test_other_devices_are_named_both_ways_round() -> None:
    """
    The driver of a host that has none for it is not spoken of.
    """
    assert [str(each) for each in findings_of(INF2, LMI, OLD_HOST)] == [
        (
            "LLM127 image djl-lmi 0.36.0 runs on NVIDIA GPUs, and ml.inf2.48xlarge has "
            "Inferentia2; choose another image or another instance type"
        )
    ]
    assert [str(each) for each in findings_of(G5, NEURON, None)] == [
        (
            "LLM127 image djl-neuronx 0.29.0 runs on Inferentia or Trainium, and "
            "ml.g5.12xlarge has A10G; choose another image or another instance type"
        )
    ]


def test_a_type_without_a_new_enough_host_is_named() -> None:
    """
    Where none can be asked for, it is the host as it comes.
    """
    old = InstanceType(
        name="ml.p0.4xlarge",
        accelerators=1,
        accelerator_model="old",
        accelerator_memory_gib=16,
        vcpus=16,
        memory_gib=64,
        compatible_inference_amis=(OLD_HOST,),
    )

    assert [str(each) for each in findings_of(old, LMI, None)] == [
        (
            "LLM198 image djl-lmi 0.36.0 of CUDA 13.0 does not start with the default "
            "driver of ml.p0.4xlarge; choose another image or another instance type"
        )
    ]


def test_no_host_image_is_named_where_none_is_of_that_version() -> None:
    """
    To leave the chosen one out would not do.
    """
    newest = ImageRelease("djl-lmi", "1", "repository", "1-cu140", frozenset())

    assert [str(each) for each in findings_of(G5, newest, OLD_HOST)] == [
        (
            f"LLM198 image djl-lmi 1 of CUDA 14.0 does not start with the driver of "
            f"{OLD_HOST} of ml.g5.12xlarge; choose another image or another instance "
            "type"
        )
    ]


def test_a_host_image_that_deployment_decides_is_not_judged(stack: Stack) -> None:
    """
    Nor is the devices' kind forgotten for it.
    """
    later = CfnParameter(stack, "HostImage").value_as_string

    assert findings_of(G5, LMI, later) == []
    assert [each.code for each in findings_of(INF2, LMI, later)] == ["LLM127"]


def test_a_type_without_accelerators_is_named() -> None:
    """
    Whatever the image needs.
    """
    plain = InstanceType.of("ml.m9.4xlarge", accelerators=0, vcpus=16, memory_gib=64)

    assert [str(each) for each in findings_of(plain, LMI, None)] == [
        (
            "LLM521 image djl-lmi 0.36.0 runs on accelerators, and ml.m9.4xlarge has "
            "none; choose an instance type with accelerators, or serve a GGUF file "
            "with LlamaCpp, or embeddings with TextEmbeddings, which run on processors"
        )
    ]
    llama = find_image("llama-cpp", "1.0.1")
    assert [each.remedy for each in findings_of(plain, llama, None)] == [
        (
            "take llama-cpp-cpu, which a model that is defined with accelerators=0 "
            "gets, or another instance type"
        )
    ]


@pytest.mark.parametrize(
    ("family", "instance_type", "told"),
    [
        ("llama-cpp-arm64", "ml.c7g.xlarge", None),
        ("llama-cpp-cpu", "ml.c7i.xlarge", None),
        ("llama-cpp-cpu", "ml.g5.xlarge", None),
        (
            "llama-cpp-arm64",
            "ml.c7i.xlarge",
            (
                "LLM523 image llama-cpp-arm64 1.0.1 is built for arm64, and the "
                "processors of ml.c7i.xlarge are x86_64; choose an instance type of "
                "arm64, or the image for x86_64, such as with "
                'LlamaCpp(processor="x86_64")'
            ),
        ),
        (
            "llama-cpp-cpu",
            "ml.c7g.xlarge",
            (
                "LLM523 image llama-cpp-cpu 1.0.1 is built for x86_64, and the "
                "processors of ml.c7g.xlarge are arm64; choose an instance type of "
                "x86_64, or the image for arm64, such as with "
                'LlamaCpp(processor="arm64")'
            ),
        ),
    ],
)
def test_an_image_for_cpus_is_built_for_the_hosts(
    family: str, instance_type: str, told: str | None
) -> None:
    """
    Both ways round.
    """
    image = find_image(family, "1.0.1")
    hardware = find_instance_type(instance_type)

    assert [str(each) for each in findings_of(hardware, image, None)] == (
        [told] if told else []
    )


@pytest.mark.parametrize(
    ("limit", "health_check", "was_chosen", "found"),
    [
        (None, 60, True, None),
        (1800, 1800, True, None),
        (1800, 1800, False, None),
        (1799, 1800, False, None),
        (1799, 1800, True, "raise model_loading_timeout"),
        (
            1801,
            1800,
            False,
            "raise container_startup_health_check_timeout, 3600 s at most",
        ),
        (
            1801,
            1800,
            True,
            "raise container_startup_health_check_timeout, 3600 s at most",
        ),
    ],
)
def test_the_shorter_patience_is_the_one_to_raise(
    limit: int | None, health_check: float, *, was_chosen: bool, found: str | None
) -> None:
    """
    Equal ones agree, and a default is no promise.
    """
    contradictions = loading_timeout_findings(
        limit, health_check, was_chosen=was_chosen
    )

    assert [each.remedy for each in contradictions] == ([found] if found else [])


def test_placeholders_are_not_compared(stack: Stack) -> None:
    """
    Nothing is guessed of what the deployment decides.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number

    assert loading_timeout_findings(7200, number, was_chosen=True) == []
