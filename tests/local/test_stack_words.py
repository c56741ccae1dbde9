"""
What CloudFormation's API shows and says of stacks, whole and to the letter.
"""

from __future__ import annotations

import itertools
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unchecked, unique
from tests.local.stacks import Stacks, Template, as_list

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

TOPIC: dict[str, Any] = {"Type": "AWS::SNS::Topic"}
ONE: Template = {"Resources": {"Topic": TOPIC}}


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="client", scope="module")
def _client(near_aws: EmbeddedAws) -> Untyped:
    return unchecked(near_aws, "cloudformation")


@pytest.fixture(name="name", scope="module")
def _name(stacks: Stacks) -> str:
    """
    A stack of one topic.
    """
    name = unique("stack")
    stacks.create(name, {**ONE, "Description": "A word"})
    return name


def refusal(client: Untyped, operation: str, **request: Untyped) -> str:
    """
    Call an operation that is refused as a wrong request; return its words.
    """
    with pytest.raises(ClientError) as caught:
        getattr(client, operation)(**request)
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    return str(error["Message"])


@pytest.mark.parametrize(
    ("operation", "request_", "words"),
    [
        (
            "cancel_update_stack",
            {},
            "CancelUpdateStack cannot be called from current stack status",
        ),
        (
            "continue_update_rollback",
            {},
            "Stack:{id} is in CREATE_COMPLETE state and can not continue the rollback.",
        ),
        (
            "rollback_stack",
            {},
            "Stack:{id} is in CREATE_COMPLETE state and can not be rolled back.",
        ),
        (
            "delete_stack",
            {"RetainResources": ["Topic"]},
            (
                "Invalid operation on stack [{id}]. Specify resources to retain only "
                "when the stack is in the DELETE_FAILED state."
            ),
        ),
        (
            "describe_stack_resource",
            {"LogicalResourceId": "None"},
            "Resource None does not exist for stack {name}",
        ),
        (
            "detect_stack_resource_drift",
            {"LogicalResourceId": "Topic"},
            "Drift detection is not supported for resource type AWS::SNS::Topic",
        ),
        (
            "list_stack_resources",
            {"NextToken": "next"},
            "Invalid NextToken: next",
        ),
        (
            "update_stack",
            {"UsePreviousTemplate": True},
            "No updates are to be performed.",
        ),
        (
            "update_stack",
            {},
            "Either Template URL or Template Body must be specified.",
        ),
    ],
    ids=lambda it: it if isinstance(it, str) and " " not in it else "",
)
def test_what_a_stack_does_not_do_is_said(
    client: Untyped,
    stacks: Stacks,
    name: str,
    operation: str,
    request_: dict[str, Any],
    words: str,
) -> None:
    """
    With its name or its id.
    """
    stack_id = stacks.describe(name)["StackId"]

    found = refusal(client, operation, StackName=name, **request_)

    assert found == words.format(id=stack_id, name=name)
    assert stacks.status(name) == "CREATE_COMPLETE"


def test_what_is_nowhere_is_named(client: Untyped) -> None:
    """
    A resource by its physical id, a detection, an export, a stack.
    """
    assert refusal(
        client, "describe_stack_resources", PhysicalResourceId="nothing"
    ) == ("Stack for nothing does not exist")
    assert refusal(
        client,
        "describe_stack_drift_detection_status",
        StackDriftDetectionId="nothing",
    ) == ("Drift detection [nothing] does not exist for this account")
    assert refusal(client, "list_imports", ExportName="nothing") == (
        "Export 'nothing' is not imported by any stack."
    )
    assert refusal(client, "describe_stacks", StackName="nothing") == (
        "Stack with id nothing does not exist"
    )


def test_a_name_that_is_wrong_twice_has_two_faults(client: Untyped) -> None:
    """
    Each with its rule; 128 letters are a name.
    """
    body = json.dumps(ONE)
    long = "a" * 129
    rule = "failed to satisfy constraint: Member must"

    assert refusal(client, "create_stack", StackName=long, TemplateBody=body) == (
        f"1 validation error detected: Value '{long}' at 'stackName' {rule} have "
        "length less than or equal to 128"
    )
    assert refusal(client, "create_stack", StackName=f"{long}_", TemplateBody=body) == (
        f"2 validation errors detected: Value '{long}_' at 'stackName' {rule} satisfy "
        "regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*; "
        f"Value '{long}_' at 'stackName' {rule} have length less than or equal to 128"
    )
    assert client.create_stack(StackName=unique("a" * 119), TemplateBody=body)


