"""
``sagemaker-llm permissions``: role by role, whoever wrote the template.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from aws_cdk import App, Environment, NestedStack, Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from typer.testing import CliRunner, Result

from cdk_sagemaker_llm import LlmEndpoint, S3Model, Tgi
from cdk_sagemaker_llm.cli.commands import add_command

ENVIRONMENT = Environment(account="111111111111", region="us-east-1")
LAMBDA = iam.ServicePrincipal("lambda.amazonaws.com")
TEMPLATE = {
    "Resources": {
        "Runs": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "RoleName": "runs",
                "PermissionsBoundary": "arn:aws:iam::111111111111:policy/edge",
                "AssumeRolePolicyDocument": {
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Action": "sts:AssumeRole",
                            "Principal": {"Service": "sagemaker.amazonaws.com"},
                            "Condition": {
                                "StringEquals": {
                                    "aws:SourceAccount": {"Ref": "AWS::AccountId"}
                                }
                            },
                        },
                        {
                            "Effect": "Allow",
                            "Action": "sts:AssumeRole",
                            "Principal": {"AWS": ["arn:a", "arn:b"]},
                        },
                    ]
                },
                "ManagedPolicyArns": [
                    {"Ref": "Shared"},
                    "arn:aws:iam::aws:policy/ReadOnlyAccess",
                ],
                "Policies": [
                    {
                        "PolicyName": "Inline",
                        "PolicyDocument": {
                            "Statement": {
                                "Effect": "Deny",
                                "NotAction": "s3:*",
                                "NotResource": "arn:aws:s3:::a",
                            }
                        },
                    }
                ],
            },
        },
        "Shared": {
            "Type": "AWS::IAM::ManagedPolicy",
            "Properties": {
                "PolicyDocument": {
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Action": "sqs:SendMessage",
                            "Resource": {"Fn::GetAtt": ["Queue", "Arn"]},
                        }
                    ]
                }
            },
        },
        "Access": {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "Roles": [{"Ref": "Runs"}, "elsewhere"],
                "PolicyName": "Access",
                "PolicyDocument": {
                    "Statement": [
                        {
                            "Sid": "ListWeights",
                            "Effect": "Allow",
                            "Action": "s3:ListBucket",
                            "Resource": "arn:aws:s3:::weights",
                            "Condition": {"StringLike": {"s3:prefix": ["a/*", "b/*"]}},
                        }
                    ]
                },
            },
        },
    }
}
PRINTED = """\
role elsewhere, made elsewhere
  allow s3:ListBucket (ListWeights)
    on arn:aws:s3:::weights
    if StringLike s3:prefix = a/* or b/*
    why: lists the files under the weights' prefix
    without: CreateModel or CreateEndpoint says that it could not access model data
    source: SageMaker developer guide, sagemaker-roles, CreateModel API
role it/Runs named runs
  taken by sagemaker.amazonaws.com if StringEquals aws:SourceAccount = \
${AWS::AccountId}
  taken by AWS arn:a, AWS arn:b
  bounded by arn:aws:iam::111111111111:policy/edge
  has the policy arn:aws:iam::aws:policy/ReadOnlyAccess, whose contents are not in the \
app
  deny not s3:*
    on not arn:aws:s3:::a
    not of this library: it/Runs/Inline
  allow s3:ListBucket (ListWeights)
    on arn:aws:s3:::weights
    if StringLike s3:prefix = a/* or b/*
    why: lists the files under the weights' prefix
    without: CreateModel or CreateEndpoint says that it could not access model data
    source: SageMaker developer guide, sagemaker-roles, CreateModel API
  allow sqs:SendMessage
    on ${Queue}
    not of this library: it/Shared
"""


def run(*arguments: str | Path) -> Result:
    """
    Run the subcommand as the command line does.
    """
    app = typer.Typer(add_completion=False)
    app.callback()(lambda: None)
    add_command(app, "permissions")
    return CliRunner().invoke(app, ["permissions", *map(str, arguments)])


@pytest.fixture(name="template")
def _template(tmp_path: Path) -> Callable[[object], Path]:
    path = tmp_path / "it.template.json"

    def write(content: object) -> Path:
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


def roles_in(path: Path) -> dict[str, dict[str, Any]]:
    """
    Return what is printed as JSON, by role.
    """
    done = run(path, "--json")
    assert done.exit_code == 0, done.output
    return {one["role"]: one for one in json.loads(done.stdout)["roles"]}


def test_every_role_is_printed_with_what_it_may_do(
    template: Callable[[object], Path],
) -> None:
    """
    Policies of each kind, allowing and denying, of ours and of others.
    """
    done = run(template(TEMPLATE))

    assert done.exit_code == 0
    assert done.stdout == PRINTED


def test_the_same_as_json(template: Callable[[object], Path]) -> None:
    """
    Each action by itself, with its reason or none.
    """
    runs = roles_in(template(TEMPLATE))["it/Runs"]
    allowed = runs.pop("allowed")

    assert runs == {
        "role": "it/Runs",
        "kind": "Role",
        "name": "runs",
        "made_elsewhere": False,
        "trusted": [
            (
                "sagemaker.amazonaws.com if StringEquals aws:SourceAccount = "
                "${AWS::AccountId}"
            ),
            "AWS arn:a, AWS arn:b",
        ],
        "permissions_boundary": "arn:aws:iam::111111111111:policy/edge",
        "managed_policies": ["arn:aws:iam::aws:policy/ReadOnlyAccess"],
    }
    assert allowed[1:] == [
        {
            "policy": "it/Access",
            "sid": "ListWeights",
            "effect": "Allow",
            "action": "s3:ListBucket",
            "resources": ["arn:aws:s3:::weights"],
            "condition": {"StringLike": {"s3:prefix": ["a/*", "b/*"]}},
            "why": "lists the files under the weights' prefix",
            "without": "CreateModel or CreateEndpoint says that it could not access "
            "model data",
            "source": "SageMaker developer guide, sagemaker-roles, CreateModel API",
        },
        {
            "policy": "it/Shared",
            "sid": None,
            "effect": "Allow",
            "action": "sqs:SendMessage",
            "resources": ["${Queue}"],
            "condition": None,
            "why": None,
            "without": None,
            "source": None,
        },
    ]


def test_a_denial_is_never_ours(template: Callable[[object], Path]) -> None:
    """
    The library denies nothing.
    """
    content = json.loads(json.dumps(TEMPLATE).replace('"Allow"', '"Deny"'))

    found = roles_in(template(content))["elsewhere"]["allowed"]
    assert [(one["action"], one["why"]) for one in found] == [("s3:ListBucket", None)]


def test_roles_of_stages_and_nested_stacks_are_found(tmp_path: Path) -> None:
    """
    A policy may stand in another stack than its role, and names it by a parameter.
    """
    app = App(outdir=str(tmp_path))
    stage = Stage(app, "Prod", env=ENVIRONMENT)
    stack = Stack(stage, "Chat")
    nested = NestedStack(stack, "Inner")
    caller = iam.Role(stack, "Caller", assumed_by=LAMBDA)
    model = S3Model("s3://weights/a/")
    LlmEndpoint(
        nested,
        "Llm",
        model=model,
        serving=Tgi("3.3.6"),
        instance_type="ml.g5.12xlarge",
    ).grant_invoke(caller)
    iam.Policy(
        nested,
        "More",
        roles=[caller],
        statements=[iam.PolicyStatement(actions=["sqs:Send"], resources=["*"])],
    )
    app.synth()

    found = {
        name.rpartition("/")[2][:-8]: sorted({o["action"] for o in one["allowed"]})
        for name, one in roles_in(tmp_path).items()
    }
    assert found == {
        "Caller": [
            "sagemaker:InvokeEndpoint",
            "sagemaker:InvokeEndpointWithResponseStream",
            "sqs:Send",
        ],
        "LlmModelRole": [
            "cloudwatch:PutMetricData",
            "ecr:BatchCheckLayerAvailability",
            "ecr:BatchGetImage",
            "ecr:GetAuthorizationToken",
            "ecr:GetDownloadUrlForLayer",
            "logs:CreateLogGroup",
            "logs:CreateLogStream",
            "logs:DescribeLogStreams",
            "logs:PutLogEvents",
            "s3:GetObject",
            "s3:ListBucket",
        ],
    }


def test_an_app_without_roles_says_so(tmp_path: Path) -> None:
    """
    Nothing printed would look like a failure.
    """
    app = App(outdir=str(tmp_path))
    s3.Bucket(Stack(app, "Data"), "Bucket")
    app.synth()

    assert run(tmp_path).stdout == "there is no role in it\n"


@pytest.mark.parametrize(
    "broken",
    [
        {"PolicyDocument": None},
        {"PolicyDocument": []},
        {"PolicyDocument": {"Statement": 5}},
        {"PolicyDocument": {"Statement": ["a"]}},
        {"PolicyDocument": {"Statement": {"Effect": 1, "Action": {"Ref": "A"}}}},
        {"PolicyDocument": {"Statement": {"Condition": {"StringLike": 4}}}},
        {"PolicyDocument": {"Ref": "A"}, "Roles": 4},
        {"Roles": {"Ref": "Given"}},
        {"Roles": [None]},
    ],
    ids=str,
)
def test_odd_policies_are_passed_over(
    template: Callable[[object], Path], broken: dict[str, Any]
) -> None:
    """
    CloudFormation may take what this command does not read.
    """
    policy = {"Type": "AWS::IAM::Policy", "Properties": {"Roles": ["a"], **broken}}
    done = run(template({"Resources": {"Odd": policy}}))

    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("role ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "holds no JSON object"),
        ("{", "is no JSON"),
        ('{"Resources": 5}', "Resources must be a map, got a number"),
    ],
)
def test_what_is_no_template_is_misuse(tmp_path: Path, content: str, said: str) -> None:
    """
    One line, and 2.
    """
    path = tmp_path / "it.json"
    path.write_text(content, encoding="utf-8")
    done = run(path)

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_what_is_missing_is_misuse(tmp_path: Path) -> None:
    """
    As of every subcommand.
    """
    done = run(tmp_path / "nowhere")

    assert done.exit_code == 2
    assert "is missing" in done.stderr


def test_what_is_neither_an_app_nor_a_template_is_misuse(tmp_path: Path) -> None:
    """
    It says so, and what to name: no role would look like an answer.
    """
    other = tmp_path / "tree.json"
    other.write_text('{"tree": {}}')
    folder, file = run(tmp_path), run(other)

    assert (folder.exit_code, folder.stdout) == (2, "")
    assert "holds no manifest.json; name what cdk synth has written" in folder.stderr
    assert (file.exit_code, file.stdout) == (2, "")
    assert "tree.json is no template: it has no Resources; name" in file.stderr


def test_what_cannot_be_read_is_said_and_the_rest_is_printed(tmp_path: Path) -> None:
    """
    A list that lacks a stack must not look whole.
    """
    app = App(outdir=str(tmp_path))
    for name in ("One", "Two"):
        iam.Role(Stack(app, name), "Role", assumed_by=LAMBDA)
    app.synth()
    (tmp_path / "Two.template.json").write_text("{", encoding="utf-8")
    done = run(tmp_path)

    assert done.exit_code == 2
    assert done.stdout.startswith("role One/Role")
    assert "Two.template.json is no JSON" in done.stderr


def test_it_starts_without_the_cdk() -> None:
    """
    A pipeline runs it after each synthesis.
    """
    code = (
        "import sys, cdk_sagemaker_llm.cli.commands.permissions;"
        "print([m for m in ('aws_cdk', 'jsii', 'boto3', 'moto') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
