"""
Values of templates: pseudo parameters, functions and references, and what none is.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC: dict[str, Any] = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


def giving(**values: Untyped) -> Template:
    """
    Declare a topic, and outputs of values.
    """
    outputs = {name: {"Value": value} for name, value in values.items()}
    return {"Resources": {"Topic": TOPIC}, "Outputs": outputs}


def keeping(value: Untyped) -> Template:
    """
    Declare a parameter of Systems Manager with a value.
    """
    properties = {"Type": "String", "Value": value}
    return {
        "Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": properties}}
    }


def failure(stacks: Stacks, template: Template) -> str:
    """
    Create a stack that fails; return why its only resource did.
    """
    name = unique("stack")
    assert stacks.create(name, template) == "ROLLBACK_COMPLETE"
    (why,) = [
        reason
        for what, status, reason in stacks.events(name)
        if (what, status) == ("P", "CREATE_FAILED")
    ]
    return why


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [
        ("us-east-1", "aws", "amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
        ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
    ],
)
def test_pseudo_parameters_are_of_the_stack_and_its_region(
    near_aws: EmbeddedAws, region: str, partition: str, suffix: str
) -> None:
    """
    As a Ref and inside a text.
    """
    client = near_aws.client("cloudformation", region_name=region)
    name = unique("stack")
    names = ("Partition", "URLSuffix", "Region", "AccountId", "StackName")
    whole = " ".join(f"${{AWS::{one}}}" for one in names)
    template = giving(
        Text={"Fn::Sub": whole},
        Suffix={"Ref": "AWS::URLSuffix"},
        Zones={"Fn::Join": [" ", {"Fn::GetAZs": {"Ref": "AWS::Region"}}]},
        Id={"Ref": "AWS::StackId"},
    )

    client.create_stack(StackName=name, TemplateBody=json.dumps(template))

    (shown,) = client.describe_stacks(StackName=name)["Stacks"]
    assert {it["OutputKey"]: it["OutputValue"] for it in shown["Outputs"]} == {
        "Text": f"{partition} {suffix} {region} {near_aws.account} {name}",
        "Suffix": suffix,
        "Zones": f"{region}a {region}b {region}c",
        "Id": shown["StackId"],
    }


def test_functions_give_what_they_are_asked_for(stacks: Stacks) -> None:
    """
    Blocks of addresses have 256 each, if nothing is said; lists have a length.
    """
    name = unique("stack")
    stacks.create(
        name,
        giving(
            Blocks={"Fn::Join": [" ", {"Fn::Cidr": ["10.0.0.0/16", 2]}]},
            Small={"Fn::Join": [" ", {"Fn::Cidr": ["10.0.0.0/24", "2", "4"]}]},
            Wide={"Fn::Select": [0, {"Fn::Cidr": ["2001:db8::/56", 1, 64]}]},
            Length={"Fn::Length": ["a", "b", {"Ref": "AWS::Region"}]},
            Last={"Fn::Select": ["1", ["a", "b"]]},
        ),
    )

    assert stacks.outputs(name) == {
        "Blocks": "10.0.0.0/24 10.0.1.0/24",
        "Small": "10.0.0.0/28 10.0.0.16/28",
        "Wide": "2001:db8::/64",
        "Length": "3",
        "Last": "b",
    }


@pytest.mark.parametrize("index", [2, -1])
def test_what_is_beyond_a_list_is_not_selected(stacks: Stacks, index: int) -> None:
    """
    At its end or before its beginning.
    """
    why = failure(stacks, keeping({"Fn::Select": [index, ["a", "b"]]}))

    assert f"Fn::Select cannot select nonexistent value at index {index}" in why


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (
            "{{resolve:ssm:/nothing}}",
            (
                "Could not resolve {{resolve:ssm:/nothing}}: Systems Manager has no "
                "such parameter."
            ),
        ),
        (
            "{{resolve:secretsmanager:nothing}}",
            (
                "Could not resolve {{resolve:secretsmanager:nothing}}: Secrets Manager "
                "can't find the specified secret."
            ),
        ),
        (
            "{{resolve:secretsmanager:SECRET:SecretString:other}}",
            "Could not find a value associated with JSONKey 'other' in SecretString",
        ),
        (
            "{{resolve:secretsmanager:SECRET:Other:key}}",
            "Incorrect format is used in SECRET:Other:key",
        ),
    ],
)
def test_a_reference_to_nothing_fails_what_has_it(
    near_aws: EmbeddedAws, stacks: Stacks, reference: str, why: str
) -> None:
    """
    In the words of the service that it is to.
    """
    secret = unique("secret")
    near_aws.client("secretsmanager").create_secret(
        Name=secret, SecretString='{"key": "x"}'
    )

    found = failure(stacks, keeping(reference.replace("SECRET", secret)))

    assert found == why.replace("SECRET", secret)


def test_references_inside_a_text_are_read(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    By a key of a secret, or a parameter's name; what a stack keeps is the reference.
    """
    secret, parameter, name = unique("secret"), f"/{unique('p')}", unique("stack")
    ssm = near_aws.client("ssm")
    near_aws.client("secretsmanager").create_secret(
        Name=secret, SecretString='{"key": "one"}'
    )
    ssm.put_parameter(Name=parameter, Value="two", Type="String")
    text = (
        f"<{{{{resolve:secretsmanager:{secret}:SecretString:key}}}}"
        f"|{{{{resolve:ssm:{parameter}}}}}>"
    )
    stacks.create(name, keeping(text))
    kept = stacks.physical_ids(name)["P"]

    assert ssm.get_parameter(Name=kept)["Parameter"]["Value"] == "<one|two>"


def test_a_parameter_of_systems_manager_is_there(stacks: Stacks) -> None:
    """
    Or the stack is refused.
    """
    kind = "AWS::SSM::Parameter::Value<String>"
    template = {"Parameters": {"P": {"Type": kind, "Default": "/nothing"}}, **giving()}

    with pytest.raises(Exception, match="Unable to fetch parameters") as refused:
        stacks.create(unique("stack"), template)

    assert "Unable to fetch parameters [/nothing] from parameter store" in str(
        refused.value
    )


def test_a_change_set_without_changes_says_so(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    In the words that deployment tools look for.
    """
    client, name = near_aws.client("cloudformation"), unique("stack")
    stacks.create(name, giving())
    named = {"StackName": name, "ChangeSetName": "change"}
    client.create_change_set(**named, TemplateBody=json.dumps(giving()))

    shown = client.describe_change_set(**named)
    (listed,) = client.list_change_sets(StackName=name)["Summaries"]

    assert (shown["Status"], shown["ExecutionStatus"]) == ("FAILED", "UNAVAILABLE")
    assert shown["StatusReason"] == (
        "The submitted information didn't contain changes. Submit different "
        "information to create a change set."
    )
    assert listed["StatusReason"] == shown["StatusReason"]
    assert shown["Changes"] == []
