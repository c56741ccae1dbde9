"""
What a client does where it is told nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from cdk_sagemaker_llm.client import (
    AsyncLlmClient,
    BaseClient,
    ContextTooLongError,
    Generation,
    LlmClient,
    NoCapacityError,
    Timeouts,
    Token,
)

OF_A_CLIENT = {
    "component": None,
    "variant": None,
    "container": None,
    "prefix_aware_id": None,
    "schema": None,
    "format": None,
    "timeouts": None,
    "retries": 3,
    "wait_for_capacity": 600.0,
    "on_wait": None,
    "max_bytes": 32 * 1024 * 1024,
    "max_connections": 500,
    "custom_attributes": None,
    "region": None,
    "endpoint_url": None,
    "session": None,
    "config": None,
}


def defaults(made: Callable[..., object]) -> dict[str, Any]:
    """
    Return the arguments that can be omitted, and what they are then.
    """
    parameters = inspect.signature(made).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not one.empty}


@pytest.mark.parametrize("client", [BaseClient, LlmClient, AsyncLlmClient])
def test_a_client_is_made_alike_whichever_it_is(client: type[BaseClient]) -> None:
    """
    With three more tries, and ten minutes for a copy that wakes up.
    """
    assert defaults(client) == OF_A_CLIENT


@pytest.mark.parametrize("client", [LlmClient, AsyncLlmClient])
def test_a_question_is_asked_alike(client: type[LlmClient | AsyncLlmClient]) -> None:
    """
    Of one client and the other.
    """
    assert defaults(client.continue_to_end) == {
        "max_requests": 16,
        "max_total_tokens": None,
    }
    assert defaults(client.from_ssm) == {"region": None, "ssm_endpoint_url": None}
    assert defaults(client.embed) == {"parameters": None}
    assert defaults(client.rerank) == {"top_n": None, "parameters": None}


def test_what_is_not_said_is_not_known() -> None:
    """
    Of a token, an answer, a patience and an error.
    """
    assert Timeouts() == Timeouts(connect=10.0, read=120.0, total=None)
    assert defaults(Token) == {
        "token_id": None,
        "log_prob": None,
        "special": False,
        "reasoning": "",
        "finish_reason": None,
        "tool_calls": (),
        "usage": None,
        "index": 0,
    }
    assert defaults(Generation) == {
        "tokens": (),
        "finish_reason": None,
        "reasoning": "",
        "tool_calls": (),
        "usage": None,
        "alternatives": (),
        "embeddings": None,
        "ranking": None,
        "requests": 1,
    }
    assert defaults(NoCapacityError) == {"waited": 0.0}
    assert defaults(ContextTooLongError) == {
        "status": None,
        "model_message": "",
        "limit": None,
        "requested": None,
    }
