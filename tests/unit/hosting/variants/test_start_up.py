"""
A container meets its host: devices, driver, and how long each side waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk.assertions import Annotations, Match, Template

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    NeuronX,
    ResourceRequirements,
    TensorRtLlm,
    Tgi,
)
from tests.unit.hosting.written import codes_of

MODEL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
CONFIG = "AWS::SageMaker::EndpointConfig"
NEWEST_HOST = "al2023-ami-sagemaker-inference-gpu-4-1"
Properties = Callable[[Stack, str], dict[str, Any]]


def host_image(stack: Stack, properties: Properties) -> str | None:
    """
    Return the host image that the stack's only variant asks for.
    """
    (variant,) = properties(stack, CONFIG)["ProductionVariants"]
    image: str | None = variant.get("InferenceAmiVersion")
    return image


@pytest.mark.parametrize(
    ("serving", "instance_type", "expected"),
    [
        (LmiVllm(), "ml.g5.12xlarge", NEWEST_HOST),
        (LmiVllm(), "ml.p5.48xlarge", NEWEST_HOST),
        (LmiVllm(), "ml.g7e.2xlarge", None),
        (LmiVllm("0.30.0"), "ml.g5.12xlarge", "al2-ami-sagemaker-inference-gpu-3-1"),
        (LmiVllm("0.33.0"), "ml.g6.12xlarge", None),
        (TensorRtLlm("0.26.0"), "ml.g5.12xlarge", None),
        (Tgi("1.4.5"), "ml.p4d.24xlarge", None),
    ],
    ids=str,
)
def test_the_host_image_follows_the_cuda_version(
    stack: Stack,
    properties: Properties,
    serving: LmiVllm | TensorRtLlm | Tgi,
    instance_type: str,
    expected: str | None,
) -> None:
    """
    The oldest host whose driver runs the image, and none where the default does.
    """
    LlmEndpoint(stack, "It", serving=serving, model=MODEL, instance_type=instance_type)

    assert host_image(stack, properties) == expected


@pytest.mark.parametrize(
    ("account", "expected"), [("763104351884", NEWEST_HOST), ("222222222222", None)]
)
def test_the_host_image_follows_an_address_in_a_registry_of_aws(
    stack: Stack, properties: Properties, account: str, expected: str | None
) -> None:
    """
    Its tag does not say that it is of CUDA 13.
    """
    registry = f"{account}.dkr.ecr.us-east-1.amazonaws.com"
    serving = CustomContainer.from_uri(
        f"{registry}/vllm:server-sagemaker-cuda-v2.6",
        model_variable="SM_VLLM_MODEL",
    )
    LlmEndpoint(stack, "It", serving=serving, model=MODEL, instance_type="ml.g5.xlarge")

    assert host_image(stack, properties) == expected


def test_the_default_engine_decides_for_hosts_that_are_told_nothing(
    stack: Stack, properties: Properties
) -> None:
    """
    Whatever their components are.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    needs = ResourceRequirements(accelerators=1)
    host.add_model("New", model=MODEL, resources=needs)
    host.add_model("Old", serving=Tgi("1.4.5"), model=MODEL, resources=needs)

    assert host_image(stack, properties) == NEWEST_HOST


def test_components_of_old_images_need_no_host_image(
    stack: Stack, properties: Properties
) -> None:
    """
    Nothing is asked for that the service's default has.
    """
    old = Tgi("1.4.5")
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", engine=old
    )
    needs = ResourceRequirements(accelerators=1)
    host.add_model("Old", serving=old, model=MODEL, resources=needs)

    assert host_image(stack, properties) is None
    assert [code for _, code in codes_of(stack)] == ["LLM201"]


def test_fails_if_the_chosen_host_does_not_start_the_image(stack: Stack) -> None:
    """
    Such a container ends without a log.
    """
    with pytest.raises(
        ValueError,
        match=r"LLM198 image djl-lmi 0\.36\.0 of CUDA 13\.0 does not start with the "
        r"driver of al2-ami-sagemaker-inference-gpu-2 of ml\.g5\.12xlarge; leave "
        r"inference_ami_version out: it is al2023-ami-sagemaker-inference-gpu-4-1 then",
    ):
        LlmEndpoint(
            stack,
            "It",
            model=MODEL,
            serving=LmiVllm(),
            instance_type="ml.g5.12xlarge",
            inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
        )


