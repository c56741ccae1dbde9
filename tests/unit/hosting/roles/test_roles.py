"""
Roles that a user gives: changed by their own means, or not at all.
"""

from __future__ import annotations

import gc
import json
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Environment, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    LlamaCpp,
    LlmEndpoint,
    Model,
    Network,
    ProductionVariant,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from cdk_sagemaker_llm.hosting.roles.access import access_of
from cdk_sagemaker_llm.hosting.roles.given_roles import access_id, same_role
from tests.unit.hosting.expected import ACCESS_TO_MINE, ROLE_ARN
from tests.unit.hosting.written import warnings_of, written

TGI = Tgi("3.3.6")
FOREIGN = "arn:aws:iam::222222222222:role/mine"
SAGEMAKER = iam.ServicePrincipal("sagemaker.amazonaws.com")
NEEDS = (
    "LogInToRegistries (ecr:GetAuthorizationToken); PullImage "
    "(ecr:BatchCheckLayerAvailability, ecr:BatchGetImage, ecr:GetDownloadUrlForLayer); "
    "ReadWeights (s3:GetObject); ListWeights (s3:ListBucket); WriteLogs "
    "(logs:CreateLogGroup, logs:CreateLogStream, logs:DescribeLogStreams, "
    "logs:PutLogEvents); PublishMetrics (cloudwatch:PutMetricData)"
)

NAMES = (
    "WriteLogs",
    "PublishMetrics",
    "LogInToRegistries",
    "PullImage",
    "ReadWeights",
    "ListWeights",
)


def own(stack: Stack) -> iam.IRole:
    """
    Make a role in the stack.
    """
    return iam.Role(stack, "Mine", assumed_by=SAGEMAKER)


def imported(stack: Stack, name: str = "Mine") -> iam.IRole:
    """
    Import a role by its ARN.
    """
    return iam.Role.from_role_arn(stack, name, ROLE_ARN)


def untouchable(stack: Stack) -> iam.IRole:
    """
    Import a role that is not to be changed.
    """
    return iam.Role.from_role_arn(stack, "Mine", ROLE_ARN, mutable=False)


def by_parameter(stack: Stack) -> iam.IRole:
    """
    Import a role whose ARN is known at deployment.
    """
    arn = CfnParameter(stack, "Arn").value_as_string
    return iam.Role.from_role_arn(stack, "Mine", arn)


def by_export(stack: Stack) -> iam.IRole:
    """
    Import a role that another stack exports.
    """
    return iam.Role.from_role_arn(stack, "Mine", Fn.import_value("role"))


def two_models(stack: Stack, role: iam.IRole, other: iam.IRole | None = None) -> None:
    """
    Define two models of one role.
    """
    Model(stack, "A", model=S3Model("s3://weights/a/"), serving=TGI, role=role)
    Model(stack, "B", model=S3Model("s3://weights/b/"), serving=TGI, role=other or role)


@pytest.mark.parametrize(
    ("given", "name", "roles"),
    [
        (own, "SageMakerAccessOfMinePolicy", ["${Mine}"]),
        (
            lambda stack: iam.LazyRole(stack, "Mine", assumed_by=SAGEMAKER),
            "SageMakerAccessOfMinePolicy",
            ["${Mine}"],
        ),
        (imported, ACCESS_TO_MINE, ["mine"]),
        (
            lambda stack: iam.Role.from_role_name(stack, "Mine", "mine"),
            ACCESS_TO_MINE,
            ["mine"],
        ),
        (by_parameter, "SageMakerAccessOfMinePolicy", None),
        (by_export, "SageMakerAccessOfMinePolicy", None),
    ],
    ids=["own", "lazy", "imported", "by name", "by parameter", "by export"],
)
def test_a_role_that_may_be_changed_has_one_policy_for_all(
    stack: Stack,
    given: Callable[[Stack], iam.IRole],
    name: str,
    roles: list[str] | None,
) -> None:
    """
    Found again by name or place, never by the text of a placeholder.
    """
    two_models(stack, given(stack))
    policies = written(stack, "IAM::Policy")
    models = written(stack, "SageMaker::Model").values()

    assert list(policies) == [name]
    assert roles in (None, policies[name]["Properties"]["Roles"])
    assert [model["DependsOn"] for model in models] == [[name], [name]]


