"""
Sessions, as vLLM's images answer for them.

What model-hosting-container-standards 0.1.16 puts before vLLM's own handler: it reads
every body first, and refuses sessions where they are not switched on.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.local.runtime.answers import Answer
from cdk_sagemaker_llm.local.runtime.engines.asked import Asked
from cdk_sagemaker_llm.local.runtime.engines.refusals import raised
from cdk_sagemaker_llm.local.runtime.engines.sessions import SessionFaultError
from cdk_sagemaker_llm.local.runtime.engines.shapes import dump
from cdk_sagemaker_llm.local.runtime.engines.started import StartedEngine

NEW_SESSION_HEADER = "X-Amzn-SageMaker-New-Session-Id"
CLOSED_SESSION_HEADER = "X-Amzn-SageMaker-Closed-Session-Id"
_NEW, _CLOSE, _TYPE = "NEW_SESSION", "CLOSE", "requestType"
_OFF = "Invalid payload. stateful sessions not enabled"
_OFF_FOR_HEADER = f"{_OFF}, X-Amzn-SageMaker-Session-Id header not supported"
_SECONDS = 1200.0


def answer_session(
    engine: StartedEngine, request: dict[str, Any], asked: Asked
) -> Answer | None:
    """
    Answer what is asked of a session; ``None`` for what is asked of the model.

    Raises:
        RefusedError: If sessions are off, or the session is not there.
    """
    wanted = _wanted(request)
    is_on = _is_on(engine)
    if wanted is not None and not is_on:
        raise raised(_OFF)
    if asked.session is not None and not is_on:
        raise raised(_OFF_FOR_HEADER)
    if asked.session and asked.session != _NEW:
        try:
            asked.sessions.hold(asked.session, asked.moment)
        except SessionFaultError as fault:
            raise raised(f"Bad request: {fault}") from fault
    if wanted is None:
        return None
    return _begun(engine, asked) if wanted == _NEW else _closed(asked)


def _begun(engine: StartedEngine, asked: Asked) -> Answer:
    lasts = float(engine.environment.get("SAGEMAKER_SESSIONS_EXPIRATION", _SECONDS))
    name = asked.sessions.begin(asked.moment, lasts)
    end = datetime.fromtimestamp(asked.sessions.ends[name], UTC)
    told = f"{name}; Expires={end:%Y-%m-%dT%H:%M:%SZ}"
    said = f"Session {name} created".encode()
    return Answer("", [said], headers={NEW_SESSION_HEADER: told})


def _closed(asked: Asked) -> Answer:
    try:
        asked.sessions.close(asked.session)
    except SessionFaultError as fault:
        raise raised(f"Failed to close session: {fault}", status=424) from fault
    said = f"Session {asked.session} closed".encode()
    return Answer("", [said], headers={CLOSED_SESSION_HEADER: str(asked.session)})


def _wanted(request: dict[str, Any]) -> str | None:
    """
    Return what a request wants of a session; it has to be its only field.
    """
    if _TYPE not in request:
        return None
    faults = []
    if request[_TYPE] not in (_NEW, _CLOSE):
        expected = f"'{_NEW}' or '{_CLOSE}'"
        faults.append(
            {
                "type": "enum",
                "loc": [_TYPE],
                "msg": f"Input should be {expected}",
                "input": request[_TYPE],
                "ctx": {"expected": expected},
            }
        )
    faults += [
        {
            "type": "extra_forbidden",
            "loc": [name],
            "msg": "Extra inputs are not permitted",
            "input": value,
        }
        for name, value in request.items()
        if name != _TYPE
    ]
    if faults:
        raise raised(dump(faults).decode())
    return str(request[_TYPE])


def _is_on(engine: StartedEngine) -> bool:
    told = engine.environment.get("SAGEMAKER_ENABLE_STATEFUL_SESSIONS", "")
    return told.lower() in {"true", "1"}
