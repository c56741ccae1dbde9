"""
What the reader does with what is odd, broken or large.
"""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTooLargeError,
    ConnectionCutError,
    Embeddings,
    FinishReason,
    ModelError,
    ToolCall,
    UnreadableAnswerError,
    Usage,
    WireFormat,
    read_body,
    read_embeddings,
    read_stream,
)
from tests.unit.client.wire_examples import (
    CAT,
    EMBEDDINGS,
    EXAMPLES,
    VECTORS,
    Example,
    chunk,
    events,
    lines,
    recorded,
)

LINES = recorded("0.28")["jsonlines_details_true"]["body"].encode()
BY_NAME = {example.name: example for example in EXAMPLES}
FAMILIES = {
    WireFormat.TGI: "tgi sse",
    WireFormat.LMI: "0.28 jsonlines_details_true",
    WireFormat.OPENAI: "vllm chat",
    WireFormat.LLAMA_CPP: "llama.cpp stream",
}


def broken(*before: bytes, error: Exception) -> Iterator[bytes]:
    """
    Give some bytes, and fail as a transport does.
    """
    yield from before
    raise error


class TestFormats:
    """
    Recognised, or given.
    """

    @pytest.mark.parametrize("family", FAMILIES)
    def test_a_format_may_be_given(self, family: WireFormat) -> None:
        """
        By its name too.
        """
        example = BY_NAME[FAMILIES[family]]

        for given in (family, family.value):
            found = tuple(read_stream([example.body], format=given))
            assert found == example.tokens

    def test_lmi_and_tgi_write_openai_chats_too(self) -> None:
        """
        What is given is the container's family.
        """
        chat: Example = BY_NAME["lmi chat, lines"]

        assert read_body(chat.body, format="lmi").text == chat.text
        assert read_body(chat.body, format="tgi").text == chat.text

    @pytest.mark.parametrize(
        ("name", "given"), [("tgi sse", "openai"), ("vllm chat", "embeddings")]
    )
    def test_fails_if_another_one_comes(self, name: str, given: str) -> None:
        """
        Nothing is guessed then.
        """
        with pytest.raises(UnreadableAnswerError, match="no known format"):
            list(read_stream([BY_NAME[name].body], format=given))

    def test_fails_if_there_is_no_such_format(self) -> None:
        """
        A word that is none.
        """
        with pytest.raises(ValueError, match="format must be 'lmi', .*got 'xml'"):
            list(read_stream([b""], format="xml"))


class TestEmbeddings:
    """
    Vectors, in the order of the inputs.
    """

    @pytest.mark.parametrize("name", EMBEDDINGS)
    def test_every_form(self, name: str) -> None:
        """
        OpenAI's list in any order and base64, TEI's arrays.
        """
        usage = None if name == "tei" else Usage(6)

        assert read_embeddings(EMBEDDINGS[name]) == Embeddings(VECTORS, usage)
        assert read_body(EMBEDDINGS[name]).embeddings == Embeddings(VECTORS, usage)

    @pytest.mark.parametrize("index", ["1", [1], None])
    def test_an_index_that_is_none(self, index: object) -> None:
        """
        They stay in the order in which they came.
        """
        data = [{"embedding": [1.0], "index": index}, {"embedding": [2.0], "index": 9}]

        found = read_embeddings(json.dumps({"data": data}).encode())
        assert found.vectors == ((1.0,), (2.0,))

    def test_one_vector_alone(self) -> None:
        """
        For one text that was sent alone.
        """
        assert read_embeddings(b"[0.5, 1]").vectors == ((0.5, 1.0),)

    def test_fails_if_they_are_streamed_or_a_text_came(self) -> None:
        """
        Each says where the other is read.
        """
        with pytest.raises(UnreadableAnswerError, match="read_embeddings"):
            list(read_stream([EMBEDDINGS["tei"]]))
        with pytest.raises(UnreadableAnswerError, match="a text, no embeddings"):
            read_embeddings(LINES)

    @pytest.mark.parametrize(
        "body",
        [
            b"[]",
            b"[[1" + b"0" * 400 + b"]]",
            b'[["a"]]',
            b'[[{"label": "x"}]]',
            b'{"data": [{"a": 1}]}',
        ],
    )
    def test_fails_if_they_are_none(self, body: bytes) -> None:
        """
        A classification is no vector.
        """
        with pytest.raises(UnreadableAnswerError, match="no known format"):
            read_embeddings(body)


