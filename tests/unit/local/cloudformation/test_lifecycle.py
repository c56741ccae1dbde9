"""
What stacks do when a resource misbehaves: a callable in this process plays it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.cloudformation.cdk_handlers import HANDLERS
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

Event = dict[str, Any]
Play = Callable[[Callable[[Event], object]], None]
TOPIC = {"Type": "AWS::SNS::Topic"}


@pytest.fixture(name="play")
def _play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """
    Return what has a callable play ``Custom::Played``.
    """

    def play(handler: Callable[[Event], object]) -> None:
        monkeypatch.setitem(HANDLERS, "Custom::Played", handler)

    return play


def played(**more: object) -> dict[str, Any]:
    """
    Declare the resource that is played.
    """
    properties = {"ServiceToken": "none", "Word": more.pop("word", "a")}
    return {"Type": "Custom::Played", "Properties": properties, **more}


def bucket(name: str, **more: object) -> dict[str, Any]:
    """
    Declare a bucket.
    """
    return {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}, **more}


def statuses(stacks: Stacks, name: str, what: str) -> list[str]:
    """
    Return what became of a resource, in the order it did.
    """
    return [status for one, status, _ in stacks.events(name) if one == what]


class TestRollbacks:
    """
    Rollbacks that cannot take back what was made.
    """

    @pytest.fixture(name="fill")
    def _fill(self, near_aws: EmbeddedAws, play: Play) -> None:
        """
        Have the resource put something into a bucket, and fail.
        """

        def fill(event: Event) -> None:
            if event["RequestType"] == "Create":
                name = event["ResourceProperties"]["Word"]
                near_aws.client("s3").put_object(Bucket=name, Key="k", Body=b"x")
                raise ValueError("filled and failed")

        play(fill)

    @pytest.mark.usefixtures("fill")
    def test_a_creation_may_fail_to_roll_back(
        self, near_aws: EmbeddedAws, stacks: Stacks
    ) -> None:
        """
        The resource that stays is named, and goes with the stack.
        """
        name, held = unique("stack"), unique("bucket")
        resources = {
            "First": TOPIC,
            "Bucket": bucket(held, DependsOn="First"),
            "Played": played(word=held, DependsOn="Bucket"),
        }

        assert stacks.create(name, {"Resources": resources}) == "ROLLBACK_FAILED"

        events = stacks.events(name)
        failed = "The following resource(s) failed to create: [Played]. "
        assert (
            name,
            "ROLLBACK_IN_PROGRESS",
            f"{failed}Rollback requested by user.",
        ) in events
        assert events[-1] == (
            name,
            "ROLLBACK_FAILED",
            "The following resource(s) failed to roll back: [Bucket]. ",
        )
        words = (
            'Resource handler returned message: "The bucket you tried to delete is not '
            'empty (Service: S3, Status Code: 409)"'
        )
        assert ("Bucket", "DELETE_FAILED", words) in events
        assert stacks.physical_ids(name).keys() == {"First", "Bucket"}
        near_aws.client("s3").delete_object(Bucket=held, Key="k")
        assert stacks.delete(name) == "DELETE_COMPLETE"

    @pytest.mark.usefixtures("fill")
    def test_a_replacement_may_fail_to_go_again(
        self, near_aws: EmbeddedAws, client: Untyped, stacks: Stacks
    ) -> None:
        """
        What it replaced is in use again all the same.
        """
        name, old, new = unique("stack"), unique("bucket"), unique("bucket")
        stacks.create(name, {"Resources": {"Bucket": bucket(old)}})
        resources = {
            "Bucket": bucket(new),
            "Played": played(word=new, DependsOn="Bucket"),
        }

        assert stacks.update(name, {"Resources": resources}) == "UPDATE_ROLLBACK_FAILED"

        assert stacks.events(name)[-1] == (
            name,
            "UPDATE_ROLLBACK_FAILED",
            "The following resource(s) failed to roll back: [Bucket]. ",
        )
        assert (
            name,
            "UPDATE_ROLLBACK_IN_PROGRESS",
            "The following resource(s) failed to create: [Played]. ",
        ) in stacks.events(name)
        assert stacks.physical_ids(name) == {"Bucket": old}
        with pytest.raises(ClientError, match="UPDATE_ROLLBACK_FAILED state and can"):
            stacks.update(name, {"Resources": resources})
        near_aws.client("s3").delete_object(Bucket=new, Key="k")
        client.continue_update_rollback(StackName=name)
        assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
        assert stacks.physical_ids(name) == {"Bucket": old}

    def test_what_was_changed_may_not_change_back(
        self, client: Untyped, stacks: Stacks, play: Play
    ) -> None:
        """
        Its reason is told; skipped, it counts as changed back.
        """
        name = unique("stack")

        def stubborn(event: Event) -> None:
            if event.get("OldResourceProperties", {}).get("Word") == "b":
                raise ValueError("no way back")

        play(stubborn)
        stacks.create(name, {"Resources": {"Played": played(), "T": TOPIC}})
        wrong = {"Type": "AWS::CloudWatch::Alarm", "DependsOn": "Played"}
        broken = {"Played": played(word="b"), "T": TOPIC, "Wrong": wrong}

        assert stacks.update(name, {"Resources": broken}) == "UPDATE_ROLLBACK_FAILED"

        assert statuses(stacks, name, "Played")[2:] == [
            "UPDATE_IN_PROGRESS",
            "UPDATE_COMPLETE",
            "UPDATE_IN_PROGRESS",
            "UPDATE_FAILED",
        ]
        assert "Message returned: no way back (RequestId: " in json.dumps(
            stacks.events(name)
        )
        client.continue_update_rollback(StackName=name, ResourcesToSkip=["Played"])
        assert stacks.status(name) == "UPDATE_ROLLBACK_COMPLETE"
        assert statuses(stacks, name, "Played")[-1] == "UPDATE_COMPLETE"

    def test_a_resource_keeps_its_type(self, stacks: Stacks) -> None:
        """
        Under its logical id.
        """
        name = unique("stack")
        stacks.create(name, {"Resources": {"Made": TOPIC}})
        made = stacks.physical_ids(name)
        queue = {"Made": {"Type": "AWS::SQS::Queue"}}

        assert stacks.update(name, {"Resources": queue}) == "UPDATE_ROLLBACK_COMPLETE"

        words = "Update of resource type is not permitted."
        assert ("Made", "UPDATE_FAILED", words) in stacks.events(name)
        assert stacks.physical_ids(name) == made

    def test_a_declaration_that_alone_changes_is_taken_over_and_back(
        self, stacks: Stacks
    ) -> None:
        """
        A policy of deletion, which touches no resource.
        """
        name = unique("stack")
        stacks.create(name, {"Resources": {"Made": TOPIC}})
        kept = {**TOPIC, "DeletionPolicy": "Retain"}
        wrong = {"Type": "AWS::CloudWatch::Alarm", "DependsOn": "Made"}

        failed = stacks.update(name, {"Resources": {"Made": kept, "Wrong": wrong}})
        assert failed == "UPDATE_ROLLBACK_COMPLETE"
        stack_id = stacks.describe(name)["StackId"]
        assert stacks.delete(name) == "DELETE_COMPLETE"
        assert statuses(stacks, stack_id, "Made") == [
            "CREATE_IN_PROGRESS",
            "CREATE_COMPLETE",
            "DELETE_IN_PROGRESS",
            "DELETE_COMPLETE",
        ]
        other = unique("stack")
        stacks.create(other, {"Resources": {"Made": TOPIC}})
        assert stacks.update(other, {"Resources": {"Made": kept}}) == "UPDATE_COMPLETE"
        stack_id = stacks.describe(other)["StackId"]
        assert stacks.delete(other) == "DELETE_COMPLETE"
        assert statuses(stacks, stack_id, "Made")[-1] == "DELETE_SKIPPED"

    def test_an_update_is_complete_though_something_old_stays(
        self, near_aws: EmbeddedAws, stacks: Stacks
    ) -> None:
        """
        It is told, and belongs to the stack no more.
        """
        name, held = unique("stack"), unique("bucket")
        stacks.create(name, {"Resources": {"Bucket": bucket(held), "T": TOPIC}})
        near_aws.client("s3").put_object(Bucket=held, Key="k", Body=b"x")

        assert stacks.update(name, {"Resources": {"T": TOPIC}}) == "UPDATE_COMPLETE"

        assert statuses(stacks, name, "Bucket")[-1] == "DELETE_FAILED"
        assert stacks.physical_ids(name).keys() == {"T"}
        assert stacks.delete(name) == "DELETE_COMPLETE"
        assert near_aws.client("s3").head_bucket(Bucket=held)


class TestCallables:
    """
    What a callable may say.
    """

    def test_it_says_an_id_and_data_or_nothing(
        self, stacks: Stacks, play: Play
    ) -> None:
        """
        Without an id the request's is taken, and kept from then on.
        """
        name = unique("stack")
        asked: list[Event] = []

        def say(event: Event) -> dict[str, Any] | None:
            asked.append(event)
            return (
                {"Data": {"Said": "yes"}} if event["RequestType"] == "Create" else None
            )

        play(say)
        template: Template = {"Resources": {"Played": played()}}
        said = {"Said": {"Value": {"Fn::GetAtt": ["Played", "Said"]}}}
        stacks.create(name, {**template, "Outputs": said})
        made = stacks.physical_ids(name)["Played"]
        assert stacks.outputs(name) == {"Said": "yes"}
        template["Resources"]["Played"] = played(word="b")
        assert stacks.update(name, template) == "UPDATE_COMPLETE"
        stack_id = stacks.describe(name)["StackId"]
        assert stacks.delete(name) == "DELETE_COMPLETE"

        assert [event["RequestType"] for event in asked] == [
            "Create",
            "Update",
            "Delete",
        ]
        first, second, third = asked
        assert made == first["RequestId"]
        assert "PhysicalResourceId" not in first
        assert [one["PhysicalResourceId"] for one in (second, third)] == [made, made]
        assert len({event["RequestId"] for event in asked}) == 3
        assert second["OldResourceProperties"] == {"ServiceToken": "none", "Word": "a"}
        assert "OldResourceProperties" not in third
        for event, word in zip(asked, "abb", strict=True):
            assert event["ResourceProperties"] == {"ServiceToken": "none", "Word": word}
            assert (event["StackId"], event["ResourceType"]) == (
                stack_id,
                "Custom::Played",
            )
            assert (event["LogicalResourceId"], event["ServiceToken"]) == (
                "Played",
                "none",
            )

    @pytest.mark.parametrize(
        ("error", "reason"), [(ValueError("odd"), "odd"), (KeyError(), r"KeyError\(\)")]
    )
    def test_what_it_raises_is_the_reason(
        self, stacks: Stacks, play: Play, error: Exception, reason: str
    ) -> None:
        """
        By its name, if it says nothing.
        """
        name = unique("stack")

        def fail(_: Event) -> None:
            raise error

        play(fail)
        assert (
            stacks.create(name, {"Resources": {"Played": played()}})
            == "ROLLBACK_COMPLETE"
        )

        (why,) = [why for _, status, why in stacks.events(name) if status == FAILED]
        assert re.fullmatch(
            r"Received response status \[FAILED\] from custom resource. Message "
            rf"returned: {reason} \(RequestId: [0-9a-f-]{{36}}\)",
            why,
        )

    def test_what_fails_may_have_made_something(
        self, stacks: Stacks, play: Play
    ) -> None:
        """
        Then it is asked to delete that; without an id there is nothing to delete.
        """
        asked: list[tuple[str, str | None]] = []

        def half(event: Event) -> dict[str, Any]:
            asked.append((event["RequestType"], event.get("PhysicalResourceId")))
            word = event["ResourceProperties"]["Word"]
            failed = {"Status": "FAILED", "Reason": "half"}
            return {**failed, "PhysicalResourceId": word} if word else failed

        play(half)
        template = {"Resources": {"Played": played(word="made")}}
        assert stacks.create(unique("stack"), template) == "ROLLBACK_COMPLETE"
        assert asked == [("Create", None), ("Delete", "made")]

    def test_an_id_is_not_empty(self, stacks: Stacks, play: Play) -> None:
        """
        Even of one that succeeds.
        """
        name = unique("stack")
        play(lambda _: {"PhysicalResourceId": ""})

        status = stacks.create(name, {"Resources": {"Played": played()}})

        assert status == "ROLLBACK_COMPLETE"
        failed = ("Played", FAILED, "Invalid PhysicalResourceId")
        assert failed in stacks.events(name)

    def test_an_attribute_is_of_its_data(self, stacks: Stacks, play: Play) -> None:
        """
        Another one fails what asks for it.
        """
        name = unique("stack")
        play(lambda _: {"PhysicalResourceId": "mine"})
        got = {"Fn::GetAtt": ["Played", "Other"]}
        word = {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Type": "String", "Value": got},
        }

        status = stacks.create(name, {"Resources": {"Played": played(), "Word": word}})

        assert status == "ROLLBACK_COMPLETE"
        words = (
            "CustomResource attribute error: Vendor response doesn't contain Other key "
            "in object mine"
        )
        assert ("Word", FAILED, words) in stacks.events(name)

    def test_scalars_reach_it_as_text(self, stacks: Stacks, play: Play) -> None:
        """
        At any depth, truths in small letters.
        """
        asked: list[Event] = []
        play(asked.append)
        properties = {"ServiceToken": "none", "A": [1, True, {"B": 0.5}], "C": False}
        resource = {"Type": "Custom::Played", "Properties": properties}

        stacks.create(unique("stack"), {"Resources": {"Played": resource}})

        told = asked[0]["ResourceProperties"]
        assert (told["A"], told["C"]) == (["1", "true", {"B": "0.5"}], "false")

    def test_another_id_has_the_first_deleted(self, stacks: Stacks, play: Play) -> None:
        """
        Once the update is complete; where it is not, the other one is.
        """
        asked: list[tuple[str, str | None]] = []

        def say(event: Event) -> dict[str, str]:
            asked.append((event["RequestType"], event.get("PhysicalResourceId")))
            return {"PhysicalResourceId": event["ResourceProperties"]["Word"]}

        play(say)
        name = unique("stack")
        stacks.create(name, {"Resources": {"Played": played()}})
        stacks.update(name, {"Resources": {"Played": played(word="b")}})

        assert asked == [("Create", None), ("Update", "a"), ("Delete", "a")]
        assert stacks.physical_ids(name) == {"Played": "b"}


FAILED = "CREATE_FAILED"


class TestChangeSets:
    """
    Change sets that come twice, go, or belong to what is gone.
    """

    def test_a_stack_in_review_takes_another_change_set(
        self, client: Untyped, stacks: Stacks
    ) -> None:
        """
        It is the same stack; one that is there takes none that would create it.
        """
        name = unique("stack")
        wanted = {
            "StackName": name,
            "TemplateBody": json.dumps({"Resources": {"T": TOPIC}}),
            "ChangeSetType": "CREATE",
        }

        one = client.create_change_set(ChangeSetName="one", **wanted)
        other = client.create_change_set(ChangeSetName="other", **wanted)

        assert one["StackId"] == other["StackId"]
        assert one["Id"] != other["Id"]
        assert stacks.status(name) == "REVIEW_IN_PROGRESS"
        assert stacks.events(name) == [(name, "REVIEW_IN_PROGRESS", "User Initiated")]
        client.execute_change_set(StackName=name, ChangeSetName="one")
        assert stacks.status(name) == "CREATE_COMPLETE"
        with pytest.raises(ClientError) as caught:
            client.create_change_set(ChangeSetName="third", **wanted)
        error = caught.value.response["Error"]
        assert (error["Code"], error["Message"]) == (
            "AlreadyExistsException",
            f"Stack [{name}] already exists",
        )

    def test_change_sets_go_with_their_stack(
        self, client: Untyped, stacks: Stacks
    ) -> None:
        """
        A new stack of the name has none of them; those of others stay.
        """
        name, other = unique("stack"), unique("stack")
        for one in (name, other):
            stacks.create(one, {"Resources": {"T": TOPIC}})
            client.create_change_set(
                StackName=one,
                ChangeSetName="change",
                TemplateBody=json.dumps({"Resources": {"T": TOPIC, "U": TOPIC}}),
            )
        stacks.delete(name)
        stacks.create(name, {"Resources": {"T": TOPIC}})

        assert client.list_change_sets(StackName=name)["Summaries"] == []
        assert len(client.list_change_sets(StackName=other)["Summaries"]) == 1

    def test_a_change_set_that_is_gone_is_deleted_once_more(
        self, client: Untyped, stacks: Stacks
    ) -> None:
        """
        Nobody minds; describing it is refused.
        """
        name = unique("stack")
        stacks.create(name, {"Resources": {"T": TOPIC}})
        change = {"StackName": name, "ChangeSetName": "change"}
        body = json.dumps({"Resources": {"T": TOPIC, "U": TOPIC}})
        client.create_change_set(TemplateBody=body, **change)
        for _ in range(2):
            client.delete_change_set(**change)

        assert client.list_change_sets(StackName=name)["Summaries"] == []
        with pytest.raises(ClientError) as caught:
            client.describe_change_set(**change)
        error = caught.value.response["Error"]
        assert (error["Code"], error["Message"]) == (
            "ChangeSetNotFound",
            "ChangeSet [change] does not exist",
        )
