"""
What CloudFormation refuses in a request before anything is made.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return near_aws.client("cloudformation")


def topic(name: Any) -> dict[str, Any]:  # noqa: ANN401 - any part of a template
    """
    Declare a topic whose display name is given.
    """
    return {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": name}}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            {"Resources": {"A": topic({"Ref": "B"})}},
            r"Template format error: Unresolved resource dependencies \[B\] in the R",
        ),
        (
            {"Resources": {"A": topic({"Fn::Sub": "a-${B}-${AWS::Region}"})}},
            r"Unresolved resource dependencies \[B\] in the Resources block",
        ),
        (
            {"Resources": {"A": {**TOPIC, "DependsOn": "B"}}},
            r"Unresolved resource dependencies \[B\] in the Resources block",
        ),
        (
            {"Resources": {"A": topic({"Fn::GetAtt": ["B", "Arn"]})}},
            "instance of Fn::GetAtt references undefined resource B",
        ),
        (
            {"Resources": {"A": topic({"Fn::FindInMap": ["M", "a", "b"]})}},
            "Mapping named 'M' is not present in the 'Mappings' section of template",
        ),
        (
            {"Resources": {"A": TOPIC}, "Outputs": {"O": {"Value": {"Ref": "B"}}}},
            r"Unresolved resource dependencies \[B\] in the Outputs block",
        ),
        (
            {"Resources": {"A": TOPIC}, "Resource": {}},
            r"Invalid template property or properties \[Resource\]",
        ),
        (
            {"Resources": {"A": TOPIC}, "AWSTemplateFormatVersion": "2020-01-01"},
            "2020-01-01 is not a supported value for AWSTemplateFormatVersion",
        ),
        (
            {"Resources": {"A-b": TOPIC}},
            "Template format error: Resource name A-b is non alphanumeric",
        ),
        (
            {"Resources": {f"A{number}": TOPIC for number in range(501)}},
            "Number of resources, 501, is greater than maximum allowed, 500",
        ),
    ],
)
def test_a_template_that_names_what_is_not_there_is_refused(
    client: Untyped, template: dict[str, Any], message: str
) -> None:
    """
    When the stack, its change set or a validation is asked for: nothing is made.
    """
    name, body = unique("stack"), json.dumps(template)

    with pytest.raises(ClientError, match=message):
        client.validate_template(TemplateBody=body)
    with pytest.raises(ClientError, match=message):
        client.create_stack(StackName=name, TemplateBody=body)
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_stacks(StackName=name)


def test_what_a_template_names_itself_is_not_missing(stacks: Stacks) -> None:
    """
    Variables of Fn::Sub, literals, pseudo parameters and what a transform may add.
    """
    text = ["${own}-${A}-${P}-${AWS::Region}-${!literal}-${A.TopicName}", {"own": "o"}]
    template = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": {"P": {"Type": "String", "Default": "p"}},
        "Resources": {"A": TOPIC, "B": {**topic({"Fn::Sub": text}), "DependsOn": "A"}},
    }
    transformed = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Globals": {},
        "Resources": {"A": TOPIC},
    }

    assert stacks.create(unique("stack"), template) == "CREATE_COMPLETE"
    assert stacks.create(unique("stack"), transformed) == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    ("parameter", "wrong", "right", "message"),
    [
        ({"AllowedValues": ["a", "b"]}, "c", "b", "'P' must be one of AllowedValues"),
        ({"AllowedPattern": "[a-z]+"}, "a1", "ab", r"'P' must match pattern \[a-z\]\+"),
        ({"MaxLength": 2}, "abc", "ab", "'P' must contain at most 2 characters"),
        ({"MinLength": 2}, "a", "ab", "'P' must contain at least 2 characters"),
        ({"Type": "Number"}, "x", "-1.5", "Parameter 'P' must be a number"),
        (
            {"Type": "Number", "MinValue": 2},
            "1",
            "2",
            "'P' must be a number not less than 2",
        ),
        (
            {"Type": "Number", "MaxValue": "2"},
            "2.5",
            "2",
            "'P' must be a number not greater than 2",
        ),
        (
            {"MaxLength": 1, "ConstraintDescription": "one letter"},
            "ab",
            "a",
            "Parameter P failed to satisfy constraint: one letter",
        ),
    ],
)
def test_values_that_a_parameter_does_not_allow_are_refused(
    stacks: Stacks, parameter: dict[str, Any], wrong: str, right: str, message: str
) -> None:
    """
    On both sides of each constraint.
    """
    template = {
        "Parameters": {"P": {"Type": "String", **parameter}},
        "Resources": {"A": topic({"Ref": "P"})},
    }

    with pytest.raises(ClientError, match=message):
        stacks.create(unique("stack"), template, P=wrong)
    assert stacks.create(unique("stack"), template, P=right) == "CREATE_COMPLETE"


def test_parameters_that_are_missing_or_not_declared_are_refused(
    stacks: Stacks,
) -> None:
    """
    All of them are named at once.
    """
    template = {
        "Parameters": {name: {"Type": "String"} for name in ("P", "Q")},
        "Resources": {"A": TOPIC},
    }

    with pytest.raises(ClientError, match=r"Parameters: \[P, Q\] must have values"):
        stacks.create(unique("stack"), template)
    with pytest.raises(
        ClientError, match=r"Parameters: \[R, S\] do not exist in the template"
    ):
        stacks.create(unique("stack"), template, P="1", Q="2", R="3", S="4")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a b", "satisfy regular expression pattern"),
        ("1a", "satisfy regular expression pattern"),
        ("a" * 129, "length less than or equal to 128"),
    ],
)
def test_names_that_no_stack_can_have_are_refused(
    stacks: Stacks, name: str, message: str
) -> None:
    """
    The longest name there can be is taken.
    """
    with pytest.raises(ClientError, match=message):
        stacks.create(name, {"Resources": {"A": TOPIC}})
    longest = unique("a" * 100).ljust(128, "b")
    assert stacks.create(longest, {"Resources": {"A": TOPIC}}) == "CREATE_COMPLETE"


def test_a_template_that_is_too_long_to_be_sent_is_refused(stacks: Stacks) -> None:
    """
    One of 51,200 bytes is not.
    """
    template = {"Description": "", "Resources": {"A": TOPIC}}
    rest = 51_200 - len(json.dumps(template))

    longest = {**template, "Description": "d" * rest}
    assert stacks.create(unique("stack"), longest) == "CREATE_COMPLETE"
    with pytest.raises(ClientError, match="length less than or equal to 51200"):
        stacks.create(unique("stack"), {**template, "Description": "d" * (rest + 1)})


def test_roles_need_a_capability(client: Untyped) -> None:
    """
    One with a name needs another one than one without; a change set needs it as well.
    """
    properties: dict[str, Any] = {"AssumeRolePolicyDocument": {}}
    role = {"Type": "AWS::IAM::Role", "Properties": properties}
    body = json.dumps({"Resources": {"R": role}})
    role["Properties"] = {**properties, "RoleName": unique("role")}
    named = json.dumps({"Resources": {"R": role}})
    name = unique("stack")

    with pytest.raises(
        client.exceptions.InsufficientCapabilitiesException,
        match=r"Requires capabilities : \[CAPABILITY_IAM\]",
    ):
        client.create_stack(StackName=name, TemplateBody=body)
    with pytest.raises(
        client.exceptions.InsufficientCapabilitiesException,
        match=r"Requires capabilities : \[CAPABILITY_NAMED_IAM\]",
    ):
        client.create_change_set(
            StackName=name,
            ChangeSetName="change",
            ChangeSetType="CREATE",
            TemplateBody=named,
            Capabilities=["CAPABILITY_IAM"],
        )
    client.create_stack(
        StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"]
    )


def test_types_that_are_not_imported_are_refused(client: Untyped) -> None:
    """
    In the service's words, and no stack is made of nothing.
    """
    name = unique("stack")

    with pytest.raises(ClientError, match="resource import: AWS::SNS::Topic"):
        client.create_change_set(
            StackName=name,
            ChangeSetName="change",
            ChangeSetType="IMPORT",
            TemplateBody=json.dumps({"Resources": {"A": TOPIC}}),
            ResourcesToImport=[
                {
                    "ResourceType": "AWS::SNS::Topic",
                    "LogicalResourceId": "A",
                    "ResourceIdentifier": {"TopicArn": "t"},
                }
            ],
        )
    with pytest.raises(ClientError, match="does not exist"):
        client.describe_stacks(StackName=name)


def test_a_change_set_without_changes_is_not_executed(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Nor is one a second time.
    """
    name, template = unique("stack"), {"Resources": {"A": TOPIC}}
    stacks.create(name, template)
    named = {"StackName": name, "ChangeSetName": "change"}
    client.create_change_set(**named, TemplateBody=json.dumps(template))

    with pytest.raises(
        client.exceptions.InvalidChangeSetStatusException,
        match=r"cannot be executed in its current status of \[FAILED\]",
    ):
        client.execute_change_set(**named)


