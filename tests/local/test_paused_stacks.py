"""
Stacks that stay as they fail: what may be done with them, and how they are rolled back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from aws_cdk import App, CfnResource, Environment, Stack
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.conftest import ACCOUNT, REGION
from tests.local.hosting_requests import make_config, make_model, unique
from tests.local.stacks import Stacks

if TYPE_CHECKING:
    from pathlib import Path

    from cdk_sagemaker_llm.local import EmbeddedAws
    from tests.local.conftest import Cdk


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


GOOD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}
BAD = {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": ""}}


def body(**resources: object) -> str:
    """
    Write a template in which each resource comes after the one before it.
    """
    names = list(resources)
    ordered = {
        name: {**resources[name], "DependsOn": names[:index]}  # type: ignore[dict-item]  # a map
        for index, name in enumerate(names)
    }
    return json.dumps({"Resources": ordered})


def valued(text: str, **more: object) -> dict[str, object]:
    """
    Declare a parameter of a value.
    """
    return {**GOOD, "Properties": {"Type": "String", "Value": text}, **more}


def test_a_stack_may_stay_as_it_fails(client: Untyped, stacks: Stacks) -> None:
    """
    As ``cdk deploy --no-rollback`` asks for; an update in the same way goes on there.
    """
    name, other = unique("stack"), unique("stack")
    wrong = body(A=GOOD, B=BAD)

    client.create_stack(StackName=name, TemplateBody=wrong, DisableRollback=True)
    client.create_stack(StackName=other, TemplateBody=wrong, OnFailure="DO_NOTHING")
    kept = stacks.physical_ids(name)
    statuses = [stacks.status(name), stacks.status(other)]
    mended = body(A=GOOD, B=GOOD)
    client.update_stack(StackName=name, TemplateBody=mended, DisableRollback=True)

    assert statuses == ["CREATE_FAILED", "CREATE_FAILED"]
    assert kept.keys() == {"A"}
    assert stacks.status(name) == "UPDATE_COMPLETE"
    assert stacks.physical_ids(name)["A"] == kept["A"]
    assert stacks.create(unique("stack"), json.loads(wrong)) == "ROLLBACK_COMPLETE"


def test_a_paused_stack_takes_no_update_that_would_roll_back(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Neither at once nor by a change set.
    """
    name, change = unique("stack"), {"ChangeSetName": "change"}
    client.create_stack(
        StackName=name, TemplateBody=body(A=GOOD, B=BAD), DisableRollback=True
    )
    mended = {"StackName": name, "TemplateBody": body(A=GOOD, B=GOOD)}
    words = r"non-terminal \[CREATE_FAILED\] state.*use the rollback-stack API"

    with pytest.raises(ClientError, match=words):
        client.update_stack(**mended)
    client.create_change_set(**mended, **change)
    with pytest.raises(ClientError, match=words):
        client.execute_change_set(StackName=name, **change)
    client.execute_change_set(StackName=name, **change, DisableRollback=True)

    assert stacks.status(name) == "UPDATE_COMPLETE"


@pytest.mark.parametrize("is_mended", [True, False])
def test_what_failed_to_create_goes_with_the_next_operation(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks, *, is_mended: bool
) -> None:
    """
    A failed endpoint is there until the stack is updated, which makes it again under
    its name, or deleted.
    """
    name = unique("stack")
    variant = {
        "ModelName": make_model(near_aws),
        "InstanceType": "ml.g5.xlarge",
        "InitialInstanceCount": 1,
    }
    config = make_config(near_aws, variant=variant)
    properties = {"EndpointName": name, "EndpointConfigName": config}
    template = body(E={"Type": "AWS::SageMaker::Endpoint", "Properties": properties})
    wanted = {"StackName": name, "TemplateBody": template, "DisableRollback": True}

    near_aws.fault("never-healthy", name)
    client.create_stack(**wanted)
    near_aws.clear_faults()
    shown = client.describe_stack_resource(StackName=name, LogicalResourceId="E")
    detail = shown["StackResourceDetail"]
    failed = stacks.sagemaker.describe_endpoint(EndpointName=name)["EndpointStatus"]

    assert (stacks.status(name), failed) == ("CREATE_FAILED", "Failed")
    assert detail["ResourceStatus"] == "CREATE_FAILED"
    assert "health check" in detail["ResourceStatusReason"]
    assert detail["PhysicalResourceId"].endswith(f"/{name}")
    if is_mended:
        client.update_stack(**wanted)
        assert stacks.status(name) == "UPDATE_COMPLETE"
        described = stacks.sagemaker.describe_endpoint(EndpointName=name)
        assert described["EndpointStatus"] == "InService"
        events = [(what, status) for what, status, _ in stacks.events(name)]
        assert ("E", "DELETE_COMPLETE") in events
    assert stacks.delete(name) == "DELETE_COMPLETE"
    assert stacks.sagemaker.list_endpoints(NameContains=name)["Endpoints"] == []


def test_nothing_is_replaced_where_rollback_is_disabled(
    client: Untyped, stacks: Stacks
) -> None:
    """
    The resource says so, and stays.
    """
    name = unique("stack")
    role = {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": {"Statement": []}},
    }
    stacks.create(name, json.loads(body(R=role)))
    made = stacks.physical_ids(name)
    moved = {**role, "Properties": {**role["Properties"], "Path": "/there/"}}  # type: ignore[dict-item]  # a map

    client.update_stack(
        StackName=name,
        TemplateBody=body(R=moved),
        DisableRollback=True,
        Capabilities=["CAPABILITY_IAM"],
    )

    assert stacks.status(name) == "UPDATE_FAILED"
    words = "Replacement type updates not supported on stack with disable-rollback."
    assert ("R", "UPDATE_FAILED", words) in stacks.events(name)
    assert stacks.physical_ids(name) == made
    client.rollback_stack(StackName=name)
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.update(name, json.loads(body(R=moved))) == "UPDATE_COMPLETE"
    assert stacks.physical_ids(name) != made