def test_fails_if_a_component_does_not_start_on_its_host(stack: Stack) -> None:
    """
    The argument to write is named.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
    with pytest.raises(
        ValueError,
        match=r"LLM198 image djl-lmi 0\.33\.0 of CUDA 12\.8 does not start with the "
        r"driver of al2023-ami-sagemaker-inference-gpu-4-1 of ml\.g5\.12xlarge; define "
        r"the host with cuda_version='12\.8', or serve the model from a host of its "
        r"own",
    ):
        host.add_model(
            "Old",
            serving=LmiVllm("0.33.0"),
            model=MODEL,
            resources=ResourceRequirements(accelerators=1),
        )


def test_warns_if_nobody_has_tried_a_component_on_its_host(stack: Stack) -> None:
    """
    An inference is no reason to refuse.
    """
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
    host.add_model(
        "Old",
        serving=Tgi("3.3.6"),
        model=MODEL,
        resources=ResourceRequirements(accelerators=1),
    )

    Annotations.from_stack(stack).has_warning(
        "/Test/Host/Old/Component",
        Match.string_like_regexp(r"may not start.*cuda_version='12\.4'.*LLM221"),
    )


@pytest.mark.parametrize(
    ("serving", "instance_type"),
    [
        (LmiVllm(), "ml.inf2.48xlarge"),
        (NeuronX("0.29.0"), "ml.g5.12xlarge"),
    ],
    ids=str,
)
def test_fails_if_the_devices_are_of_another_kind(
    stack: Stack, serving: LmiVllm | NeuronX, instance_type: str
) -> None:
    """
    An image for GPUs does not start on Neuron chips, nor the other way round.
    """
    with pytest.raises(ValueError, match="LLM127 image djl-"):
        LlmEndpoint(
            stack, "It", serving=serving, model=MODEL, instance_type=instance_type
        )

    assert stack.node.try_find_child("It") is None


@pytest.mark.parametrize(
    ("loading", "health_check", "message"),
    [
        (7200, None, "gives up after 1800 s"),
        (1200, 600, "gives up after 600 s"),
        (3599, 3600, "container gives up loading after 3599 s"),
    ],
)
def test_warns_if_the_time_outs_contradict(
    stack: Stack, loading: int | None, health_check: int | None, message: str
) -> None:
    """
    The shorter one decides, whatever the longer one promises.
    """
    LlmEndpoint(
        stack,
        "It",
        serving=TensorRtLlm("0.26.0", model_loading_timeout=loading),
        model=MODEL,
        instance_type="ml.g5.12xlarge",
        container_startup_health_check_timeout=(
            Duration.seconds(health_check) if health_check else None
        ),
    )

    Annotations.from_stack(stack).has_warning(
        "*", Match.string_like_regexp(f"{message}.*LLM213")
    )


@pytest.mark.parametrize(
    ("loading", "health_check"), [(None, None), (None, 600), (None, 3600), (3600, 3600)]
)
def test_time_outs_that_agree_pass(
    stack: Stack, loading: int | None, health_check: int | None
) -> None:
    """
    The defaults are no contradiction of the user's.
    """
    LlmEndpoint(
        stack,
        "It",
        serving=LmiVllm(model_loading_timeout=loading),
        model=MODEL,
        instance_type="ml.g5.12xlarge",
        container_startup_health_check_timeout=(
            Duration.seconds(health_check) if health_check else None
        ),
    )

    Annotations.from_stack(stack).has_no_warning("*", Match.any_value())


def test_vllm_on_the_newest_image_is_the_default(stack: Stack) -> None:
    """
    A model and an instance type are enough.
    """
    LlmEndpoint(stack, "It", model=MODEL, instance_type="ml.g5.12xlarge")

    Template.from_stack(stack).has_resource_properties(
        "AWS::SageMaker::Model",
        {
            "PrimaryContainer": {
                "Image": Match.string_like_regexp(r"vllm:server-sagemaker-cuda-v2\.6$"),
            }
        },
    )