class TestAlternatives:
    """
    Several answers to one request.
    """

    def test_choices_of_a_stream(self) -> None:
        """
        Told apart by their index, however they are interleaved.
        """
        said = [("A", 0), ("x", 1), ("B", 0), ("y", 1)]
        records = [chunk({"content": text}) for text, _ in said]
        for record, (_, index) in zip(records, said, strict=True):
            record["choices"][0]["index"] = index
        ends = [chunk({}, "stop"), chunk({}, "length")]
        ends[1]["choices"][0]["index"] = 1
        found = read_body(events(*records, *ends))

        assert (found.text, found.finish_reason) == ("AB", FinishReason.STOP)
        (other,) = found.alternatives
        assert (other.text, other.finish_reason) == ("xy", FinishReason.LENGTH)

    def test_each_of_them_has_to_end(self) -> None:
        """
        One that is at its end does not make the others whole.
        """
        records = [chunk({"content": "A"}), chunk({"content": "x"}), chunk({}, "stop")]
        records[1]["choices"][0]["index"] = 1

        with pytest.raises(ConnectionCutError) as caught:
            read_body(events(*records, done=False))
        assert caught.value.text == "A"
        assert read_body(events(*records)).alternatives[0].text == "x"

    def test_best_of_and_batches(self) -> None:
        """
        TGI's sequences beside the best, and an array of several.
        """
        token = {"id": 1, "text": "B", "logprob": -1.0, "special": False}
        other = {"generated_text": "B", "finish_reason": "length", "tokens": [token]}
        best = {
            "generated_text": "A",
            "details": {
                "finish_reason": "eos_token",
                "tokens": [{"id": 2, "text": "A", "logprob": -0.5}],
                "best_of_sequences": [other],
            },
        }
        batch = [{"generated_text": "A"}, {"generated_text": "B"}]

        for body in ([best], batch):
            found = read_body(json.dumps(body).encode())
            assert (found.text, found.alternatives[0].text) == ("A", "B")
        assert read_body(json.dumps([best]).encode()).alternatives[0].tokens