@pytest.mark.parametrize("deletes_new", [True, False])
def test_an_update_is_rolled_back_to_what_was_stable(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks, *, deletes_new: bool
) -> None:
    """
    Over two failed updates: what was changed is as it was, what was taken away is there
    again, and what is new goes, but for what is retained, unless that is asked for too.
    """
    name = unique("stack")
    stacks.create(name, json.loads(body(A=valued("first"), B=GOOD)))
    parameter = stacks.physical_ids(name)["A"]
    new = valued("new", DeletionPolicy="Retain")
    brief = valued("brief", DeletionPolicy="RetainExceptOnCreate")
    for text in ("second", "third"):
        client.update_stack(
            StackName=name,
            TemplateBody=body(A=valued(text), N=new, M=brief, W=BAD),
            DisableRollback=True,
        )
        assert stacks.status(name) == "UPDATE_FAILED"
    ssm = near_aws.client("ssm")
    assert ssm.get_parameter(Name=parameter)["Parameter"]["Value"] == "third"
    kept, gone = (stacks.physical_ids(name)[key] for key in "NM")

    answer = client.rollback_stack(StackName=name, RetainExceptOnCreate=deletes_new)

    assert answer["StackId"] == stacks.describe(name)["StackId"]
    assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert ssm.get_parameter(Name=parameter)["Parameter"]["Value"] == "first"
    assert stacks.physical_ids(name).keys() == {"A", "B"}
    left = ssm.get_parameters(Names=[kept])["Parameters"]
    assert len(left) == (0 if deletes_new else 1)
    assert ssm.get_parameters(Names=[gone])["Parameters"] == []
    assert stacks.update(name, json.loads(body(A=valued("next")))) == "UPDATE_COMPLETE"


def test_a_creation_is_rolled_back_to_nothing(
    near_aws: EmbeddedAws, client: Untyped, stacks: Stacks
) -> None:
    """
    Then the stack can only be deleted, as after any creation that was rolled back.
    """
    name = unique("stack")
    client.create_stack(
        StackName=name, TemplateBody=body(A=GOOD, B=BAD), DisableRollback=True
    )
    made = stacks.physical_ids(name)["A"]

    client.rollback_stack(StackName=name)

    assert stacks.status(name) == "ROLLBACK_COMPLETE"
    assert stacks.physical_ids(name) == {}
    assert near_aws.client("ssm").get_parameters(Names=[made])["Parameters"] == []
    with pytest.raises(ClientError, match="ROLLBACK_COMPLETE state and can not be upd"):
        client.update_stack(StackName=name, TemplateBody=body(A=GOOD))
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_what_has_not_failed_is_not_rolled_back(
    client: Untyped, stacks: Stacks
) -> None:
    """
    A stack that is complete stays as it is.
    """
    name = unique("stack")
    stacks.create(name, json.loads(body(A=GOOD)))

    with pytest.raises(ClientError, match="CREATE_COMPLETE state and can not be roll"):
        client.rollback_stack(StackName=name)
    assert stacks.status(name) == "CREATE_COMPLETE"


@pytest.mark.whole
def test_the_cdk_cli_rolls_back(
    embedded_aws: EmbeddedAws, cdk: Cdk, tmp_path: Path
) -> None:
    """
    A creation and an update that were paused; ``cdk deploy`` then goes on by itself.

    The stack is asked for its status: of an operation that ended before the CLI's first
    look, the CLI prints no event.
    """
    stacks = Stacks(embedded_aws)
    wrong = synth(tmp_path / "wrong", A="x", B="")
    right = synth(tmp_path / "right", A="x", B="x")
    worse = synth(tmp_path / "worse", A="y", B="x", C="")
    deploy = ("deploy", "--require-approval", "never")
    commands = [
        ((*deploy, "--no-rollback"), wrong, 1, "CREATE_FAILED"),
        (("rollback",), wrong, 0, "ROLLBACK_COMPLETE"),
        (deploy, right, 0, "CREATE_COMPLETE"),
        ((*deploy, "--no-rollback"), worse, 1, "UPDATE_FAILED"),
        (("rollback",), wrong, 0, "UPDATE_ROLLBACK_COMPLETE"),
    ]

    for command, app, code, status in commands:
        ended = cdk(*command, app=app)
        assert ended.returncode == code, ended.stdout + ended.stderr
        assert stacks.status("Paused") == status
    again = cdk(*deploy, app=right)

    assert "no changes" in again.stdout, again.stdout


def synth(outdir: Path, **values: str) -> Path:
    """
    Write an app of parameters, each after the one before it.
    """
    app = App(outdir=str(outdir), analytics_reporting=False)
    stack = Stack(app, "Paused", env=Environment(account=ACCOUNT, region=REGION))
    before: CfnResource | None = None
    for name, value in values.items():
        properties = {"Type": "String", "Value": value}
        made = CfnResource(
            stack, name, type="AWS::SSM::Parameter", properties=properties
        )
        if before is not None:
            made.add_resource_dependency(before)
        before = made
    app.synth()
    return outdir
