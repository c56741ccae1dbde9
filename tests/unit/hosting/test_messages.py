"""
What users read when a rule of the constructs is broken: each message, whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Environment, SecretValue, Size, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import RootConstruct

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceCapacity,
    LlmEndpoint,
    LmiVllm,
    ManagedInstanceScaling,
    Model,
    Network,
    NeuronX,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    ServingArtifact,
    TensorRtLlm,
    Tgi,
)
from tests.unit.hosting.expected import KEY_ARN, ROLE_ARN
from tests.unit.hosting.written import warnings_of

Definition = Callable[[Stack], object]
MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
GPT2 = HuggingFaceModel("gpt2")
TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)
PLAIN_TOKEN = "hf_" + "a" * 34


def variant(
    *,
    instance_type: str = "ml.g5.xlarge",
    name: str = "AllTraffic",
    model: Model | None = None,
    volume_size: Size | None = None,
    scaling: ManagedInstanceScaling | None = None,
) -> ProductionVariant:
    """
    Return a variant with what a message is about.
    """
    return ProductionVariant(
        instance_type=instance_type,
        variant_name=name,
        model=model,
        volume_size=volume_size,
        managed_instance_scaling=scaling,
    )


def gpt2(stack: Stack) -> Model:
    """
    Define a small model that is right.
    """
    return Model(stack, "Model", serving=TGI, model=GPT2)


def filled(stack: Stack) -> LlmEndpoint:
    """
    Define an endpoint that a model fills.
    """
    return LlmEndpoint(
        stack, "Filled", serving=TGI, model=GPT2, instance_type="ml.g5.xlarge"
    )


def host(stack: Stack) -> InferenceComponentEndpoint:
    """
    Define an endpoint of two instances with eight devices each.
    """
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )


def key(stack: Stack) -> kms.IKey:
    """
    Refer to a key.
    """
    return kms.Key.from_key_arn(stack, "Key", KEY_ARN)


def own_role(stack: Stack) -> iam.IRole:
    """
    Refer to a role.
    """
    return iam.Role.from_role_arn(stack, "Role", ROLE_ARN)


def llm(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Define an endpoint of a 7B with some keywords changed.
    """
    usual: dict[str, Any] = {
        "model": MISTRAL,
        "serving": TGI,
        "instance_type": "ml.g5.12xlarge",
    }
    return lambda stack: LlmEndpoint(stack, "It", **{**usual, **changes})


def config(*variants: ProductionVariant, kms_key: kms.IKey | None = None) -> Definition:
    """
    Define an endpoint configuration of variants without a model.
    """
    return lambda stack: EndpointConfig(
        stack, "It", variants=variants, execution_role=own_role(stack), kms_key=kms_key
    )


def added(**changes: Any) -> Definition:  # noqa: ANN401 - any keyword
    """
    Add a model to an endpoint of components.
    """
    given: dict[str, Any] = {"model": GPT2, "serving": TGI, "resources": ONE, **changes}
    return lambda stack: host(stack).add_model("It", **given)


def in_another_region(_: Stack) -> object:
    """
    Define a model where its image is not.
    """
    stack = Stack(App(), "Iso", env=Environment(region="us-iso-east-1"))
    return Model(stack, "It", serving=TensorRtLlm("0.26.0"), model=GPT2)


def of_the_wrong_role(stack: Stack) -> object:
    """
    Define a component whose model has a role of its own.
    """
    return InferenceComponent(
        stack, "It", endpoint=host(stack).endpoint, model=gpt2(stack), resources=ONE
    )


def on_a_filled_endpoint(stack: Stack) -> object:
    """
    Define a component where a model fills the instances.
    """
    llm = filled(stack)
    return InferenceComponent(
        stack, "It", endpoint=llm.endpoint, model=llm.model, resources=ONE
    )


def on_another_variant(stack: Stack) -> object:
    """
    Define a component on a variant that there is not.
    """
    return InferenceComponent(
        stack,
        "It",
        endpoint=host(stack).endpoint,
        model=gpt2(stack),
        resources=ONE,
        variant_name="Blue",
    )


def on_hosts_of_a_type_that_is_not_known(stack: Stack) -> object:
    """
    Fill instances of a type that the deployment decides.
    """
    name = CfnParameter(stack, "Type").value_as_string
    shared = InferenceComponentEndpoint(stack, "Host", instance_type=name)
    return shared.add_model("It", model=GPT2, serving=TGI, resources=ONE, copies="fill")


