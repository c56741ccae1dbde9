"""
A template's values: computed as far as the template says them, and references followed
as far as the app goes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.intrinsics import (
    evaluate,
    exists,
    references_in,
    resolve,
)
from cdk_sagemaker_llm.simulation.api_values import is_open

MODEL: dict[str, Any] = {"Type": "AWS::SageMaker::Model"}


def nested() -> tuple[Stack, Stack]:
    """
    Return a stack, and one that is nested in it.
    """
    outer = Stack("Outer", Path(), {"Mine": MODEL, "Child": {}})
    inner = Stack(
        "Outer/Child",
        Path(),
        {"Theirs": MODEL},
        outputs={
            "Name": {"Value": {"Ref": "Theirs"}},
            "Back": {"Value": {"Ref": "Given"}},
            "Bad": "text",
        },
        parent=outer,
        parameters={
            "Given": {"Ref": "Mine"},
            "Round": {"Fn::GetAtt": "Child.Outputs.Loop"},
        },
    )
    inner.outputs["Loop"] = {"Value": {"Ref": "Round"}}  # type: ignore[index] # ours
    outer.nested["Child"] = inner
    outer.exports["Shared"] = inner, {"Ref": "Theirs"}
    return outer, inner


@pytest.mark.parametrize(
    ("is_inner", "value", "found"),
    [
        (False, {"Ref": "Mine"}, "Outer/Mine"),
        (False, {"Fn::GetAtt": ["Mine", "ModelName"]}, "Outer/Mine"),
        (False, {"Fn::Sub": "${Mine.ModelName}"}, "Outer/Mine"),
        (False, {"Fn::Sub": "x-${Mine}"}, None),
        (False, {"Fn::GetAtt": ["Child", "Outputs.Name"]}, "Outer/Child/Theirs"),
        (False, {"Fn::GetAtt": "Child.Outputs.Name"}, "Outer/Child/Theirs"),
        (False, {"Fn::GetAtt": "Child.Outputs.Back"}, "Outer/Mine"),
        (True, {"Ref": "Given"}, "Outer/Mine"),
        (True, {"Ref": "Theirs"}, "Outer/Child/Theirs"),
        (False, {"Fn::ImportValue": "Shared"}, "Outer/Child/Theirs"),
        # What leads nowhere, or round and round.
        (False, {"Fn::ImportValue": "Other"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Missing"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Bad"}, None),
        (False, {"Fn::GetAtt": "Child.Outputs.Loop"}, None),
        (False, {"Fn::GetAtt": "Mine.Outputs.Name"}, None),
        (True, {"Ref": "Mine"}, None),
        (False, {"Ref": "Given"}, None),
        (False, "Mine", None),
        (False, None, None),
    ],
)
def test_a_reference_is_followed(
    value: object,
    found: str | None,
    *,
    is_inner: bool,
) -> None:
    """
    Through parameters, outputs and exports.
    """
    outer, inner = nested()

    assert resolve(inner if is_inner else outer, value) == found


def test_a_resource_is_one_of_one_stack() -> None:
    """
    Two stacks may use one logical id.
    """
    outer, inner = nested()
    other = Stack("Other", Path(), {"Mine": MODEL})

    assert resolve(inner, {"Ref": "Given"}) == "Outer/Mine"
    assert resolve(other, {"Ref": "Mine"}) == "Other/Mine"
    assert resolve(outer, "Mine") is None


def test_text_names_what_is_meant_in_full() -> None:
    """
    So that two ways to one resource read alike.
    """
    outer, inner = nested()

    def way(name: str) -> dict[str, Any]:
        return {"Fn::Join": ["/", ["endpoint", {"Ref": name}, "variant"]]}

    assert evaluate(outer, way("Mine")) == "endpoint/${Outer/Mine}/variant"
    assert evaluate(inner, way("Given")) == "endpoint/${Outer/Mine}/variant"
    assert evaluate(outer, way("Else")) == "endpoint/${Else}/variant"
    assert evaluate(outer, {"Fn::Join": ["", {"Ref": "List"}]}) == "${List}"
    assert evaluate(outer, "plain") == "plain"


ARN = "arn:aws:sagemaker:region:account:endpoint/${S/Host}"


def stack() -> Stack:
    """
    Return a stack with a bit of everything.
    """
    content = {
        "Parameters": {
            "Count": {"Type": "Number", "Default": "3"},
            "Share": {"Type": "Number", "Default": "0.5"},
            "Odd": {"Type": "Number", "Default": "many"},
            "List": {"Type": "Number", "Default": [1]},
            "Half": {"Type": "Number", "Default": 0.5},
            "Text": {"Type": "String", "Default": "3"},
            "Stored": {
                "Type": "AWS::SSM::Parameter::Value<String>",
                "Default": "/a/place",
            },
            "Stage": {"Type": "String", "Default": "prod"},
            "Open": {"Type": "String"},
        },
        "Mappings": {"Sizes": {"prod": {"max": 8}}},
        "Conditions": {
            "IsProd": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
            "IsNot": {"Fn::Not": [{"Condition": "IsProd"}]},
            "Both": {"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsNot"}]},
            "Either": {"Fn::Or": [{"Condition": "Unsaid"}, {"Condition": "IsProd"}]},
            "Unsaid": {"Fn::Equals": [{"Ref": "Open"}, "x"]},
            "Strange": {"Fn::Xor": []},
            "Round": {"Condition": "Round"},
        },
    }
    resources: dict[str, Any] = {
        "Host": {"Type": "AWS::SageMaker::Endpoint", "Condition": "IsProd"},
        "Model": {"Type": "AWS::SageMaker::Model"},
        "Gone": {"Type": "AWS::SageMaker::Model", "Condition": "IsNot"},
        "Perhaps": {"Type": "AWS::SageMaker::Model", "Condition": "Unsaid"},
    }
    return Stack("S", Path(), resources, content=content)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("text", "text"),
        ({"Ref": "Count"}, 3),
        ({"Ref": "Share"}, 0.5),
        ({"Ref": "Odd"}, "many"),
        ({"Ref": "List"}, [1]),
        ({"Ref": "Half"}, 0.5),
        ({"Ref": "Text"}, "3"),
        ({"Ref": "Stored"}, "${Stored}"),
        ({"Ref": "Stage"}, "prod"),
        ({"Ref": "Open"}, "${Open}"),
        ({"Ref": "AWS::Region"}, "${AWS::Region}"),
        ({"Ref": "AWS::NoValue"}, None),
        ({"Ref": "Model"}, "${S/Model}"),
        ({"Ref": "Host"}, ARN),
        ({"Fn::GetAtt": ["Host", "EndpointName"]}, "${S/Host}"),
        ({"Fn::GetAtt": "Host.EndpointName"}, "${S/Host}"),
        ({"Fn::GetAtt": ["Host", "EndpointArn"]}, ARN),
        ({"Fn::GetAtt": ["Other", "Name"]}, "${Other.Name}"),
        ({"Fn::Sub": "x/${Host.EndpointName}/${Stage}"}, "x/${S/Host}/prod"),
        ({"Fn::Sub": ["${a}-${!b}", {"a": {"Ref": "Count"}}]}, "3-${b}"),
        ({"Fn::Join": ["/", ["a", {"Ref": "Model"}]]}, "a/${S/Model}"),
        ({"Fn::Join": ["/", {"Ref": "Open"}]}, "${Open}"),
        # Names contain the separator, and stay whole.
        ({"Fn::Split": ["/", {"Ref": "Host"}]}, [ARN[:-10], "${S/Host}"]),
        ({"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "Host"}]}]}, "${S/Host}"),
        ({"Fn::Select": ["0", ["a", "b"]]}, "a"),
        ({"Fn::Select": [5, ["a"]]}, "${Fn::Select}"),
        ({"Fn::Select": [0, {"Ref": "Open"}]}, "${...}"),
        ({"Fn::Split": "x"}, "${Fn::Split}"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "Stage"}, "max"]}, 8),
        ({"Fn::FindInMap": ["Sizes", "test", "max"]}, "${Fn::FindInMap}"),
        ({"Fn::If": ["IsProd", 1, 2]}, 1),
        ({"Fn::If": ["Both", 1, 2]}, 2),
        ({"Fn::If": ["Either", 1, 2]}, 1),
        ({"Fn::If": ["Unsaid", 1, 2]}, "${Fn::If Unsaid}"),
        ({"Fn::If": ["Strange", 1, 2]}, "${Fn::If Strange}"),
        ({"Fn::If": ["Round", 1, 2]}, "${Fn::If Round}"),
        ({"Fn::If": "x"}, "${Fn::If}"),
        ({"Fn::ImportValue": "x"}, "${Fn::ImportValue}"),
        ({"Fn::GetStackOutput": "x"}, "${Fn::GetStackOutput}"),
        ({"Fn::Base64": "x"}, "${Fn::Base64}"),
        (
            {"a": {"Ref": "AWS::NoValue"}, "b": [{"Ref": "AWS::NoValue"}, 1]},
            {"b": [1]},
        ),
    ],
)
def test_a_value_is_computed(value: object, found: object) -> None:
    """
    Or is text in ``${...}`` where deployment alone knows it.
    """
    assert evaluate(stack(), value) == found


def test_values_come_through_nested_stacks_and_exports() -> None:
    """
    Parameters from the stack around, outputs from the one within.
    """
    outer = Stack("S", Path(), {"Child": {}, "Model": {}})
    inner = Stack(
        "S/Child",
        Path(),
        {},
        outputs={"Size": {"Value": {"Ref": "Given"}}},
        parent=outer,
        parameters={
            "Given": {"Ref": "Model"},
            "Round": {"Fn::GetAtt": "Child.Outputs.R"},
        },
    )
    inner.outputs["R"] = {"Value": {"Ref": "Round"}}  # type: ignore[index] # ours
    outer.nested["Child"] = inner
    outer.exports["Shared"] = inner, {"Ref": "Given"}

    assert evaluate(inner, {"Ref": "Given"}) == "${S/Model}"
    assert evaluate(outer, {"Fn::GetAtt": ["Child", "Outputs.Size"]}) == "${S/Model}"
    assert evaluate(outer, {"Fn::ImportValue": "Shared"}) == "${S/Model}"
    assert is_open(evaluate(outer, {"Fn::GetAtt": "Child.Outputs.R"}))


@pytest.mark.parametrize(
    ("stack_name", "output", "region", "found"),
    [
        ("Net", "Name", {"Ref": "AWS::Region"}, "${Network/Mine}"),
        ("Net", "Name", None, "${Network/Mine}"),
        ("Net", "Name", "us-east-1", "${Network/Mine}"),
        ("Net", "Name", "eu-west-1", "${Abroad/Mine}"),
        ("Net", "Joined", None, "${Network/Mine}||b"),
        ({"Ref": "Which"}, "Name", None, "${Network/Mine}"),
        ("Net", "Name", "eu-west-2", "${Fn::GetStackOutput}"),
        ("Net", "Other", None, "${Fn::GetStackOutput}"),
        ("Network", "Name", None, "${Fn::GetStackOutput}"),
    ],
    ids=str,
)
def test_an_output_of_another_stack_is_followed(
    stack_name: object, output: str, region: object, found: str
) -> None:
    """
    By the name that it is deployed under, in the region that is meant.
    """
    reader = Stack(
        "Reader",
        Path(),
        {},
        content={"Parameters": {"Which": {"Type": "String", "Default": "Net"}}},
        deployed_name="Reader",
        region="us-east-1",
    )
    outputs = {
        "Name": {"Value": {"Ref": "Mine"}},
        "Joined": {"Value": {"Fn::Join": ["||", [{"Ref": "Mine"}, "b"]]}},
    }
    for name, place in (("Network", "us-east-1"), ("Abroad", "eu-west-1")):
        producer = Stack(
            name,
            Path(),
            {"Mine": MODEL},
            outputs=outputs,
            deployed_name="Net",
            region=place,
        )
        reader.peers.append(producer)
    argument = {"StackName": stack_name, "OutputName": output}
    if region is not None:
        argument["Region"] = region

    assert evaluate(reader, {"Fn::GetStackOutput": argument}) == found


def test_a_resource_is_there_unless_its_condition_says_otherwise() -> None:
    """
    What nobody can tell is told apart.
    """
    found = {name: exists(stack(), name) for name in stack().resources}

    assert found == {"Host": True, "Model": True, "Gone": False, "Perhaps": None}


def test_the_resources_in_a_text_are_found() -> None:
    """
    What is known at deployment only is no resource.
    """
    assert references_in("x/${S/Host}/${AWS::Region}/${S/T/Model}") == [
        "S/Host",
        "S/T/Model",
    ]