class TestOddities:
    """
    What containers have been seen to write.
    """

    def test_a_prompt_that_lmi_does_not_escape(self) -> None:
        """
        0.27 and 0.28 with ``return_full_text``: quotes and line breaks as they are.
        """
        details = '{"finish_reason": "length", "generated_tokens": 1, "tokens": []}'
        body = f'{{"generated_text": "Say "hi"\nto me", "details": {details}}}'
        found = read_body(body.encode())

        assert found.text == 'Say "hi"\nto me'
        assert found.finish_reason is FinishReason.LENGTH

    def test_the_stop_sequence_in_place_of_the_reason(self) -> None:
        """
        LMI's asynchronous service names what was hit.
        """
        details = '{"finish_reason": "###", "seed": null, "prefill": [], "tokens": []}'
        body = f'{{"generated_text": "a", "details": {details}}}'

        assert read_body(body.encode()).finish_reason is FinishReason.STOP_SEQUENCE

    def test_an_unknown_reason_is_another(self) -> None:
        """
        No engine's new word breaks a program.
        """
        body = events(chunk({"content": "a"}), chunk({}, "repetition"))

        assert read_body(body).finish_reason is FinishReason.OTHER

    def test_a_mark_of_the_byte_order_and_other_fields_of_events(self) -> None:
        """
        A line may say what is no data.
        """
        body = events(chunk({"content": "a"}, "stop"))
        marked = b"\xef\xbb\xbfevent: message\nid: 7\nretry: 10\n" + body

        assert read_body(marked).text == "a"

    def test_an_event_of_several_lines(self) -> None:
        """
        As the standard of events allows.
        """
        text = json.dumps(chunk({"content": "a"}, "stop"), indent=1)
        body = "".join(f"data: {line}\n" for line in text.split("\n")) + "\n"

        assert read_body(body.encode()).text == "a"

    def test_the_last_token_comes_with_the_mark_of_the_end(self) -> None:
        """
        Not only when the connection has ended.
        """
        tokens = read_stream(
            broken(events(chunk({"content": "a"}, "stop")), error=AssertionError())
        )

        assert next(tokens).finish_reason is FinishReason.STOP

    def test_a_refusal_is_a_text(self) -> None:
        """
        Where the answer would be.
        """
        body = events(chunk({"content": None, "refusal": "no"}), chunk({}, "stop"))

        assert read_body(body).text == "no"

    def test_what_follows_the_mark_of_the_end_is_not_read(self) -> None:
        """
        But the bytes are, so that the connection may be used again.
        """
        rest = iter([events(chunk({"content": "a"}, "stop")), b"<garbage>\n"])

        assert [token.text for token in read_stream(rest)] == ["a"]
        assert list(rest) == []

    @pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}])
    def test_tool_calls_of_a_document(self, arguments: object) -> None:
        """
        Several, without numbers, their arguments as a text or as an object.
        """
        calls = [
            {"id": name, "function": {"name": name, "arguments": arguments}}
            for name in ("f", "g")
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}

        assert read_body(json.dumps(body).encode()).tool_calls == (
            ToolCall("f", '{"a": 1}', "f"),
            ToolCall("g", '{"a": 1}', "g"),
        )

    def test_a_log_probability_that_is_no_number(self) -> None:
        """
        Or one that no float holds: it is not known.
        """
        for value in ("null", '"high"', "1" + "0" * 400):
            line = f'{{"token": {{"id": 1, "text": "a", "log_prob": {value}}}}}\n'
            tokens = read_stream([line.encode(), LINES])
            assert next(tokens).log_prob is None

    def test_log_probabilities_of_a_character_in_pieces(self) -> None:
        """
        The tokens' own texts are no text then; none of it is lost or doubled.
        """
        content = [
            {"token": "\\xf0\\x9f", "logprob": -1.0},
            {"token": "\\x98\\x80", "logprob": -2.0},
        ]
        said = chunk({"content": "😀"}, logprobs={"content": content})
        found = read_body(events(said, chunk({}, "stop")))

        assert found.text == "😀"
        assert [token.log_prob for token in found.tokens] == [-1.0, -2.0]


class TestErrors:
    """
    What is no answer, or not the whole of one.
    """

    @pytest.mark.parametrize(
        "garbage",
        [
            b"Internal Server Error",
            b"<html></html>\n",
            b"data: <html>\n\n",
            b"\x00\x01\xff",
            b"{'a': 1}\n",
            b'{"surprise": 1}\n',
            b"[1, [2]]",
            b'"text"',
            b"12",
            b"[" * 100_000 + b"]" * 100_000,
        ],
        ids=range(10),
    )
    @pytest.mark.parametrize(
        "before", [b"", LINES[:57]], ids=["alone", "after a token"]
    )
    def test_garbage(self, garbage: bytes, before: bytes) -> None:
        """
        It is shown, shortened, after what came before it.
        """
        with pytest.raises(UnreadableAnswerError) as caught:
            list(read_stream([before, garbage]))

        assert caught.value.text == ("The" if before else "")
        assert len(str(caught.value)) < 400

    def test_nothing_at_all(self) -> None:
        """
        Neither is an empty answer one.
        """
        for body in (b"", b"\n\n", b": keep-alive\n\n"):
            with pytest.raises(ConnectionCutError, match="before its end"):
                read_body(body)

    @pytest.mark.parametrize("error", [OSError("reset"), RuntimeError("any")])
    def test_a_transport_that_fails(self, error: Exception) -> None:
        """
        Whatever it raises: the text is kept, and the cause.
        """
        with pytest.raises(ConnectionCutError, match=str(error)) as caught:
            list(read_stream(broken(LINES[:100], error=error)))

        assert caught.value.text == "The"
        assert caught.value.__cause__ is error

    def test_a_transport_that_fails_after_the_end(self) -> None:
        """
        The answer is whole.
        """
        tokens = tuple(read_stream(broken(LINES, error=OSError("reset"))))

        assert tokens == BY_NAME["0.28 jsonlines_details_true"].tokens

    def test_reasoning_and_tool_calls_are_kept_too(self) -> None:
        """
        As far as they came.
        """
        function = {"name": "f", "arguments": '{"a'}
        body = events(
            chunk({"reasoning_content": "Hm"}),
            chunk({"tool_calls": [{"index": 0, "id": "1", "function": function}]}),
            done=False,
        )
        with pytest.raises(ConnectionCutError) as caught:
            list(read_stream([body]))

        assert caught.value.reasoning == "Hm"
        assert caught.value.tool_calls == (ToolCall("f", '{"a', "1"),)

    def test_the_documents_own_error(self) -> None:
        """
        With its status, its words and the text beside it.
        """
        body = {"generated_text": "The", "error": "boom", "code": 400, "details": None}
        with pytest.raises(ModelError, match="status 400: boom; correct") as caught:
            read_body(json.dumps(body).encode())

        assert (caught.value.status, caught.value.text) == (400, "The")