ERRORS: dict[str, tuple[Definition, str]] = {
    "region": (
        in_another_region,
        (
            "Iso/It: LLM103 image djl-tensorrtllm 0.26.0 is not listed in us-iso-east-1"
            "; no version of djl-tensorrtllm is listed there: use another container"
        ),
    ),
    "no place": (
        added(resources=ResourceRequirements(copies=17, accelerators=1)),
        (
            "Test/Host/It: LLM104 17 copies of It do not fit, 2 instances hold 16 "
            "(ml.p4d.24xlarge)"
        ),
    ),
    "count": (
        llm(instance_count=0),
        "Test/It: LLM105 initial_instance_count must be at least 1, got 0",
    ),
    "endpoint's name": (
        llm(endpoint_name="a_b"),
        (
            "Test/It: LLM106 endpoint_name must be at most 63 letters, digits and "
            "inner hyphens, got 'a_b'"
        ),
    ),
    "shared endpoint's name": (
        lambda stack: InferenceComponentEndpoint(
            stack, "It", instance_type="ml.g5.xlarge", endpoint_name="a_b"
        ),
        (
            "Test/It: LLM106 endpoint_name must be at most 63 letters, digits and "
            "inner hyphens, got 'a_b'"
        ),
    ),
    "variant's name": (
        config(variant(name="a_b")),
        (
            "Test/It: LLM106 variant_name must be at most 63 letters, digits and inner "
            "hyphens, got 'a_b'"
        ),
    ),
    "component's name": (
        added(inference_component_name="a_b"),
        (
            "Test/Host/It: LLM106 inference_component_name must be at most 63 letters, "
            "digits and inner hyphens, got 'a_b'"
        ),
    ),
    "plain token": (
        llm(
            model=HuggingFaceModel(
                "a/b", token=SecretValue.unsafe_plain_text("open sesame")
            )
        ),
        (
            "Test/It: LLM107 token must refer to a secret, got its plain text; use a "
            "Secret, or SecretValue.secrets_manager(...)"
        ),
    ),
    "plain variable": (
        llm(environment={"MY_KEY": PLAIN_TOKEN}),
        (
            "Test/It: LLM107 MY_KEY in environment looks like a Hugging Face token; "
            "keep it in Secrets Manager and pass HuggingFaceModel(..., token=secret)"
        ),
    ),
    "health check of a component": (
        added(container_startup_health_check_timeout=Duration.seconds(59)),
        (
            "Test/Host/It: LLM111 container_startup_health_check_timeout must be 60 to "
            "3600 seconds, got 59"
        ),
    ),
    "download of a component": (
        added(model_data_download_timeout=Duration.seconds(3601)),
        (
            "Test/Host/It: LLM111 model_data_download_timeout must be 60 to 3600 "
            "seconds, got 3601"
        ),
    ),
    "provisioning": (
        llm(capacity=InstanceCapacity(provision_timeout=Duration.seconds(299))),
        (
            "Test/It: LLM111 capacity.provision_timeout must be 300 to 3600 seconds, "
            "got 299"
        ),
    ),
    "volume": (
        config(variant(instance_type="ml.p3.2xlarge", volume_size=Size.gibibytes(513))),
        "Test/It: LLM111 volume_size must be 1 to 512 GiB, got 513",
    ),
    "repeated variable": (
        llm(environment={"HF_MODEL_ID": "a/b"}),
        (
            "Test/It: LLM113 environment repeats HF_MODEL_ID, which the backend sets "
            "itself"
        ),
    ),
    "isolated": (
        llm(serving=LmiVllm(), network=Network(isolated=True)),
        (
            "Test/It: LLM119 an isolated network lets the container download no "
            "weights; serve an S3Model with a backend that reads /opt/ml/model, or "
            "define the network without isolated=True"
        ),
    ),
    "long variable": (
        llm(environment={"V": "x" * 1025}),
        "Test/It: LLM120 V must be at most 1024 characters long",
    ),
    "many variables": (
        llm(environment={f"V{number}": "1" for number in range(101)}),
        "Test/It: LLM120 environment must have at most 100 variables, got 101",
    ),
    "volume of NVMe": (
        config(variant(volume_size=Size.gibibytes(30))),
        (
            "Test/It: LLM121 ml.g5.xlarge refuses volume_size: it has local NVMe "
            "storage; leave it out; /opt/ml and /tmp are on the NVMe disks"
        ),
    ),
    "key of NVMe": (
        lambda stack: config(variant(), kms_key=key(stack))(stack),
        (
            "Test/It: LLM121 ml.g5.xlarge refuses kms_key: its NVMe storage is "
            "encrypted in hardware; leave it out"
        ),
    ),
    "managed with a model": (
        lambda stack: EndpointConfig(
            stack,
            "It",
            variants=[
                variant(
                    model=gpt2(stack),
                    scaling=ManagedInstanceScaling(
                        min_instance_count=1, max_instance_count=2
                    ),
                )
            ],
        ),
        (
            "Test/It: LLM122 managed_instance_scaling goes with inference components "
            "only; scale a model's instances with auto_scale_instance_count"
        ),
    ),
    "no variant": (
        lambda stack: EndpointConfig(stack, "It", variants=[]),
        "Test/It: LLM123 variants must be 1 to 10, got 0",
    ),
    "one name twice": (
        config(variant(), variant()),
        "Test/It: LLM123 variant_name 'AllTraffic' is used more than once",
    ),
    "no variant to scale": (
        lambda stack: filled(stack).endpoint.auto_scale_instance_count(
            max_capacity=2, variant_name="Blue"
        ),
        (
            "Test/Filled/Endpoint: LLM123 variant_name must be one of AllTraffic, got "
            "'Blue'"
        ),
    ),
    "no variant for a component": (
        on_another_variant,
        "Test/It: LLM123 variant_name must be one of AllTraffic, got 'Blue'",
    ),
    "model and role": (
        lambda stack: config(variant(model=gpt2(stack)))(stack),
        (
            "Test/It: LLM124 variant 'AllTraffic' has a model, and execution_role is "
            "for inference components, which exclude each other"
        ),
    ),
    "neither model nor role": (
        lambda stack: EndpointConfig(stack, "It", variants=[variant()]),
        (
            "Test/It: LLM124 variant 'AllTraffic' has neither a model nor, for "
            "inference components, an execution_role"
        ),
    ),
    "network of a model's": (
        lambda stack: EndpointConfig(
            stack, "It", variants=[variant(model=gpt2(stack))], network=Network()
        ),
        (
            "Test/It: LLM124 network is for inference components; define the network "
            "of the variant's Model"
        ),
    ),
    "no room for components": (
        on_a_filled_endpoint,
        (
            "Test/It: LLM124 the endpoint's variant has a model, which leaves no room "
            "for inference components; define an EndpointConfig with execution_role "
            "and without model"
        ),
    ),
    "other role": (
        of_the_wrong_role,
        (
            "Test/It: LLM125 a component's model must have the role and network of its "
            "endpoint; define the Model with role=config.execution_role and "
            "network=config.network"
        ),
    ),
    "GPU image": (
        llm(serving=LmiVllm("0.36.0"), instance_type="ml.inf2.48xlarge"),
        (
            "Test/It: LLM127 image djl-lmi 0.36.0 runs on NVIDIA GPUs, and "
            "ml.inf2.48xlarge has Inferentia2; choose another image or another "
            "instance type"
        ),
    ),
    "Neuron image": (
        llm(serving=NeuronX("0.29.0")),
        (
            "Test/It: LLM127 image djl-neuronx 0.29.0 runs on Inferentia or Trainium, "
            "and ml.g5.12xlarge has A10G; choose another image or another instance type"
        ),
    ),
    "no resources": (
        added(model=S3Model("s3://bucket/model/"), resources=None),
        (
            "Test/Host/It: LLM192 resources are left out, and the size of the model is "
            "not known; pass resources=ResourceRequirements(...), or give the model "
            "architecture=ModelArchitecture.from_config(...)"
        ),
    ),
    "nothing to fill": (
        on_hosts_of_a_type_that_is_not_known,
        (
            "Test/Host/It: LLM193 copies='fill' needs an instance type, a number of "
            "instances and the resources of all models to be known at synth; pass a "
            "number"
        ),
    ),
    "no endpoint": (
        lambda stack: Endpoint.from_endpoint_arn(
            stack, "It", "arn:aws:sagemaker:eu-west-1:222222222222:endpoint"
        ),
        (
            "Test/It: LLM195 endpoint_arn must be such as "
            "arn:aws:sagemaker:eu-west-1:111111111111:endpoint/name, got "
            "'arn:aws:sagemaker:eu-west-1:222222222222:endpoint'"
        ),
    ),
    "no app": (
        lambda _: ServingArtifact(
            RootConstruct("Root"),
            "It",
            files={"a": b""},
        ),
        "Root is in no stack; define it inside a Stack",
    ),
}

