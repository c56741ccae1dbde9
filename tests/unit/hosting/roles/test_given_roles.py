"""
Given roles that stay as they are, and boundaries: what can be seen of them is told.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    InferenceComponentEndpoint,
    LlmEndpoint,
    Model,
    ResourceRequirements,
    S3Model,
    Tgi,
)
from cdk_sagemaker_llm.permissions import METADATA
from tests.conftest import ACCOUNT, REGION
from tests.unit.cli.commands.test_permissions import run
from tests.unit.hosting.written import codes_of, warnings_of, written

SAGEMAKER = iam.ServicePrincipal("sagemaker.amazonaws.com")
LAMBDA = iam.ServicePrincipal("lambda.amazonaws.com")
TGI = Tgi("3.3.6")
WEIGHTS = S3Model("s3://weights/a/")
BOUNDARY = f"arn:aws:iam::{ACCOUNT}:policy/edge"
ENOUGH = {
    "ecr:GetAuthorizationToken": "*",
    "ecr:BatchCheckLayerAvailability": "arn:aws:ecr:*",
    "ecr:BatchGetImage": "arn:aws:ecr:*",
    "ecr:GetDownloadUrlForLayer": "arn:aws:ecr:*",
    "s3:getobject": "arn:aws:s3:::weights/*",
    "s3:ListBucket": "arn:aws:s3:::weight?",
    "logs:*": "*",
    "cloudwatch:PutMetricData": "*",
}


def allowed(actions: dict[str, str]) -> list[iam.PolicyStatement]:
    """
    Return statements that allow each action on its resource.
    """
    return [
        iam.PolicyStatement(actions=[action], resources=[resource])
        for action, resource in actions.items()
    ]


def untouched(stack: Stack, role: iam.Role) -> list[str]:
    """
    Define a model of a role that stays as it is; return the codes of warnings at it.
    """
    Model(
        stack,
        "Model",
        model=WEIGHTS,
        serving=TGI,
        role=role.without_policy_updates(),
    )
    return [code for path, code in codes_of(stack) if "SageMakerAccess" in path]


def test_a_role_that_allows_all_is_not_told_of(stack: Stack) -> None:
    """
    Whoever wrote its statements: wildcards cover, and letters' case does not count.
    """
    role = iam.Role(stack, "Own", assumed_by=SAGEMAKER)
    for statement in allowed(ENOUGH):
        role.add_to_policy(statement)

    assert untouched(stack, role) == []


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("s3:getobject", "arn:aws:s3:::weights/b/*"),
        ("s3:ListBucket", "arn:aws:s3:::weights/*"),
        ("cloudwatch:PutMetricData", "arn:aws:cloudwatch:::a"),
    ],
)
def test_what_a_role_lacks_is_told(stack: Stack, action: str, resource: str) -> None:
    """
    That, and nothing that it has.
    """
    role = iam.Role(
        stack,
        "Own",
        assumed_by=SAGEMAKER,
        inline_policies={
            "Inline": iam.PolicyDocument(
                statements=allowed({**ENOUGH, action: resource})
            )
        },
    )

    assert untouched(stack, role) == ["LLM821"]
    (told,) = [text for _, text in warnings_of(stack) if "LLM821" in text]
    missing = json.loads(told[told.index("[{") : told.index("}]") + 2])
    assert [each["Action"] for each in missing] == [[_written(action)]]
    assert told.startswith("role Test/ImmutableRoleOwn stays as it is, and lacks")


def _written(action: str) -> str:
    return "s3:GetObject" if action == "s3:getobject" else action


def test_a_condition_of_its_own_does_not_allow(stack: Stack) -> None:
    """
    It may not hold when SageMaker reads.
    """
    role = iam.Role(stack, "Own", assumed_by=SAGEMAKER)
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["*"],
            resources=["*"],
            conditions={"Bool": {"aws:MultiFactorAuthPresent": "true"}},
        )
    )

    assert untouched(stack, role) == ["LLM821"]


def test_a_policy_that_cannot_be_seen_may_allow_it(stack: Stack) -> None:
    """
    The warning says so.
    """
    role = iam.Role(
        stack,
        "Own",
        assumed_by=SAGEMAKER,
        managed_policies=[
            iam.ManagedPolicy.from_managed_policy_arn(stack, "Policy", BOUNDARY)
        ],
    )

    assert untouched(stack, role) == ["LLM821"]
    (told,) = [text for _, text in warnings_of(stack) if "LLM821" in text]
    assert f", unless one of {BOUNDARY} allows it; add it where" in told


@pytest.mark.parametrize("stays", [True, False])
def test_a_role_that_sagemaker_cannot_take_is_told_of(
    stack: Stack, *, stays: bool
) -> None:
    """
    Whether it may be changed or not: its trust is its owner's.
    """
    own = iam.Role(stack, "Own", assumed_by=LAMBDA)
    for statement in allowed(ENOUGH):
        own.add_to_policy(statement)
    role = own.without_policy_updates() if stays else own
    Model(stack, "Model", model=WEIGHTS, serving=TGI, role=role)

    assert [code for _, code in codes_of(stack)].count("LLM822") == 1


@pytest.mark.parametrize(
    "principal",
    [SAGEMAKER, iam.CompositePrincipal(LAMBDA, SAGEMAKER)],
    ids=["alone", "among others"],
)
def test_a_role_that_sagemaker_may_take_is_not_told_of(
    stack: Stack, principal: iam.PrincipalBase
) -> None:
    """
    Others may take it too.
    """
    role = iam.Role(stack, "Own", assumed_by=principal)
    Model(stack, "Model", model=WEIGHTS, serving=TGI, role=role)

    assert "LLM822" not in [code for _, code in codes_of(stack)]


def test_the_command_prints_the_policy_ready_to_paste(tmp_path: Path) -> None:
    """
    Of all models of the role, in a stack whose account and region are known, nothing is
    left open.
    """
    app = App(outdir=str(tmp_path))
    environment = Environment(account=ACCOUNT, region=REGION)
    stack = Stack(app, "Chat", env=environment)
    arn = f"arn:aws:iam::{ACCOUNT}:role/path/runtime"
    role = iam.Role.from_role_arn(stack, "Role", arn, mutable=False)
    for name in ("a", "b"):
        weights = S3Model(f"s3://weights/{name}/")
        Model(stack, name, model=weights, serving=TGI, role=role)
    app.synth()
    done = run(tmp_path, "--role", arn)
    document = json.loads(done.stdout)
    trust = json.loads(run(tmp_path, "--role", "runtime", "--trust").stdout)

    assert (done.exit_code, done.stderr) == (0, "")
    assert run(tmp_path, "--role", "runtime").stdout == done.stdout
    assert [each["Sid"] for each in document["Statement"]] == [
        "LogInToRegistries",
        "PullImage",
        "ReadWeights",
        "ListWeights",
        "WriteLogs",
        "PublishMetrics",
    ]
    assert document["Version"] == "2012-10-17"
    assert document["Statement"][1]["Resource"] == (
        "arn:aws:ecr:us-east-1:763104351884"
        ":repository/huggingface-pytorch-tgi-inference"
    )
    assert document["Statement"][2]["Resource"] == [
        "arn:aws:s3:::weights/a/*",
        "arn:aws:s3:::weights/b/*",
    ]
    assert trust["Statement"] == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
        }
    ]


def test_the_command_says_what_is_left_open(tmp_path: Path) -> None:
    """
    Whoever pastes it puts that in.
    """
    app = App(outdir=str(tmp_path))
    stack = Stack(app, "Chat")
    LlmEndpoint(stack, "Llm", model=WEIGHTS, serving=TGI, instance_type="ml.g5.xlarge")
    app.synth()
    done = run(tmp_path, "--role", "LlmModelRole")

    assert done.exit_code == 0
    assert "put in what only deployment knows: ${...}, ${AWS::AccountId}, " in (
        done.stderr
    )
    assert [each["Sid"] for each in json.loads(done.stdout)["Statement"]] == [
        "LogInToRegistries",
        "PullImage",
        "ReadWeights",
        "ListWeights",
        "WriteLogs",
        "PublishMetrics",
    ]


def test_what_several_stacks_ask_of_a_role_is_one_document(tmp_path: Path) -> None:
    """
    Without repeats, and with a name of its own for each statement.
    """
    app = App(outdir=str(tmp_path))
    for name in ("A", "B"):
        stack = Stack(app, name)
        arn = f"arn:aws:iam::{ACCOUNT}:role/runtime"
        role = iam.Role.from_role_arn(stack, "Role", arn, mutable=False)
        weights = S3Model(f"s3://weights/{name}/")
        Model(stack, "Model", model=weights, serving=TGI, role=role)
    app.synth()
    document = json.loads(run(tmp_path, "--role", "runtime").stdout)

    assert [each["Sid"] for each in document["Statement"]] == [
        "LogInToRegistries",
        "PullImage",
        "ReadWeights",
        "ListWeights",
        "WriteLogs",
        "PublishMetrics",
        "ReadWeights2",
        "ListWeights2",
    ]


def test_metadata_in_the_manifest_is_read_too(tmp_path: Path) -> None:
    """
    Where the CDK wrote it before it had files for it; what is none is passed over.
    """
    told = {"role": "runtime", "policy": {"Statement": [{"Sid": "It"}]}}
    entry = {"type": METADATA, "data": told}
    odd = [None, {"type": METADATA}, {"type": METADATA, "data": 5}]
    manifest = {
        "version": "1",
        "artifacts": {"A": {"type": "x", "metadata": {"/A": [*odd, entry], "/B": 5}}},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "A.metadata.json").write_text("[")

    assert json.loads(run(tmp_path, "--role", "runtime").stdout) == {
        "Version": "2012-10-17",
        "Statement": [{"Sid": "It"}],
    }


def test_an_unknown_role_is_misuse(tmp_path: Path) -> None:
    """
    Those that there are are named; so is a flag that needs another.
    """
    app = App(outdir=str(tmp_path))
    iam.Role(Stack(app, "Chat"), "Role", assumed_by=LAMBDA)
    app.synth()
    unknown = run(tmp_path, "--role", "nobody")
    alone = run(tmp_path, "--trust")

    assert (unknown.exit_code, alone.exit_code) == (2, 2)
    assert run(tmp_path, "--role", "").exit_code == 2
    assert "the app has no role 'nobody'; it has Chat/Role" in unknown.stderr
    assert "--trust needs --role" in alone.stderr


def boundaries(stack: Stack) -> set[Any]:
    """
    Return the boundaries of all roles in a stack.
    """
    roles = written(stack, "IAM::Role").values()
    return {json.dumps(role["Properties"].get("PermissionsBoundary")) for role in roles}


def everything(stack: Stack) -> None:
    """
    Define each thing that makes a role.
    """
    gpt2 = HuggingFaceModel("gpt2")
    LlmEndpoint(stack, "Llm", model=gpt2, serving=TGI, instance_type="ml.g5.xlarge")
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.p4d.24xlarge")
    one = ResourceRequirements(accelerators=1)
    model = host.add_model("A", model=gpt2, serving=TGI, resources=one)
    model.auto_scale_copy_count(max_capacity=2)
    Model(stack, "Model", model=gpt2, serving=TGI)
    lambda_.Function(
        stack,
        "Function",
        code=lambda_.Code.from_inline("#"),
        handler="index.handler",
        runtime=lambda_.Runtime.PYTHON_3_13,
    )


def test_every_role_is_within_a_boundary(stack: Stack) -> None:
    """
    And has no name or path that a company's rules might refuse.
    """
    everything(stack)
    boundary = iam.ManagedPolicy.from_managed_policy_arn(stack, "Edge", BOUNDARY)
    iam.PermissionsBoundary.of(stack).apply(boundary)
    roles = written(stack, "IAM::Role")

    assert sorted(roles) == [
        "FunctionServiceRole",
        "HostRole",
        "LlmModelRole",
        "ModelRole",
    ]
    assert boundaries(stack) == {json.dumps(BOUNDARY)}
    for role in roles.values():
        assert {"RoleName", "Path"}.isdisjoint(role["Properties"])


def test_a_boundary_of_the_apps_context_counts_too() -> None:
    """
    As ``cdk.json`` has it.
    """
    context = {"@aws-cdk/core:permissionsBoundary": {"name": "edge"}}
    stack = Stack(App(context=context), "Test")
    everything(stack)

    (boundary,) = boundaries(stack)
    assert ":policy/edge" in boundary


def test_a_given_role_keeps_the_boundary_that_it_has(stack: Stack) -> None:
    """
    Nothing of it is written but the policy beside it.
    """
    edge = iam.ManagedPolicy.from_managed_policy_arn(stack, "Edge", BOUNDARY)
    role = iam.Role(
        stack,
        "Own",
        assumed_by=SAGEMAKER,
        path="/team/",
        role_name="own",
        permissions_boundary=edge,
    )
    Model(stack, "Model", model=WEIGHTS, serving=TGI, role=role)
    (properties,) = [r["Properties"] for r in written(stack, "IAM::Role").values()]

    assert properties["PermissionsBoundary"] == BOUNDARY
    assert (properties["Path"], properties["RoleName"]) == ("/team/", "own")
