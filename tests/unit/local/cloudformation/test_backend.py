"""
Stacks that are asked for something while they are at work, on a clock by hand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.faults import Fault
from tests.local.by_hand import HandRunAws
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template, hosted

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

TOPIC = {"Type": "AWS::SNS::Topic"}
NEVER = Fault(kind="never-healthy")


def message(caught: pytest.ExceptionInfo[ClientError]) -> str:
    """
    Return the words of a refusal.
    """
    error = caught.value.response["Error"]
    assert error["Code"] == "ValidationError"
    return str(error["Message"])


def endpoint(instances: int = 1) -> Template:
    """
    Declare an endpoint, and a topic that comes after it.
    """
    template = hosted()
    made = template["Resources"]
    made["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = (
        instances
    )
    resources = {key: made[key] for key in ("Model", "Config", "Endpoint")}
    return {"Resources": {**resources, "Topic": {**TOPIC, "DependsOn": "Endpoint"}}}


def statuses(stacks: Stacks, name: str, what: str) -> list[str]:
    """
    Return what became of a resource, in the order it did.
    """
    return [status for one, status, _ in stacks.events(name) if one == what]


def test_a_stack_that_is_being_made_is_deleted_afterwards(
    aws: HandRunAws, slow: Stacks
) -> None:
    """
    What is under way comes to its end first; what comes after it is not begun.
    """
    name = unique("stack")
    assert slow.create(name, endpoint()) == "CREATE_IN_PROGRESS"
    stack_id = slow.describe(name)["StackId"]
    assert slow.delete(name) == "DELETE_IN_PROGRESS"
    assert statuses(slow, stack_id, "Endpoint") == ["CREATE_IN_PROGRESS"]
    # Once more changes nothing.
    assert slow.delete(name) == "DELETE_IN_PROGRESS"
    aws.run(600)

    assert slow.status(stack_id) == "DELETE_COMPLETE"
    assert statuses(slow, stack_id, "Endpoint") == [
        "CREATE_IN_PROGRESS",
        "CREATE_COMPLETE",
        "DELETE_IN_PROGRESS",
        "DELETE_COMPLETE",
    ]
    assert statuses(slow, stack_id, "Topic") == []
    assert statuses(slow, stack_id, name) == [
        "CREATE_IN_PROGRESS",
        "DELETE_IN_PROGRESS",
        "DELETE_COMPLETE",
    ]
    assert slow.sagemaker.list_endpoints()["Endpoints"] == []


def test_one_that_fails_meanwhile_goes_as_well(aws: HandRunAws, slow: Stacks) -> None:
    """
    A stack that is to be deleted rolls nothing back.
    """
    name = unique("stack")
    aws.hosting.world.faults.put(NEVER)
    try:
        slow.create(name, endpoint())
        stack_id = slow.describe(name)["StackId"]
        slow.delete(name)
        aws.run(3600)
    finally:
        aws.hosting.world.faults.clear()

    assert slow.status(stack_id) == "DELETE_COMPLETE"
    assert "ROLLBACK_IN_PROGRESS" not in statuses(slow, stack_id, name)
    assert statuses(slow, stack_id, "Endpoint") == [
        "CREATE_IN_PROGRESS",
        "CREATE_FAILED",
        "DELETE_IN_PROGRESS",
        "DELETE_COMPLETE",
    ]
    assert slow.sagemaker.list_endpoints()["Endpoints"] == []


def test_a_stack_at_work_takes_no_other_order(
    aws: HandRunAws, slow: Stacks, cloudformation: Untyped
) -> None:
    """
    Neither an update nor a change set, nor a deletion while it is updated.
    """
    name = unique("stack")
    slow.create(name, endpoint())
    stack_id = slow.describe(name)["StackId"]
    body = json.dumps(endpoint(2))
    change = {"StackName": name, "ChangeSetName": "change"}

    def refused(status: str) -> None:
        words = f"Stack:{stack_id} is in {status} state and can not be updated."
        with pytest.raises(ClientError) as caught:
            slow.update(name, endpoint(2))
        assert message(caught) == words
        with pytest.raises(ClientError) as caught:
            cloudformation.create_change_set(**change, TemplateBody=body)
        assert message(caught) == words

    refused("CREATE_IN_PROGRESS")
    aws.run(600)
    assert slow.status(name) == "CREATE_COMPLETE"
    cloudformation.create_change_set(**change, TemplateBody=body)
    assert slow.update(name, endpoint(2)) == "UPDATE_IN_PROGRESS"
    refused("UPDATE_IN_PROGRESS")
    with pytest.raises(ClientError) as caught:
        cloudformation.execute_change_set(**change)
    assert "is in UPDATE_IN_PROGRESS state and can not be" in message(caught)
    with pytest.raises(ClientError) as caught:
        slow.delete(name)
    assert message(caught) == (
        f"Stack [{stack_id}] cannot be deleted while in status UPDATE_IN_PROGRESS"
    )
    with pytest.raises(ClientError) as caught:
        cloudformation.detect_stack_drift(StackName=name)
    assert message(caught) == (
        f"Stack:{stack_id} is in UPDATE_IN_PROGRESS state and drift cannot be detected."
    )
    aws.run(1200)
    assert slow.status(name) == "UPDATE_COMPLETE"
    assert slow.delete(name) in {"DELETE_IN_PROGRESS", "DELETE_COMPLETE"}
    aws.run(600)
    assert slow.status(stack_id) == "DELETE_COMPLETE"


def test_a_protected_stack_is_not_deleted_but_one_in_review_is(
    slow: Stacks, cloudformation: Untyped
) -> None:
    """
    One of no name is no error.
    """
    name, other = unique("stack"), unique("stack")
    cloudformation.create_stack(
        StackName=name,
        TemplateBody=json.dumps({"Resources": {"T": TOPIC}}),
        EnableTerminationProtection=True,
    )
    with pytest.raises(ClientError) as caught:
        slow.delete(name)
    assert message(caught) == (
        f"Stack [{name}] cannot be deleted while TerminationProtection is enabled"
    )
    assert slow.status(name) == "CREATE_COMPLETE"
    cloudformation.create_change_set(
        StackName=other,
        ChangeSetName="change",
        ChangeSetType="CREATE",
        TemplateBody=json.dumps({"Resources": {"T": TOPIC}}),
    )
    assert slow.delete(other) == "DELETE_COMPLETE"
    cloudformation.delete_stack(StackName=unique("none"))
    with pytest.raises(ClientError, match="does not exist"):
        slow.describe(unique("none"))
