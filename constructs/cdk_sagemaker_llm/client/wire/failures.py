"""
Error objects, as each container writes them, and how each engine says that prompt and
answer do not fit the model's context.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from cdk_sagemaker_llm.client.wire.step import Record, as_count, as_text

# In the engines' words: LIMIT fits, ASKED was asked for, and MORE on top of it.
_SAYINGS = (
    # vLLM up to 0.15, whose prompt alone fits: prompt and answer apart.
    "is too large: MORE\\..*maximum context length is LIMIT tokens.*?has ASKED input",
    # vLLM from 0.18 on: prompt and answer apart, and their sum.
    "maximum context length is LIMIT tokens.*for a total of (?:at least )?ASKED",
    # vLLM before, SGLang's other form, OpenAI: the sum, or the prompt alone. What
    # vLLM counts in characters, or of the answer alone, is neither.
    r"context length is LIMIT tokens.*?VERB(?: about| at least)? ASKED\b(?! char| out)",
    "maximum context length of LIMIT tokens(?:.*?a total of ASKED)?",
    "maximum context length is LIMIT tokens",
    # vLLM 0.16 and 0.17: prompt and answer apart, or the prompt's characters.
    "passed ASKED input tokens and requested MORE output.*?length is only LIMIT tokens",
    "context length is only LIMIT tokens",
    # vLLM from 0.16 on: an answer that would not fit without any prompt.
    "max_[a-z_]*tokens=ASKED ?cannot be greater than [a-z_=]+=LIMIT",
    # vLLM's engine.
    r"prompt \(length ASKED\).*?longer than the maximum model length of LIMIT",
    r"\(total length ASKED\) is too long to fit .{,20}\(context length LIMIT\)",
    "longer than the maximum model length of LIMIT",
    # SGLang: its tokenizer, and its scheduler.
    r"input \(ASKED tokens\) is longer than .{,20}context length \(LIMIT tokens\)",
    r"length \(ASKED tokens\) exceeds the maximum allowed length \(LIMIT tokens\)",
    # TGI: the sum of both, and the prompt alone; TEI says it as the latter.
    r"must be <= LIMIT\. Given: ASKED `inputs` tokens(?: and MORE `max_new_tokens`)?",
    r"`inputs` must have less than LIMIT tokens\. Given: ASKED",
    # llama.cpp: before it begins, and in the middle of an answer.
    r"request \(ASKED tokens\) exceeds the available context size \(LIMIT tokens\)",
    r"input \(ASKED tokens\) is larger than the max context size \(LIMIT tokens\)",
    "exceeds? the (?:available )?context size",
    "is larger than the max context size",
    "context size has been exceeded",
    # LMI's rolling batch: on vLLM, and on TensorRT-LLM.
    r"prompt \(ASKED tokens\) is too long and exceeds (?:the )?limit of LIMIT",
    r"prompt length \(ASKED\) exceeds maximum input length \(LIMIT\)",
)
_NUMBERS = {"LIMIT": "limit", "ASKED": "asked", "MORE": "more"}


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


def context_of(failure: Failure) -> tuple[int | None, int | None] | None:
    """
    Return how many tokens fit and how many were requested; ``None`` if they do fit.
    """
    if failure.kind == "exceed_context_size_error":
        return failure.limit, failure.requested
    for pattern in _PATTERNS:
        found = pattern.search(failure.message)
        if found:
            numbers = {
                name: int(digits)
                for name, digits in found.groupdict().items()
                if digits
            }
            requested = numbers.get("asked")
            if requested is not None:
                requested += numbers.get("more", 0)
            return numbers.get("limit"), requested
    return None


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


def _compiled(saying: str) -> re.Pattern[str]:
    saying = saying.replace("VERB", "(?:requested|has|contains|resulted in)")
    for word, name in _NUMBERS.items():
        saying = saying.replace(word, rf"(?P<{name}>\d+)")
    return re.compile(saying, re.IGNORECASE | re.DOTALL)


_PATTERNS = tuple(map(_compiled, _SAYINGS))
