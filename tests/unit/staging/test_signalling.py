"""
What CloudFormation is told: of a reason, of work that has ended, of a request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from cdk_sagemaker_llm.staging.builds import answered, is_new, token_of
from cdk_sagemaker_llm.staging.signalling import (
    StagingError,
    answer,
    ended,
    put,
    shortened,
)
from tests.local.staging.listener import Listener, Told


@pytest.fixture(name="told")
def _told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield Told(server)
        server.shutdown()
        thread.join()


def read(order: object) -> str:
    """
    Read an order, which may be none.
    """
    if isinstance(order, Exception):
        raise order
    return str(order)


@pytest.mark.parametrize(
    ("order", "fault", "reason", "unique_id"),
    [
        ("mine", None, "", "id of mine"),
        ("mine", StagingError("no room"), "no room", "id of mine"),
        ("mine", KeyError("a"), "KeyError: 'a'", "id of mine"),
        (StagingError("none"), None, "none", "otherwise"),
        (ValueError("none"), None, "ValueError: none", "otherwise"),
    ],
)
@pytest.mark.parametrize("has_handle", [True, False])
def test_work_that_has_ended_is_told(
    told: Told,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    order: object,
    fault: Exception | None,
    reason: str,
    unique_id: str,
    *,
    has_handle: bool,
) -> None:
    """
    To whoever waits for it, in the log, and by its status.
    """
    monkeypatch.delenv("STAGING_HANDLE", raising=False)
    if has_handle:
        monkeypatch.setenv("STAGING_HANDLE", f"{told.url}/handle")
    done: list[str] = []

    def do(order: str) -> None:
        done.append(order)
        if fault is not None:
            raise fault

    status = ended(
        lambda: read(order),
        do,
        named=lambda order: f"id of {order}",
        otherwise="otherwise",
        failed="not done",
    )

    assert status == (1 if reason else 0)
    assert done == ["mine"] * (order == "mine")
    assert capsys.readouterr().out == (f"not done: {reason}\n" if reason else "")
    signal = {
        "Status": "FAILURE" if reason else "SUCCESS",
        "Reason": reason or "staged",
        "UniqueId": unique_id,
        "Data": "",
    }
    assert told.heard == [("/handle", signal)] * has_handle


def event(told: Told, **more: object) -> dict[str, Any]:
    """
    Write what CloudFormation sends.
    """
    return {
        "ResponseURL": f"{told.url}/answer",
        "RequestId": "r",
        "StackId": "s",
        "LogicalResourceId": "l",
        **more,
    }


def answer_of(status: str, reason: str, made: str) -> dict[str, object]:
    """
    Write what CloudFormation is answered.
    """
    return {
        "Status": status,
        "Reason": reason,
        "PhysicalResourceId": made,
        "StackId": "s",
        "RequestId": "r",
        "LogicalResourceId": "l",
        "Data": {},
    }


def test_a_request_is_answered(told: Told) -> None:
    """
    Without a reason it succeeded.
    """
    answer(event(told), "made", "")
    answer(event(told), "made", "x" * 3001)

    assert told.at("/answer") == [
        answer_of("SUCCESS", "", "made"),
        answer_of("FAILED", "x" * 3000, "made"),
    ]


@pytest.mark.parametrize(
    ("more", "act", "expected"),
    [
        ({}, "new", ("SUCCESS", "", "new")),
        ({"PhysicalResourceId": "old"}, "new", ("SUCCESS", "", "new")),
        ({}, StagingError("no room"), ("FAILED", "no room", "nothing")),
        (
            {"PhysicalResourceId": "old"},
            StagingError("no room"),
            ("FAILED", "no room", "old"),
        ),
        ({}, KeyError("a"), ("FAILED", "KeyError: 'a'", "nothing")),
    ],
)
def test_what_was_made_is_answered(
    told: Told,
    capsys: pytest.CaptureFixture[str],
    more: dict[str, str],
    act: object,
    expected: tuple[str, str, str],
) -> None:
    """
    Or what was there before, where nothing could be; the log has the reason.
    """

    def made(given: Mapping[str, Any]) -> str:
        assert given["RequestId"] == "r"
        return read(act)

    answered(event(told, **more), made, nothing="nothing")

    assert told.at("/answer") == [answer_of(*expected)]
    assert capsys.readouterr().out == (f"{expected[1]}\n" if expected[1] else "")


@pytest.mark.parametrize(
    ("old", "expected"), [({}, True), ({"Handle": "a"}, True), ({"Handle": "b"}, False)]
)
def test_a_new_handle_is_a_new_order(old: dict[str, str], *, expected: bool) -> None:
    """
    Whatever else has changed.
    """
    properties = {"Handle": "b", "Other": "c"}
    given = {"ResourceProperties": properties, "OldResourceProperties": old}

    assert is_new(given) is expected
    assert is_new({"ResourceProperties": properties})


def test_a_token_is_that_of_its_request() -> None:
    """
    Of as many characters as the API takes.
    """
    # printf first | sha256sum, its first 32 characters.
    assert token_of({"RequestId": "first"}) == "a7937b64b8caa58f03721bb6bacf5c78"


@pytest.mark.parametrize("url", ["file:///a", "ftp://a", ""])
def test_an_address_is_one_of_the_web(url: str) -> None:
    """
    A file is none.
    """
    with pytest.raises(ValueError, match="^url must be a presigned address, got "):
        put(url, {})


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("gone", 4),
        ("a" * 3000, 3000),
        ("a" * 3001, 3000),
        # A character beyond ASCII takes six bytes of JSON, and a quote two.
        ("ü" * 500, 500),
        ("ü" * 501, 450),
        ('"' * 3000, 1433),
    ],
)
def test_a_reason_has_room_in_an_answer(reason: str, kept: int) -> None:
    """
    CloudFormation refuses an answer of more than 4096 bytes, in words of its own.
    """
    found = shortened(reason)

    assert len(found) == kept
    assert reason.startswith(found)
    assert len(json.dumps(found)) <= 3002
