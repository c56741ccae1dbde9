"""
From a container's error to the exception that says what to do.
"""

from __future__ import annotations

from cdk_sagemaker_llm.client.errors import (
    AnswerTimeoutError,
    ContextTooLongError,
    LlmError,
    ModelError,
    ThrottledError,
)
from cdk_sagemaker_llm.client.learning import schema_wanted
from cdk_sagemaker_llm.client.requests import Schema
from cdk_sagemaker_llm.client.too_long import numbers_of
from cdk_sagemaker_llm.client.wire.failures import Failure

_TOO_MANY = 429
_EXCERPT = 500
_REMEDIES = {
    Schema.OPENAI: "it takes OpenAI's requests: LlmClient(..., schema='openai'), or "
    "chat()",
    Schema.CHAT: "it takes chats alone: LlmClient(..., schema='chat'), or chat()",
}
# What TEI's router says to a body without what its model is asked with.
_MISSING = {
    "missing field `inputs`": "it is asked with texts alone: use embed() for a model "
    "that makes vectors",
    "missing field `query`": "it ranks texts: use rerank()",
}

# The words of SageMaker for a container that did not answer in time.
_TOO_SLOW = "timed out while waiting for a response from container"


def error_of(failure: Failure) -> LlmError:
    """
    Make the exception for what a container said.
    """
    said = failure.message
    told = _told(failure)
    too_long = numbers_of(failure)
    if too_long is not None:
        limit, requested = too_long
        return ContextTooLongError(
            told,
            status=failure.status,
            model_message=said,
            limit=limit,
            requested=requested,
        )
    if failure.status == _TOO_MANY:
        return ThrottledError(told)
    if _TOO_SLOW in said:
        return AnswerTimeoutError(told)
    return ModelError(
        told,
        status=failure.status,
        model_message=said,
        remedy=_remedy(failure),
    )


def _told(failure: Failure) -> str:
    status = f" with status {failure.status}" if failure.status else ""
    said = failure.message or failure.kind
    shown = said[:_EXCERPT] + ("..." if len(said) > _EXCERPT else "")
    return (
        f"the container failed{status}: {shown}"
        if shown
        else (f"the container failed{status} and said nothing")
    )


def _remedy(failure: Failure) -> str:
    wanted = schema_wanted(failure.message)
    if wanted is not None:
        return _REMEDIES[wanted]
    for words, remedy in _MISSING.items():
        if words in failure.message:
            return remedy
    if failure.status == 503:  # noqa: PLR2004 - HTTP's number
        return "its queue is full or its engine is down: scale out, or read its log"
    if failure.status is not None and failure.status < 500:  # noqa: PLR2004 - HTTP's line
        return "correct the request as the container says"
    return ""
