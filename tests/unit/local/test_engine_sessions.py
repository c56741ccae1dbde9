"""
Sessions of vLLM's images: begun, held, ended and refused.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.engines.answering import answer
from cdk_sagemaker_llm.local.runtime.engines.asked import Asked
from cdk_sagemaker_llm.local.runtime.engines.sessions import Sessions
from cdk_sagemaker_llm.local.runtime.engines.started import EngineError, StartedEngine
from tests.unit.local.engine_requests import QUESTION, nested, refused, said, started

NEW, CLOSE = {"requestType": "NEW_SESSION"}, {"requestType": "CLOSE"}
OFF = "Invalid payload. stateful sessions not enabled"


def vllm(**variables: str) -> StartedEngine:
    """
    Start vLLM with sessions, unless something else is said.
    """
    on = {"SAGEMAKER_ENABLE_STATEFUL_SESSIONS": "true"}
    model = {"SM_VLLM_MODEL": "Qwen/Qwen3-0.6B"}
    return started("vllm-server", "2.6", **{**model, **on, **variables})


def begin(engine: StartedEngine, sessions: Sessions, moment: float) -> Answer:
    """
    Begin a session.
    """
    body = b'{"requestType":"NEW_SESSION"}'
    return answer(engine, Asked(body=body, sessions=sessions, moment=moment))


def test_a_session_begins_is_held_and_ends() -> None:
    """
    Its name and its end are in a header; what ended it in another.
    """
    engine, sessions = vllm(), Sessions()
    begun = begin(engine, sessions, 0.0)
    told = begun.headers["X-Amzn-SageMaker-New-Session-Id"]
    name, _, end = told.partition("; ")
    assert re.fullmatch(r"[0-9a-f-]{36}", name)
    assert end == "Expires=1970-01-01T00:20:00Z"
    assert begun.pieces == [f"Session {name} created".encode()]
    here: dict[str, Any] = {"session": name, "sessions": sessions, "moment": 1200.0}
    assert said(engine, QUESTION, **here)["choices"]
    closed = answer(engine, Asked(body=b'{"requestType":"CLOSE"}', **here))
    assert closed.headers == {"X-Amzn-SageMaker-Closed-Session-Id": name}
    assert refused(engine, QUESTION, **here) == nested(
        f"Bad request: session not found: {name}", kind="Bad Request"
    )


def test_a_session_that_has_ended_passes_once() -> None:
    """
    The manager forgets it then.
    """
    engine, sessions = vllm(SAGEMAKER_SESSIONS_EXPIRATION="60"), Sessions()
    begin(engine, sessions, 0.0)
    (name,) = sessions.ends
    late: dict[str, Any] = {"session": name, "sessions": sessions, "moment": 61.0}
    assert said(engine, QUESTION, **late)
    assert refused(engine, QUESTION, **late)[0] == 400


def test_an_ended_session_goes_when_another_begins() -> None:
    """
    One that lasts stays.
    """
    engine, sessions = vllm(SAGEMAKER_SESSIONS_EXPIRATION="60"), Sessions()
    for moment in (0.0, 30.0, 61.0):
        begin(engine, sessions, moment)
    assert len(sessions.ends) == 2


def test_a_session_lasts_up_to_its_end() -> None:
    """
    At that very moment it is there yet.
    """
    sessions = Sessions({"one": 60.0})
    sessions.begin(60.0, 1)
    sessions.hold("one", 60.0)
    assert "one" in sessions.ends
    sessions.begin(60.5, 1)
    assert "one" not in sessions.ends


def test_sessions_are_off_if_nothing_is_said() -> None:
    """
    Then nothing of a session is taken.
    """
    engine = vllm(SAGEMAKER_ENABLE_STATEFUL_SESSIONS="false")
    for body in (NEW, CLOSE):
        assert refused(engine, body) == nested(OFF, kind="Bad Request")
    assert refused(engine, QUESTION, session="one") == nested(
        f"{OFF}, X-Amzn-SageMaker-Session-Id header not supported", kind="Bad Request"
    )
    assert said(engine, QUESTION)


def test_closing_needs_a_session() -> None:
    """
    Without a header it fails; with an unknown one it is a bad request.
    """
    assert refused(vllm(), CLOSE) == nested(
        "Failed to close session: invalid session_id: None",
        kind="Failed Dependency",
        code=424,
    )
    assert refused(vllm(), CLOSE, session="one")[0] == 400


def test_the_body_has_nothing_beside() -> None:
    """
    Nor another word.
    """
    assert refused(vllm(), {**NEW, "x": 1}) == nested(
        '[{"type":"extra_forbidden","loc":["x"],"msg":"Extra inputs are not '
        'permitted","input":1}]',
        kind="Bad Request",
    )
    status, told = refused(vllm(), {"requestType": "OPEN"})
    assert status == 400
    assert "Input should be 'NEW_SESSION' or 'CLOSE'" in told


def test_the_services_own_word_is_no_session() -> None:
    """
    A client that asks SageMaker for a session sends it beside the body.
    """
    sessions = Sessions()
    here: dict[str, Any] = {"session": "NEW_SESSION", "sessions": sessions}
    assert said(vllm(), QUESTION, **here)
    answer(vllm(), Asked(body=b'{"requestType":"NEW_SESSION"}', **here))
    assert len(sessions.ends) == 1


@pytest.mark.parametrize("seconds", ["0", "soon"])
def test_sessions_last_some_time(seconds: str) -> None:
    """
    Otherwise the container does not start.
    """
    with pytest.raises(EngineError, match="sessions_expiration"):
        vllm(SAGEMAKER_SESSIONS_EXPIRATION=seconds)
