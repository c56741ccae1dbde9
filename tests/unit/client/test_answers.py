"""
The types, and what they compute.
"""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from typing import Any

import pytest

from cdk_sagemaker_llm import client
from cdk_sagemaker_llm.client import (
    ConnectionCutError,
    FinishReason,
    Generation,
    LlmClient,
    LlmError,
    ModelError,
    Timeouts,
    Token,
    ToolCall,
    Usage,
    confidence,
    gather,
)
from cdk_sagemaker_llm.client.asking import chain
from cdk_sagemaker_llm.client.runtime import Settings

LAST = Token("a", 1, -0.5, finish_reason=FinishReason.LENGTH, usage=Usage(10, 5))
TOKENS = (Token("a", 1, -0.5), Token("b"), Token("c", 2, -1.5))


def test_confidence_is_exp_of_the_mean() -> None:
    """
    Of the tokens that have a log probability.
    """
    assert confidence(TOKENS) == pytest.approx(math.exp(-1))
    assert Generation("abc", TOKENS).confidence == confidence(TOKENS)
    assert LlmClient.confidence(TOKENS) == confidence(TOKENS)
    assert confidence([Token("a", 1, 0.0)]) == 1
    assert confidence([Token("a", 1, 1e-9)]) == 1
    assert confidence([Token("a", 1, -math.inf)]) == 0


def test_no_confidence_without_log_probabilities() -> None:
    """
    None is not zero.
    """
    assert confidence([]) is None
    assert confidence([Token("b")]) is None


def test_tokens_are_counted_by_the_engine_or_as_they_came() -> None:
    """
    The engine's number wins.
    """
    assert Generation("abc", TOKENS).completion_tokens == 3
    assert Generation("abc", TOKENS, usage=Usage(1, 7)).completion_tokens == 7
    assert Generation("abc", TOKENS, usage=Usage(1)).completion_tokens == 3


def test_an_answer_took_one_request_unless_it_was_continued() -> None:
    """
    As a chat that goes on at its limit was.
    """
    assert Generation("abc").requests == 1
    assert Generation("abc", requests=3).requests == 3


def test_tokens_are_put_together() -> None:
    """
    The mark of the end is no token.
    """
    end = Token("", finish_reason=FinishReason.STOP, usage=Usage(1, 3))
    found = gather([*TOKENS, end])

    assert found == Generation("abc", TOKENS, FinishReason.STOP, usage=Usage(1, 3))
    assert gather([]) == Generation("")


class TestChain:
    """
    Asking again with the text so far.
    """

    def test_it_stops_where_nothing_comes(self) -> None:
        """
        An answer without a text would come for ever.
        """
        asked: list[str] = []

        def ask(so_far: str) -> Generation:
            asked.append(so_far)
            text = "a" if len(asked) == 1 else ""
            return Generation(text, finish_reason=FinishReason.LENGTH)

        found = chain(ask, 10)
        assert asked == ["", "a"]
        assert (found.text, found.requests) == ("a", 2)

    @pytest.mark.parametrize(
        ("max_requests", "max_total_tokens", "requests"),
        [(3, None, 3), (10, 9, 2), (10, 10, 2), (10, 11, 3), (1, None, 1)],
    )
    def test_it_stops_at_its_bounds(
        self, max_requests: int, max_total_tokens: int | None, requests: int
    ) -> None:
        """
        After so many requests, or with so many tokens, of five in each.
        """

        def ask(so_far: str) -> Generation:
            usage = Usage(10 + len(so_far), 5)
            reasoning = "" if so_far else "Hm"
            return Generation(
                "a", (LAST,), FinishReason.LENGTH, reasoning=reasoning, usage=usage
            )

        found = chain(ask, max_requests, max_total_tokens)
        inner = Token("a", 1, -0.5)
        assert found == Generation(
            "a" * requests,
            (*[inner] * (requests - 1), LAST),
            FinishReason.LENGTH,
            reasoning="Hm",
            usage=Usage(10, 5 * requests),
            requests=requests,
        )

    def test_it_stops_at_the_end(self) -> None:
        """
        With what the last answer ends in.
        """
        call = ToolCall("f", "{}")
        parts = [
            Generation("a", finish_reason=FinishReason.LENGTH),
            Generation("b", finish_reason=FinishReason.TOOL_CALLS, tool_calls=(call,)),
        ]
        found = chain(lambda so_far: parts[len(so_far)], 10)

        assert (found.text, found.tool_calls) == ("ab", (call,))
        assert found.finish_reason is FinishReason.TOOL_CALLS
        assert found.usage == Usage(None, 0)

    def test_fails_if_nothing_may_be_asked(self) -> None:
        """
        Before anything is.
        """
        with (
            LlmClient("chat", region="us-east-1") as asked,
            pytest.raises(ValueError, match="max_requests must be at least 1, got 0"),
        ):
            asked.continue_to_end("Who?", max_requests=0)

    def test_an_error_keeps_what_all_of_them_brought(self) -> None:
        """
        Not only the last.
        """

        def ask(so_far: str) -> Generation:
            if so_far:
                raise ConnectionCutError("cut", text="b")
            return Generation("a", finish_reason=FinishReason.LENGTH)

        with pytest.raises(LlmError) as caught:
            chain(ask, 10)
        assert caught.value.text == "ab"