def test_a_change_set_keeps_its_name_until_it_is_executed(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Another one of the name is refused, and taken afterwards, which is what is found.
    """
    name = unique("stack")
    named = {"StackName": name, "ChangeSetName": "change"}

    def body(word: str) -> str:
        return json.dumps({"Resources": {"A": topic(word)}})

    stacks.create(name, json.loads(body("one")))
    client.create_change_set(**named, TemplateBody=body("two"))
    with pytest.raises(
        client.exceptions.AlreadyExistsException,
        match="change cannot be created due to a mismatch with existing attribute Temp",
    ):
        client.create_change_set(**named, TemplateBody=body("three"))
    client.execute_change_set(**named)
    second = client.create_change_set(**named, TemplateBody=body("three"))["Id"]
    found = client.describe_change_set(**named)["ChangeSetId"]
    client.execute_change_set(**named)

    assert found == second
    assert client.get_template(StackName=name)["TemplateBody"] == json.loads(
        body("three")
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("https://example.com/template.json", "TemplateURL must be a supported URL"),
        (
            "https://s3.amazonaws.com/no-such-bucket-here/template.json",
            "S3 error: The specified bucket does not exist",
        ),
    ],
)
def test_a_template_that_is_not_in_s3_is_refused(
    client: Untyped, url: str, message: str
) -> None:
    """
    In the words of CloudFormation, and not as a missing bucket in any case.
    """
    with pytest.raises(ClientError, match=message):
        client.create_stack(StackName=unique("stack"), TemplateURL=url)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_template_is_read_by_each_address_of_the_server(
    near_aws: EmbeddedAws, client: Untyped, host: str
) -> None:
    """
    The CDK CLI writes the address that it was given in front of the path.
    """
    s3, bucket, name = near_aws.client("s3"), unique("bucket"), unique("stack")
    s3.create_bucket(Bucket=bucket)
    body = json.dumps({"Resources": {"A": TOPIC}})
    s3.put_object(Bucket=bucket, Key="a/template.json", Body=body)

    url = f"http://{host}:1/{bucket}/a/template.json"
    client.create_stack(StackName=name, TemplateURL=url)

    (stack,) = client.describe_stacks(StackName=name)["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
