"""
What real engines wrote, recorded from those of ``make engines``.

llama.cpp's server (b1 of llama-cpp-python 0.3.36), llama-cpp-python's own, and
transformers 5.23, each with the tiny model of tests/engines.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm.client import (
    ContextTooLongError,
    FinishReason,
    LlmError,
    Token,
    UnreadableAnswerError,
    Usage,
    read_body,
    read_stream,
)

RECORDED = Path(__file__).parent / "recorded"
# Ten tokens, the last two of which are one character.
BEGUN = ("The", " cat", " sat", " on", " the", " mat", " in", " K", "ö")


def recorded(name: str) -> bytes:
    """
    Return a body as it came.
    """
    return (RECORDED / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "texts", "usage"),
    [
        ("llama-server-chat.txt", BEGUN, Usage(6, 10)),
        ("llama-server-native.txt", (" K", "ö", "l"), Usage(10, 4)),
        ("llama-cpp-python-chat.txt", BEGUN, None),
        ("transformers-chat.txt", BEGUN, Usage(6, 10)),
    ],
)
class TestStreams:
    """
    Each ends for its length, after a token that says nothing else.
    """

    def test_at_once(
        self, name: str, texts: tuple[str, ...], usage: Usage | None
    ) -> None:
        """
        In one piece.
        """
        tokens = list(read_stream([recorded(name)]))

        assert tuple(token.text for token in tokens[:-1]) == texts
        assert tokens[-1] == Token("", finish_reason=FinishReason.LENGTH, usage=usage)

    def test_byte_by_byte(
        self, name: str, texts: tuple[str, ...], usage: Usage | None
    ) -> None:
        """
        Cut in every character.
        """
        body = recorded(name)
        tokens = list(read_stream(body[i : i + 1] for i in range(len(body))))

        assert tuple(token.text for token in tokens[:-1]) == texts
        assert tokens[-1].usage == usage


class TestDocuments:
    """
    Whole answers.
    """

    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("llama-server-completion.json", BEGUN),
            # Whose halves of a character have no text of their own.
            ("llama-cpp-python-completion.json", (*BEGUN, "")),
        ],
    )
    def test_each_token_has_its_text(self, name: str, texts: tuple[str, ...]) -> None:
        """
        Also beside a character of several tokens.
        """
        found = read_body(recorded(name))

        assert found.text == "".join(BEGUN)
        assert tuple(token.text for token in found.tokens) == texts
        assert all(token.log_prob is not None for token in found.tokens)
        assert found.finish_reason is FinishReason.LENGTH
        assert found.usage == Usage(2, 10)

    def test_the_stop_sequence_has_no_text(self) -> None:
        """
        Though its token is listed.
        """
        found = read_body(recorded("llama-cpp-python-stop.json"))

        assert found.text == "The cat sat on the"
        assert [token.text for token in found.tokens] == [*BEGUN[:5], ""]
        assert found.finish_reason is FinishReason.STOP

    def test_a_text_alone_is_no_token(self) -> None:
        """
        It was ten, which transformers does not tell apart.
        """
        found = read_body(recorded("transformers-completion.json"))

        assert (found.text, found.tokens) == ("".join(BEGUN), ())
        assert (found.completion_tokens, found.confidence) == (10, None)

    def test_llama_cpps_own(self) -> None:
        """
        With ids and log probabilities.
        """
        found = read_body(recorded("llama-server-native.json"))

        assert [token.text for token in found.tokens] == [" K", "ö", "l"]
        assert [token.token_id for token in found.tokens] == [279, 187, 113]
        assert found.usage == Usage(10, 4)


class TestErrors:
    """
    In each engine's own words.
    """

    @pytest.mark.parametrize(
        ("name", "requested"),
        [("llama-server-too-long.json", 600), ("llama-cpp-python-too-long.json", 616)],
    )
    def test_too_long(self, name: str, requested: int) -> None:
        """
        With the numbers.
        """
        with pytest.raises(ContextTooLongError) as caught:
            read_body(recorded(name))
        assert (caught.value.limit, caught.value.requested) == (256, requested)

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("transformers-field.json", "Unexpected fields in the request"),
            ("transformers-pinned.json", "Server is pinned to .* requested 'nobody'"),
        ],
    )
    def test_refused(self, name: str, told: str) -> None:
        """
        As FastAPI writes it.
        """
        with pytest.raises(LlmError, match=told):
            read_body(recorded(name))

    def test_a_vector_for_each_token(self) -> None:
        """
        None of which is the text's.
        """
        with pytest.raises(UnreadableAnswerError, match="a vector for each token"):
            read_body(recorded("llama-cpp-python-vectors.json"))
        with pytest.raises(UnreadableAnswerError, match="a vector for each token"):
            read_body(b"[[[0.5, 1.0]]]")
        assert read_body(b"[[0.5, 1.0]]").embeddings is not None

    @pytest.mark.parametrize(
        ("begun", "told"),
        [
            (b"", "nothing of it came: ask without streaming"),
            (b": ping\n\n", "nothing of it came: ask without streaming"),
            (b'data: {"choices": [{"text": "a"}]}\n\n', "ask again with the text"),
        ],
    )
    def test_a_stream_that_ends_before_its_end(self, begun: bytes, told: str) -> None:
        """
        The way out depends on whether it had begun.
        """
        with pytest.raises(LlmError, match=told):
            list(read_stream([begun]))
