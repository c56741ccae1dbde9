"""
Error objects, as each container writes them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from cdk_sagemaker_llm.client.wire.step import Record, as_count, as_text


@dataclass(frozen=True, slots=True)
class Failure:
    """
    What a container says went wrong.

    Args:
        limit: How many tokens fit. If omitted, it did not say in a field.

        requested: How many were asked for. If omitted, it did not say in a field.
    """

    message: str
    status: int | None = None
    kind: str = ""
    limit: int | None = None
    requested: int | None = None


def failure_in(record: Record) -> Failure | None:
    """
    Return the error in a record; ``None`` if the record is no error.

    It may be an object of its own (vLLM, llama.cpp, TGI's chats), or flat: a text and
    its type (TGI, TEI), a code and a text (LMI), OpenAI's fields (SGLang), a detail
    (FastAPI).
    """
    if not isinstance(record, dict):
        return None
    error = record.get("error")
    if isinstance(error, dict):
        return _of(error)
    has_code = as_count(record.get("code")) is not None
    is_flat = has_code and ("error" in record or "message" in record)
    if error or is_flat or record.get("object") == "error":
        return _of(record)
    if set(record) <= {"detail", "message", "Message"} and record:
        return Failure(_words(next(iter(record.values()))))
    return None


def failed_midway(record: Record, details: Record) -> Failure | None:
    """
    Return the error of a stream whose finish reason says so (LMI from 0.28 on).
    """
    if not isinstance(details, dict) or details.get("finish_reason") != "error":
        return None
    token = record.get("token")
    message = token.get("error_msg") if isinstance(token, dict) else None
    return Failure(
        _words(message or record.get("error") or ""), as_count(record.get("code"))
    )


def read_failure(body: str) -> Failure:
    """
    Read the body of an answer that was no success, which may be plain text.
    """
    try:
        found = failure_in(json.loads(body))
    except (ValueError, RecursionError):
        found = None
    return found or Failure(body.strip())


def _of(error: dict[str, Record]) -> Failure:
    message = error.get("message")
    if message is None:
        message = error.get("error")
    status = as_count(error.get("code"))
    if status is None:
        status = as_count(error.get("http_status_code"))
    return Failure(
        _words(message),
        status,
        as_text(error.get("type")) or as_text(error.get("error_type")),
        as_count(error.get("n_ctx")),
        as_count(error.get("n_prompt_tokens")),
    )


def _words(message: Record) -> str:
    if message is None:
        return ""
    return (
        message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
    )