def test_two_objects_of_one_role_have_one_policy(stack: Stack) -> None:
    """
    The same ARN is the same role.
    """
    two_models(stack, imported(stack), imported(stack, "Again"))

    assert list(written(stack, "IAM::Policy")) == [ACCESS_TO_MINE]


def test_two_objects_of_one_role_may_be_an_endpoints_and_a_models(
    stack: Stack,
) -> None:
    """
    The service compares ARNs; a name is unique in an account.
    """
    hosts = [ProductionVariant(instance_type="ml.p4d.24xlarge")]
    host = InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", role=imported(stack)
    )
    by_name = iam.Role.from_role_name(stack, "ByName", "mine")
    for number, role in enumerate((imported(stack, "Again"), by_name)):
        weights = S3Model("s3://weights/a/")
        model = Model(stack, f"M{number}", model=weights, serving=TGI, role=role)
        InferenceComponent(
            stack,
            f"C{number}",
            endpoint=host.endpoint,
            model=model,
            resources=ResourceRequirements(accelerators=1),
        )
    parameter = CfnParameter(stack, "Arn").value_as_string
    one, other = (
        iam.Role.from_role_arn(stack, name, parameter) for name in ("One", "Other")
    )
    config = EndpointConfig(stack, "Config", variants=hosts, execution_role=one)

    assert len(written(stack, "SageMaker::InferenceComponent")) == 2
    assert config.execution_role is one
    assert other.role_arn == one.role_arn


def test_a_role_that_may_not_be_changed_is_not(stack: Stack) -> None:
    """
    One warning says all that it must be allowed elsewhere, and the policy to attach.
    """
    role = untouchable(stack)
    for number in range(2):
        weights = S3Model(f"s3://weights{number}/a/")
        Model(stack, f"M{number}", model=weights, serving=TGI, role=role)
    place = "/Test/SageMakerAccess:mine/Policy"
    (told,) = [text for path, text in warnings_of(stack) if path == place]

    Template.from_stack(stack).resource_count_is("AWS::IAM::Policy", 0)
    models = written(stack, "SageMaker::Model").values()
    assert [each.get("DependsOn") for each in models] == [None, None]
    before, policy, after = re.split("; its policy: |; see that", told)
    assert before == f"role mine stays as it is, and must be allowed {NEEDS}"
    assert after == (" it is, where the role is made [ack: cdk-sagemaker-llm:LLM237]")
    assert json.loads(policy)["Statement"][2:4] == [
        {
            "Sid": "ReadWeights",
            "Effect": "Allow",
            "Action": "s3:GetObject",
            "Resource": [
                "arn:aws:s3:::weights0/a/*",
                "arn:aws:s3:::weights1/a/*",
            ],
        },
        {
            "Sid": "ListWeights",
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": [
                "arn:aws:s3:::weights0",
                "arn:aws:s3:::weights1",
            ],
            "Condition": {"StringLike": {"s3:prefix": ["a/*"]}},
        },
    ]


def test_a_role_that_may_not_be_changed_gets_no_managed_policy_either(
    stack: Stack,
) -> None:
    """
    However much its models need: all of it is told of.
    """
    role = untouchable(stack)
    for number in range(30):
        weights = S3Model(f"s3://weights{number}/{'long' * 64}/")
        Model(stack, f"M{number}", model=weights, serving=TGI, role=role)

    Template.from_stack(stack).resource_count_is("AWS::IAM::ManagedPolicy", 0)


def test_a_model_that_needs_nothing_new_waits_for_the_policy_too(
    stack: Stack,
) -> None:
    """
    SageMaker uses the role for it as well.
    """
    role = imported(stack)
    for name in ("A", "B"):
        weights = S3Model("s3://weights/a/")
        Model(stack, name, model=weights, serving=TGI, role=role)
    models = written(stack, "SageMaker::Model").values()

    assert [model["DependsOn"] for model in models] == [[ACCESS_TO_MINE]] * 2


def test_a_place_is_told_by_the_whole_path(app: App, stack: Stack) -> None:
    """
    A stack whose name begins alike is another one.
    """
    alike = Stack(app, "Test2")
    here, there = (
        iam.Role(each, "Role", assumed_by=SAGEMAKER) for each in (stack, alike)
    )

    assert access_id(here, stack) == "SageMakerAccessOf:Role"
    assert access_id(there, stack) == "SageMakerAccessOf:/Test2/Role"
    assert access_id(imported(stack), stack) == "SageMakerAccess:mine"


