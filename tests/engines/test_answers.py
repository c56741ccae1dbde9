"""
What every engine answers: the sentence that the tiny model knows, or a part of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cdk_sagemaker_llm.client import FinishReason
from tests.engines.conftest import (
    ENGINES,
    LLAMA_CPP_PYTHON,
    LLAMA_SERVER,
    SENTENCE,
    TRANSFORMERS,
    Client,
)
from tests.local.client.commands import run

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client import Token
    from cdk_sagemaker_llm.local import EmbeddedAws

# How many tokens the sentence has: some count its end too.
COUNTED = {LLAMA_CPP_PYTHON: 21, TRANSFORMERS: 22, LLAMA_SERVER: 22}
# As far as six tokens go.
BEGUN = "The cat sat on the mat"
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Grüezi 😀"},
]

# Of which the engines' start is the most.
pytestmark = pytest.mark.timeout(300)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def joined(tokens: list[Token]) -> str:
    """
    Return the text of a stream.
    """
    return "".join(token.text for token in tokens)


@every_engine
class TestToItsEnd:
    """
    The model says its sentence, and stops.
    """

    def test_a_prompt(self, client: Client, engine: str) -> None:
        """
        With what was counted.
        """
        found = client(engine).generate("Hi", max_new_tokens=50, temperature=0)

        assert (found.text, found.finish_reason) == (SENTENCE, FinishReason.STOP)
        assert found.usage is not None
        assert found.usage.prompt_tokens == 2
        assert found.completion_tokens == COUNTED[engine]

    def test_a_stream(self, client: Client, engine: str) -> None:
        """
        The pieces are the whole, no character in halves.
        """
        tokens = list(client(engine).stream("Hi", max_new_tokens=50, temperature=0))

        texts = [token.text for token in tokens if token.text]
        assert joined(tokens) == SENTENCE
        assert texts[:3] == ["The", " cat", " sat"]
        assert texts[7:9] == [" K", "ö"]
        assert [token.finish_reason for token in tokens if token.finish_reason] == [
            FinishReason.STOP
        ]
        assert tokens[-1].finish_reason is FinishReason.STOP

    def test_a_chat(self, client: Client, engine: str) -> None:
        """
        Whole and streamed alike.
        """
        asking = client(engine)
        whole = asking.chat(CHAT, max_new_tokens=50, temperature=0)
        streamed = list(asking.stream_chat(CHAT, max_new_tokens=50, temperature=0))

        assert whole.text == joined(streamed) == SENTENCE
        assert whole.finish_reason is streamed[-1].finish_reason is FinishReason.STOP
        assert whole.completion_tokens == COUNTED[engine]
        assert (whole.reasoning, whole.tool_calls) == ("", ())


@every_engine
class TestCutOff:
    """
    The model would have said more.
    """

    @pytest.mark.parametrize("ask", ["generate", "chat"])
    def test_by_its_length(self, client: Client, engine: str, ask: str) -> None:
        """
        After as many tokens as were asked for.
        """
        found = getattr(client(engine), ask)("Hi", max_new_tokens=6, temperature=0)

        assert (found.text, found.finish_reason) == (BEGUN, FinishReason.LENGTH)
        assert found.completion_tokens == 6

    @pytest.mark.parametrize("ask", ["stream", "stream_chat"])
    def test_a_stream_by_its_length(
        self, client: Client, engine: str, ask: str
    ) -> None:
        """
        It says so at its end.
        """
        asked = getattr(client(engine), ask)("Hi", max_new_tokens=6, temperature=0)
        tokens: list[Token] = list(asked)

        assert joined(tokens) == BEGUN
        assert tokens[-1].finish_reason is FinishReason.LENGTH

    def test_at_a_text(self, client: Client, engine: str) -> None:
        """
        Which transformers leaves in the answer.
        """
        found = client(engine).generate(
            "Hi", max_new_tokens=50, temperature=0, stop=[" mat"]
        )

        ends = {TRANSFORMERS: BEGUN}
        assert found.text == ends.get(engine, "The cat sat on the")
        assert found.finish_reason in {FinishReason.STOP, FinishReason.STOP_SEQUENCE}

    def test_and_continued(self, client: Client, engine: str) -> None:
        """
        To the end of the sentence, wherever it was cut: in a character too.
        """
        found = client(engine).continue_to_end("Hi", max_new_tokens=9, temperature=0)

        assert (found.text, found.finish_reason) == (SENTENCE, FinishReason.STOP)
        assert found.requests == 3


@every_engine
class TestCommands:
    """
    As a shell runs them.
    """

    ASKED = ("--max-new-tokens", "50", "--temperature", "0")

    @pytest.mark.parametrize("command", ["invoke", "stream"])
    @pytest.mark.parametrize("form", [("--schema", "openai"), ("--chat",)])
    def test_one_answer(
        self, aws: EmbeddedAws, engine: str, command: str, form: tuple[str, ...]
    ) -> None:
        """
        The answer alone on standard output.
        """
        asked = (command, engine, "Hi", *form, *self.ASKED)
        done = run(aws.process_environment, *asked)

        assert (done.returncode, done.stdout) == (0, f"{SENTENCE}\n"), done.stderr

    def test_a_chat(self, aws: EmbeddedAws, engine: str) -> None:
        """
        Each answer after the ones before.
        """
        asked = ("chat", engine, "--json", *self.ASKED)
        done = run(aws.process_environment, *asked, said="Hi\nAnd then?\n")

        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert done.returncode == 0, done.stderr
        assert [one["text"] for one in told] == [SENTENCE, SENTENCE]

    def test_a_load_test(self, aws: EmbeddedAws, engine: str, tmp_path: Path) -> None:
        """
        Nothing fails, and the tokens are counted.
        """
        prompts = tmp_path / "prompts.txt"
        prompts.write_text("Hi\nGood morning!\n", encoding="utf-8")
        done = run(
            aws.process_environment,
            *("load-test", engine, "--schema", "openai", "--json"),
            *("--users", "2", "--duration", "2s", "--prompts", str(prompts)),
            *("--max-new-tokens", "6", "--parameter", "temperature=0"),
        )

        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)["figures"]
        assert figures["requests"] > 0
        assert figures["failures"] == {}
        assert figures["tokens"] == 6.0
