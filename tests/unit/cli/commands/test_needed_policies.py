"""
``sagemaker-llm permissions --role``: the policy that a role must have, to be pasted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.permissions import METADATA, trust_document
from tests.unit.cli.commands.test_permissions import run

ARN = "arn:aws:iam::111111111111:role/team/runtime"


def statement(
    sid: str = "ListWeights",
    action: object = "s3:ListBucket",
    resource: object = "arn:aws:s3:::weights",
    **more: object,
) -> dict[str, Any]:
    """
    Write a statement that allows something.
    """
    named = {"Sid": sid} if sid else {}
    return {
        **named,
        "Effect": "Allow",
        "Action": action,
        "Resource": resource,
        **more,
    }


def listing(bucket: str = "weights", sid: str = "ListWeights") -> dict[str, Any]:
    """
    Write the statement that a role must have to list a bucket.
    """
    return statement(sid, ["s3:ListBucket"], [f"arn:aws:s3:::{bucket}"])


def entry(role: object, *statements: dict[str, Any], **more: object) -> dict[str, Any]:
    """
    Write what a construct says of a role that is made elsewhere.
    """
    policy = {"Version": "2012-10-17", "Statement": list(statements)}
    return {"type": METADATA, "data": {"role": role, "policy": policy, **more}}


def policy_of(*statements: dict[str, Any], **properties: object) -> dict[str, Any]:
    """
    Write a policy of a template.
    """
    return {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "PolicyDocument": {"Statement": list(statements)},
            **properties,
        },
    }


def assembly(
    folder: Path,
    resources: dict[str, Any] | None = None,
    metadata: object = None,
    **files: object,
) -> Path:
    """
    Write an assembly of one stack, with metadata in the manifest and in files.
    """
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {"templateFile": "Prod.template.json"},
        "metadata": metadata,
    }
    manifest = {"artifacts": {"Prod": stack}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    template = {"Resources": resources or {}}
    (folder / "Prod.template.json").write_text(json.dumps(template))
    for name, content in files.items():
        (folder / f"{name}.metadata.json").write_text(json.dumps(content))
    return folder


def statements(path: Path, role: str) -> list[dict[str, Any]]:
    """
    Return the statements that are printed for a role.
    """
    done = run(path, "--role", role)
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["Version"] == "2012-10-17"
    found: list[dict[str, Any]] = document["Statement"]
    return found


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (ARN, ARN),
        ("runtime", "runtime"),
        ("runtime", ARN),
        ("team/runtime", "team/runtime"),
    ],
)
def test_what_constructs_wrote_of_a_role_is_found(
    written: str, asked: str, tmp_path: Path
) -> None:
    """
    By its ARN, or by its name at the end of one.
    """
    path = assembly(tmp_path, metadata={"/Prod/Llm": [entry(written, listing())]})

    assert statements(path, asked) == [listing()]


@pytest.mark.parametrize("asked", ["team", "runtim", "other/runtime2", ""])
def test_another_role_has_none_of_it(asked: str, tmp_path: Path) -> None:
    """
    And what there is not is told.
    """
    path = assembly(tmp_path, metadata={"/Prod/Llm": [entry("runtime", listing())]})
    done = run(path, "--role", asked)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"sagemaker-llm permissions: the app has no role {asked!r}\n"


def test_the_roles_of_an_app_are_told_where_there_is_no_such_one(
    tmp_path: Path,
) -> None:
    """
    By their names, or else by their places.
    """
    path = assembly(
        tmp_path,
        {
            "Named": {
                "Type": "AWS::IAM::Role",
                "Properties": {"RoleName": "runs"},
            },
            "Other": {"Type": "AWS::IAM::Role"},
        },
    )
    done = run(path, "--role", "nobody")

    assert done.stderr == (
        "sagemaker-llm permissions: the app has no role 'nobody'; it has runs, "
        "Prod/Other\n"
    )


def test_metadata_is_read_of_the_manifest_and_of_files(tmp_path: Path) -> None:
    """
    Of those of stages, too; whatever is no entry of this library is passed over.
    """
    stage = tmp_path / "assembly-Prod"
    stage.mkdir()
    other = {"type": "aws:cdk:logicalId", "data": {"role": "runtime"}}
    assembly(stage, metadata={"/Stage/Llm": [entry("runtime", listing("c"))]})
    path = assembly(
        tmp_path,
        metadata={
            "/Prod/Llm": [other, entry("runtime", listing("a")), "odd", None],
            "/Prod/Odd": "odd",
            "/Prod/Data": [{"type": METADATA, "data": "odd"}, {"type": METADATA}],
        },
        Prod={"/Prod/More": [entry("runtime", listing("b")), other]},
        Odd={"/Prod/Odd": 5},
    )
    (tmp_path / "Broken.metadata.json").write_text("{")

    assert [each["Resource"] for each in statements(path, "runtime")] == [
        ["arn:aws:s3:::b"],
        ["arn:aws:s3:::c"],
        ["arn:aws:s3:::a"],
    ]


ROLE = {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "runs"}}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("Llm0123ABCD", "Prod/Llm0123ABCD"),
        ("Llm0123ABCD", "Llm0123ABCD"),
        ("Llm0123ABCD", "Prod/Llm"),
        ("Llm0123ABCD", "Llm"),
        ("Llm0123ABCD", "runs"),
        ("Llm0123ABCD", "arn:aws:iam::111111111111:role/runs"),
        # What looks like no hash of the CDK's is part of the name.
        ("Llm0123abcd", "Llm0123abcd"),
    ],
)
def test_a_role_of_the_app_is_found(name: str, asked: str, tmp_path: Path) -> None:
    """
    By its place with its hash or without, its logical id, its name or its ARN.
    """
    resources = {name: ROLE, "P": policy_of(listing(), Roles=[{"Ref": name}])}

    assert statements(assembly(tmp_path, resources), asked) == [listing()]
    assert run(tmp_path, "--role", "Ll").exit_code == 2
    if name.endswith("abcd"):
        assert run(tmp_path, "--role", "Llm").exit_code == 2


def test_what_is_of_others_is_not_in_the_policy(tmp_path: Path) -> None:
    """
    Nor what is denied; the rest is put together again by its statements.
    """
    resources = {
        "It": ROLE,
        "P": policy_of(
            statement("Mine", "sqs:SendMessage", "*"),
            statement(
                "WriteLogs",
                ["logs:CreateLogGroup", "logs:PutLogEvents"],
                ["arn:aws:logs:::a", "arn:aws:logs:::b"],
            ),
            statement(
                Condition={"StringLike": {"s3:prefix": ["a/*"]}},
            ),
            {**listing("denied"), "Effect": "Deny"},
            Roles=[{"Ref": "It"}],
        ),
    }

    assert statements(assembly(tmp_path, resources), "runs") == [
        {
            "Sid": "WriteLogs",
            "Effect": "Allow",
            "Action": ["logs:CreateLogGroup", "logs:PutLogEvents"],
            "Resource": ["arn:aws:logs:::a", "arn:aws:logs:::b"],
        },
        {
            "Sid": "ListWeights",
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": ["arn:aws:s3:::weights"],
            "Condition": {"StringLike": {"s3:prefix": ["a/*"]}},
        },
    ]


def test_statements_under_other_conditions_are_other_statements(
    tmp_path: Path,
) -> None:
    """
    Though they have no names, and are on the same.
    """
    conditions = [{"Bool": {"aws:SecureTransport": "true"}}, None]
    resources = {
        "It": ROLE,
        "P": policy_of(
            *(
                statement("", "sagemaker:InvokeEndpoint", "*", Condition=each)
                for each in conditions
            ),
            statement(
                "",
                [
                    "sagemaker:InvokeEndpoint",
                    "sagemaker:InvokeEndpointWithResponseStream",
                ],
                "arn:it",
            ),
            Roles=[{"Ref": "It"}],
        ),
    }

    found = statements(assembly(tmp_path, resources), "runs")
    assert [each.get("Condition") for each in found] == [conditions[0], None, None]
    # What differs in its reasons alone is one.
    assert [len(each["Action"]) for each in found] == [1, 1, 2]


def test_statements_of_one_name_are_numbered(tmp_path: Path) -> None:
    """
    From the second on; those that say the same are one.
    """
    resources = {
        "It": ROLE,
        "P": policy_of(
            listing("a"), listing("b", "ListWeights2"), Roles=[{"Ref": "It"}]
        ),
        "Q": policy_of(listing("b"), listing("c"), Roles=[{"Ref": "It"}]),
    }
    metadata = {"/It": [entry("runs", listing("a", "ListWeights7"), listing("d", ""))]}
    found = statements(assembly(tmp_path, resources, metadata), "runs")

    assert [(each.get("Sid"), each["Resource"]) for each in found] == [
        ("ListWeights", ["arn:aws:s3:::a"]),
        (None, ["arn:aws:s3:::d"]),
        ("ListWeights2", ["arn:aws:s3:::b"]),
        ("ListWeights3", ["arn:aws:s3:::c"]),
    ]
    assert "Sid" not in found[1]


def test_whom_a_role_must_trust_is_printed(tmp_path: Path) -> None:
    """
    As its construct wrote it, or else as SageMaker takes it.
    """
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow"}]}
    metadata = {
        "/A": [entry("first", listing()), entry("second", listing(), trust="odd")],
        "/B": [entry("third", listing(), trust=trust)],
    }
    path = assembly(tmp_path, metadata=metadata)
    usual = trust_document("${AWS::AccountId}")

    for role, expected in (("first", usual), ("second", usual), ("third", trust)):
        done = run(path, "--role", role, "--trust")
        assert done.exit_code == 0
        assert json.loads(done.stdout) == expected


def test_what_only_deployment_knows_is_told(tmp_path: Path) -> None:
    """
    Once each, beside the document.
    """
    resources = {
        "It": ROLE,
        "P": policy_of(
            statement(
                resource=[
                    {"Fn::GetAtt": ["Weights", "Arn"]},
                    {"Fn::Sub": "arn:${AWS::Partition}:s3:::${Weights}"},
                ]
            ),
            Roles=[{"Ref": "It"}],
        ),
    }
    done = run(assembly(tmp_path, resources), "--role", "runs")

    assert done.exit_code == 0
    assert done.stderr == (
        "sagemaker-llm permissions: put in what only deployment knows: "
        "${AWS::Partition}, ${Weights}\n"
    )
    assert run(assembly(tmp_path, {"It": ROLE}), "--role", "runs").stderr == ""


def test_trust_is_that_of_a_role(tmp_path: Path) -> None:
    """
    Of which nothing is known where none is named.
    """
    done = run(assembly(tmp_path), "--trust")

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "sagemaker-llm permissions: --trust needs --role\n"
    nameless = run(assembly(tmp_path), "--trust", "--role", "")
    assert nameless.stderr == "sagemaker-llm permissions: the app has no role ''\n"


def test_a_nested_stack_that_is_not_there_is_told(tmp_path: Path) -> None:
    """
    And the rest is printed.
    """
    nested = {"Type": "AWS::CloudFormation::Stack"}
    resources = {"Gone": nested, "It": ROLE}
    done = run(assembly(tmp_path, resources), "--json")

    assert done.exit_code == 2
    assert [one["name"] for one in json.loads(done.stdout)["roles"]] == ["runs"]
    assert done.stderr == (
        "sagemaker-llm permissions: the template of Prod/Gone is not in it\n"
    )


def test_users_and_groups_are_told_by_their_kind(tmp_path: Path) -> None:
    """
    With the actions that differ in nothing else on one line.
    """
    resources = {
        "Ops": {"Type": "AWS::IAM::Group", "Properties": {"GroupName": "ops"}},
        "Me": {"Type": "AWS::IAM::User"},
        "P": policy_of(
            statement("", ["sqs:A", "sqs:B"], "*"),
            statement("", "sqs:C", "*", Condition={"Bool": {"x": "true"}}),
            statement("", "sqs:D", "*", Condition={"Bool": {"x": "false"}}),
            Groups=[{"Ref": "Ops"}],
            Users=[{"Ref": "Me"}, "you"],
        ),
    }
    path = assembly(tmp_path, resources)
    allowed = [
        *("  allow sqs:A, sqs:B", "    on *", "    not of this library: Prod/P"),
        *("  allow sqs:C", "    on *", "    if Bool x = true"),
        "    not of this library: Prod/P",
        *("  allow sqs:D", "    on *", "    if Bool x = false"),
        "    not of this library: Prod/P",
    ]

    assert run(path).stdout.splitlines() == [
        "user Prod/Me",
        *allowed,
        "group Prod/Ops named ops",
        *allowed,
        "user you, made elsewhere",
        *allowed,
    ]
    roles = json.loads(run(path, "--json").stdout)["roles"]
    assert [(one["kind"], one["name"], one["made_elsewhere"]) for one in roles] == [
        ("User", None, False),
        ("Group", "ops", False),
        ("User", None, True),
    ]
    assert roles[0]["permissions_boundary"] is None
