"""
What ``invoke``, ``stream`` and ``chat`` understand, and how they say it.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands._asking import QuestionOptions, read_prompt
from cdk_sagemaker_llm.cli.commands.chat import Conversation, cut_off
from cdk_sagemaker_llm.cli.output import answers
from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AnswerTooLargeError,
    ComponentNameError,
    FinishReason,
    Generation,
    LlmError,
    ModelError,
    NoCapacityError,
    Token,
    ToolCall,
    Usage,
)
from cdk_sagemaker_llm.client.errors import error_of
from cdk_sagemaker_llm.client.requests import Options
from cdk_sagemaker_llm.client.wire.failures import Failure
from tests.unit.cli.test_command import shown


def options(*parameter: str) -> Options:
    """
    Read parameters.
    """
    return QuestionOptions(parameter=list(parameter)).options()


class TestOptions:
    """
    What becomes of the arguments.
    """

    def test_nothing_is_asked_for_that_was_not_given(self) -> None:
        """
        The container decides.
        """
        assert options() == {}

    def test_all_of_them(self) -> None:
        """
        Zero is a temperature.
        """
        assert QuestionOptions(
            max_new_tokens=1,
            temperature=0.0,
            stop=["a", "b"],
            parameter=["top_p=0.9", 'model="tiny"', 'x="a=b"'],
            details=True,
        ).options() == {
            "max_new_tokens": 1,
            "temperature": 0.0,
            "stop": ["a", "b"],
            "parameters": {"top_p": 0.9, "model": "tiny", "x": "a=b"},
            "details": True,
        }

    @pytest.mark.parametrize(
        ("written", "told"),
        [
            (["a"], "--parameter must be NAME=JSON, got a"),
            (["=1"], "--parameter must be NAME=JSON, got =1"),
            (
                ["a=b"],
                """a must be JSON, got b; a text is written in quotes: 'a="b"'""",
            ),
            (["a="], "a must be JSON, got ;"),
            (["a=" + "[" * 100_000], "a must be JSON"),
            (["a=1", "a=2"], "--parameter a is given twice; give it once"),
        ],
    )
    def test_what_cannot_be_read(self, written: list[str], told: str) -> None:
        """
        Is refused with the way to write it.
        """
        with pytest.raises(MisuseError) as caught:
            options(*written)
        assert told in str(caught.value)


class TestTargets:
    """
    Whom to ask, and how patiently.
    """

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["chat", "--timeout", "0"], "--timeout must be more than 0 s, got 0.0"),
            (["chat", "--wait", "-1"], "--wait must be at least 0, got -1.0"),
            (
                ["chat", "--endpoint-url", "nowhere"],
                "--endpoint-url must be such as https://HOST, got 'nowhere'",
            ),
            ([""], "ENDPOINT is empty; name the endpoint"),
        ],
    )
    def test_what_is_out_of_bounds(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        told: str,
    ) -> None:
        """
        Is misuse, by the name of the option.
        """
        command = ["stream", *arguments, "Who?", "--region", "us-east-1"]
        status, text = shown(command, monkeypatch, capsys)

        assert status == 2
        assert text == f"sagemaker-llm stream: {told}\n"

    def test_an_address_of_elsewhere_gets_no_credentials_of_an_emulation(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        """
        Though the environment names one on this machine: the option counts first.
        """
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
            monkeypatch.delenv(name, raising=False)
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            monkeypatch.setenv(name, str(tmp_path / "none"))
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        away = ["--endpoint-url", "https://runtime.invalid", "--region", "us-east-1"]
        status, text = shown(["stream", "chat", "Who?", *away], monkeypatch, capsys)

        assert status == 1
        assert "Unable to locate credentials" in text


class TestPrompts:
    """
    One, from one place.
    """

    def test_a_file_loses_one_newline(self, tmp_path: Path) -> None:
        """
        Whichever way lines end there.
        """
        file = tmp_path / "prompt"
        for written, read in ((b"a\n\n", "a\n"), (b"a\r\n", "a"), (b"a", "a")):
            file.write_bytes(written)
            assert read_prompt(None, file) == read
        assert read_prompt("a\n", None) == "a\n"

    def test_none_two_and_no_text(self, tmp_path: Path) -> None:
        """
        Are misuse.
        """
        file = tmp_path / "prompt"
        for prompt, path in ((None, None), ("a", file)):
            with pytest.raises(MisuseError, match="give a prompt, - for standard"):
                read_prompt(prompt, path)
        with pytest.raises(
            MisuseError, match="--file .*/prompt cannot be read: No such f"
        ):
            read_prompt(None, file)
        file.write_bytes(b"\xff")
        with pytest.raises(MisuseError, match="the prompt is not UTF-8 text"):
            read_prompt(None, file)


class TestWords:
    """
    Answers and errors for people and for machines.
    """

    @pytest.mark.parametrize(
        ("probability", "style"),
        [
            (1.0, ""),
            (0.901, ""),
            (0.899, "yellow"),
            (0.601, "yellow"),
            (0.599, "magenta"),
            (0.301, "magenta"),
            (0.299, "red"),
            (1e-300, "red"),
        ],
    )
    def test_shades(self, probability: float, style: str) -> None:
        """
        On both sides of each bound.
        """
        assert answers.shade_of(math.log(probability)) == style

    def test_shades_at_the_ends(self) -> None:
        """
        Nothing is known, certain by more than rounding, impossible.
        """
        assert answers.shade_of(None) == ""
        assert answers.shade_of(1e-9) == ""
        assert answers.shade_of(1000.0) == ""
        assert answers.shade_of(-math.inf) == "red"
        assert answers.legend() == (
            "probability: plain from 0.9 on, yellow from 0.6 on, magenta from 0.3 on, "
            "red below"
        )

    def test_the_summary(self) -> None:
        """
        Says what is known, and no more.
        """
        tokens = (Token("a", log_prob=math.log(0.5)), Token("b"))
        whole = Generation("ab", tokens, FinishReason.LENGTH)

        assert answers.summary(whole, 0.5, 0.1) == (
            "finish reason length (cut off at its length), 2 tokens, 4.0 tokens/s, "
            "the first after 0.10 s, confidence 0.500"
        )
        assert answers.summary(Generation("a", tokens[1:]), 2.0) == (
            "no finish reason, 1 token, 0.5 tokens/s"
        )
        assert answers.pace(Generation("a", tokens[1:]), 0.0).startswith("1 token, ")
        assert answers.summary(Generation("a"), 0.25) == "no finish reason, 0.25 s"

    def test_facts(self) -> None:
        """
        Of an answer and of a token that is impossible.
        """
        answer = Generation(
            "a",
            finish_reason=FinishReason.TOOL_CALLS,
            tool_calls=(ToolCall("f", "{}", "1"),),
            usage=Usage(3, 4),
        )

        assert answers.answer_facts(answer, 2.0, 0.5) == {
            "text": "a",
            "finish_reason": "tool_calls",
            "confidence": None,
            "reasoning": "",
            "tool_calls": [{"id": "1", "name": "f", "arguments": "{}"}],
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "seconds": 2.0,
            "tokens_per_second": 2.0,
            "first_token_seconds": 0.5,
        }
        assert answers.answer_facts(Generation(""), 1.0)["tokens_per_second"] is None
        assert answers.token_facts(Token("a", log_prob=-math.inf))["log_prob"] is None

    def test_facts_are_exact(self) -> None:
        """
        To a microsecond, and what came at once is said to have.
        """
        tokens = (Token("a", 7, math.log(0.5), index=1),)
        facts = answers.answer_facts(Generation("a", tokens), 1.23456789, 0.0)

        assert (facts["seconds"], facts["first_token_seconds"]) == (1.234568, 0.0)
        assert facts["tokens_per_second"] == 0.81
        assert facts["confidence"] == pytest.approx(0.5)
        assert facts["prompt_tokens"] is None
        assert answers.token_facts(tokens[0]) == {
            "text": "a",
            "id": 7,
            "log_prob": math.log(0.5),
            "reasoning": "",
            "special": False,
            "finish_reason": None,
            "index": 1,
        }

    def test_facts_of_an_error(self) -> None:
        """
        With what had come, and the status where there is one.
        """
        error = ModelError("boom", status=503, text="The")
        error.reasoning = "Hm"

        assert answers.error_facts(error) == {
            "kind": "ModelError",
            "message": "boom",
            "remedy": "read the container's log group for what came before",
            "status": 503,
            "text": "The",
            "reasoning": "Hm",
        }
        assert answers.error_facts(LlmError("x"))["status"] is None

    def test_the_first_token_is_the_first(self) -> None:
        """
        However many follow.
        """
        answering = answers.Answering()
        answering.add(Token("a"))
        first = answering.first
        time.sleep(0.01)
        answering.add(Token("b"))

        assert first is not None
        assert answering.first == first
        assert answering.seconds >= first + 0.01
        assert answering.answer.text == "ab"

    @pytest.mark.parametrize(
        ("error", "remedy"),
        [
            (ComponentNameError("x"), "x; name the component: --component NAME"),
            (NoCapacityError("x"), "x; wait for one with --wait, raise the least"),
            (AnswerTimeoutError("x"), "or allow more time (--timeout)"),
            (AnswerTooLargeError("x."), "x; ask for fewer tokens"),
            (
                error_of(Failure("Either prompt or prompt_embeds must be provided")),
                "it takes OpenAI's requests: --schema openai, or --chat",
            ),
            (ModelError("two\nlines\x1b[2J"), "two lines[2J; read the container's log"),
            (LlmError("half \ud800"), "half ?"),
        ],
    )
    def test_remedies_name_options(self, error: LlmError, remedy: str) -> None:
        """
        In one line that no terminal obeys, without the names of Python.
        """
        told = answers.explain(error)

        assert remedy in told
        assert "LlmClient" not in told
        assert "=" not in told


class TestConversations:
    """
    What is sent, and what is forgotten.
    """

    def test_nothing_is_said_first_unless_it_is_given(self) -> None:
        """
        Some models take no system message at all.
        """
        assert Conversation().asking("Hi") == [{"role": "user", "content": "Hi"}]
        assert Conversation("be kind").asking("Hi") == [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "Hi"},
        ]

    def test_commands(self) -> None:
        """
        Clearing keeps the system message.
        """
        chat = Conversation()
        assert chat.obey("/system") == "there is no system message"
        assert chat.obey("/system  be kind ") == "the system message is set"
        assert chat.obey("/system") == "be kind"
        chat.keep("Hi", "Yes \ud800")
        assert [one["content"] for one in chat.asking("?")] == [
            "be kind",
            "Hi",
            "Yes ?",
            "?",
        ]
        assert chat.obey("/clear") == "the messages are forgotten"
        assert [one["role"] for one in chat.asking("?")] == ["system", "user"]
        assert "/exit" in chat.obey("/help")
        assert chat.obey("/x y") == "/x is no command; /help lists them, //x y sends it"


@pytest.mark.parametrize(
    ("text", "reasoning", "reason", "said"),
    [
        ("Yes", "", FinishReason.LENGTH, ", cut off at its length"),
        ("Yes", "Hm", FinishReason.LENGTH, ", cut off at its length"),
        ("", "", FinishReason.LENGTH, ", cut off at its length"),
        (
            "\n",
            "Hm",
            FinishReason.LENGTH,
            ", cut off at its length while the model thought: raise --max-new-tokens",
        ),
        ("", "Hm", FinishReason.STOP_SEQUENCE, ""),
        ("Yes", "", None, ""),
    ],
)
def test_an_answer_that_is_cut_off_says_so(
    text: str, reasoning: str, reason: FinishReason | None, said: str
) -> None:
    """
    And why there is none, where all of it was thought.
    """
    answer = Generation(text, reasoning=reasoning, finish_reason=reason)

    assert cut_off(answer) == said