def test_a_protected_stack_stays_until_it_is_not(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Whether it was made so, or set so later.
    """
    name = unique("stack")
    client.create_stack(
        StackName=name,
        TemplateBody=json.dumps(ONE),
        EnableTerminationProtection=True,
    )
    words = f"Stack [{name}] cannot be deleted while TerminationProtection is enabled"

    def protect(*, is_on: bool) -> None:
        client.update_termination_protection(
            StackName=name, EnableTerminationProtection=is_on
        )

    assert refusal(client, "delete_stack", StackName=name) == words
    protect(is_on=False)
    protect(is_on=True)
    assert refusal(client, "delete_stack", StackName=name) == words
    protect(is_on=False)
    assert stacks.delete(name) == "DELETE_COMPLETE"


def test_a_name_that_is_taken_is_said(client: Untyped, name: str) -> None:
    """
    By a code of its own.
    """
    with pytest.raises(ClientError) as caught:
        client.create_stack(StackName=name, TemplateBody=json.dumps(ONE))

    assert caught.value.response["Error"]["Code"] == "AlreadyExistsException"
    assert caught.value.response["Error"]["Message"] == f"Stack [{name}] already exists"


def test_a_stack_in_review_has_no_summary(client: Untyped) -> None:
    """
    It waits for its first change set, by which it is deployed.
    """
    name = unique("stack")
    made = client.create_change_set(
        StackName=name,
        ChangeSetName="first",
        ChangeSetType="CREATE",
        Description="the first",
        Tags=[{"Key": "team", "Value": "chat"}],
        TemplateBody=json.dumps(ONE),
    )

    assert refusal(client, "get_template_summary", StackName=name) == (
        "GetTemplateSummary cannot be called on REVIEW_IN_PROGRESS stacks."
    )
    shown = client.describe_change_set(StackName=name, ChangeSetName="first")
    assert (shown["ChangeSetId"], shown["StackId"]) == (made["Id"], made["StackId"])
    assert (shown["Status"], shown["ExecutionStatus"]) == (
        "CREATE_COMPLETE",
        "AVAILABLE",
    )
    assert (shown["StackName"], shown["Description"]) == (name, "the first")
    assert shown["Tags"] == [{"Key": "team", "Value": "chat"}]
    assert (shown["NotificationARNs"], shown["Capabilities"]) == ([], [])
    client.execute_change_set(StackName=name, ChangeSetName="first")
    stack = client.describe_stacks(StackName=name)["Stacks"][0]
    assert (stack["StackStatus"], stack["Tags"]) == ("CREATE_COMPLETE", shown["Tags"])


def test_stacks_and_resources_are_shown_whole(
    client: Untyped, stacks: Stacks, name: str
) -> None:
    """
    In lists as in descriptions.
    """
    stack = stacks.describe(name)
    (row,) = client.list_stack_resources(StackName=name)["StackResourceSummaries"]
    (listed,) = [
        one
        for one in client.list_stacks(StackStatusFilter=["CREATE_COMPLETE"])[
            "StackSummaries"
        ]
        if one["StackName"] == name
    ]
    shown = client.describe_stack_resource(StackName=name, LogicalResourceId="Topic")
    detail = shown["StackResourceDetail"]

    assert listed == {
        "StackId": stack["StackId"],
        "StackName": name,
        "TemplateDescription": "A word",
        "CreationTime": stack["CreationTime"],
        "StackStatus": "CREATE_COMPLETE",
        "DriftInformation": {"StackDriftStatus": "NOT_CHECKED"},
    }
    assert row.pop("LastUpdatedTimestamp") >= stack["CreationTime"]
    assert row == {
        "LogicalResourceId": "Topic",
        "PhysicalResourceId": stacks.physical_ids(name)["Topic"],
        "ResourceType": "AWS::SNS::Topic",
        "ResourceStatus": "CREATE_COMPLETE",
        "DriftInformation": {"StackResourceDriftStatus": "NOT_CHECKED"},
    }
    assert (detail["StackId"], detail["StackName"]) == (stack["StackId"], name)


def test_a_deleted_stack_is_listed_with_its_end(
    client: Untyped, stacks: Stacks
) -> None:
    """
    Under its id; events are a millisecond apart at least.
    """
    name = unique("stack")
    stacks.create(name, ONE)
    stack_id = stacks.describe(name)["StackId"]
    stacks.delete(name)

    found = client.list_stacks(StackStatusFilter=["DELETE_COMPLETE"])["StackSummaries"]
    (gone,) = [one for one in found if one["StackId"] == stack_id]
    events = client.describe_stack_events(StackName=stack_id)["StackEvents"]
    times = [one["Timestamp"] for one in reversed(events)]

    assert gone["DeletionTime"] == times[-1]
    assert gone["DeletionTime"] >= gone["CreationTime"]
    assert all(
        later - earlier >= timedelta(milliseconds=1)
        for earlier, later in itertools.pairwise(times)
    )
    assert [
        (one["LogicalResourceId"], one["ResourceStatus"]) for one in reversed(events)
    ] == [
        (name, "CREATE_IN_PROGRESS"),
        ("Topic", "CREATE_IN_PROGRESS"),
        ("Topic", "CREATE_COMPLETE"),
        (name, "CREATE_COMPLETE"),
        (name, "DELETE_IN_PROGRESS"),
        ("Topic", "DELETE_IN_PROGRESS"),
        ("Topic", "DELETE_COMPLETE"),
        (name, "DELETE_COMPLETE"),
    ]
    assert {
        one["ResourceStatusReason"] for one in events if "ResourceStatusReason" in one
    } == {"User Initiated"}


def test_a_page_has_a_hundred_rows(client: Untyped, stacks: Stacks) -> None:
    """
    And the token of the next, if there is one.
    """
    name = unique("stack")
    whole = {
        f"Wait{n}": {"Type": "AWS::CloudFormation::WaitConditionHandle"}
        for n in range(101)
    }
    stacks.create(name, {"Resources": whole})

    def rows(**token: str) -> tuple[int, str | None]:
        found = client.list_stack_resources(StackName=name, **token)
        return len(found["StackResourceSummaries"]), found.get("NextToken")

    assert rows() == (100, "100")
    assert rows(NextToken="100") == (1, None)
    assert rows(NextToken="1") == (100, None)


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [
        ({"Type": "String"}, "", None),
        ({"Type": "String", "MinLength": 1}, "a", ""),
        ({"Type": "String", "MaxLength": "0"}, "", "a"),
        ({"Type": "List<Number>"}, "1, 2", "1,a"),
        ({"Type": "List<Number>", "MaxValue": 2}, "1,2", "1,3"),
        ({"Type": "CommaDelimitedList", "AllowedValues": ["a"]}, "a,a", "a,b"),
        ({"Type": "Number", "MinLength": 9}, "1", None),
        ({"Type": "String", "AllowedValues": [True, 2]}, "true", "True"),
        ({"Type": "String", "AllowedPattern": "a*+(?<x>b)"}, "c", None),
    ],
)
def test_the_constraints_of_a_parameter_are_those_of_its_type(
    client: Untyped, parameter: dict[str, Any], right: str, wrong: str | None
) -> None:
    """
    Each part of a list for itself.
    """
    template = {"Parameters": {"P": parameter}, **ONE}
    request = {"TemplateBody": json.dumps(template), "ChangeSetType": "CREATE"}

    def propose(text: str) -> Untyped:
        return client.create_change_set(
            StackName=unique("stack"),
            ChangeSetName="change",
            Parameters=as_list({"P": text}),
            **request,
        )

    assert propose(right)["Id"]
    if wrong is not None:
        with pytest.raises(ClientError, match="Parameter 'P' must"):
            propose(wrong)