def test_every_object_of_a_role_is_held(stack: Stack) -> None:
    """
    Another object might else get its number, and be taken for the same role.
    """
    access = access_of(stack, imported(stack))
    again = imported(stack, "Again")
    known = weakref.ref(again)
    shared = access_of(stack, again)
    del again
    gc.collect()

    assert shared is access
    assert known() is not None


def test_two_objects_of_one_placeholder_are_one_role(stack: Stack) -> None:
    """
    Whatever ARN the deployment gives, it gives to both; another one is another role.
    """
    arns = [CfnParameter(stack, name).value_as_string for name in ("Arn", "Else")]
    one, same = (
        iam.Role.from_role_arn(stack, name, arns[0]) for name in ("One", "Same")
    )
    other = iam.Role.from_role_arn(stack, "Other", arns[1])

    assert same_role(one, same)
    assert not same_role(one, other)
    assert not same_role(one, imported(stack))


def test_a_customised_role_is_not_changed_but_reported(
    stack: Stack, tmp_path: Path
) -> None:
    """
    The CDK's report of what precreated roles need has what each model asked for.
    """
    iam.Role.customize_roles(
        stack, use_precreated_roles={"Test/Host/Role": "precreated"}
    )
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    host.add_model(
        "A",
        model=S3Model("s3://weights/a/"),
        serving=TGI,
        resources=ResourceRequirements(accelerators=1),
    )
    template = Template.from_stack(stack)
    report = (tmp_path / "cdk.out" / "iam-policy-report.txt").read_text()

    template.resource_count_is("AWS::IAM::Role", 0)
    template.resource_count_is("AWS::IAM::Policy", 0)
    assert [name for name in NAMES if f'"{name}"' not in report] == []


@pytest.mark.parametrize(
    "define",
    [
        lambda stack, role: Model(
            stack, "It", model=S3Model("s3://b/a/"), serving=TGI, role=role
        ),
        lambda stack, role: LlmEndpoint(
            stack,
            "It",
            model=S3Model("s3://b/a/"),
            serving=TGI,
            instance_type="ml.g5.xlarge",
            role=role,
        ),
        lambda stack, role: InferenceComponentEndpoint(
            stack, "It", instance_type="ml.p4d.24xlarge", role=role
        ),
        lambda stack, role: EndpointConfig(
            stack,
            "It",
            variants=[ProductionVariant(instance_type="ml.p4d.24xlarge")],
            execution_role=role,
        ),
    ],
    ids=["model", "endpoint", "host", "configuration"],
)
def test_a_role_of_another_account_is_refused(
    stack: Stack, define: Callable[[Stack, iam.IRole], object]
) -> None:
    """
    Its namesake here would have been given the policy.
    """
    role = iam.Role.from_role_arn(stack, "Theirs", FOREIGN)

    with pytest.raises(ValueError, match="Test/It: LLM188 role must be of the stack's"):
        define(stack, role)


def test_a_role_made_in_another_account_is_refused(app: App, stack: Stack) -> None:
    """
    Also where it is another stack of the app.
    """
    theirs = Stack(app, "Theirs", env=Environment(account="222222222222"))
    role = iam.Role(theirs, "Role", role_name="shared", assumed_by=SAGEMAKER)

    with pytest.raises(ValueError, match="account 111111111111, got one of 2222"):
        Model(stack, "It", model=S3Model("s3://b/a/"), serving=TGI, role=role)


def test_an_account_that_is_not_known_is_not_judged(agnostic_stack: Stack) -> None:
    """
    A stack for any account may well be deployed to the role's.
    """
    role = iam.Role.from_role_arn(agnostic_stack, "Theirs", FOREIGN)
    Model(agnostic_stack, "It", model=S3Model("s3://b/a/"), serving=TGI, role=role)

    assert len(written(agnostic_stack, "IAM::Policy")) == 1


def test_fails_if_what_is_given_is_no_role(stack: Stack) -> None:
    """
    An ARN of a user is taken by the CDK.
    """
    user = iam.Role.from_role_arn(stack, "User", "arn:aws:iam::111111111111:user/x")
    message = "LLM195 role must be an IAM role, got 'arn:aws:iam::111111111111:user/x'"
    with pytest.raises(ValueError, match=message):
        Model(stack, "It", model=S3Model("s3://bucket/a/"), serving=TGI, role=user)


