"""
What the constructs take from a model's size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack
from aws_cdk.assertions import Annotations, Match

from cdk_sagemaker_llm import (
    Assumptions,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    LmiVllm,
    ModelArchitecture,
    Plan,
    ResourceRequirements,
    S3Model,
    TensorRtLlm,
    Tgi,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.hosting.components.sizing import Sizing
from tests.unit.serving.answers import container_of

COMPONENT = "AWS::SageMaker::InferenceComponent"
CONFIG = "AWS::SageMaker::EndpointConfig"
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
MIXTRAL = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1")
MIXTRAL_22B = HuggingFaceModel("mistralai/Mixtral-8x22B-v0.1")
Properties = Callable[[Stack, str], dict[str, Any]]


def host(stack: Stack, instances: int = 1) -> InferenceComponentEndpoint:
    """
    Define a shared endpoint on eight A100.
    """
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=instances
    )


def test_fails_if_a_model_does_not_load(stack: Stack) -> None:
    """
    87 GiB of Mixtral on four A10G end in no endpoint after twenty minutes.
    """
    with pytest.raises(ValueError, match=r"LLM190 MixtralForCausalLM.*21\.75 GiB"):
        LlmEndpoint(stack, "It", model=MIXTRAL, instance_type="ml.g5.12xlarge")

    assert stack.node.try_find_child("It") is None


def test_the_cautious_figures_can_be_overridden(
    stack: Stack, properties: Properties
) -> None:
    """
    Who has measured more may say so.
    """
    llama = HuggingFaceModel(
        "org/like-llama", architecture=ModelArchitecture.of("meta-llama/Llama-2-7b-hf")
    )
    serving = LmiVllm(max_model_len=512)
    with pytest.raises(ValueError, match="LLM190"):
        LlmEndpoint(
            stack,
            "Measured",
            model=llama,
            serving=serving,
            instance_type="ml.g4dn.xlarge",
            assumptions=Assumptions(runtime_gib=4.0),
        )
    LlmEndpoint(
        stack,
        "Usual",
        model=llama,
        serving=serving,
        instance_type="ml.g4dn.xlarge",
    )

    (variant,) = properties(stack, CONFIG)["ProductionVariants"]
    assert variant["InstanceType"] == "ml.g4dn.xlarge"


def test_warns_if_no_whole_sequence_fits(stack: Stack) -> None:
    """
    It starts, and then refuses long prompts.
    """
    LlmEndpoint(
        stack,
        "It",
        model=HuggingFaceModel("codellama/CodeLlama-7b-hf"),
        serving=LmiVllm("0.30.0", max_model_len=14000),
        instance_type="ml.g5.xlarge",
    )

    Annotations.from_stack(stack).has_warning(
        "/Test/It", Match.string_like_regexp("fewer than one sequence.*LLM290")
    )


def test_resources_come_from_the_plan(stack: Stack, properties: Properties) -> None:
    """
    The smallest degree that fits, a share of the cores, and a small reservation.
    """
    host(stack).add_model("Mixtral", model=MIXTRAL)

    given = properties(stack, COMPONENT)
    assert given["RuntimeConfig"] == {"CopyCount": 1}
    assert given["Specification"]["ComputeResourceRequirements"] == {
        "MinMemoryRequiredInMb": 1024,
        "NumberOfAcceleratorDevicesRequired": 4,
        "NumberOfCpuCoresRequired": 38,
    }


def test_copies_fill_what_the_others_leave(stack: Stack) -> None:
    """
    Two instances, six accelerators taken: ten copies of one accelerator.
    """
    shared = host(stack, instances=2)
    shared.add_model(
        "Other",
        model=MISTRAL,
        resources=ResourceRequirements(copies=2, accelerators=3),
        serving=TensorRtLlm("0.26.0", tensor_parallel_degree=1),
    )
    filling = shared.add_model("Filling", model=MISTRAL, copies="fill")
    counted = shared.endpoint_config.variants[0].most_instances

    assert counted == 2
    assert filling.resources.accelerators == 1
    assert filling.resources.copies == 10


def test_copies_can_be_counted_beside_the_plan(
    stack: Stack, properties: Properties
) -> None:
    """
    The plan sizes one copy; how many is the user's word.
    """
    host(stack).add_model("Mistral", model=MISTRAL, copies=3)

    assert properties(stack, COMPONENT)["RuntimeConfig"] == {"CopyCount": 3}


def test_fails_if_nothing_is_known_of_the_model(stack: Stack) -> None:
    """
    Neither resources nor a size: the message says both ways out.
    """
    shared = host(stack)

    with pytest.raises(ValueError, match="LLM192 resources are left out"):
        shared.add_model("Mine", model=S3Model("s3://bucket/model/"))

    assert shared.node.try_find_child("Mine") is None


def test_an_architecture_of_ones_own_is_enough(
    stack: Stack, properties: Properties
) -> None:
    """
    Weights on S3 have no name, and yet a size.
    """
    model = S3Model("s3://bucket/model/", architecture="meta-llama/Llama-2-70b-hf")
    host(stack).add_model("Mine", model=model, serving=Tgi("2.4.0"))

    needs = properties(stack, COMPONENT)["Specification"]["ComputeResourceRequirements"]
    assert needs["NumberOfAcceleratorDevicesRequired"] == 4


def test_filling_counts_the_instances_that_may_be_added(stack: Stack) -> None:
    """
    SageMaker adds them when the copies need them.
    """
    shared = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )
    filling = shared.add_model("Filling", model=MISTRAL, copies="fill")

    assert filling.resources.copies == 16


def test_fails_if_copies_are_to_fill_what_is_not_known(stack: Stack) -> None:
    """
    A number of instances that only the deployment knows cannot be filled.
    """
    count = CfnParameter(stack, "Count", type="Number", default=1).value_as_number
    shared = InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4d.24xlarge",
        instance_count=count,  # type: ignore[arg-type] # a placeholder is a float
    )

    with pytest.raises(ValueError, match="copies='fill' needs an instance type"):
        shared.add_model("Filling", model=MISTRAL, copies="fill")


def test_fails_if_the_pieces_fit_in_no_way(stack: Stack) -> None:
    """
    Three of three and one of seven are sixteen accelerators, and yet too many.
    """
    shared = host(stack, instances=2)
    unknown = HuggingFaceModel("org/unknown")
    shared.add_model(
        "Small", model=unknown, resources=ResourceRequirements(copies=3, accelerators=3)
    )

    with pytest.raises(ValueError, match=r"LLM104 3 x Small, 1 x Large cannot be"):
        shared.add_model(
            "Large", model=unknown, resources=ResourceRequirements(accelerators=7)
        )


def test_a_large_model_is_waited_for_longer(
    stack: Stack, properties: Properties
) -> None:
    """
    281 GB take more than the default 30 minutes; container and SageMaker agree.
    """
    LlmEndpoint(stack, "It", model=MIXTRAL_22B, instance_type="ml.p4de.24xlarge")

    (variant,) = properties(stack, CONFIG)["ProductionVariants"]
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 3600
    Annotations.from_stack(stack).has_no_warning(
        "*", Match.string_like_regexp("LLM213")
    )
    text = container_of(LmiVllm(), MIXTRAL_22B, 8).files["serving.properties"]
    assert b"option.model_loading_timeout=3600\n" in text


def test_a_chosen_time_out_stays(stack: Stack, properties: Properties) -> None:
    """
    What the user wrote is not changed.
    """
    LlmEndpoint(
        stack,
        "It",
        model=MISTRAL,
        instance_type="ml.g5.12xlarge",
        container_startup_health_check_timeout=Duration.minutes(20),
    )

    (variant,) = properties(stack, CONFIG)["ProductionVariants"]
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 1200


def test_a_demand_that_was_not_asked_for_is_planned_all_the_same() -> None:
    """
    A configuration of one's own need not ask for the accelerators, nor with its demand.
    """
    demand = LmiVllm().prepare(MISTRAL, None).demand
    sizing = Sizing(
        hardware=find_instance_type("ml.g5.12xlarge"), requested=None, assumptions=None
    )

    assert sizing.accelerators(None) is None
    assert sizing.accelerators(demand) == 1
    assert sizing.findings(demand, ()) == []


def test_a_definition_holds_the_plan(stack: Stack) -> None:
    """
    What was planned at synth can be read from the model that was made.
    """
    filling = LlmEndpoint(stack, "It", model=MISTRAL, instance_type="ml.g5.12xlarge")
    shared = host(stack).add_model("Mixtral", model=MIXTRAL)
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    bare = host(Stack(stack, "Inner")).add_model(
        "Mine",
        model=MISTRAL,
        resources=ResourceRequirements(accelerators=number),  # type: ignore[arg-type]  # a float
    )

    assert shared.model.definition is not None
    whole, part = filling.model.definition.plan, shared.model.definition.plan
    assert isinstance(whole, Plan)
    assert (whole.instance_type.name, whole.tensor_parallel_degree) == (
        "ml.g5.12xlarge",
        4,
    )
    assert isinstance(part, Plan)
    assert (part.instance_type.name, part.tensor_parallel_degree) == (
        "ml.p4d.24xlarge",
        4,
    )
    assert bare.model.definition is not None
    assert bare.model.definition.plan is None
