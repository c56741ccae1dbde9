"""
What engines refuse, in their own words, and which exception it becomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.client import (
    ConnectionCutError,
    ContextTooLongError,
    LlmClient,
    ModelError,
)
from tests.engines.conftest import (
    CONTEXT,
    ENGINES,
    LLAMA_CPP_PYTHON,
    LLAMA_SERVER,
    TRANSFORMERS,
    Client,
)
from tests.local.client.commands import run

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

# Of which the engines' start is the most.
pytestmark = pytest.mark.timeout(300)

# Three tokens a word, but for the last.
LONG = " ".join(["Hi"] * 201)
Ask = Callable[[LlmClient], object]


def prompt(asking: LlmClient) -> object:
    """
    Continue it.
    """
    return asking.generate(LONG, max_new_tokens=4)


def stream(asking: LlmClient) -> object:
    """
    Continue it, token by token.
    """
    return list(asking.stream(LONG, max_new_tokens=4))


def chat(asking: LlmClient) -> object:
    """
    Answer it.
    """
    return asking.chat(LONG, max_new_tokens=4)


def stream_chat(asking: LlmClient) -> object:
    """
    Answer it, token by token.
    """
    return list(asking.stream_chat(LONG, max_new_tokens=4))


class TestAContextTooLong:
    """
    With the numbers, where the engine has them.
    """

    @pytest.mark.parametrize(
        ("engine", "ask", "requested"),
        [
            (LLAMA_SERVER, prompt, 602),
            (LLAMA_SERVER, stream, 602),
            (LLAMA_SERVER, chat, 606),
            (LLAMA_SERVER, stream_chat, 606),
            (LLAMA_CPP_PYTHON, prompt, 606),
            (LLAMA_CPP_PYTHON, chat, 610),
        ],
    )
    def test_its_numbers(
        self, client: Client, engine: str, ask: Ask, requested: int
    ) -> None:
        """
        llama-cpp-python counts the answer too.
        """
        with pytest.raises(ContextTooLongError) as caught:
            ask(client(engine))

        assert caught.value.status == 400
        assert (caught.value.limit, caught.value.requested) == (CONTEXT, requested)

    @pytest.mark.parametrize("ask", [stream, stream_chat])
    def test_a_stream_without_a_word(self, client: Client, ask: Ask) -> None:
        """
        llama-cpp-python begins one, and ends it: all that can be said is where to look.
        """
        with pytest.raises(ConnectionCutError, match="ask without streaming") as caught:
            ask(client(LLAMA_CPP_PYTHON))
        assert caught.value.text == ""

    @pytest.mark.parametrize("ask", [prompt, stream, chat, stream_chat])
    def test_transformers_knows_no_bound(self, client: Client, ask: Ask) -> None:
        """
        It goes on beyond the positions that the model was made for.
        """
        assert ask(client(TRANSFORMERS))


class TestWrongParameters:
    """
    Before a stream as well as instead of an answer.
    """

    @pytest.mark.parametrize(
        ("engine", "status", "told"),
        [
            (LLAMA_SERVER, 400, "type must be number"),
            (LLAMA_CPP_PYTHON, 500, "should be a valid number"),
            (TRANSFORMERS, 500, "Internal Server Error"),
        ],
    )
    def test_a_value(self, client: Client, engine: str, status: int, told: str) -> None:
        """
        The status and the words are the engine's.
        """
        asking = client(engine)
        with pytest.raises(ModelError, match=told) as whole:
            asking.generate("Hi", parameters={"temperature": "hot"})
        with pytest.raises(ModelError, match=told) as streamed:
            list(asking.stream("Hi", parameters={"temperature": "hot"}))

        assert whole.value.status == streamed.value.status == status

    def test_a_name(self, client: Client) -> None:
        """
        transformers refuses what it does not know; llama.cpp overlooks it.
        """
        wrong = {"colour": "red"}
        with pytest.raises(ModelError, match="Unexpected fields .*colour") as caught:
            client(TRANSFORMERS).generate("Hi", parameters=wrong)
        found = client(LLAMA_SERVER).generate("Hi", parameters=wrong, max_new_tokens=2)

        assert caught.value.status == 422
        assert found.completion_tokens == 2


class TestAnUnknownModel:
    """
    By name.
    """

    def test_transformers(self, client: Client) -> None:
        """
        Is pinned to its own.
        """
        with pytest.raises(ModelError, match="pinned to .*tiny.*'nobody'") as caught:
            client(TRANSFORMERS).chat("Hi", model="nobody")
        assert caught.value.status == 400

    @pytest.mark.parametrize("engine", [LLAMA_SERVER, LLAMA_CPP_PYTHON])
    def test_llama_cpp(self, client: Client, engine: str) -> None:
        """
        Answers with the one that it has.
        """
        found = client(engine).chat(
            "Hi", model="nobody", max_new_tokens=2, temperature=0
        )

        assert found.text == "The cat"


class TestWhatItDoesNotServe:
    """
    A route, or what a route is for.
    """

    @pytest.mark.parametrize(
        ("engine", "status", "told"),
        [
            (LLAMA_SERVER, 501, "Start it with `--embeddings`"),
            (LLAMA_CPP_PYTHON, 500, "must be created with embedding=True"),
            (TRANSFORMERS, 404, "has no /v1/embeddings"),
        ],
    )
    def test_vectors(self, client: Client, engine: str, status: int, told: str) -> None:
        """
        Each says why not.
        """
        with pytest.raises(ModelError, match=told) as caught:
            client(engine).embed("Hi")
        assert caught.value.status == status

    @pytest.mark.parametrize("engine", ENGINES)
    def test_inputs(self, aws: EmbeddedAws, engine: str) -> None:
        """
        None has ``/invocations``; the command says how to ask instead.
        """
        done = run(aws.process_environment, "stream", engine, "Hi")

        assert (done.returncode, done.stdout) == (1, "")
        assert 'ask with schema="openai"' in done.stderr