KEPT = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}


def policies_of(stack: Stack, *kinds: str) -> list[dict[str, Any]]:
    """
    Return what becomes of each role and policy when its stack is deleted.
    """
    return [
        {name: each[name] for name in KEPT if name in each}
        for each in written(stack, *kinds).values()
    ]


@pytest.mark.parametrize("way", ["vpc", "host's vpc", "key"])
def test_a_role_that_sagemaker_needs_longer_outlives_its_endpoint(
    stack: Stack, vpc: ec2.IVpc, way: str
) -> None:
    """
    It removes network interfaces, and retires grants, minutes after the endpoint.
    """
    model, network = HuggingFaceModel("gpt2"), Network(vpc=vpc)
    if way == "host's vpc":
        host = InferenceComponentEndpoint(
            stack, "Host", instance_type="ml.g5.12xlarge", network=network
        )
        host.add_model("Model", model=HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta"))
    elif way == "vpc":
        LlmEndpoint(
            stack, "Llm", model=model, instance_type="ml.g5.xlarge", network=network
        )
    else:
        name = "00000000-0000-0000-0000-000000000000"
        arn = f"arn:aws:kms:us-east-1:111111111111:key/{name}"
        key = kms.Key.from_key_arn(stack, "Key", arn)
        LlmEndpoint(
            stack,
            "Llm",
            model=HuggingFaceModel("Qwen/Qwen3-4B-GGUF:Q4_K_M"),
            instance_type="ml.c7i.4xlarge",
            kms_key=key,
            serving=LlamaCpp(),
        )

    found = policies_of(stack, "IAM::Role", "IAM::Policy", "IAM::ManagedPolicy")

    assert found == [KEPT] * len(found)
    assert len(found) >= len(("a role", "its policy"))


@pytest.mark.parametrize("is_host", [True, False])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_group_that_interfaces_are_in_goes_before_what_removes_them(
    stack: Stack, vpc: ec2.IVpc, *, is_host: bool, is_given: bool
) -> None:
    """
    A first creation that is rolled back keeps no role: it goes after the group, which
    goes after the interfaces. A given role keeps its policy as long.
    """
    own = iam.Role(stack, "Own", assumed_by=SAGEMAKER) if is_given else None
    given = {"instance_type": "ml.g5.xlarge", "network": Network(vpc=vpc), "role": own}
    if is_host:
        InferenceComponentEndpoint(stack, "It", **given)  # type: ignore[arg-type]
    else:
        LlmEndpoint(stack, "It", model=HuggingFaceModel("gpt2"), **given)  # type: ignore[arg-type]
    (group,) = written(stack, "EC2::SecurityGroup").values()

    assert group["DependsOn"] == list(written(stack, "IAM::Policy"))


def test_a_given_group_waits_for_nobody(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    It may well be older than the model.
    """
    network = Network(vpc=vpc, security_groups=[ec2.SecurityGroup(stack, "G", vpc=vpc)])
    model, kind = HuggingFaceModel("gpt2"), "ml.g5.xlarge"
    LlmEndpoint(stack, "It", model=model, instance_type=kind, network=network)
    (group,) = written(stack, "EC2::SecurityGroup").values()

    assert "DependsOn" not in group


def test_other_roles_go_with_their_endpoint(stack: Stack) -> None:
    """
    Nothing is left behind that nobody needs.
    """
    LlmEndpoint(
        stack, "Llm", model=HuggingFaceModel("gpt2"), instance_type="ml.g5.xlarge"
    )

    assert policies_of(stack, "IAM::Role", "IAM::Policy") == [{}, {}]


def test_a_role_of_the_users_is_not_kept(stack: Stack, vpc: ec2.IVpc) -> None:
    """
    A policy that stays would keep IAM from deleting it.
    """
    own = iam.Role(stack, "Own", assumed_by=iam.ServicePrincipal("sagemaker"))
    LlmEndpoint(
        stack,
        "Llm",
        model=HuggingFaceModel("gpt2"),
        instance_type="ml.g5.xlarge",
        network=Network(vpc=vpc),
        role=own,
    )

    assert policies_of(stack, "IAM::Role", "IAM::Policy") == [{}, {}]
