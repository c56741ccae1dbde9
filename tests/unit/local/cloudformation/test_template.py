"""
What is read of a template before anything is made of it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from moto.cloudformation.exceptions import ValidationError

from cdk_sagemaker_llm.local.cloudformation import template
from cdk_sagemaker_llm.local.cloudformation.resolver import with_whole_attributes

TOPIC = {"Type": "AWS::SNS::Topic"}
ROLE = {"Type": "AWS::IAM::Role"}
FORMAT = "Template format error: "
TYPELESS = f"{FORMAT}[/Resources/A] Every Resources object must contain a Type member."
OTHER_VERSION = (
    f"{FORMAT}2010-09-10 is not a supported value for AWSTemplateFormatVersion."
)


def with_parts(**parts: Any) -> dict[str, Any]:  # noqa: ANN401 - any section
    """
    Return a template with a topic, unless its resources are given.
    """
    return {"Resources": {"T": TOPIC}, **parts}


def giving(value: object) -> dict[str, Any]:
    """
    Return a template with an output.
    """
    return with_parts(Outputs={"O": {"Value": value}})


def having(value: object, **parts: object) -> dict[str, Any]:
    """
    Return a template with a property.
    """
    made = {**TOPIC, "Properties": {"TopicName": value}}
    return {"Resources": {"T": TOPIC, "U": made}, **parts}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", f"{FORMAT}JSON not well-formed."),
        ("a: b: c", f"{FORMAT}JSON not well-formed."),
        ("[]", f"{FORMAT}unsupported structure."),
        ("text", f"{FORMAT}unsupported structure."),
        ("{}", f"{FORMAT}At least one Resources member must be defined."),
        (
            '{"Resources": {}}',
            f"{FORMAT}At least one Resources member must be defined.",
        ),
        (
            '{"Resources": []}',
            f"{FORMAT}At least one Resources member must be defined.",
        ),
        (
            '{"Resources": {"A": {}}}',
            TYPELESS,
        ),
        (
            '{"Resources": {"A": "B"}}',
            TYPELESS,
        ),
        (
            '{"Resources": {"A": {"Type": 1}}}',
            TYPELESS,
        ),
        (
            json.dumps({"Resources": {"A": {**TOPIC, "Condition": "C"}}}),
            (
                f"{FORMAT}Unresolved condition dependency C in the Resources block of "
                "the template"
            ),
        ),
    ],
)
def test_what_is_no_template_is_refused(text: str, words: str) -> None:
    """
    In CloudFormation's words.
    """
    with pytest.raises(ValidationError) as caught:
        template.parse(text)

    assert caught.value.message == words


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            with_parts(Odd={}, More={}),
            "Invalid template property or properties [Odd, More]",
        ),
        (
            with_parts(AWSTemplateFormatVersion="2010-09-10"),
            OTHER_VERSION,
        ),
        (
            {"Resources": {f"T{number}": TOPIC for number in range(501)}},
            (f"{FORMAT}Number of resources, 501, is greater than maximum allowed, 500"),
        ),
        (
            {"Resources": {"T-1": TOPIC}},
            f"{FORMAT}Resource name T-1 is non alphanumeric.",
        ),
        (
            giving({"Fn::GetAtt": ["X", "Arn"]}),
            ("Template error: instance of Fn::GetAtt references undefined resource X"),
        ),
        (
            having({"Fn::GetAtt": "X.Arn"}),
            ("Template error: instance of Fn::GetAtt references undefined resource X"),
        ),
        (
            giving({"Ref": "X"}),
            (
                "Unresolved resource dependencies [X] in the Outputs block of the "
                "template"
            ),
        ),
        (
            having({"Fn::Join": ["", [{"Ref": "Y"}, {"Ref": "X"}]]}),
            (
                f"{FORMAT}Unresolved resource dependencies [X, Y] in the Resources "
                "block of the template"
            ),
        ),
        (
            {"Resources": {"T": {**TOPIC, "DependsOn": "X"}}},
            (
                f"{FORMAT}Unresolved resource dependencies [X] in the Resources block "
                "of the template"
            ),
        ),
        (
            {"Resources": {"T": {**TOPIC, "DependsOn": ["X"]}}},
            (
                f"{FORMAT}Unresolved resource dependencies [X] in the Resources block "
                "of the template"
            ),
        ),
        (
            having({"Fn::Sub": "${X} ${Y.Arn} ${!No} ${T}"}),
            (
                f"{FORMAT}Unresolved resource dependencies [X, Y] in the Resources "
                "block of the template"
            ),
        ),
        (
            giving({"Fn::Sub": ["${X}${Own}", {"Own": "a"}]}),
            (
                "Unresolved resource dependencies [X] in the Outputs block of the "
                "template"
            ),
        ),
        (
            having({"Fn::FindInMap": ["M", "a", "b"]}, Mappings={"N": {}}),
            (
                "Template error: Mapping named 'M' is not present in the 'Mappings' "
                "section of template."
            ),
        ),
        (
            giving({"Fn::FindInMap": ["M", "a", "b"]}),
            (
                "Template error: Mapping named 'M' is not present in the 'Mappings' "
                "section of template."
            ),
        ),
    ],
)
def test_a_template_that_contradicts_itself_is_refused(
    document: dict[str, Any], words: str
) -> None:
    """
    One with a transform is not: that may declare what is missing.
    """
    with pytest.raises(ValidationError) as caught:
        template.parse(json.dumps(document))

    assert caught.value.message == words
    transformed = {**document, "Transform": "Macro"}
    assert template.parse(json.dumps(transformed)) == transformed


@pytest.mark.parametrize(
    "document",
    [
        with_parts(),
        with_parts(
            AWSTemplateFormatVersion="2010-09-09",
            Conditions={"C": True},
            Description="d",
            Hooks={},
            Mappings={},
            Metadata={},
            Outputs={},
            Parameters={},
            Rules={},
        ),
        {"Resources": {f"T{number}": TOPIC for number in range(500)}},
        with_parts(Parameters=None, Outputs=None, Conditions=None, Mappings=None),
        with_parts(
            Conditions={"C": True}, Resources={"T": {**TOPIC, "Condition": "C"}}
        ),
        having({"Ref": "P"}, Parameters={"P": {"Type": "String"}}),
        having({"Fn::Sub": ["${Own} ${ T } ${T.Arn}", {"Own": "a"}]}),
        having({"Fn::Sub": ["${X}"]}),
        having({"Fn::Sub": ["${X}", "y"]}),
        having({"Fn::Sub": {"Ref": "T"}}),
        having({"Fn::Sub": "${!X}"}),
        having({"Fn::GetAtt": ["T", "Arn"]}),
        having({"Fn::GetAtt": "T.Arn"}),
        having({"Fn::GetAtt": {"Ref": "T"}}),
        having({"Fn::GetAtt": []}),
        # What looks like a function and has more beside it is a map.
        having({"Ref": "X", "Other": 1}),
        having({"Ref": ["X"]}),
        having({"Fn::FindInMap": [{"Ref": "T"}, "a", "b"]}),
        having({"Fn::FindInMap": ["M", "a", "b"]}, Mappings={"M": {}}),
        *[
            having({"Ref": f"AWS::{name}"})
            for name in (
                "AccountId",
                "NoValue",
                "NotificationARNs",
                "Partition",
                "Region",
                "StackId",
                "StackName",
                "URLSuffix",
            )
        ],
    ],
    ids=lambda document: json.dumps(document)[:60],
)
def test_a_template_in_order_is_taken_as_it_is(document: dict[str, Any]) -> None:
    """
    To the last of its sections; one that was read already as well.
    """
    assert template.parse(json.dumps(document)) == document
    assert template.parse(document) is document


def test_yaml_has_short_forms() -> None:
    """
    Of the functions.
    """
    text = """
    Resources:
      T:
        Type: AWS::SNS::Topic
        Properties:
          TopicName: !Sub "${AWS::StackName}-t"
    Outputs:
      Arn:
        Value: !GetAtt T.TopicName
    """

    document = template.parse(text)

    name = {"Fn::Sub": "${AWS::StackName}-t"}
    assert document["Resources"]["T"]["Properties"] == {"TopicName": name}


def test_a_summary_tells_of_types_parameters_and_capabilities() -> None:
    """
    Validation tells a part of it.
    """
    document = with_parts(
        AWSTemplateFormatVersion="2010-09-09",
        Description="d",
        Metadata={"a": 1},
        Transform=["One", "Two"],
        Parameters={
            "A": {"Type": "Number", "Default": 5, "AllowedValues": [5, 6]},
            "B": {"NoEcho": "true", "Description": "b"},
            "C": {"Type": "String", "NoEcho": False},
        },
        Resources={
            "R": {**ROLE, "Properties": {}},
            "K": {"Type": "AWS::IAM::AccessKey"},
            "T": TOPIC,
        },
    )

    found = template.summary(document)

    assert found == {
        "Parameters": [
            {
                "ParameterKey": "A",
                "DefaultValue": "5",
                "ParameterType": "Number",
                "NoEcho": False,
                "Description": None,
                "ParameterConstraints": {"AllowedValues": ["5", "6"]},
            },
            {
                "ParameterKey": "B",
                "DefaultValue": None,
                "ParameterType": "String",
                "NoEcho": True,
                "Description": "b",
                "ParameterConstraints": {"AllowedValues": []},
            },
            {
                "ParameterKey": "C",
                "DefaultValue": None,
                "ParameterType": "String",
                "NoEcho": False,
                "Description": None,
                "ParameterConstraints": {"AllowedValues": []},
            },
        ],
        "Description": "d",
        "Capabilities": ["CAPABILITY_IAM"],
        "CapabilitiesReason": (
            "The following resource(s) require capabilities: [AWS::IAM::AccessKey, "
            "AWS::IAM::Role]"
        ),
        "ResourceTypes": ["AWS::IAM::AccessKey", "AWS::IAM::Role", "AWS::SNS::Topic"],
        "Version": "2010-09-09",
        "Metadata": '{"a": 1}',
        "DeclaredTransforms": ["One", "Two"],
    }
    validated = template.validation_answer(document)
    assert validated.pop("Parameters") == [
        {
            "ParameterKey": one["ParameterKey"],
            "DefaultValue": one["DefaultValue"],
            "NoEcho": one["NoEcho"],
            "Description": one["Description"],
        }
        for one in found["Parameters"]
    ]
    names = ("Description", "Capabilities", "CapabilitiesReason", "DeclaredTransforms")
    assert validated == {name: found[name] for name in names}


def test_a_bare_template_has_a_bare_summary() -> None:
    """
    One transform is a list of one.
    """
    assert template.summary(with_parts(Transform="One")) == {
        "Parameters": [],
        "Description": None,
        "Capabilities": [],
        "CapabilitiesReason": None,
        "ResourceTypes": ["AWS::SNS::Topic"],
        "Version": None,
        "Metadata": None,
        "DeclaredTransforms": ["One"],
    }
    assert template.summary(with_parts())["DeclaredTransforms"] == []


@pytest.mark.parametrize(
    ("resource", "capability"),
    [
        (TOPIC, []),
        (ROLE, ["CAPABILITY_IAM"]),
        ({"Type": "AWS::IAM::Policy"}, ["CAPABILITY_IAM"]),
        ({"Type": "AWS::IAM::AccessKey"}, ["CAPABILITY_IAM"]),
        (
            {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p"}},
            ["CAPABILITY_IAM"],
        ),
        ({**ROLE, "Properties": {"GroupName": "r"}}, ["CAPABILITY_IAM"]),
        *[
            (
                {"Type": f"AWS::IAM::{kind}", "Properties": {f"{kind}Name": "x"}},
                ["CAPABILITY_NAMED_IAM"],
            )
            for kind in ("Group", "InstanceProfile", "ManagedPolicy", "Role", "User")
        ],
    ],
)
def test_a_name_needs_the_other_capability(
    resource: dict[str, Any], capability: list[str]
) -> None:
    """
    Of what IAM has one for.
    """
    document = {"Resources": {"T": TOPIC, "R": resource}}

    assert template.capabilities(document) == capability


def test_functions_are_found_wherever_they_stand() -> None:
    """
    Inside of each other too.
    """
    value = {"a": [{"Fn::Join": ["", [{"Ref": "A"}]]}], "Ref": "no", "b": "Ref"}

    assert list(template.functions(value)) == [
        ("Fn::Join", ["", [{"Ref": "A"}]]),
        ("Ref", "A"),
    ]


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        ({"Fn::GetAtt": "A.B"}, {"Fn::GetAtt": ["A", "B"]}),
        ({"Fn::GetAtt": "A.Outputs.B"}, {"Fn::GetAtt": ["A", "Outputs.B"]}),
        (
            [{"a": {"Fn::GetAtt": ["A", "Outputs", "B"]}}],
            [{"a": {"Fn::GetAtt": ["A", "Outputs.B"]}}],
        ),
        ({"Fn::Sub": "${A} ${A.B}"}, {"Fn::Sub": "${A} ${A.B}"}),
        (
            {"Fn::Sub": "<${A.Outputs.B}${C.Outputs.D.E}>"},
            {
                "Fn::Sub": [
                    "<${AOutputsB}${COutputsDE}>",
                    {
                        "AOutputsB": {"Fn::GetAtt": ["A", "Outputs.B"]},
                        "COutputsDE": {"Fn::GetAtt": ["C", "Outputs.D.E"]},
                    },
                ]
            },
        ),
        ({"Fn::Sub": ["${A}", {"A": 1}]}, {"Fn::Sub": ["${A}", {"A": 1}]}),
        ("A.Outputs.B", "A.Outputs.B"),
    ],
)
def test_attributes_with_dots_are_written_whole(value: object, whole: object) -> None:
    """
    Those of nested stacks, which moto would cut.
    """
    assert with_whole_attributes(value) == whole


def test_words_of_a_template_are_not_taken_for_patterns() -> None:
    """
    A logical id is of letters and digits alone.
    """
    for name in ("A1", "a"):
        template.parse(json.dumps({"Resources": {name: TOPIC}}))
    for name in ("A_1", "A.1", "", "Ä"):
        with pytest.raises(ValidationError) as caught:
            template.parse(json.dumps({"Resources": {name: TOPIC}}))
        assert re.search("is non alphanumeric.$", caught.value.message)
