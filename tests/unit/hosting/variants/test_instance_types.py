"""
Instance types that deployment decides: what follows from them, and is not silently
left out.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aws_cdk import (
    App,
    CfnCondition,
    CfnMapping,
    CfnParameter,
    Environment,
    Fn,
    Stack,
)
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlamaCpp,
    LlmEndpoint,
    LmiVllm,
    ResourceRequirements,
    ServingConfiguration,
    Sglang,
    Tgi,
    Vllm,
)
from cdk_sagemaker_llm.cli.app.findings import hosted_reports
from tests.unit.hosting.written import properties_of, warnings_of

MODEL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
OUT = (
    "set that yourself, or name the type as text, or as a CfnParameter whose "
    "allowed_values all have the same accelerators [ack: cdk-sagemaker-llm:LLM806]"
)


def warned(stack: Stack) -> list[str]:
    """
    Return what is said of a type that deployment decides.
    """
    return [text for _, text in warnings_of(stack) if text.endswith("LLM806]")]


def decided(stack: Stack, way: str) -> str:
    """
    Return a type that the stack's template does not say.
    """
    if way == "CfnParameter":
        return CfnParameter(stack, "Type").value_as_string
    if way == "Fn::If":
        region = Fn.condition_equals(Fn.ref("AWS::Region"), "us-east-1")
        large = CfnCondition(stack, "Large", expression=region)
        both = "ml.g5.2xlarge", "ml.g5.12xlarge"
        return Fn.condition_if(large.logical_id, *both).to_string()
    types = CfnMapping(stack, "Types", mapping={"a": {"b": "ml.g5.2xlarge"}})
    return types.find_in_map(Fn.ref("AWS::Region"), "b")


@pytest.mark.parametrize("way", ["CfnParameter", "Fn::If", "FindInMap"])
def test_a_type_known_at_deployment_alone_says_what_is_left_out(
    stack: Stack, way: str
) -> None:
    """
    Nothing is lost without a word.
    """
    LlmEndpoint(
        stack, "Own", model=MODEL, serving=Vllm(), instance_type=decided(stack, way)
    )

    assert warned(stack) == [
        (
            "instance_type is decided at deployment, and what follows from it is "
            "left out: inference_ami_version, tensor_parallel_size, whether the model "
            f"fits; {OUT}"
        )
    ]


@pytest.mark.parametrize(
    ("serving", "degree"),
    [
        (LmiVllm(), "tensor_parallel_degree, "),
        (Sglang(), "tp_size, "),
        (Tgi("1.4.5"), "num_gpus, "),
        (LlamaCpp(), ""),
        (Vllm(tensor_parallel_size=4), ""),
    ],
    ids=["LMI", "SGLang", "TGI", "llama.cpp", "said"],
)
def test_what_is_left_out_is_called_as_it_is_written(
    stack: Stack, serving: ServingConfiguration, degree: str
) -> None:
    """
    In the words of the serving configuration.
    """
    name = CfnParameter(stack, "Type").value_as_string
    LlmEndpoint(stack, "Own", model=MODEL, serving=serving, instance_type=name)

    (text,) = warned(stack)
    assert f"inference_ami_version, {degree}whether the model fits;" in text


def test_hosts_of_components_lose_their_host_image_alone(stack: Stack) -> None:
    """
    Copies say themselves how many devices they have.
    """
    name = CfnParameter(stack, "Type").value_as_string
    host = InferenceComponentEndpoint(stack, "Host", instance_type=name)
    needs = ResourceRequirements(accelerators=1, cpus=2, memory_mib=1024)
    host.add_model("Model", model=MODEL, resources=needs)

    (text,) = warned(stack)
    assert "is left out: inference_ami_version; " in text


def test_a_default_is_followed_and_said(stack: Stack) -> None:
    """
    Another type at deployment may have other devices.
    """
    name = CfnParameter(stack, "Type", default="ml.g5.12xlarge").value_as_string
    LlmEndpoint(stack, "Own", model=MODEL, instance_type=name)

    assert warned(stack) == [
        (
            "instance_type is decided at deployment, and what follows from it is as "
            "its default ml.g5.12xlarge needs it: inference_ami_version, "
            f"tensor_parallel_size, whether the model fits; {OUT}"
        )
    ]
    (variant,) = properties_of(stack, "SageMaker::EndpointConfig")["ProductionVariants"]
    assert variant["InstanceType"] == "${Type}"
    assert variant["InferenceAmiVersion"] == "al2023-ami-sagemaker-inference-gpu-4-1"
    container = properties_of(stack, "SageMaker::Model")["PrimaryContainer"]
    assert container["Environment"]["SM_VLLM_TENSOR_PARALLEL_SIZE"] == "4"


def test_allowed_types_of_the_same_devices_are_as_good_as_one(stack: Stack) -> None:
    """
    All that follows is the same of each.
    """
    allowed = ["ml.g5.24xlarge", "ml.g5.12xlarge"]
    name = CfnParameter(stack, "Type", allowed_values=allowed).value_as_string
    own = LlmEndpoint(stack, "Own", model=MODEL, instance_type=name)

    assert warned(stack) == []
    container = properties_of(stack, "SageMaker::Model")["PrimaryContainer"]
    assert container["Environment"]["SM_VLLM_TENSOR_PARALLEL_SIZE"] == "4"
    assert own.model.definition is not None


def test_allowed_types_of_other_devices_decide_nothing(stack: Stack) -> None:
    """
    One of them would lose what the other needs.
    """
    allowed = ["ml.g5.2xlarge", "ml.g5.12xlarge"]
    name = CfnParameter(
        stack, "Type", default=allowed[0], allowed_values=allowed
    ).value_as_string
    LlmEndpoint(stack, "Own", model=MODEL, instance_type=name)

    (text,) = warned(stack)
    assert "is left out: inference_ami_version, tensor_parallel_size" in text


@pytest.mark.parametrize(
    "parameter",
    [
        {"default": "ml.g5.13xlarge"},
        {"allowed_values": ["ml.g5.2xlarge", "ml.g5.13xlarge"]},
    ],
    ids=["default", "allowed"],
)
def test_types_that_do_not_exist_are_refused_in_a_parameter(
    stack: Stack, parameter: dict[str, object]
) -> None:
    """
    They are what they are.
    """
    name = CfnParameter(stack, "Type", **parameter).value_as_string  # type: ignore[arg-type]  # by name

    with pytest.raises(ValueError, match="LLM101 unknown instance type 'ml.g5.13xla"):
        LlmEndpoint(stack, "Own", model=MODEL, instance_type=name)


def test_check_says_the_same_of_a_template(stack: Stack, tmp_path: Path) -> None:
    """
    Of the template alone.
    """
    name = CfnParameter(stack, "Type").value_as_string
    LlmEndpoint(stack, "Own", model=MODEL, instance_type=name)
    file = tmp_path / "stack.template.json"
    file.write_text(json.dumps(Template.from_stack(stack).to_json()))

    (report,) = hosted_reports(file)

    assert [str(one) for one in report.findings if one.code == "LLM806"] == [
        "LLM806 InstanceType is decided at deployment, and what follows from it is "
        "left out: InferenceAmiVersion, the number of devices that the model is split "
        "over; " + OUT.partition(" [")[0]
    ]


def offered(region: str | None, instance_type: str) -> list[str]:
    """
    Return what is said of a type that the stack's region may not have.
    """
    environment = Environment(region=region) if region else None
    stack = Stack(App(), "Stack", env=environment)
    InferenceComponentEndpoint(stack, "Host", instance_type=instance_type)
    return [text for _, text in warnings_of(stack) if text.endswith("LLM814]")]


def test_a_type_that_the_region_has_no_price_for() -> None:
    """
    The list may be older than the offer, so that it is a warning.
    """
    (text,) = offered("eu-west-3", "ml.p5.48xlarge")
    assert text == (
        "ml.p5.48xlarge is not in AWS's price list for endpoints in eu-west-3: it has "
        "it for ap-southeast-2, ca-central-1, eu-west-2, sa-east-1, us-east-1, "
        "us-east-2, us-west-2; deploy to one of these regions [ack: "
        "cdk-sagemaker-llm:LLM814]"
    )


def test_types_of_the_region_with_as_much_memory_are_named() -> None:
    """
    Those of the same kind: no Inferentia chips for GPUs.
    """
    (text,) = offered("eu-west-3", "ml.g6e.12xlarge")
    assert text.endswith(
        "; use ml.g6.48xlarge, or another region [ack: cdk-sagemaker-llm:LLM814]"
    )


@pytest.mark.parametrize(
    ("region", "instance_type"),
    [
        ("eu-west-2", "ml.p5.48xlarge"),
        # No region is listed for it: it is sold by agreement.
        ("eu-west-3", "ml.p5e.48xlarge"),
        ("eu-west-3", "ml.c7i.xlarge"),
        (None, "ml.p5.48xlarge"),
    ],
)
def test_a_type_that_is_offered_or_of_which_nothing_is_known(
    region: str | None, instance_type: str
) -> None:
    """
    Nothing is said of these.
    """
    assert offered(region, instance_type) == []
