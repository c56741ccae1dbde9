"""
Custom resources in their two protocols; what their functions do is played.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.clock import CLOCK
from cdk_sagemaker_llm.local.builds import functions
from cdk_sagemaker_llm.local.builds.functions import (
    Function,
    FunctionError,
    NotRunnableError,
    Outcome,
)
from cdk_sagemaker_llm.local.cloudformation import custom_resources
from cdk_sagemaker_llm.local.cloudformation.cdk_handlers import HANDLERS
from cdk_sagemaker_llm.local.cloudformation.custom_resources import (
    CustomResourceType,
    register_handler,
)
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Properties,
    Resource,
    ResourceError,
    Scope,
)

SCOPE = Scope("111111111111", "us-east-1", "arn:stack", "stack")
DECLARATION = Declaration("Made", "Custom::Own", {}, frozenset())
ON_EVENT, IS_COMPLETE = "USER_ON_EVENT_FUNCTION_ARN", "USER_IS_COMPLETE_FUNCTION_ARN"
Event = dict[str, Any]


class Played:
    """
    Functions by their ARNs, what they do, and what they were asked.
    """

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self.timeout = 60.0
        self.asked: list[tuple[str, Event]] = []
        self.does: Callable[[str, Event], Outcome] = lambda *_: Outcome(None, "")

    def find(self, token: str, account: str, region: str) -> Function:
        """
        Find a function.
        """
        assert (account, region) == (SCOPE.account, SCOPE.region)
        return Function(
            arn=token,
            name=f"named {token}",
            runtime="python3.12",
            handler="index.handler",
            code=b"",
            environment=self.environment if token == "token" else {},  # noqa: S105 - an ARN's place
            timeout=self.timeout,
            memory=128,
        )

    def run(self, function: Function, event: Event) -> Outcome:
        """
        Run it.
        """
        self.asked.append((function.arn, event))
        return self.does(function.arn, event)

    def create(self, **properties: object) -> Resource:
        """
        Make a resource, with the lock held as in a stack.
        """
        told: Properties = {"ServiceToken": "token", **properties}
        with CLOCK.lock:
            return CustomResourceType().create(DECLARATION, told, SCOPE)

    def update(self, resource: Resource, **properties: object) -> None:
        """
        Change it.
        """
        told: Properties = {"ServiceToken": "token", **properties}
        with CLOCK.lock:
            CustomResourceType().update(resource, told, SCOPE)

    def delete(self, resource: Resource) -> None:
        """
        Take it away.
        """
        with CLOCK.lock:
            CustomResourceType().delete(resource, SCOPE)


@pytest.fixture(name="played")
def _played(monkeypatch: pytest.MonkeyPatch) -> Played:
    played = Played()
    monkeypatch.setattr(custom_resources, "find_function", played.find)
    monkeypatch.setattr(custom_resources, "run_function", played.run)
    monkeypatch.setattr(custom_resources, "_GRACE", 0.01)
    monkeypatch.setattr(custom_resources, "_POLL", 0.0)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost")
    return played


def failure(act: Callable[[], object]) -> str:
    """
    Return why it failed, without the request's own id.
    """
    with pytest.raises(ResourceError) as caught:
        act()
    words, _, own = str(caught.value).partition(" (RequestId: ")
    assert not own or len(own) == len("01234567-0123-0123-0123-0123456789ab)")
    return words


FAILED = "Received response status [FAILED] from custom resource. Message returned: "


class TestProtocol:
    """
    A function that sends its response to an address.
    """

    @staticmethod
    def sends(played: Played, **response: object) -> None:
        """
        Have the function send a response.
        """

        def send(_: str, event: Event) -> Outcome:
            path = event["ResponseURL"].removeprefix("http://localhost")
            body = json.dumps(response).encode()
            assert functions.receive_response(path, body) == 200
            return Outcome(None, "printed")

        played.does = send

    def test_a_response_makes_changes_and_deletes(self, played: Played) -> None:
        """
        What it was asked is all that CloudFormation sends.
        """
        made = {"Status": "SUCCESS", "PhysicalResourceId": "made"}
        self.sends(played, **made, Data={"Word": "a"})
        resource = played.create(Word=1)
        assert resource.physical_resource_id == "made"
        assert resource.get_cfn_attribute("Word") == "a"
        self.sends(played, Status="SUCCESS", Data={"Word": "b"})
        played.update(resource, Word=2)
        assert resource.get_cfn_attribute("Word") == "b"
        assert resource.physical_resource_id == "made"
        self.sends(played, **{**made, "PhysicalResourceId": "other"})
        played.update(resource, Word=3)
        assert resource.physical_resource_id == "other"
        played.delete(resource)

        assert [event["RequestType"] for _, event in played.asked] == [
            "Create",
            "Update",
            "Update",
            "Delete",
        ]
        first, second = (event for _, event in played.asked[:2])
        del first["RequestId"], first["ResponseURL"]
        assert first == {
            "RequestType": "Create",
            "StackId": "arn:stack",
            "ResourceType": "Custom::Own",
            "LogicalResourceId": "Made",
            "ServiceToken": "token",
            "ResourceProperties": {"ServiceToken": "token", "Word": "1"},
        }
        assert second["PhysicalResourceId"] == "made"
        assert second["OldResourceProperties"]["Word"] == "1"
        assert second["ResourceProperties"]["Word"] == "2"
        assert played.asked[3][1]["PhysicalResourceId"] == "other"

    @pytest.mark.parametrize(
        ("response", "words"),
        [
            ({"Status": "FAILED", "Reason": "so"}, f"{FAILED}so"),
            ({"Reason": "so"}, f"{FAILED}so"),
            ({"Status": "FAILED"}, f"{FAILED}None"),
            ({"Status": "SUCCESS"}, "Invalid PhysicalResourceId"),
        ],
    )
    def test_a_response_may_say_that_it_failed(
        self, played: Played, response: dict[str, str], words: str
    ) -> None:
        """
        One without a status has.
        """
        self.sends(played, **response)

        assert failure(played.create) == words
        assert len(played.asked) == 1

    def test_what_failed_and_has_an_id_is_deleted(self, played: Played) -> None:
        """
        By that id.
        """
        self.sends(played, Status="FAILED", Reason="so", PhysicalResourceId="half")

        assert failure(played.create) == f"{FAILED}so"
        told = [
            (event["RequestType"], event.get("PhysicalResourceId"))
            for _, event in played.asked
        ]
        assert told == [("Create", None), ("Delete", "half")]

    def test_an_update_or_a_deletion_may_fail(self, played: Played) -> None:
        """
        The resource stays as it was.
        """
        self.sends(played, Status="SUCCESS", PhysicalResourceId="made", Data={"A": "1"})
        resource = played.create()
        self.sends(played, Status="FAILED", Reason="no", PhysicalResourceId="other")

        assert failure(lambda: played.update(resource, A=2)) == f"{FAILED}no"
        assert failure(lambda: played.delete(resource)) == f"{FAILED}no"
        assert resource.physical_resource_id == "made"
        assert resource.get_cfn_attribute("A") == "1"

    def test_a_function_may_send_nothing(self, played: Played) -> None:
        """
        What it printed last is told, or why it ended.
        """
        start = (
            "CloudFormation did not receive a response from your Custom Resource: named"
        )
        played.does = lambda *_: Outcome(None, "last words")
        told = f"{FAILED}{start} token ended without one, and printed last: last words"
        assert failure(played.create) == told

        def fail(*_: object) -> Outcome:
            raise FunctionError("timed out")

        played.does = fail
        told = f"{FAILED}{start} token ended without one, and printed last: timed out"
        assert failure(played.create) == told

    @pytest.mark.parametrize("is_raised", [True, False])
    def test_what_cannot_be_run_is_recorded(
        self, played: Played, *, is_raised: bool
    ) -> None:
        """
        It does not change then, nor is anything deleted.
        """
        reason = "Error: Cannot find module '@aws-sdk/client-iam'\nRequire stack:"
        self.sends(played, Status="FAILED", Reason=reason)
        if is_raised:

            def fail(*_: object) -> Outcome:
                raise NotRunnableError("no node")

            played.does = fail

        resource = played.create()

        why = "no node" if is_raised else f"named token: {reason.partition(chr(10))[0]}"
        assert resource.reason == f"Custom::Own was recorded, not run: {why}."
        assert resource.physical_resource_id.startswith("Made-")
        assert resource.native is None
        asked = len(played.asked)
        played.update(resource, A=1)
        played.delete(resource)
        assert len(played.asked) == asked
        name = resource.physical_resource_id
        arn = f"arn:aws:not-emulated:us-east-1:111111111111:{name}"
        assert resource.get_cfn_attribute("RoleArn") == arn
        assert resource.get_cfn_attribute("Other") == f"{name}.Other"

    def test_another_module_is_the_functions_own_fault(self, played: Played) -> None:
        """
        As is that one in a later line.
        """
        for reason in (
            "Cannot find module 'left-pad'",
            "odd\nCannot find module '@aws-sdk/client-iam'",
        ):
            self.sends(played, Status="FAILED", Reason=reason)
            assert failure(played.create) == f"{FAILED}{reason}"

    def test_an_attribute_that_was_not_sent(self, played: Played) -> None:
        """
        Is told with the resource's id.
        """
        self.sends(played, Status="SUCCESS", PhysicalResourceId="made", Data=None)
        resource = played.create()

        assert failure(lambda: resource.get_cfn_attribute("A")) == (
            "CustomResource attribute error: Vendor response doesn't contain A key in "
            "object made"
        )


class TestProvider:
    """
    The CDK's framework, whose functions return what they have to say.
    """

    @pytest.fixture(name="provider")
    def _provider(self, played: Played) -> Played:
        played.environment = {ON_EVENT: "on event"}
        return played

    def test_the_first_function_says_it(self, provider: Played) -> None:
        """
        Without an id the request's is taken, and kept.
        """
        provider.does = lambda *_: Outcome({"Data": {"Word": "a"}}, "")
        resource = provider.create()
        provider.does = lambda *_: Outcome(None, "")
        provider.update(resource, A=1)
        provider.delete(resource)

        (arn, first), (_, second), (_, third) = provider.asked
        assert arn == "on event"
        assert resource.physical_resource_id == first["RequestId"]
        assert second["PhysicalResourceId"] == first["RequestId"]
        assert third["PhysicalResourceId"] == first["RequestId"]
        assert "ResponseURL" not in first

    def test_the_second_is_asked_until_it_is_complete(self, provider: Played) -> None:
        """
        With what the first has said; its data are added.
        """
        provider.environment[IS_COMPLETE] = "is complete"
        answers = [
            Outcome({"PhysicalResourceId": "made", "Data": {"A": "1", "B": "1"}}, ""),
            Outcome({"IsComplete": False}, ""),
            Outcome(None, ""),
            Outcome({"IsComplete": True, "Data": {"B": "2", "C": "2"}}, ""),
        ]
        provider.does = lambda *_: answers[len(provider.asked) - 1]

        resource = provider.create(Word="x")

        assert resource.physical_resource_id == "made"
        found = [resource.get_cfn_attribute(name) for name in "ABC"]
        assert found == ["1", "2", "2"]
        assert [arn for arn, _ in provider.asked] == ["on event"] + ["is complete"] * 3
        last = provider.asked[-1][1]
        assert last["PhysicalResourceId"] == "made"
        assert last["ResourceProperties"]["Word"] == "x"
        assert last["Data"] == {"A": "1", "B": "1"}

    def test_it_is_not_asked_for_ever(self, provider: Played) -> None:
        """
        But for the time that the framework has.
        """
        provider.environment[IS_COMPLETE] = "is complete"
        provider.timeout = 0.05
        provider.does = lambda *_: Outcome({"IsComplete": False}, "")
        began = time.monotonic()

        assert failure(provider.create) == f"{FAILED}Operation timed out"
        assert 0.04 < time.monotonic() - began < 5.0
        assert len(provider.asked) > 2

    def test_what_it_raises_is_the_reason(self, provider: Played) -> None:
        """
        Unless it cannot be run.
        """

        def fail(*_: object) -> Outcome:
            raise FunctionError("odd")

        provider.does = fail
        assert failure(provider.create) == f"{FAILED}odd"

        def refuse(*_: object) -> Outcome:
            raise NotRunnableError("no node")

        provider.does = refuse
        reason = "Custom::Own was recorded, not run: no node."
        assert provider.create().reason == reason

    def test_a_failure_of_an_update_has_the_id_that_there_was(
        self, provider: Played
    ) -> None:
        """
        It is what is there still.
        """
        provider.does = lambda *_: Outcome({"PhysicalResourceId": "made"}, "")
        resource = provider.create()

        def fail(*_: object) -> Outcome:
            raise FunctionError("odd")

        provider.does = fail
        assert failure(lambda: provider.update(resource)) == f"{FAILED}odd"
        assert resource.physical_resource_id == "made"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("Custom::A=no.such.module:f", "Custom::A: No module named 'no'"),
        (
            "Custom::A=json:nothing",
            "Custom::A: module 'json' has no attribute 'nothing'",
        ),
    ],
)
def test_a_handler_that_is_not_there_is_refused(assignment: str, words: str) -> None:
    """
    Of a module that is not there, or in one that has it not.
    """
    with pytest.raises(ValueError, match=f"^custom_resource {words}$"):
        register_handler(assignment)


def test_a_handler_is_found_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    And stands for the type of that name.
    """
    monkeypatch.setitem(HANDLERS, "Custom::A", json.loads)
    register_handler("Custom::A=json:dumps")

    assert HANDLERS["Custom::A"] is json.dumps