def test_errors_are_one_family() -> None:
    """
    Each says what to do, and is what Python calls such a thing.
    """
    names = [name for name in client.__all__ if name.endswith("Error")]
    family = [getattr(client, name) for name in names]

    assert len(family) >= 13
    assert all(issubclass(one, LlmError) for one in family)
    assert issubclass(client.AnswerTimeoutError, TimeoutError)
    assert issubclass(ConnectionCutError, ConnectionError)
    assert str(ModelError("it failed", remedy="mend it")) == "it failed; mend it"
    assert str(LlmError("it failed")) == "it failed"


@pytest.mark.parametrize("name", ["connect", "read", "total"])
@pytest.mark.parametrize(
    ("seconds", "rule"),
    [
        (0, "more than 0 s, got 0"),
        (-1, "more than 0 s, got -1"),
        (float("nan"), "more than 0 s, got nan"),
        ("1", "a number of seconds, got '1'"),
        (None, "a number of seconds, got None"),
        (float("inf"), "less than 1,000,000,000 s, got inf"),
    ],
)
def test_fails_if_a_timeout_is_none(name: str, seconds: object, rule: str) -> None:
    """
    No time is infinite by accident; only the whole may take for ever.
    """
    if name == "total" and seconds is None:
        assert Timeouts(total=None).total is None
        return
    with pytest.raises(ValueError, match=f"{name} must be {rule}"):
        Timeouts(**{name: seconds})  # type: ignore[arg-type]  # on purpose


def test_the_defaults() -> None:
    """
    Which the documents name; those of a client are those of its settings.
    """
    taken = inspect.signature(LlmClient).parameters
    settings = Settings()
    names = ("retries", "wait_for_capacity", "max_bytes", "max_connections")

    assert settings.timeouts == Timeouts(connect=10, read=120, total=None)
    assert [getattr(settings, name) for name in names] == [3, 600, 33_554_432, 500]
    for name in names:
        assert taken[name].default == getattr(settings, name)
    for kind in (LlmClient, client.AsyncLlmClient):
        chained = inspect.signature(kind.continue_to_end).parameters
        assert chained["max_requests"].default == 16


def test_a_time_has_an_end() -> None:
    """
    Thirty years are more than any socket takes.
    """
    assert Timeouts(read=1e9 - 1).read == 1e9 - 1
    with pytest.raises(ValueError, match="read must be less than 1,000,000,000 s"):
        Timeouts(read=1e9)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("retries", 0),
        ("wait_for_capacity", 0),
        ("max_bytes", 1),
        ("max_connections", 1),
    ],
)
def test_fails_if_a_setting_is_out_of_bounds(name: str, least: int) -> None:
    """
    Both sides of each bound.
    """
    at_least: dict[str, Any] = {name: least}
    too_few: dict[str, Any] = {name: least - 1}

    assert getattr(Settings(**at_least), name) == least
    with pytest.raises(ValueError, match=f"{name} must be at least {least}, got"):
        Settings(**too_few)


@pytest.mark.parametrize(
    ("name", "heavy"),
    [
        ("read_stream", "boto3 botocore aws_cdk asyncio logging"),
        ("LlmClient", "boto3 aws_cdk asyncio"),
    ],
)
def test_what_is_loaded(name: str, heavy: str) -> None:
    """
    The reader needs nothing; the client loads boto3 when one is made.
    """
    code = (
        f"import sys; from cdk_sagemaker_llm.client import {name};"
        f"print([m for m in {heavy.split()} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
