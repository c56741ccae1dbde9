"""
``Fn::GetStackOutput``: what one stack reads of another when it is made or changed, and
which does not bind the two.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.conftest import REGION
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def test_a_value_is_read_when_a_stack_is_made_or_changed(stacks: Stacks) -> None:
    """
    A later change of the other stack, or its end, is seen at the reader's next update.
    """
    producer, consumer = unique("stack"), unique("stack")
    stacks.create(producer, giving("one"))

    assert stacks.create(consumer, reading(producer)) == "CREATE_COMPLETE"
    stacks.update(producer, giving("two"))
    assert stacks.outputs(consumer) == {"Stored": "<one>", "Read": "one"}
    assert stacks.update(consumer, reading(producer)) == "UPDATE_COMPLETE"
    assert stacks.outputs(consumer) == {"Stored": "<two>", "Read": "two"}
    assert stacks.delete(producer) == "DELETE_COMPLETE"
    assert stacks.outputs(consumer) == {"Stored": "<two>", "Read": "two"}
    assert stacks.update(consumer, reading(producer)) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.outputs(consumer) == {"Stored": "<two>", "Read": "two"}
    assert stacks.delete(consumer) == "DELETE_COMPLETE"


def test_a_list_comes_as_one_text(stacks: Stacks) -> None:
    """
    Which the CDK joins and splits again.
    """
    producer, consumer = unique("stack"), unique("stack")
    stacks.create(producer, giving("a||b"))
    template = reading(producer)
    pieces = {"Fn::Split": ["||", template["Outputs"]["Read"]["Value"]]}
    template["Outputs"]["Read"]["Value"] = {"Fn::Select": [1, pieces]}

    stacks.create(consumer, template)

    assert stacks.outputs(consumer)["Read"] == "b"


def test_a_value_is_read_in_another_region(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Where a stack of the same name may be too.
    """
    producer, consumer = unique("stack"), unique("stack")
    stacks.create(producer, giving("here"))
    there = near_aws.client("cloudformation", region_name="eu-west-1")
    there.create_stack(StackName=producer, TemplateBody=json.dumps(giving("there")))

    stacks.create(consumer, reading(producer, Region="eu-west-1"))
    assert stacks.outputs(consumer)["Read"] == "there"
    stacks.update(consumer, reading(producer, Region={"Ref": "AWS::Region"}))

    assert stacks.outputs(consumer)["Read"] == "here"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"StackName": "nobody"}, f"Stack with id nobody does not exist in {REGION}"),
        ({"OutputName": "Other"}, "has no output Other"),
        (
            {"RoleArn": "arn:aws:iam::999999999999:role/reader"},
            "not emulated: Fn::GetStackOutput of another account",
        ),
        ({"RoleArn": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/reader"}}, None),
    ],
    ids=["no stack", "no output", "another account", "a role of the account"],
)
def test_what_cannot_be_read_fails_the_resource(
    stacks: Stacks, changes: dict[str, Any], reason: str | None
) -> None:
    """
    And its event says why.
    """
    producer, consumer = unique("stack"), unique("stack")
    stacks.create(producer, giving("one"))

    status = stacks.create(consumer, reading(producer, **changes))

    assert status == ("ROLLBACK_COMPLETE" if reason else "CREATE_COMPLETE")
    assert (reason or "") in json.dumps(stacks.events(consumer))


def giving(value: str) -> Template:
    """
    Declare a stack with an output.
    """
    handle = {"Type": "AWS::CloudFormation::WaitConditionHandle"}
    return {"Resources": {"Handle": handle}, "Outputs": {"Name": {"Value": value}}}


def reading(stack: str, **changes: Any) -> Template:  # noqa: ANN401 - text, function
    """
    Declare a stack that reads another's output, stores it, and has it as an output.
    """
    read = {"Fn::GetStackOutput": {"StackName": stack, "OutputName": "Name", **changes}}
    stored = {"Fn::Join": ["", ["<", read, ">"]]}
    parameter = {
        "Type": "AWS::SSM::Parameter",
        "Properties": {"Type": "String", "Value": stored},
    }
    outputs = {"Stored": {"Fn::GetAtt": ["Parameter", "Value"]}, "Read": read}
    return {
        "Resources": {"Parameter": parameter},
        "Outputs": {key: {"Value": value} for key, value in outputs.items()},
    }
