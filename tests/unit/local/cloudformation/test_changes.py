"""
Change sets and lists as the API shows them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

UNKNOWN = "{{changeSet:KNOWN_AFTER_APPLY}}"


def topic(**properties: object) -> dict[str, Any]:
    """
    Declare a topic.
    """
    return {"Type": "AWS::SNS::Topic", "Properties": properties}


def word(value: object, **more: object) -> dict[str, Any]:
    """
    Declare a parameter of Systems Manager.
    """
    properties = {"Type": "String", "Value": value, **more}
    return {"Type": "AWS::SSM::Parameter", "Properties": properties}


def announced(client: Untyped, name: str, template: Template) -> dict[str, Any]:
    """
    Return the changes by logical id, with their values, or without by ``-``.
    """
    change = {"StackName": name, "ChangeSetName": unique("change")}
    client.create_change_set(TemplateBody=json.dumps(template), **change)
    whole = client.describe_change_set(IncludePropertyValues=True, **change)
    assert (whole["Status"], whole["ExecutionStatus"]) == (
        "CREATE_COMPLETE",
        "AVAILABLE",
    )
    assert (whole["StackName"], whole["Capabilities"]) == (name, [])
    client.delete_change_set(**change)
    found = [one["ResourceChange"] for one in whole["Changes"]]
    assert {one["Type"] for one in whole["Changes"]} <= {"Resource"}
    return {one["LogicalResourceId"]: one for one in found}


def test_a_property_comes_changes_or_goes(stacks: Stacks, client: Untyped) -> None:
    """
    Each with its own words, tags by theirs.
    """
    name = unique("stack")
    tags = [{"Key": "team", "Value": "a"}]
    stacks.create(name, {"Resources": {"T": topic(DisplayName="a", Tags=tags)}})
    after = topic(KmsMasterKeyId="k", Tags=[{"Key": "team", "Value": "b"}])

    (change,) = announced(client, name, {"Resources": {"T": after}}).values()

    details = [one["Target"] for one in change["Details"]]
    assert details == [
        {
            "Attribute": "Properties",
            "Name": "DisplayName",
            "RequiresRecreation": "Never",
            "Path": "/Properties/DisplayName",
            "BeforeValue": "a",
            "AttributeChangeType": "Remove",
        },
        {
            "Attribute": "Properties",
            "Name": "KmsMasterKeyId",
            "RequiresRecreation": "Never",
            "Path": "/Properties/KmsMasterKeyId",
            "AfterValue": "k",
            "AttributeChangeType": "Add",
        },
        {
            "Attribute": "Tags",
            "RequiresRecreation": "Never",
            "Path": "/Properties/Tags",
            "BeforeValue": '[{"Key": "team", "Value": "a"}]',
            "AfterValue": '[{"Key": "team", "Value": "b"}]',
            "AttributeChangeType": "Modify",
        },
    ]
    assert {one["ChangeSource"] for one in change["Details"]} == {"DirectModification"}
    assert {one["Evaluation"] for one in change["Details"]} == {"Static"}
    assert (change["Scope"], change["Replacement"]) == (["Properties", "Tags"], "False")
    assert "PolicyAction" not in change
    assert json.loads(change["BeforeContext"]) == {
        "Properties": {"DisplayName": "a", "Tags": tags}
    }


@pytest.mark.parametrize(
    ("policies", "action"),
    [
        ({}, "ReplaceAndDelete"),
        ({"UpdateReplacePolicy": "Retain"}, "ReplaceAndRetain"),
        ({"UpdateReplacePolicy": "Delete"}, "ReplaceAndDelete"),
    ],
)
def test_a_replacement_reaches_those_who_refer_to_it(
    stacks: Stacks, client: Untyped, policies: dict[str, str], action: str
) -> None:
    """
    What they will get nobody knows yet; who refers to neither is not touched.
    """
    name = unique("stack")
    first, second = unique("topic"), unique("topic")

    def template(own: str) -> Template:
        return {
            "Resources": {
                "T": {**topic(TopicName=own), **policies},
                "ByRef": word({"Ref": "T"}),
                "ByAttribute": word({"Fn::GetAtt": ["T", "TopicName"]}),
                "ByText": word({"Fn::Sub": "<${T}>"}),
                "Other": word("x"),
            }
        }

    stacks.create(name, template(first))
    found = announced(client, name, template(second))

    assert found.keys() == {"T", "ByRef", "ByAttribute", "ByText"}
    replaced = found["T"]
    assert (replaced["Replacement"], replaced["PolicyAction"]) == ("True", action)
    assert replaced["Details"][0]["Target"]["RequiresRecreation"] == "Always"
    sources = {"ByAttribute": "ResourceAttribute"}
    entities = {"ByAttribute": "T.TopicName"}
    for key in ("ByRef", "ByAttribute", "ByText"):
        (detail,) = found[key]["Details"]
        assert detail["Evaluation"] == "Dynamic"
        assert detail["ChangeSource"] == sources.get(key, "ResourceReference")
        assert detail["CausingEntity"] == entities.get(key, "T")
        assert UNKNOWN in detail["Target"]["AfterValue"]
        assert found[key]["Replacement"] == "False"


def test_what_is_not_known_may_replace(stacks: Stacks, client: Untyped) -> None:
    """
    A name that follows from what is replaced: it may stay what it is.
    """
    name = unique("stack")

    def template(own: str) -> Template:
        made = {"Fn::Sub": "/${T.TopicName}"}
        return {
            "Resources": {"T": topic(TopicName=own), "W": word("x", Name=made)},
        }

    stacks.create(name, template(unique("topic")))
    found = announced(client, name, template(unique("topic")))

    assert found["W"]["Replacement"] == "Conditional"
    assert found["W"]["PolicyAction"] == "ReplaceAndDelete"


def test_what_comes_has_its_context(stacks: Stacks, client: Untyped) -> None:
    """
    With its policies; what goes has the one it had.
    """
    name = unique("stack")
    old = {**topic(DisplayName="a"), "DeletionPolicy": "Retain"}
    stacks.create(name, {"Resources": {"Old": old, "Mere": topic()}})
    made = stacks.physical_ids(name)
    new = {**word({"Ref": "More"}), "UpdateReplacePolicy": "Delete"}

    found = announced(client, name, {"Resources": {"New": new, "More": topic()}})

    assert json.loads(found["New"].pop("AfterContext")) == {
        "Properties": {"Type": "String", "Value": UNKNOWN},
        "UpdateReplacePolicy": "Delete",
    }
    assert found["New"] == {
        "Action": "Add",
        "LogicalResourceId": "New",
        "ResourceType": "AWS::SSM::Parameter",
        "Scope": [],
        "Details": [],
    }
    assert json.loads(found["Old"].pop("BeforeContext")) == {
        "Properties": {"DisplayName": "a"},
        "DeletionPolicy": "Retain",
    }
    assert found["Old"] == {
        "PolicyAction": "Retain",
        "Action": "Remove",
        "LogicalResourceId": "Old",
        "PhysicalResourceId": made["Old"],
        "ResourceType": "AWS::SNS::Topic",
        "Scope": [],
        "Details": [],
    }
    assert found["Mere"]["PolicyAction"] == "Delete"


@pytest.mark.parametrize(
    ("attribute", "before", "after", "kind"),
    [
        ("DeletionPolicy", None, "Retain", "Add"),
        ("DeletionPolicy", "Retain", "Delete", "Modify"),
        ("UpdateReplacePolicy", "Retain", None, "Remove"),
        ("Metadata", {"a": 1}, {"a": 2}, "Modify"),
        ("UpdatePolicy", None, {"A": True}, "Add"),
        ("CreationPolicy", None, {"A": True}, "Add"),
    ],
)
def test_an_attribute_changes_by_itself(
    stacks: Stacks,
    client: Untyped,
    attribute: str,
    before: object,
    after: object,
    kind: str,
) -> None:
    """
    Nothing is made again for it.
    """
    name = unique("stack")
    had, has = ({attribute: one} if one else {} for one in (before, after))
    stacks.create(name, {"Resources": {"T": {**topic(), **had}}})

    (change,) = announced(
        client, name, {"Resources": {"T": {**topic(), **has}}}
    ).values()

    target = change["Details"][0]["Target"]
    assert target.pop("BeforeValue", None) == text(before)
    assert target.pop("AfterValue", None) == text(after)
    assert target == {
        "Attribute": attribute,
        "RequiresRecreation": "Never",
        "Path": f"/{attribute}",
        "AttributeChangeType": kind,
    }
    assert len(change["Details"]) == 1
    assert (change["Scope"], change["Replacement"]) == ([attribute], "False")


def text(value: object) -> object:
    """
    Write a value as a change set does.
    """
    return value if value is None or isinstance(value, str) else json.dumps(value)


def test_lists_are_of_what_is_asked_for(stacks: Stacks, client: Untyped) -> None:
    """
    Stacks by their statuses, deleted ones too; resources by their names.
    """
    name, gone = unique("stack"), unique("stack")
    stacks.create(name, {"Resources": {"A": topic(), "B": topic()}})
    stacks.create(gone, {"Resources": {"A": topic()}})
    stacks.delete(gone)

    def listed(*statuses: str) -> list[str]:
        pages = client.get_paginator("list_stacks").paginate(
            StackStatusFilter=list(statuses)
        )
        return [
            one["StackName"]
            for page in pages
            for one in page["StackSummaries"]
            if one["StackName"] in {name, gone}
        ]

    assert listed() == [gone, name]
    assert listed("CREATE_COMPLETE") == [name]
    assert listed("DELETE_COMPLETE", "UPDATE_COMPLETE") == [gone]
    made = stacks.physical_ids(name)
    for asked in (
        {"StackName": name, "LogicalResourceId": "B"},
        {"PhysicalResourceId": made["B"], "LogicalResourceId": "B"},
    ):
        found = client.describe_stack_resources(**asked)["StackResources"]
        assert [one["PhysicalResourceId"] for one in found] == [made["B"]]
    found = client.describe_stack_resources(PhysicalResourceId=made["B"])
    assert len(found["StackResources"]) == 2
    rows = client.list_stack_resources(StackName=name)["StackResourceSummaries"]
    assert {one["LogicalResourceId"]: one["ResourceStatus"] for one in rows} == {
        "A": "CREATE_COMPLETE",
        "B": "CREATE_COMPLETE",
    }


@pytest.mark.parametrize(
    ("operation", "asked", "words"),
    [
        (
            "describe_stack_resources",
            {"PhysicalResourceId": "none"},
            "Stack for none does not exist",
        ),
        (
            "describe_stack_drift_detection_status",
            {"StackDriftDetectionId": "none"},
            "Drift detection [none] does not exist for this account",
        ),
        (
            "list_imports",
            {"ExportName": "none"},
            "Export 'none' is not imported by any stack.",
        ),
        (
            "validate_template",
            {},
            "Either Template URL or Template Body must be specified.",
        ),
        ("describe_stacks", {"StackName": "none"}, "Stack with id none does not exist"),
    ],
)
def test_what_is_nowhere_is_said(
    client: Untyped, operation: str, asked: dict[str, str], words: str
) -> None:
    """
    In CloudFormation's words.
    """
    with pytest.raises(ClientError) as caught:
        getattr(client, operation)(**asked)

    error = caught.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("ValidationError", words)


def test_a_previous_value_or_template_is_used_again(
    stacks: Stacks, client: Untyped
) -> None:
    """
    A parameter that had its default has it still.
    """
    name = unique("stack")
    parameters = {
        "A": {"Type": "String"},
        "B": {"Type": "String", "Default": "default"},
    }
    outputs = {key: {"Value": {"Ref": key}} for key in parameters}
    template: Template = {
        "Parameters": parameters,
        "Resources": {"T": topic()},
        "Outputs": outputs,
    }
    stacks.create(name, template, A="first")

    def update(**first: object) -> dict[str, str]:
        client.update_stack(
            StackName=name,
            UsePreviousTemplate=True,
            Parameters=[
                {"ParameterKey": "A", **first},
                {"ParameterKey": "B", "UsePreviousValue": True},
            ],
            Tags=[{"Key": unique("tag"), "Value": "x"}],
        )
        return stacks.outputs(name)

    assert update(UsePreviousValue=True) == {"A": "first", "B": "default"}
    assert update(ParameterValue="second") == {"A": "second", "B": "default"}
    shown = client.get_template(StackName=name)
    body = shown["TemplateBody"]
    assert (json.loads(body) if isinstance(body, str) else body) == template
    assert shown["StagesAvailable"] == ["Original", "Processed"]


def test_an_update_that_changes_nothing_is_refused(
    stacks: Stacks, client: Untyped
) -> None:
    """
    Other tags are a change.
    """
    name = unique("stack")
    template: Template = {"Resources": {"T": topic()}}
    stacks.create(name, template)
    with pytest.raises(ClientError, match="No updates are to be performed.$"):
        stacks.update(name, template)
    change = {"StackName": name, "ChangeSetName": "change"}
    client.create_change_set(TemplateBody=json.dumps(template), **change)
    shown = client.describe_change_set(**change)
    assert (shown["Status"], shown["ExecutionStatus"], shown["Changes"]) == (
        "FAILED",
        "UNAVAILABLE",
        [],
    )
    assert shown["StatusReason"] == (
        "The submitted information didn't contain changes. Submit different "
        "information to create a change set."
    )
    with pytest.raises(ClientError) as caught:
        client.execute_change_set(**change)
    error = caught.value.response["Error"]
    assert error["Code"] == "InvalidChangeSetStatus"
    assert error["Message"] == (
        f"ChangeSet [{shown['ChangeSetId']}] cannot be executed in its current status "
        "of [FAILED]"
    )
    client.update_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Tags=[{"Key": "a", "Value": "b"}],
    )
    assert stacks.status(name) == "UPDATE_COMPLETE"
    assert stacks.describe(name)["Tags"] == [{"Key": "a", "Value": "b"}]


def test_an_export_that_is_in_use_stays(stacks: Stacks, client: Untyped) -> None:
    """
    With its value; two who use it are both named.
    """
    name, export = unique("stack"), unique("export")
    users = sorted(unique("user") for _ in range(3))

    def giving(value: str, exported: str) -> Template:
        out = {"Value": value, "Export": {"Name": exported}}
        return {"Resources": {"T": topic()}, "Outputs": {"O": out}}

    stacks.create(name, giving("one", export))
    for user in users:
        used = word({"Fn::ImportValue": export})
        stacks.create(user, {"Resources": {"W": used}})
    listed = f"{users[0]}, {users[1]} and {users[2]}"

    assert client.list_imports(ExportName=export)["Imports"] == users
    for template, what in (
        (giving("two", export), "updated"),
        (giving("one", unique("export")), "deleted"),
    ):
        assert stacks.update(name, template) == "UPDATE_ROLLBACK_COMPLETE"
        reasons = [why for _, _, why in stacks.events(name)]
        words = f"Export {export} cannot be {what} as it is in use by {listed}"
        assert any(words in why for why in reasons)
    assert stacks.delete(name) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.events(name)[-1] == (
        name,
        "UPDATE_ROLLBACK_COMPLETE",
        f"Delete canceled. Cannot delete export {export} as it is in use by {listed}.",
    )
    taken = unique("stack")
    assert stacks.create(taken, giving("one", export)) == "ROLLBACK_COMPLETE"
    words = f"Export with name {export} is already exported by stack {name}"
    assert words in json.dumps(stacks.events(taken))
    found = client.list_exports()["Exports"]
    assert [
        (one["ExportingStackId"], one["Value"])
        for one in found
        if one["Name"] == export
    ] == [(stacks.describe(name)["StackId"], "one")]
    for user in users:
        stacks.delete(user)
    assert stacks.delete(name) == "DELETE_COMPLETE"