class TestBounds:
    """
    Memory is bounded, whatever comes.
    """

    @pytest.mark.parametrize(
        "piece",
        [b"a", b" ", b'{"a', b"\\", b'"', b'"content": "', b"[", b'{"code": 1, '],
        ids=range(8),
    )
    def test_a_record_without_end(self, piece: bytes) -> None:
        """
        It ends at what may be kept.
        """
        limit = 300_000
        endless = itertools.repeat(piece * 1000, 100_000)
        tracemalloc.start()
        try:
            for start in (b'{"generated_text": "The', b""):
                with pytest.raises((AnswerTooLargeError, UnreadableAnswerError)):
                    list(
                        read_stream(itertools.chain([start], endless), max_bytes=limit)
                    )
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak < 20 * limit

    @pytest.mark.parametrize("text", ["", "a"], ids=["empty", "short"])
    def test_tokens_without_end(self, text: str) -> None:
        """
        Where all of them are kept, they count for more than their text.
        """
        limit = 1_000_000
        body = lines({"token": {"id": 5, "text": text}}) * 100_000
        tracemalloc.start()
        try:
            with pytest.raises(AnswerTooLargeError) as caught:
                read_body(body, max_bytes=limit)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert caught.value.text == text * (limit // (64 + len(text)) + 1)
        assert peak < 20 * limit

    def test_tool_calls_without_end(self) -> None:
        """
        Also parts that say nothing.
        """
        part = chunk({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]})

        with pytest.raises(AnswerTooLargeError):
            list(read_stream([events(part, done=False)] * 1000, max_bytes=50_000))

    @pytest.mark.parametrize("lines_of", [b"\n", b": still here\n\n", b"data:\n\n"])
    def test_lines_that_say_nothing(self, lines_of: bytes) -> None:
        """
        More of them in a row than any keep-alive sends.
        """
        endless = (lines_of * 1000 for _ in range(1_000_000))

        with pytest.raises(UnreadableAnswerError, match="blank lines and comments"):
            list(read_stream(endless))

    def test_lines_that_say_nothing_between_tokens(self) -> None:
        """
        They count from the last record on.
        """
        first = LINES.index(b"\n") + 1
        blank = b"\n" * 900_000
        body = LINES[:first] + blank + LINES[first:] + blank

        assert read_body(body).text == "The cat sat."

    def test_both_sides_of_the_limit(self) -> None:
        """
        As many characters as it says, and one more.
        """
        body = lines(
            {"token": {"id": 1, "text": "a" * 500}},
            {"token": {"id": 1, "text": "b" * 500}, "generated_text": ""},
        )

        assert len("".join(t.text for t in read_stream([body], max_bytes=1000))) == 1000
        with pytest.raises(AnswerTooLargeError, match="max_bytes=") as caught:
            list(read_stream([body], max_bytes=999))
        assert caught.value.text == "a" * 500 + "b" * 500

    def test_a_stream_is_read_as_it_is_asked_for(self) -> None:
        """
        No chunk is taken before the tokens of the last are given out.
        """
        taken = []

        def chunks() -> Iterator[bytes]:
            for line in LINES.splitlines(keepends=True):
                taken.append(line)
                yield line

        tokens = read_stream(chunks())
        for number, token in enumerate(CAT, start=1):
            assert next(tokens) == token
            assert len(taken) == number
