"""
What stands for an interface of the CDK: made, looked up, imported, or of one's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsii
import pytest
from aws_cdk import App, Duration, Environment, SecretValue, Size, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, LmiVllm, Model, Network
from cdk_sagemaker_llm.arguments import kind_of

ARN = "arn:aws:{}:us-east-1:111111111111:{}"


@jsii.implements(iam.IGrantable)
class OwnGrantee:
    """
    A grantee of the user's, which is no role.
    """


GIVEN: dict[str, tuple[str, Callable[[Stack], object]]] = {
    "role": ("iam.IRole", lambda s: iam.Role(s, "It", assumed_by=iam.AnyPrincipal())),
    "imported role": (
        "iam.IRole",
        lambda s: iam.Role.from_role_arn(s, "It", ARN.format("iam", "role/r")),
    ),
    "role by name": ("iam.IRole", lambda s: iam.Role.from_role_name(s, "It", "r")),
    "immutable role": (
        "iam.IRole",
        lambda s: iam.Role(
            s, "It", assumed_by=iam.AnyPrincipal()
        ).without_policy_updates(),
    ),
    "key": ("kms.IKey", lambda s: kms.Key(s, "It")),
    "imported key": (
        "kms.IKey",
        lambda s: kms.Key.from_key_arn(s, "It", ARN.format("kms", "key/k")),
    ),
    "alias": ("kms.IKey", lambda s: kms.Alias.from_alias_name(s, "It", "alias/k")),
    "vpc": ("ec2.IVpc", lambda s: ec2.Vpc(s, "It")),
    "looked up vpc": ("ec2.IVpc", lambda s: ec2.Vpc.from_lookup(s, "It", vpc_id="v")),
    "group": (
        "ec2.ISecurityGroup",
        lambda s: ec2.SecurityGroup.from_security_group_id(s, "It", "sg-11111111"),
    ),
    "subnets": ("ec2.SubnetSelection", lambda _: ec2.SubnetSelection()),
    "bucket": ("s3.IBucket", lambda s: s3.Bucket(s, "It")),
    "imported bucket": (
        "s3.IBucket",
        lambda s: s3.Bucket.from_bucket_name(s, "It", "bucket"),
    ),
    "secret": ("secretsmanager.ISecret", lambda s: secretsmanager.Secret(s, "It")),
    "imported secret": (
        "secretsmanager.ISecret",
        lambda s: secretsmanager.Secret.from_secret_name_v2(s, "It", "hub"),
    ),
    "secret value": ("SecretValue", lambda _: SecretValue.secrets_manager("hub")),
    "duration": ("Duration", lambda _: Duration.minutes(5)),
    "size": ("Size", lambda _: Size.gibibytes(5)),
}


@pytest.mark.parametrize(("annotation", "make"), GIVEN.values(), ids=GIVEN)
def test_takes_what_the_cdk_hands_out(
    annotation: str, make: Callable[[Stack], object]
) -> None:
    """
    Whatever stands for it on this side of jsii.
    """
    stack = Stack(
        App(), "Test", env=Environment(account="111111111111", region="us-east-1")
    )

    assert list(kind_of(annotation).faults("it", make(stack))) == []


@pytest.mark.parametrize(
    "annotation",
    sorted({annotation for annotation, _ in GIVEN.values()}),
)
def test_fails_for_another_interface(annotation: str) -> None:
    """
    One that the CDK would refuse later, in words of its own.
    """
    (fault,) = kind_of(annotation).faults("it", OwnGrantee())

    assert "got a value of type OwnGrantee" in fault.message


def test_a_missing_or_unknown_keyword_is_pythons_own_error(stack: Stack) -> None:
    """
    It says the keyword already.
    """
    with pytest.raises(TypeError, match="'serving'"):
        Model(stack, "It")  # type: ignore[call-arg] # the mistake
    with pytest.raises(TypeError, match="'instance_typ'"):
        LlmEndpoint(stack, "It", instance_typ="a")  # type: ignore[call-arg] # likewise


@pytest.mark.parametrize("scope", [None, "stack"])
def test_fails_for_what_is_no_scope(scope: Any) -> None:  # noqa: ANN401 - no scope
    """
    There is no path to begin the message with.
    """
    with pytest.raises(ValueError, match="^scope must be a construct, such as a stack"):
        LlmEndpoint(scope, "It", instance_type="ml.g5.xlarge")


def test_fails_if_an_id_is_no_text(stack: Stack) -> None:
    """
    It stands in the path all the same.
    """
    wrong: Any = 5
    with pytest.raises(ValueError, match="^Test/5: LLM182 id must be text, got 5"):
        LlmEndpoint(stack, wrong, instance_type="ml.g5.xlarge")


def test_nothing_is_made_of_what_is_refused(stack: Stack) -> None:
    """
    The id is free for the definition that is mended.
    """
    model = HuggingFaceModel("gpt2")
    with pytest.raises(ValueError, match="LLM182"):
        LlmEndpoint(
            stack,
            "It",
            model=model,
            serving=LmiVllm,  # type: ignore[arg-type] # the mistake
            instance_type="ml.g5.xlarge",
        )

    LlmEndpoint(
        stack,
        "It",
        model=model,
        serving=LmiVllm(),
        instance_type="ml.g5.xlarge",
        network=Network(),
    )


def test_what_is_held_keeps_its_name_and_words() -> None:
    """
    Help and editors show the initialiser that was written.
    """
    assert LlmEndpoint.__init__.__name__ == "__init__"
    assert LlmEndpoint.auto_scale_instance_count.__doc__ is not None
