"""
Fields of the formats that few engines write, or only some of their versions.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdk_sagemaker_llm.client import (
    FinishReason,
    Token,
    ToolCall,
    UnreadableAnswerError,
    Usage,
    read_body,
    read_embeddings,
    read_stream,
)
from tests.unit.client.wire_examples import (
    EMBEDDINGS,
    VECTORS,
    chunk,
    events,
    lines,
    logprobs,
)

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


def tokens_of(*records: object) -> list[Token]:
    """
    Read the tokens of a stream of events.
    """
    return list(read_stream([events(*records)]))


class TestChats:
    """
    OpenAI's chunks.
    """

    def test_a_text_beside_something_else(self) -> None:
        """
        Neither hides the other.
        """
        call = {"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}}
        thought, text, last = tokens_of(
            chunk({"content": "a", "reasoning": "Hm"}),
            chunk({"content": "b", "tool_calls": [call]}),
            chunk({}, "tool_calls"),
        )

        assert (thought.text, thought.reasoning) == ("a", "Hm")
        assert text.text == "b"
        assert last.tool_calls == (ToolCall("f", "{}", "1"),)

    def test_a_count_beside_a_text(self) -> None:
        """
        As with each chunk of vLLM's ``continuous_usage_stats``.
        """
        _, last = tokens_of({**chunk({"content": "a"}), "usage": USAGE}, chunk({}, "s"))

        assert last.usage == Usage(3, 2)

    @pytest.mark.parametrize(
        ("beside", "reason"),
        [
            ({"stop_reason": "###"}, FinishReason.STOP_SEQUENCE),
            ({"matched_stop": "###"}, FinishReason.STOP_SEQUENCE),
            ({"stop_reason": 128009}, FinishReason.STOP),
            ({"matched_stop": 128009}, FinishReason.STOP),
            ({"stop_reason": None}, FinishReason.STOP),
        ],
    )
    def test_what_it_stopped_at(
        self, beside: dict[str, Any], reason: FinishReason
    ) -> None:
        """
        A text is a stop sequence, and a number the end of the model's own.
        """
        (token,) = tokens_of(chunk({"content": "a"}, "stop", **beside))

        assert token.finish_reason is reason

    def test_ids_count_if_there_is_one_for_each_token(self) -> None:
        """
        Else those beside the log probabilities do, if there are.
        """
        scored = logprobs(("a", -0.5), ("b", -1.0))
        with_ids = {"content": [{**one, "id": 7} for one in scored["content"]]}
        text = {"content": "ab"}

        for beside, ids in (
            ({"logprobs": scored, "token_ids": [4, 5]}, [4, 5]),
            ({"logprobs": scored, "token_ids": [4, 5, 6]}, [None, None]),
            ({"logprobs": with_ids, "token_ids": [4]}, [7, 7]),
        ):
            tokens = tokens_of(chunk(text, "stop", **beside))
            assert [token.token_id for token in tokens] == ids
            assert [token.text for token in tokens] == ["a", "b"]

    def test_reasoning_of_several_tokens(self) -> None:
        """
        Each has its own; beside a text nobody knows whose it is.
        """
        scored = logprobs(("Hm", -0.5), (" ok", -1.0))
        first, second, _ = tokens_of(
            chunk({"reasoning": "Hm ok"}, logprobs=scored), chunk({}, "stop")
        )
        mixed, rest, _ = tokens_of(
            chunk({"reasoning": "Hm", "content": " ok"}, logprobs=scored),
            chunk({}, "stop"),
        )

        assert (first.reasoning, second.reasoning) == ("Hm", " ok")
        assert (mixed.reasoning, mixed.text) == ("Hm", " ok")
        assert (rest.reasoning, rest.text, rest.log_prob) == ("", "", -1.0)


class TestCompletions:
    """
    One list of tokens, one of their log probabilities, one of their ids.
    """

    @pytest.mark.parametrize(
        ("values", "ids", "expected"),
        [
            ([-0.5, -1.0], [4, 5], [(4, -0.5), (5, -1.0)]),
            ([-0.5], [4, 5], [(4, None), (5, None)]),
            ([-0.5, -1.0], [4], [(None, -0.5), (None, -1.0)]),
            (None, None, [(None, None), (None, None)]),
        ],
    )
    def test_lists_that_do_not_fit(
        self,
        values: list[float] | None,
        ids: list[int] | None,
        expected: list[tuple[int | None, float | None]],
    ) -> None:
        """
        Tell nothing, as nobody knows which token is missing.
        """
        scored = {"tokens": ["a", "b"], "token_logprobs": values}
        choice = {"text": "ab", "logprobs": scored, "token_ids": ids}
        body = {"choices": [{**choice, "finish_reason": "stop"}]}
        tokens = list(read_stream([json.dumps(body).encode()]))

        assert [(token.token_id, token.log_prob) for token in tokens] == expected


class TestReasons:
    """
    Why an answer ended, in the words of the engines.
    """

    @pytest.mark.parametrize(
        ("said", "reason"),
        [
            ("stop", FinishReason.STOP),
            ("eos_token", FinishReason.STOP),
            ("stop_sequence", FinishReason.STOP_SEQUENCE),
            ("length", FinishReason.LENGTH),
            ("tool_calls", FinishReason.TOOL_CALLS),
            ("function_call", FinishReason.TOOL_CALLS),
            ("content_filter", FinishReason.CONTENT_FILTER),
            ("abort", FinishReason.ABORT),
            (5, FinishReason.OTHER),
        ],
    )
    def test_every_word(self, said: object, reason: FinishReason) -> None:
        """
        Also one that is no word.
        """
        said_so = chunk({"content": "a"})
        said_so["choices"][0]["finish_reason"] = said
        (token,) = tokens_of(said_so)

        assert token.finish_reason is reason

    @pytest.mark.parametrize(
        ("beside", "reason"),
        [
            ({"stop_type": "eos"}, FinishReason.STOP),
            ({"stop_type": "word"}, FinishReason.STOP_SEQUENCE),
            ({"stop_type": "limit"}, FinishReason.LENGTH),
            (
                {"stopped_word": True, "stopped_limit": False},
                FinishReason.STOP_SEQUENCE,
            ),
            ({"stopped_word": False, "stopped_limit": True}, FinishReason.LENGTH),
            ({"stopped_eos": True}, FinishReason.STOP),
            ({}, FinishReason.STOP),
        ],
    )
    def test_those_of_llama_cpp(
        self, beside: dict[str, Any], reason: FinishReason
    ) -> None:
        """
        Older servers have a flag for each.
        """
        body = json.dumps({"content": "a", "stop": True, **beside}).encode()

        assert read_body(body).finish_reason is reason


class TestTokens:
    """
    Tokens of LMI, TGI and llama.cpp.
    """

    def test_the_older_name_of_a_special_token(self) -> None:
        """
        It has no text.
        """
        end = {"id": 2, "text": "</s>", "log_prob": -0.1, "special_token": True}
        body = lines({"token": end, "generated_text": ""})

        (token,) = read_stream([body])
        assert (token.text, token.special) == ("", True)

    def test_a_truth_is_no_number(self) -> None:
        """
        Though it is one to Python.
        """
        body = lines(
            {"token": {"id": True, "text": "a", "log_prob": True}},
            {"token": {"id": 2, "text": ""}, "generated_text": "a"},
        )

        first, _ = read_stream([body])
        assert (first.token_id, first.log_prob) == (None, None)

    def test_a_piece_of_several_tokens_has_no_id(self) -> None:
        """
        Only one that is a token has.
        """
        first, second, _ = tokens_of(
            {"content": "ab", "tokens": [4, 5], "stop": False},
            {"content": "c", "tokens": [6], "stop": False},
            {"content": "", "tokens": [], "stop": True},
        )

        assert (first.token_id, second.token_id) == (None, 6)

    def test_tokens_of_some_answers(self) -> None:
        """
        One that brings them has them, and the count is the best one's.
        """
        listed = [{"id": 2, "text": "A", "logprob": -0.5}]
        details = {
            "finish_reason": "length",
            "generated_tokens": 1,
            "tokens": listed,
            "best_of_sequences": [
                {"generated_text": "B", "generated_tokens": 9, "tokens": []}
            ],
        }
        body = json.dumps([{"generated_text": "A", "details": details}]).encode()
        found = read_body(body)

        assert found.tokens == (Token("A", 2, -0.5, finish_reason=FinishReason.LENGTH),)
        assert found.usage is not None
        assert found.usage.completion_tokens == 1


class TestVectors:
    """
    What is one, and what is none.
    """

    def test_the_family_of_a_container_of_both(self) -> None:
        """
        LMI and llama.cpp write vectors too, and llama.cpp chats.
        """
        for family in ("lmi", "llama.cpp"):
            found = read_body(EMBEDDINGS["tei"], format=family).embeddings
            assert found is not None
            assert found.vectors == VECTORS
        chat = events(chunk({"content": "a"}, "stop"))
        assert read_body(chat, format="llama.cpp").text == "a"

    def test_one_without_numbers(self) -> None:
        """
        It is what the engine says.
        """
        assert read_embeddings(b"[[]]").vectors == ((),)

    def test_fails_if_a_text_has_what_base64_has_not(self) -> None:
        """
        Nothing is left out to make it fit.
        """
        body = b'{"data": [{"embedding": "AAA!AAA=="}]}'

        with pytest.raises(UnreadableAnswerError, match="no known format"):
            read_embeddings(body)
