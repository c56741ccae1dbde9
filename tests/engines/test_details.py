"""
What some engines tell beyond the text: log probabilities, ids, vectors.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.client import FinishReason, Generation, UnreadableAnswerError
from tests.engines.conftest import (
    LLAMA_CPP_PYTHON,
    LLAMA_SERVER,
    NATIVE,
    SENTENCE,
    TRANSFORMERS,
    VECTORS,
    Client,
)

# Of which the engines' start is the most.
pytestmark = pytest.mark.timeout(300)

# As far as eight tokens go, none of which is a part of a character.
BEGUN = "The cat sat on the mat in K"


def check_details(found: Generation, text: str) -> None:
    """
    Hold that each token has a part of the text and how likely it was.
    """
    assert found.text == text
    assert "".join(token.text for token in found.tokens) == text
    assert [token.text for token in found.tokens[:3]] == ["The", " cat", " sat"]
    known = [token.log_prob for token in found.tokens if token.text]
    assert all(value is not None and -2 < value < 0 for value in known)
    assert found.confidence is not None
    assert 0.5 < found.confidence < 1


@pytest.mark.parametrize("engine", [LLAMA_SERVER, LLAMA_CPP_PYTHON])
class TestLogProbabilities:
    """
    Where they are asked for.
    """

    def test_of_a_prompt(self, client: Client, engine: str) -> None:
        """
        Also where a character is several tokens: the first has its text.
        """
        found = client(engine).generate(
            "Hi", max_new_tokens=50, temperature=0, details=True
        )

        check_details(found, SENTENCE)
        texts = [token.text for token in found.tokens if token.text]
        assert texts[7:12] == [" K", "ö", "l", "n", ","]

    def test_of_a_chat(self, client: Client, engine: str) -> None:
        """
        Whole, and streamed.
        """
        asking = client(engine)
        whole = asking.chat("Hi", max_new_tokens=8, temperature=0, details=True)
        streamed = list(
            asking.stream_chat("Hi", max_new_tokens=8, temperature=0, details=True)
        )

        check_details(whole, BEGUN)
        counted = [token for token in streamed if token.is_counted]
        assert [token.text for token in counted] == [
            token.text for token in whole.tokens
        ]
        assert [token.log_prob for token in counted] == pytest.approx(
            [token.log_prob for token in whole.tokens], abs=0.01
        )

    def test_of_a_stream(self, client: Client, engine: str) -> None:
        """
        Token by token.
        """
        tokens = tuple(
            client(engine).stream("Hi", max_new_tokens=8, temperature=0, details=True)
        )

        assert tokens[-1].finish_reason is FinishReason.LENGTH
        counted = tuple(token for token in tokens if token.is_counted)
        check_details(Generation(BEGUN, counted), BEGUN)

    def test_beside_a_stop_sequence(self, client: Client, engine: str) -> None:
        """
        Which may be listed, and is no part of the text.
        """
        found = client(engine).generate(
            "Hi", max_new_tokens=50, temperature=0, stop=[" mat"], details=True
        )

        check_details(found, "The cat sat on the")


def test_transformers_gives_none(client: Client) -> None:
    """
    And answers all the same.
    """
    found = client(TRANSFORMERS).chat(
        "Hi", max_new_tokens=50, temperature=0, details=True
    )

    assert (found.text, found.confidence) == (SENTENCE, None)


def test_llama_cpp_tells_ids(client: Client) -> None:
    """
    The same for the same words.
    """
    asking = client(LLAMA_SERVER)
    first = asking.generate("Hi", max_new_tokens=6, temperature=0, details=True)
    again = asking.chat("Hi", max_new_tokens=6, temperature=0, details=True)

    ids = [token.token_id for token in first.tokens]
    assert None not in ids
    assert len(set(ids)) == 6
    assert ids == [token.token_id for token in again.tokens]


class TestOfItsOwnForm:
    """
    llama.cpp's own completions, where the address has their path.
    """

    ASKED = {"n_predict": 50, "n_probs": 1}  # noqa: RUF012 - never changed

    def test_whole(self, client: Client) -> None:
        """
        With what was counted.
        """
        found = client(NATIVE).generate("Hi", temperature=0, parameters=self.ASKED)

        check_details(found, SENTENCE)
        assert found.finish_reason is FinishReason.STOP
        assert found.usage is not None
        assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (2, 22)

    def test_streamed(self, client: Client) -> None:
        """
        The same, and with ids without being asked.
        """
        tokens = list(
            client(NATIVE).stream("Hi", temperature=0, parameters={"n_predict": 6})
        )

        assert "".join(token.text for token in tokens) == "The cat sat on the mat"
        assert tokens[-1].finish_reason is FinishReason.LENGTH
        assert tokens[-1].usage is not None
        assert tokens[-1].usage.completion_tokens == 6
        assert None not in {token.token_id for token in tokens if token.text}


class TestVectors:
    """
    One for each text.
    """

    @pytest.mark.parametrize("encoding", ["float", "base64"])
    @pytest.mark.parametrize("engine", [VECTORS, LLAMA_CPP_PYTHON])
    def test_they_tell_texts_apart(
        self, client: Client, engine: str, encoding: str
    ) -> None:
        """
        And are in the order of the texts.
        """
        parameters = {"model": "texts", "encoding_format": encoding}
        found = client(engine).embed(["Hi", "The cat", "Hi"], parameters=parameters)

        first, second, third = found.vectors
        assert {len(vector) for vector in found.vectors} == {64}
        assert first == pytest.approx(third, abs=1e-4)
        assert first != pytest.approx(second, abs=1e-2)
        assert found.usage is not None
        assert found.usage.prompt_tokens == 6

    def test_one_for_each_token(self, client: Client) -> None:
        """
        Is refused, and how to have them pooled is said.
        """
        with pytest.raises(UnreadableAnswerError, match="for each token") as caught:
            client(LLAMA_CPP_PYTHON).embed("Hi", parameters={"model": "tokens"})
        assert "--pooling mean" in str(caught.value)
