"""
Wait conditions: stacks that wait for signals, and what becomes of them.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.local.hosting_requests import unique
from tests.local.stacks import Stacks, Template
from tests.local.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED = "403 <Error><Code>SignatureDoesNotMatch</Code>"


@pytest.fixture(name="stacks", scope="module")
def _stacks(near_aws: EmbeddedAws) -> Stacks:
    return Stacks(near_aws)


@pytest.fixture(name="slow", scope="module")
def _slow() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(clock="by hand") as aws:
        yield aws


def waiting(suffix: str = "", **properties: Untyped) -> Template:
    """
    Declare a handle and its condition.
    """
    handle, condition = f"Handle{suffix}", f"Condition{suffix}"
    return {
        "Resources": {
            handle: {"Type": "AWS::CloudFormation::WaitConditionHandle"},
            condition: {
                "Type": "AWS::CloudFormation::WaitCondition",
                "Properties": {
                    "Handle": {"Ref": handle},
                    "Timeout": "43200",
                    **properties,
                },
            },
        },
        "Outputs": {"Data": {"Value": {"Fn::GetAtt": [condition, "Data"]}}},
    }


def send(url: str, signal: Untyped, method: str = "PUT", kind: str = "") -> str:
    """
    Send something to a handle; return the refusal, if it is refused.
    """
    body = signal if isinstance(signal, bytes) else json.dumps(signal).encode()
    headers = {"Content-Type": kind}
    request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310 - its own address
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        opener.open(request).close()
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code} {error.read().decode()}"
    return ""


def success(unique_id: str, **words: str) -> dict[str, str]:
    """
    Write a signal of success.
    """
    return {"Status": "SUCCESS", "UniqueId": unique_id, **words}


class Waiting:
    """
    A stack that waits.
    """

    def __init__(self, stacks: Stacks, template: Template) -> None:
        self.stacks, self.name = stacks, unique("stack")
        assert stacks.create(self.name, template) == "CREATE_IN_PROGRESS"
        self.stack_id = stacks.describe(self.name)["StackId"]

    def handle(self, logical_id: str = "Handle") -> str:
        """
        Return the handle's address.
        """
        return self.stacks.physical_ids(self.name)[logical_id]

    def ended(self) -> str:
        """
        Wait until the stack is at rest, and return its status.
        """
        return at_rest(self.stacks, self.stack_id)

    def failure(self, logical_id: str = "Condition") -> str:
        """
        Return why the condition has failed.
        """
        return failure(self.stacks, self.name, logical_id)


def at_rest(stacks: Stacks, name: str) -> str:
    """
    Wait until a stack is at rest, and return its status.
    """
    until(lambda: not stacks.status(name).endswith("_IN_PROGRESS"))
    return stacks.status(name)


def failure(stacks: Stacks, name: str, logical_id: str) -> str:
    """
    Return why a resource has failed.
    """
    (reason,) = (
        reason
        for one, status, reason in stacks.events(name)
        if one == logical_id and status.endswith("FAILED")
    )
    return reason


def test_a_condition_waits_for_its_count_of_different_signals(stacks: Stacks) -> None:
    """
    What one sends twice counts once, and the first time; `Data` has all.
    """
    stack = Waiting(stacks, waiting(Count=2))
    url = stack.handle()

    assert send(url, success("one", Data="first")) == ""
    assert send(url, success("one", Data="again")) == ""
    assert stacks.status(stack.name) == "CREATE_IN_PROGRESS"
    assert send(url, success("two")) == ""

    assert stack.ended() == "CREATE_COMPLETE"
    assert json.loads(stacks.outputs(stack.name)["Data"]) == {"one": "first", "two": ""}


def test_the_handle_is_an_address_signed_for_this_stack(stacks: Stacks) -> None:
    """
    At the embedded AWS's own address; the condition's id is the handle's name.
    """
    stack = Waiting(stacks, waiting())
    url = stack.handle()
    send(url, success("one"))
    stack.ended()

    named = stack.stack_id + "/Handle"
    address, _, query = url.partition("?")
    assert urllib.parse.unquote(address).endswith(
        f"/cloudformation-waitcondition-us-east-1/{named}"
    )
    assert "X-Amz-Signature=" in query
    assert stacks.physical_ids(stack.name)["Condition"] == named


def test_a_failure_ends_the_wait_with_its_reason(stacks: Stacks) -> None:
    """
    In CloudFormation's words, which name who has failed.
    """
    stack = Waiting(stacks, waiting(Count=3))

    send(
        stack.handle(),
        {"Status": "FAILURE", "UniqueId": "worker-7", "Reason": "no such revision: ü"},
    )

    assert stack.ended() == "ROLLBACK_COMPLETE"
    assert stack.failure() == (
        "WaitCondition received failed message: 'no such revision: ü' for uniqueId: "
        "worker-7"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"done",
        b"[]",
        {"Status": "SUCCESS"},
        {"Status": "Success", "UniqueId": "one"},
        {"Status": "SUCCESS", "UniqueId": 1},
        {"Status": "SUCCESS", "UniqueId": "one", "Data": {"a": 1}},
        {"Status": "FAILED", "UniqueId": "one", "Reason": "as a custom resource"},
    ],
    ids=lambda body: json.dumps(body) if isinstance(body, dict) else body.decode(),
)
def test_what_is_no_signal_fails_the_condition(stacks: Stacks, body: Untyped) -> None:
    """
    S3 takes it, CloudFormation cannot read it.
    """
    stack = Waiting(stacks, waiting())

    assert send(stack.handle(), body) == ""

    assert stack.ended() == "ROLLBACK_COMPLETE"
    assert stack.failure() == "Unparsable WaitCondition data"


def test_the_address_takes_nothing_but_what_it_is_signed_for(stacks: Stacks) -> None:
    """
    A PUT without a content type; nothing of what is refused counts.
    """
    stack = Waiting(stacks, waiting())
    url = stack.handle()
    signal = success("one")

    assert REFUSED in send(url, signal, kind="application/json")
    assert REFUSED in send(url, signal, method="POST")
    assert REFUSED in send(url.partition("?")[0], signal)
    assert REFUSED in send(f"{url}0", signal)
    assert REFUSED in send(url.replace("Handle", "Other"), signal)
    assert stacks.status(stack.name) == "CREATE_IN_PROGRESS"
    stacks.delete(stack.name)


def test_signals_count_that_come_before_the_condition(stacks: Stacks) -> None:
    """
    A condition of a later update sees what its handle has heard by then.
    """
    name, early = unique("stack"), waiting()
    condition = early["Resources"].pop("Condition")
    output = early.pop("Outputs")
    assert stacks.create(name, early) == "CREATE_COMPLETE"
    url = stacks.physical_ids(name)["Handle"]
    send(url, success("early", Data="bird"))

    later: Template = {
        "Resources": {**early["Resources"], "Condition": condition},
        "Outputs": output,
    }
    assert stacks.update(name, later) == "UPDATE_COMPLETE"

    assert stacks.outputs(name) == {"Data": '{"early":"bird"}'}


@pytest.mark.parametrize("received", [0, 1])
def test_the_wait_is_over_after_its_time(slow: EmbeddedAws, received: int) -> None:
    """
    By the clock in there.
    """
    stacks = Stacks(slow)
    stack = Waiting(stacks, waiting(Timeout=3600, Count=received + 1))
    for number in range(received):
        send(stack.handle(), success(str(number)))

    slow.advance(3599)
    assert stacks.status(stack.name) == "CREATE_IN_PROGRESS"
    slow.advance(1)
    assert stack.ended() == "ROLLBACK_COMPLETE"

    assert stack.failure() == (
        f"WaitCondition timed out. Received {received} conditions when expecting "
        f"{received + 1}"
    )
    begun, failed = (
        event["Timestamp"].timestamp()
        for status in ("CREATE_IN_PROGRESS", "CREATE_FAILED")
        for event in slow.client("cloudformation").describe_stack_events(
            StackName=stack.stack_id
        )["StackEvents"]
        if event["LogicalResourceId"] == "Condition"
        and event["ResourceStatus"] == status
    )
    assert failed - begun == pytest.approx(3600, abs=1)


def test_an_address_is_good_for_a_day(slow: EmbeddedAws) -> None:
    """
    As long as the longest wait and as long again.
    """
    stack = Waiting(Stacks(slow), waiting())
    url = stack.handle()
    assert send(url, success("one")) == ""

    slow.advance(86_401)

    assert "<Message>Request has expired</Message>" in send(url, success("two"))


def test_without_a_speed_the_wait_is_by_the_wall(stacks: Stacks) -> None:
    """
    Whoever signals takes time of this world.
    """
    stack = Waiting(stacks, waiting(Timeout="1"))

    assert stack.ended() == "ROLLBACK_COMPLETE"
    assert stack.failure().startswith("WaitCondition timed out. Received 0 conditions")


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"Timeout": 43_201}, "Timeout must be at most 43200"),
        ({"Timeout": "soon"}, "Timeout must be a whole number, got soon"),
        ({"Count": -1}, "Count must be a whole number, got -1"),
        ({"Handle": "http://localhost/else"}, "must be the Ref of a WaitCondition"),
        ({"Timeout": {"Ref": "AWS::NoValue"}}, "required key [Timeout] not found"),
    ],
    ids=["too long", "no number", "less than none", "another address", "no time"],
)
def test_wrong_properties_fail_at_once(
    stacks: Stacks, properties: dict[str, Any], reason: str
) -> None:
    """
    Nothing waits for what cannot come.
    """
    name = unique("stack")

    assert stacks.create(name, waiting(**properties)) == "ROLLBACK_COMPLETE"
    assert reason in failure(stacks, name, "Condition")


def test_the_longest_wait_is_half_a_day(stacks: Stacks) -> None:
    """
    And not a second more, as the test before has it.
    """
    stack = Waiting(stacks, waiting(Timeout=43_200))

    send(stack.handle(), success("one"))

    assert stack.ended() == "CREATE_COMPLETE"


def test_a_condition_cannot_be_changed(stacks: Stacks) -> None:
    """
    An update of it in place is refused, and goes back.
    """
    stack = Waiting(stacks, waiting())
    send(stack.handle(), success("one"))
    stack.ended()

    changed = stacks.update(stack.name, waiting(Count=2))

    assert changed == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.failure() == (
        "Update to resource type AWS::CloudFormation::WaitCondition is not supported"
    )


def test_another_wait_has_other_logical_ids(stacks: Stacks) -> None:
    """
    The new condition waits for signals of its own, and the old ones go.
    """
    stack = Waiting(stacks, waiting("A"))
    send(stack.handle("HandleA"), success("one"))
    stack.ended()

    assert stacks.update(stack.name, waiting("B")) == "UPDATE_IN_PROGRESS"
    send(stack.handle("HandleB"), success("two", Data="b"))

    assert stack.ended() == "UPDATE_COMPLETE"
    assert stacks.outputs(stack.name) == {"Data": '{"two":"b"}'}
    assert stacks.physical_ids(stack.name).keys() == {"HandleB", "ConditionB"}


def test_an_update_that_fails_to_wait_goes_back(stacks: Stacks) -> None:
    """
    To the condition there was.
    """
    stack = Waiting(stacks, waiting("A"))
    send(stack.handle("HandleA"), success("one"))
    stack.ended()
    stacks.update(stack.name, waiting("B"))

    send(
        stack.handle("HandleB"),
        {"Status": "FAILURE", "UniqueId": "two", "Reason": "no"},
    )

    assert stack.ended() == "UPDATE_ROLLBACK_COMPLETE"
    assert stack.failure("ConditionB").startswith("WaitCondition received failed")
    assert stacks.physical_ids(stack.name).keys() == {"HandleA", "ConditionA"}


def test_a_stack_that_waits_can_be_deleted(stacks: Stacks) -> None:
    """
    At once; what signals afterwards is heard by nobody.
    """
    stack = Waiting(stacks, waiting())
    url = stack.handle()

    stacks.delete(stack.name)

    assert at_rest(stacks, stack.stack_id) == "DELETE_COMPLETE"
    assert send(url, success("late")) == ""


def test_a_nested_stack_that_waits_goes_with_its_parent(
    near_aws: EmbeddedAws, stacks: Stacks
) -> None:
    """
    Its wait is over as well.
    """
    s3, bucket = near_aws.client("s3"), unique("templates")
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="inner.json", Body=json.dumps(waiting()).encode())
    url = f"https://{bucket}.s3.us-east-1.amazonaws.com/inner.json"
    inner = {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": url}}
    stack = Waiting(stacks, {"Resources": {"Inner": inner}})

    stacks.delete(stack.name)

    assert at_rest(stacks, stack.stack_id) == "DELETE_COMPLETE"
