"""
How one answer, or several, are put together from what comes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AnswerTooLargeError,
    ConnectionCutError,
    FinishReason,
    ModelError,
    Token,
    ToolCall,
    Usage,
    gather,
    read_body,
    read_stream,
)
from tests.unit.client.wire_examples import chunk, events, lines

COUNTED = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}


def call(name: str, arguments: str | None, **more: object) -> dict[str, object]:
    """
    Write a part of a tool call.
    """
    return {"function": {"name": name, "arguments": arguments}, **more}


class TestEnds:
    """
    What an answer's end brings, and what may be missing after it.
    """

    def test_what_was_counted_comes_without_a_reason_too(self) -> None:
        """
        On a token of its own.
        """
        body = events(chunk({"content": "a"}), COUNTED)

        assert list(read_stream([body])) == [
            Token("a"),
            Token("", usage=Usage(3, 1)),
        ]

    def test_a_text_after_the_reason_stays_behind_it(self) -> None:
        """
        Nothing overtakes the token that was held back for the count.
        """
        texts = chunk({"content": "a"}), chunk({}, "stop"), chunk({"content": "b"})
        tokens = read_stream([events(*texts)])

        assert [(one.text, one.finish_reason) for one in tokens] == [
            ("a", None),
            ("", FinishReason.STOP),
            ("b", None),
        ]

    def test_a_transport_of_ours_that_fails_after_the_end(self) -> None:
        """
        As one that is late with the count: the answer is whole.
        """

        def chunks() -> Iterator[bytes]:
            yield events(chunk({"content": "a"}, "stop"), done=False)
            raise AnswerTimeoutError("late")

        assert [token.text for token in read_stream(chunks())] == ["a"]

    def test_a_count_that_is_cut_off_is_not_missed(self) -> None:
        """
        The reason had come.
        """
        body = events(chunk({"content": "a"}, "stop"), done=False)

        for half in (b"da", b'data: {"choices": [], "usa'):
            assert read_body(body + half).text == "a"

    def test_a_batch_ends_as_a_whole(self) -> None:
        """
        Though only one of its answers says why.
        """
        ended = {"generated_text": "A", "details": {"finish_reason": "length"}}
        found = read_body(json.dumps([ended, {"generated_text": "B"}]).encode())

        assert found.finish_reason is FinishReason.LENGTH
        assert found.alternatives[0].text == "B"
        assert found.alternatives[0].finish_reason is None

    def test_reasoning_that_is_cut_off_is_something(self) -> None:
        """
        Only where nothing came is one sent to the log.
        """
        begun = events(chunk({"reasoning": "Hm"}), done=False)

        with pytest.raises(ConnectionCutError, match="ask again with the text so far"):
            read_body(begun)
        with pytest.raises(ConnectionCutError, match="nothing of it came"):
            read_body(b"")


class TestErrors:
    """
    Errors beside what an answer has.
    """

    @pytest.mark.parametrize(
        "record",
        [
            {"token": {"id": 1, "text": "b"}, "error": "boom", "code": 424},
            {
                "token": {"id": 1, "text": "", "error_msg": "boom"},
                "details": {"finish_reason": "error"},
                "code": 424,
            },
            {
                "token": {"id": 1, "text": ""},
                "details": {"finish_reason": "error"},
                "error": "boom",
                "code": 424,
            },
            {**chunk({"content": "b"}), "error": {"message": "boom", "code": 424}},
        ],
        ids=["line", "token", "reason", "chunk"],
    )
    def test_an_error_beside_a_token(self, record: dict[str, object]) -> None:
        """
        The token is none then.
        """
        before = lines({"token": {"id": 1, "text": "a"}})

        with pytest.raises(ModelError) as caught:
            read_body(before + lines(record))
        assert (caught.value.status, caught.value.model_message) == (424, "boom")
        assert caught.value.text == "a"


class TestChatsOfLmi:
    """
    What LMI's rolling batch makes of a chat.
    """

    @pytest.mark.parametrize("write", [lines, events])
    def test_a_chat_that_fails_midway(self, write: Callable[..., bytes]) -> None:
        """
        It is an error with the text so far, though its status was 200.
        """
        body = write(
            chunk({"content": "The", "role": "assistant"}),
            chunk({"content": " cat"}, "error"),
        )
        tokens = read_stream([body])

        assert [next(tokens).text, next(tokens).text] == ["The", " cat"]
        with pytest.raises(ModelError, match="the container failed") as caught:
            next(tokens)
        assert caught.value.text == "The cat"
        with pytest.raises(ModelError) as caught:
            read_body(body)
        assert caught.value.text == "The cat"

    @pytest.mark.parametrize(
        "answer",
        [{"message": {"role": "assistant", "content": "The"}}, {"text": "The"}],
        ids=["chat", "completion"],
    )
    def test_a_document_that_fails_midway(self, answer: dict[str, object]) -> None:
        """
        It has the text that had come.
        """
        body = {"choices": [{"index": 0, **answer, "finish_reason": "error"}]}

        with pytest.raises(ModelError) as caught:
            read_body(json.dumps(body).encode())
        assert caught.value.text == "The"

    def test_log_probabilities_in_a_list(self) -> None:
        """
        They are kept: a trailing comma of its source puts them there.
        """
        scores = [
            {"content": [{"token": "The", "logprob": -0.5, "bytes": [84, 104, 101]}]},
            {"content": [{"token": " cat", "logprob": -1.25, "bytes": None}]},
        ]
        body = lines(
            chunk({"content": "The"}, logprobs=scores[:1]),
            chunk({"content": " cat"}, "stop", logprobs=scores[1:]),
        )

        assert [token.log_prob for token in read_stream([body])] == [-0.5, -1.25]


class TestBounds:
    """
    What counts for how much is kept.
    """

    def test_reasoning_counts(self) -> None:
        """
        As the text does.
        """
        body = events(
            chunk({"reasoning": "a" * 600}), chunk({"content": "b" * 400}, "stop")
        )

        assert sum(1 for _ in read_stream([body], max_bytes=1000)) == 2
        with pytest.raises(AnswerTooLargeError):
            list(read_stream([body], max_bytes=999))

    def test_arguments_of_tool_calls_count(self) -> None:
        """
        And 64 bytes for each part.
        """
        part = chunk({"tool_calls": [call("f", "a" * 10_000, index=0)]})
        body = events(part, part, chunk({}, "tool_calls"))

        assert list(read_stream([body], max_bytes=20_128))[-1].tool_calls
        with pytest.raises(AnswerTooLargeError):
            list(read_stream([body], max_bytes=20_127))


class TestToolCalls:
    """
    Calls in parts, of several answers.
    """

    def test_each_answer_has_its_own(self) -> None:
        """
        In the order of their numbers, whichever comes first.
        """
        second = chunk({"tool_calls": [call("b", "{}", index=0, id="3")]})
        ends = chunk({}, "tool_calls")
        second["choices"][0]["index"] = ends["choices"][0]["index"] = 1
        found = read_body(
            events(
                chunk({"tool_calls": [call("late", "{}", index=1, id="2")]}),
                chunk({"tool_calls": [call("f", None, index=0, id="1")]}),
                chunk({"tool_calls": [call("", "{}", index=0, id="9")]}),
                second,
                ends,
                chunk({}, "tool_calls"),
            )
        )

        assert found.tool_calls == (
            ToolCall("f", "{}", "1"),
            ToolCall("late", "{}", "2"),
        )
        assert found.alternatives[0].tool_calls == (ToolCall("b", "{}", "3"),)

    def test_a_stream_that_ends_without_a_reason(self) -> None:
        """
        Its calls have come, and so has what was counted.
        """
        part = chunk({"tool_calls": [call("f", "{}", index=0, id="1")]})
        found = read_body(events(part, COUNTED))

        assert found.tool_calls == (ToolCall("f", "{}", "1"),)
        assert (found.usage, found.finish_reason) == (Usage(3, 1), None)

    def test_the_function_that_openai_had_before(self) -> None:
        """
        In pieces, and whole.
        """
        name, arguments = {"name": "f", "arguments": ""}, {"arguments": "{}"}
        streamed = events(
            chunk({"role": "assistant", "content": None, "function_call": name}),
            chunk({"function_call": arguments}),
            chunk({}, "function_call"),
        )
        message = {"content": None, "function_call": {**name, **arguments}}
        choice = {"index": 0, "message": message, "finish_reason": "function_call"}

        for body in (streamed, json.dumps({"choices": [choice]}).encode()):
            found = read_body(body)
            assert found.tool_calls == (ToolCall("f", "{}", ""),)
            assert found.finish_reason is FinishReason.TOOL_CALLS

    @pytest.mark.parametrize("name", [None, "1"])
    def test_pieces_without_a_number(self, name: str | None) -> None:
        """
        They go on with the last call, until another begins.
        """
        pieces = [
            call("f", "[", id="1"),
            call("", "1", id=name),
            call("", "]", id=name),
            call("g", "{", id="2"),
            {"function": {"arguments": "}"}},
        ]
        body = events(
            *(chunk({"tool_calls": [one]}) for one in pieces), chunk({}, "tool_calls")
        )

        assert read_body(body).tool_calls == (
            ToolCall("f", "[1]", "1"),
            ToolCall("g", "{}", "2"),
        )

    def test_whole_calls_that_are_numbered_alike(self) -> None:
        """
        As TGI does: each is one.
        """
        calls = [call("f", "{}", id="0"), call("g", "{}", id="0")]
        choice = {"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}

        assert [
            one.name
            for one in read_body(json.dumps({"choices": [choice]}).encode()).tool_calls
        ] == ["f", "g"]

    def test_calls_of_a_second_answer_that_are_cut_off(self) -> None:
        """
        The first had ended: its end is not the stream's.
        """
        second = chunk({"tool_calls": [call("b", "{", index=0, id="3")]})
        second["choices"][0]["index"] = 1
        body = events(second, chunk({"content": "A"}, "stop"), done=False)

        with pytest.raises(ConnectionCutError) as caught:
            read_body(body)
        assert caught.value.text == "A"


class TestGathering:
    """
    Tokens put together.
    """

    def test_answers_stand_in_the_order_of_their_numbers(self) -> None:
        """
        And what was counted of all is the first one's, wherever it came.
        """
        first = chunk({"content": "x"}, "length")
        first["choices"][0]["index"] = 1
        body = events(first, chunk({"content": "A"}, "stop"), COUNTED)
        ends = [Token("x", index=1, usage=Usage(3, 1)), Token("A")]

        assert read_body(body).text == "A"
        assert read_body(body).usage == Usage(3, 1)
        assert gather(ends).usage == Usage(3, 1)

    def test_the_last_reason_and_count_are_the_answers(self) -> None:
        """
        Where an engine counts all along.
        """
        found = gather(
            [
                Token("a", usage=Usage(3, 1), finish_reason=FinishReason.OTHER),
                Token("b", usage=Usage(3, 2), finish_reason=FinishReason.LENGTH),
            ]
        )

        assert (found.usage, found.finish_reason) == (Usage(3, 2), FinishReason.LENGTH)

    def test_a_piece_of_reasoning_is_a_token(self) -> None:
        """
        The mark of the end is none.
        """
        thought, end = (
            Token("", reasoning="Hm"),
            Token("", finish_reason=FinishReason.STOP),
        )

        assert gather([thought, end]).tokens == (thought,)

    def test_a_completion_of_a_single_token_is_a_token(self) -> None:
        """
        A text alone is none.
        """
        scored = {"tokens": ["a"], "token_logprobs": [-0.5]}
        choice = {"text": "a", "finish_reason": "length"}
        plain = json.dumps({"choices": [choice]}).encode()
        counted = json.dumps({"choices": [{**choice, "logprobs": scored}]}).encode()

        assert read_body(plain).tokens == ()
        assert [token.log_prob for token in read_body(counted).tokens] == [-0.5]