WARNINGS: dict[str, tuple[Definition, str, str]] = {
    "token": (
        llm(model=HuggingFaceModel("a/b", token=SecretValue.secrets_manager("hub"))),
        "/Test/It/Model",
        (
            "the Hugging Face token is no part of the template, but DescribeModel "
            "shows it to whoever may call it; stage the weights on S3 and serve an "
            "S3Model without a token [ack: cdk-sagemaker-llm:LLM202]"
        ),
    ),
    "scaling past the room": (
        lambda stack: (
            host(stack)
            .add_model("It", model=GPT2, serving=TGI, resources=ONE)
            .auto_scale_copy_count(max_capacity=17)
        ),
        "/Test/Host/It/Component",
        (
            "max_capacity is 17, but at most 16 copies fit the instances even if no "
            "other model runs there; raise max_instance_count [ack: "
            "cdk-sagemaker-llm:LLM203]"
        ),
    ),
    "impatient SageMaker": (
        llm(
            serving=LmiVllm("0.36.0", model_loading_timeout=1201),
            container_startup_health_check_timeout=Duration.seconds(1200),
        ),
        "/Test/It/Config",
        (
            "the container lets the model load for 1201 s, and SageMaker gives up "
            "after 1200 s; raise container_startup_health_check_timeout, 3600 s at "
            "most [ack: cdk-sagemaker-llm:LLM213]"
        ),
    ),
    "impatient container": (
        llm(
            serving=LmiVllm("0.36.0", model_loading_timeout=1200),
            container_startup_health_check_timeout=Duration.seconds(1201),
        ),
        "/Test/It/Config",
        (
            "SageMaker waits 1201 s for the model, and the container gives up loading "
            "after 1200 s; raise model_loading_timeout [ack: cdk-sagemaker-llm:LLM213]"
        ),
    ),
    "old driver": (
        llm(
            serving=LmiVllm("0.36.0"),
            inference_ami_version="al2-ami-sagemaker-inference-gpu-3-1",
        ),
        "/Test/It/Config",
        (
            "image djl-lmi 0.36.0 of CUDA 13.0 may not start with the driver of "
            "al2-ami-sagemaker-inference-gpu-3-1 of ml.g5.12xlarge; leave "
            "inference_ami_version out: it is al2023-ami-sagemaker-inference-gpu-4-1 "
            "then [ack: cdk-sagemaker-llm:LLM221]"
        ),
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_each_error_says_what_is_wrong_and_the_way_out(stack: Stack, name: str) -> None:
    """
    Path, code, what was got and the remedy, to the last letter.
    """
    definition, message = ERRORS[name]

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        definition(stack)


@pytest.mark.parametrize("name", WARNINGS)
def test_each_warning_says_what_is_doubtful_and_the_way_out(
    stack: Stack, name: str
) -> None:
    """
    At its owner, with the remedy and what acknowledges it.
    """
    definition, path, text = WARNINGS[name]
    definition(stack)
    code = text[-7:-1]

    assert [each for each in warnings_of(stack) if code in each[1]] == [(path, text)]


def test_scaling_instances_of_components_is_refused_with_the_way_out(
    stack: Stack,
) -> None:
    """
    Their copies scale, and the instances follow.
    """
    with pytest.raises(TypeError) as raised:
        host(stack).endpoint.auto_scale_instance_count(max_capacity=2)

    assert str(raised.value) == (
        "inference components scale by copies: call auto_scale_copy_count on the "
        "component, and bound instances with max_instance_count"
    )


def test_all_errors_of_a_call_come_in_one_order(stack: Stack) -> None:
    """
    The endpoint's first, then its hosts', its model's, and what the plan shows.
    """
    with pytest.raises(ValueError, match="5 errors") as raised:
        LlmEndpoint(
            stack,
            "It",
            model=HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1"),
            serving=TGI,
            instance_type="ml.g5.12xlarge",
            instance_count=0,
            endpoint_name="a_b",
            environment={"V": "x" * 1025, "HF_MODEL_ID": "a/b"},
        )

    first, *lines = str(raised.value).splitlines()
    assert first == "Test/It: 5 errors"
    assert [line[:11] for line in lines] == [
        "  - LLM106 ",
        "  - LLM105 ",
        "  - LLM120 ",
        "  - LLM113 ",
        "  - LLM190 ",
    ]


def test_all_errors_of_a_component_come_in_one_order(stack: Stack) -> None:
    """
    The component's first, then its model's, and what the plan shows.
    """
    with pytest.raises(ValueError, match="6 errors") as raised:
        host(stack).add_model(
            "It",
            model=HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1"),
            serving=TGI,
            resources=ResourceRequirements(copies=17, accelerators=1),
            inference_component_name="a_b",
            container_startup_health_check_timeout=Duration.seconds(59),
            model_data_download_timeout=Duration.seconds(59),
            environment={"V": "x" * 1025},
        )

    assert [line[:11] for line in str(raised.value).splitlines()[1:]] == [
        "  - LLM106 ",
        "  - LLM111 ",
        "  - LLM111 ",
        "  - LLM104 ",
        "  - LLM120 ",
        "  - LLM190 ",
    ]
