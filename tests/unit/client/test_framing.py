"""
Where a record begins and ends, and what is said of one that does not.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTooLargeError,
    ConnectionCutError,
    LlmError,
    ModelError,
    UnreadableAnswerError,
    read_body,
    read_stream,
)
from tests.unit.client.wire_examples import lines

THE = lines({"token": {"id": 1124, "text": "The", "log_prob": -0.5}})
END = lines(
    {
        "token": {"id": 2, "text": " cat", "log_prob": -0.1},
        "generated_text": "The cat",
        "details": {"finish_reason": "eos_token"},
    }
)
# As much may come between two records and say nothing.
SILENCE = 1_048_576


def failed(*chunks: bytes, max_bytes: int = 100_000) -> LlmError:
    """
    Return the error that a stream ends in.
    """
    with pytest.raises(LlmError) as caught:
        list(read_stream(chunks, max_bytes=max_bytes))
    return caught.value


def broken(*before: bytes, error: Exception) -> Iterator[bytes]:
    """
    Give some bytes, and fail as a transport does.
    """
    yield from before
    raise error


def indented(count: int) -> dict[str, Any]:
    """
    Make a document with so many tokens.
    """
    tokens = [{"id": n, "text": "a", "logprob": -0.5} for n in range(count)]
    details = {"finish_reason": "length", "tokens": tokens}
    return {"generated_text": "a" * count, "details": details}


def test_both_sides_of_the_longest_silence() -> None:
    """
    A mebibyte of blank lines, and one more.
    """
    assert read_body(THE + b"\n" * SILENCE + END).text == "The cat"

    error = failed(THE + b"\n" * (SILENCE + 1) + END)
    assert str(error).startswith("1048576 bytes of blank lines and comments came in a")
    assert error.text == "The"


def test_an_indented_document_is_not_read_again_for_each_of_its_lines() -> None:
    """
    Many of them look like its end: 20 000 tokens are read in well under a minute.
    """
    body = json.dumps(indented(20_000), indent=1).encode()
    began = time.process_time()
    found = read_body(body)

    assert len(found.tokens) == 20_000
    assert time.process_time() - began < 10


def test_records_of_several_lines_come_one_after_the_other() -> None:
    """
    Each as soon as it is whole, however many there are.
    """
    record = {"token": {"id": 1, "text": "a", "log_prob": -0.5}}
    text = json.dumps(record, indent=1).encode() + b"\n"
    taken = []

    def chunks() -> Iterator[bytes]:
        for number in range(20):
            taken.append(number)
            yield text
        yield END

    tokens = read_stream(chunks())
    for number in range(1, 21):
        assert next(tokens).text == "a"
        assert len(taken) == number
    assert [token.text for token in tokens] == [" cat"]


def test_what_is_no_record_is_not_kept_for_long_after_one() -> None:
    """
    64 KiB of lines; before any record it may be one that is indented.
    """
    rest = [b'{"a\n', *itertools.repeat(b"b\n" * 1000, 40)]

    assert type(failed(THE, *rest)) is UnreadableAnswerError
    assert type(failed(*rest)) is ConnectionCutError
    assert type(failed(THE, b'{"a": [\n', b"1,\n" * 1000)) is ConnectionCutError


@pytest.mark.parametrize("half", [b"d", b"data", b"event", b"err"])
def test_half_of_an_event_is_a_cut(half: bytes) -> None:
    """
    And no garbage.
    """
    assert "in the middle of an event" in str(failed(THE, half))


def test_an_event_that_is_over_is_no_cut() -> None:
    """
    Half a record is garbage there, but where nothing follows it is one.
    """
    half = b'data: {"a":\ndata: [1\n'

    assert type(failed(THE, half + b"\n", END)) is UnreadableAnswerError
    assert type(failed(THE, half)) is ConnectionCutError


@pytest.mark.parametrize(
    ("length", "shown"), [(120, "x" * 120 + "'"), (121, "x" * 120 + "'...")]
)
def test_garbage_is_shown_up_to_120_bytes(length: int, shown: str) -> None:
    """
    What is left out is marked.
    """
    message = failed(b"x" * length + b"\n").message

    assert message == f"neither JSON nor an event: '{shown}"


def test_a_control_character_that_is_not_escaped_is_taken() -> None:
    """
    Some containers write texts as they are.
    """
    body = b'{"details": {"finish_reason": "length"}, "generated_text": "a\tb\nc"}'

    assert read_body(body).text == "a\tb\nc"


def test_both_sides_of_the_largest_record() -> None:
    """
    On a line that has not ended, and in one after others of the same record.
    """
    whole = json.dumps({"generated_text": "a"}).encode()
    first, second = b'{"a":\n', b"1" * 94

    (token,) = read_stream([whole], max_bytes=len(whole))
    assert token.text == "a"
    assert type(failed(whole, max_bytes=len(whole) - 1)) is AnswerTooLargeError
    # The break between them counts too, once it has come.
    assert type(failed(first, second, max_bytes=100)) is ConnectionCutError
    assert type(failed(first, second, max_bytes=99)) is AnswerTooLargeError
    assert type(failed(first, b"1,\n" * 1000, max_bytes=2000)) is AnswerTooLargeError
    breaking = broken(first, second, error=OSError("reset"))
    with pytest.raises(AnswerTooLargeError):
        list(read_stream(breaking, max_bytes=98))


class TestSalvage:
    """
    JSON that is broken, and what it says all the same.
    """

    def test_an_error_appended_within_an_array(self) -> None:
        """
        With the text that was written before it.
        """
        body = b'[{"generated_text": "The c{"code": 424, "error": "boom"}]\r\n'
        with pytest.raises(ModelError, match="status 424: boom") as caught:
            read_body(body)

        assert caught.value.text == "The c"

    @pytest.mark.parametrize(
        ("body", "told"),
        [
            # Its details are no part of a text.
            (
                b'{"generated_text": "a "b", "details": {"x": "y"}]',
                "in the middle of JSON",
            ),
            (
                b'{"generated_text": "a "b"", "details": {"finish_reason": x}}',
                "is no JSON",
            ),
            # A bracket that closes nothing.
            (b'[{"generated_text": ]', "is no JSON"),
        ],
    )
    def test_what_cannot_be_told_is_not_guessed(self, body: bytes, told: str) -> None:
        """
        No text is made up of marks.
        """
        with pytest.raises(LlmError, match=told):
            read_body(body)

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            (b'{"generated_text": "The c', "The c"),
            (b'{"generated_text": "a\\ud83d', "a"),
            (b'{"generated_text": "a\\ud83d\\ude00', "a\U0001f600"),
            (b'{"generated_text": "a\\u00', "a"),
            (b'{"generated_text": "a\\', "a"),
        ],
    )
    def test_a_text_that_was_cut_off(self, body: bytes, text: str) -> None:
        """
        Up to its last whole character, also where the transport failed.
        """
        for chunks in ([body], broken(body, error=OSError("reset"))):
            with pytest.raises(ConnectionCutError) as caught:
                list(read_stream(chunks))
            assert caught.value.text == text
