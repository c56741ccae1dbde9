"""
What an endpoint uses and is in another region, account or VPC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_cdk import App, Environment, SecretValue, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sns as sns

from cdk_sagemaker_llm import (
    AllAtOnce,
    AsyncInference,
    CustomContainer,
    DataCapture,
    Endpoint,
    EndpointBase,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    Network,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    Vllm,
)
from tests.unit.hosting.written import warnings_of

HOME, AWAY = "us-east-1", "us-west-2"
OURS, THEIRS = "111111111111", "222222222222"
MODEL = HuggingFaceModel("gpt2")
TYPE = "ml.g6.xlarge"
Use = Callable[[Stack, Stack], object]


def serve(stack: Stack, model: HuggingFaceModel | S3Model = MODEL, **more: Any) -> None:  # noqa: ANN401 - what serves it
    """
    Serve a model there.
    """
    LlmEndpoint(stack, "Llm", model=model, instance_type=TYPE, **more)


def subnet_of(there: Stack) -> ec2.SubnetSelection:
    """
    Name a subnet of a VPC that another stack makes.
    """
    return ec2.SubnetSelection(subnets=[ec2.Vpc(there, "Vpc").private_subnets[0]])


def vpc_in(stack: Stack) -> ec2.IVpc:
    """
    Refer to a VPC of a stack's own region.
    """
    return ec2.Vpc.from_vpc_attributes(
        stack,
        "Own",
        vpc_id="vpc-1234567890abcdef0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=["subnet-aaaaaaaa", "subnet-bbbbbbbb"],
    )


def key_in(there: Stack, region: str) -> kms.IKey:
    """
    Refer to a key by its ARN.
    """
    return kms.Key.from_key_arn(
        there, f"Key{region}", f"arn:aws:kms:{region}:{OURS}:key/{'0' * 8}"
    )


def arn_in(there: Stack) -> str:
    """
    Return the ARN of an endpoint of a stack's account and region.
    """
    return f"arn:aws:sagemaker:{there.region}:{there.account}:endpoint/host"


def role_in(stack: Stack) -> iam.IRole:
    """
    Name the role that a component's model shares with its endpoint.
    """
    return iam.Role.from_role_arn(
        stack, "Role", f"arn:aws:iam::{stack.account}:role/Shared"
    )


def component(here: Stack, host: EndpointBase, model: Model | None = None) -> None:
    """
    Put a component on an endpoint.
    """
    InferenceComponent(
        here,
        "Component",
        endpoint=host,
        model=model or Model(here, "Model", serving=Vllm(), model=MODEL),
        resources=ResourceRequirements(accelerators=1),
    )


def network(here: Stack, **more: Any) -> Network:  # noqa: ANN401 - its parts
    """
    Return a network of a VPC of the stack's own.
    """
    return Network(vpc=vpc_in(here), **more)


USES: dict[str, tuple[str, Use]] = {
    "VPC": ("vpc", lambda a, b: serve(a, network=Network(vpc=ec2.Vpc(b, "Vpc")))),
    "host's VPC": (
        "vpc",
        lambda a, b: InferenceComponentEndpoint(
            a, "Host", instance_type=TYPE, network=Network(vpc=ec2.Vpc(b, "Vpc"))
        ),
    ),
    "security group": (
        "security_groups",
        lambda a, b: serve(
            a,
            network=network(
                a,
                security_groups=[
                    ec2.SecurityGroup(b, "Group", vpc=ec2.Vpc(b, "Vpc")),
                ],
            ),
        ),
    ),
    "subnet": (
        "subnets",
        lambda a, b: serve(a, network=network(a, subnets=subnet_of(b))),
    ),
    "model": (
        "the variant's model",
        lambda a, b: EndpointConfig(
            a,
            "Config",
            variants=[
                ProductionVariant(
                    instance_type=TYPE,
                    model=Model(b, "Model", serving=Vllm(), model=MODEL),
                )
            ],
        ),
    ),
    "configuration": (
        "endpoint_config",
        lambda a, b: Endpoint(
            a,
            "Endpoint",
            endpoint_config=LlmEndpoint(
                b, "Other", model=MODEL, instance_type=TYPE
            ).endpoint_config,
        ),
    ),
    "component's endpoint": (
        "endpoint",
        lambda a, b: component(a, Endpoint.from_endpoint_arn(a, "Host", arn_in(b))),
    ),
    "component's model": (
        "model",
        lambda a, b: component(
            a,
            InferenceComponentEndpoint(
                a, "Host", instance_type=TYPE, role=role_in(a)
            ).endpoint,
            model=Model(b, "Model", serving=Vllm(), model=MODEL, role=role_in(b)),
        ),
    ),
    "weights": (
        "the bucket of the weights",
        lambda a, b: serve(a, S3Model.from_bucket(s3.Bucket(b, "Bucket"), "a/")),
    ),
    "capture": (
        "data_capture.bucket",
        lambda a, b: serve(a, data_capture=DataCapture(bucket=s3.Bucket(b, "Bucket"))),
    ),
    "answers": (
        "async_inference.output",
        lambda a, b: serve(
            a, async_inference=AsyncInference(output=s3.Bucket(b, "Bucket"))
        ),
    ),
    "topic": (
        "async_inference.success_topic",
        lambda a, b: serve(
            a, async_inference=AsyncInference(success_topic=sns.Topic(b, "Topic"))
        ),
    ),
    "alarm": (
        "rollback_on",
        lambda a, b: serve(
            a,
            rollout=AllAtOnce(
                rollback_on=[
                    cloudwatch.Alarm.from_alarm_arn(
                        a,
                        "Alarm",
                        f"arn:aws:cloudwatch:{b.region}:{b.account}:alarm:It",
                    )
                ]
            ),
        ),
    ),
    "secret": (
        "the token's secret",
        lambda a, b: serve(
            a, HuggingFaceModel("gpt2", token=secretsmanager.Secret(b, "Secret"))
        ),
    ),
    "repository": (
        "the image",
        lambda a, b: serve(
            a,
            serving=CustomContainer.from_ecr_repository(ecr.Repository(b, "Images")),
        ),
    ),
    "key": ("kms_key", lambda a, b: serve(a, kms_key=key_in(a, b.region))),
}


def stacks(region: str, account: str = OURS) -> tuple[Stack, Stack]:
    """
    Return a stack, and another one of another environment.
    """
    app = App()
    return (
        Stack(app, "Here", env=Environment(account=OURS, region=HOME)),
        Stack(app, "There", env=Environment(account=account, region=region)),
    )


@pytest.mark.parametrize("name", USES)
def test_what_is_in_another_region_is_refused(name: str) -> None:
    """
    CloudFormation passes its name on, and SageMaker does not find it.
    """
    words, use = USES[name]
    here, there = stacks(AWAY)

    with pytest.raises(
        ValueError, match=rf"LLM797 {words} must be .*{HOME}, got {AWAY}"
    ):
        use(here, there)


@pytest.mark.parametrize(
    "name",
    [
        "VPC",
        "model",
        "configuration",
        "alarm",
        "component's endpoint",
        "component's model",
    ],
)
def test_what_is_in_another_account_is_refused(name: str) -> None:
    """
    Where SageMaker takes what it names from its own account alone.
    """
    words, use = USES[name]
    here, there = stacks(HOME, THEIRS)

    with pytest.raises(
        ValueError, match=rf"LLM797 {words} must be .* account {OURS}, got {THEIRS}"
    ):
        use(here, there)


@pytest.mark.parametrize("name", ["weights", "capture", "topic", "secret"])
def test_what_another_account_may_share_is_taken(name: str) -> None:
    """
    Its own policy decides.
    """
    here, there = stacks(HOME, THEIRS)
    USES[name][1](here, there)


@pytest.mark.parametrize(
    "name", sorted(set(USES) - {"security group", "subnet", "key"})
)
def test_what_another_stack_of_the_environment_has_is_taken(name: str) -> None:
    """
    Of the same region and account.
    """
    USES[name][1](*stacks(HOME))


def test_what_is_not_known_is_not_judged() -> None:
    """
    A stack for any region may be deployed in the right one.
    """
    app = App()
    there = Stack(app, "There", env=Environment(account=OURS, region=AWAY))

    serve(Stack(app, "Here"), data_capture=DataCapture(bucket=s3.Bucket(there, "B")))


@pytest.mark.parametrize("part", ["security_groups", "subnets"])
def test_parts_of_another_vpc_are_refused(stack: Stack, part: str) -> None:
    """
    Of the same stack, too.
    """
    own, other = ec2.Vpc(stack, "Own"), ec2.Vpc(stack, "Other")
    parts: dict[str, Any] = {
        "security_groups": [ec2.SecurityGroup(stack, "Group", vpc=other)],
        "subnets": ec2.SubnetSelection(subnets=other.private_subnets),
    }

    with pytest.raises(
        ValueError, match=rf"LLM797 {part} must be .* own VPC Test/Own/.*, got Test/Oth"
    ):
        serve(stack, network=Network(vpc=own, **{part: parts[part]}))


def test_parts_of_the_vpc_are_taken(stack: Stack) -> None:
    """
    Named one by one.
    """
    own = ec2.Vpc(stack, "Own")
    serve(
        stack,
        network=Network(
            vpc=own,
            security_groups=[ec2.SecurityGroup(stack, "Group", vpc=own)],
            subnets=ec2.SubnetSelection(subnets=own.private_subnets),
        ),
    )


def test_a_token_by_its_name_has_no_place(stack: Stack) -> None:
    """
    A dynamic reference is of the stack's own region.
    """
    token = SecretValue.secrets_manager("token")
    serve(stack, HuggingFaceModel("gpt2", token=token))


@pytest.mark.parametrize("name", ["model", "configuration"])
def test_warns_of_a_part_that_another_stack_replaces(name: str) -> None:
    """
    Its name is in use, so that the second deployment of both is refused; or it is read
    by a weak reference, and the second deployment leaves a name of what is gone.
    """
    here, there = stacks(HOME)
    USES[name][1](here, there)

    (text,) = [text for _, text in warnings_of(here) if text.endswith("LLM808]")]
    assert (
        " is of another stack, and this one names it: each change replaces it, which "
        "CloudFormation refuses while an export of it is in use; where references are "
        "weak, as in apps of cdk init, this stack goes on naming what is gone; define "
        "it in the stack of its endpoint"
    ) in text


def test_an_imported_part_is_nobodys_of_the_app(stack: Stack) -> None:
    """
    Another app replaces it, and no export holds it.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Config", "mine")
    Endpoint(stack, "Endpoint", endpoint_config=config)

    assert warnings_of(stack) == []
