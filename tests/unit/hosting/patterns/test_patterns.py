"""
The patterns pass everything on and make nothing when the definition is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack, Tags
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    LlmEndpoint,
    Network,
    Observability,
    ResourceRequirements,
    TensorRtLlm,
    Tgi,
)

Properties = Callable[[Stack, str], dict[str, Any]]
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
TRT = TensorRtLlm("0.26.0", tensor_parallel_degree=4)


def test_llm_endpoint_passes_settings_on(
    stack: Stack, network: Network, properties: Properties
) -> None:
    """
    Each keyword ends at the resource that has it.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=MISTRAL,
        serving=TRT,
        instance_type="ml.g5.12xlarge",
        instance_count=2,
        endpoint_name="chat",
        environment={"SERVING_JOB_QUEUE_SIZE": "500"},
        network=network,
        container_startup_health_check_timeout=Duration.minutes(20),
        model_data_download_timeout=Duration.minutes(2),
        capacity=InstanceCapacity(provision_timeout=Duration.minutes(40)),
        inference_ami_version="al2-ami-sagemaker-inference-gpu-2",
        observability=Observability(detailed=True),
    )
    model = properties(stack, "AWS::SageMaker::Model")
    config = properties(stack, "AWS::SageMaker::EndpointConfig")
    (variant,) = config["ProductionVariants"]

    assert model["PrimaryContainer"]["Environment"] == {"SERVING_JOB_QUEUE_SIZE": "500"}
    assert "VpcConfig" in model
    assert "VpcConfig" not in config
    assert config["MetricsConfig"] == {"EnableDetailedObservability": True}
    assert variant["InitialInstanceCount"] == 2
    assert variant["ContainerStartupHealthCheckTimeoutInSeconds"] == 1200
    assert variant["ModelDataDownloadTimeoutInSeconds"] == 120
    assert variant["VariantInstanceProvisionTimeoutInSeconds"] == 2400
    assert variant["InferenceAmiVersion"] == "al2-ami-sagemaker-inference-gpu-2"
    assert properties(stack, "AWS::SageMaker::Endpoint")["EndpointName"] == "chat"
    assert len(llm.connections.security_groups) == 1
    assert llm.role is llm.model.role


def test_llm_endpoint_names_all_faults_and_makes_nothing(stack: Stack) -> None:
    """
    Faults of model, variant and endpoint come as one message.
    """
    with pytest.raises(ValueError, match="Test/Llm: 4 errors") as raised:
        LlmEndpoint(
            stack,
            "Llm",
            model=MISTRAL,
            serving=TensorRtLlm("0.26.9"),
            instance_type="ml.g5.13xlarge",
            instance_count=0,
            endpoint_name="a b",
        )

    for code in ("LLM101", "LLM102", "LLM105", "LLM106"):
        assert code in str(raised.value)
    assert stack.node.children == []


def test_the_component_endpoint_makes_nothing_when_it_is_wrong(stack: Stack) -> None:
    """
    Nothing half-defined stays in the tree.
    """
    with pytest.raises(ValueError, match="LLM105 max_instance_count must be at least"):
        InferenceComponentEndpoint(
            stack,
            "Host",
            instance_type="ml.p4d.24xlarge",
            instance_count=3,
            max_instance_count=2,
        )

    assert stack.node.children == []


def test_tags_reach_every_resource_of_the_service(
    stack: Stack, endpoint: LlmEndpoint
) -> None:
    """
    Cost allocation depends on them.
    """
    Tags.of(endpoint).add("team", "search")
    template = Template.from_stack(stack)

    for kind in ("Model", "EndpointConfig", "Endpoint"):
        template.has_resource_properties(
            f"AWS::SageMaker::{kind}", {"Tags": [{"Key": "team", "Value": "search"}]}
        )


def test_numbers_known_only_at_deployment_are_passed_on(
    stack: Stack, properties: Properties
) -> None:
    """
    A placeholder is neither checked as a number nor written as one.
    """
    parameter = CfnParameter(stack, "Count", type="Number", default=2)
    count = int(parameter.value_as_number)
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", instance_count=count
    )
    component = host.add_model(
        "Model",
        model=MISTRAL,
        serving=Tgi("1.4.5"),
        resources=ResourceRequirements(copies=count, accelerators=1),
    )
    component.auto_scale_copy_count(min_capacity=count, max_capacity=count)

    ref = {"Ref": "Count"}
    (variant,) = properties(stack, "AWS::SageMaker::EndpointConfig")[
        "ProductionVariants"
    ]
    copies = properties(stack, "AWS::SageMaker::InferenceComponent")["RuntimeConfig"]
    target = properties(stack, "AWS::ApplicationAutoScaling::ScalableTarget")

    assert variant["InitialInstanceCount"] == ref
    assert copies == {"CopyCount": ref}
    assert (target["MinCapacity"], target["MaxCapacity"]) == (ref, ref)


def test_a_model_known_only_at_deployment_is_a_variable(
    stack: Stack, properties: Properties
) -> None:
    """
    It is too late for the tarball, and in time for the environment.
    """
    name = CfnParameter(stack, "Name", default="org/model").value_as_string
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel(name),
        serving=TRT,
        instance_type="ml.g5.12xlarge",
    )

    container = properties(stack, "AWS::SageMaker::Model")["PrimaryContainer"]

    assert container["Environment"] == {"OPTION_MODEL_ID": {"Ref": "Name"}}


def test_fails_if_an_option_is_known_only_at_deployment(stack: Stack) -> None:
    """
    A file cannot hold a placeholder.
    """
    number = CfnParameter(stack, "Number", type="Number", default=2).value_as_number
    serving = TensorRtLlm("0.26.0", max_rolling_batch_size=int(number))

    with pytest.raises(ValueError, match="LLM114 .*known only at deployment"):
        LlmEndpoint(
            stack,
            "Llm",
            model=MISTRAL,
            serving=serving,
            instance_type="ml.g5.12xlarge",
        )
    with pytest.raises(ValueError, match="LLM114 max_input_length is known only"):
        LlmEndpoint(
            stack,
            "Llm",
            model=MISTRAL,
            serving=Tgi("1.4.5", max_input_length=int(number)),
            instance_type="ml.g5.12xlarge",
        )
