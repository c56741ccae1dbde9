"""
``sagemaker-llm chat``: what is sent, shown, kept and ended, message by message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Self
from unittest import mock

import pytest

from cdk_sagemaker_llm.cli.commands import _asking as asking
from cdk_sagemaker_llm.cli.commands.chat import HELP, _is_interactive
from cdk_sagemaker_llm.client.answers import FinishReason, Token, ToolCall, Usage
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.requests import Schema
from tests.running import run

STOP = Token("", finish_reason=FinishReason.STOP, usage=Usage(3, 2))
Answer = list[Token | BaseException]


class Client:
    """
    Streams the answers that it was given, one after the other.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[list[tuple[str, str]]] = []
        self.options: list[dict[str, Any]] = []
        self.closed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1

    def stream_chat(
        self,
        messages: list[dict[str, str]],
        **options: Any,  # noqa: ANN401 - whatever the options are
    ) -> Iterator[Token]:
        """
        Note what is asked, and answer.
        """
        self.asked.append([(one["role"], one["content"]) for one in messages])
        self.options.append(options)
        for each in self.answers.pop(0):
            if isinstance(each, BaseException):
                raise each
            yield each


def chat(
    client: Client, said: str | bytes, *options: str
) -> tuple[int, str, list[str]]:
    """
    Chat in a pipe; return the exit status, the answers, and what is said beside them.
    """
    text = said.encode() if isinstance(said, str) else said
    with mock.patch.object(
        asking.QuestionOptions, "connect", autospec=True, return_value=client
    ) as connect:
        done = run("chat", "it", *options, said=text)
    for call in connect.call_args_list:
        assert call.args[1:] == ("it", Schema.OPENAI)
    beside = done.stderr.splitlines()
    return done.returncode, done.stdout, beside


def spoken(*texts: str) -> Answer:
    """
    Answer with some tokens.
    """
    return [*map(Token, texts), STOP]


def test_the_model_knows_what_was_said_before() -> None:
    """
    Each message and each answer, behind the system message.
    """
    client = Client(spoken("Hi", "!"), spoken("Yes"))
    status, out, _ = chat(
        client, "  Hello \n\n/exit now\nAnd?\n", "--system", "be kind"
    )

    assert (status, out) == (0, "Hi!\nYes\n")
    assert client.asked == [
        [("system", "be kind"), ("user", "Hello")],
        [
            *(("system", "be kind"), ("user", "Hello")),
            *(("assistant", "Hi!"), ("user", "And?")),
        ],
    ]
    assert client.closed == 1


@pytest.mark.parametrize("end", ["/exit", "/quit", " /exit "])
def test_the_chat_ends_where_it_is_told_to(end: str) -> None:
    """
    What stands behind it is not sent.
    """
    client = Client(spoken("a"))
    status, out, _ = chat(client, f"one\n{end}\ntwo\n")

    assert (status, out, len(client.asked)) == (0, "a\n", 1)


def test_commands_are_obeyed_and_not_sent() -> None:
    """
    Two slashes send a message that begins with one.
    """
    client = Client(spoken("a"), spoken("b"))
    lines = ["/help", "/system be brief", "//etc", "/clear", "//", "/nope"]
    status, out, beside = chat(client, "\n".join(lines))

    assert (status, out) == (0, "a\nb\n")
    assert client.asked == [
        [("system", "be brief"), ("user", "/etc")],
        [("system", "be brief"), ("user", "/")],
    ]
    text = "\n".join(beside)
    assert HELP in text
    for words in (
        "the system message is set",
        "the messages are forgotten",
        "/nope is no command; /help lists them, //nope sends it",
    ):
        assert words in beside


def test_an_answer_of_nothing_is_not_kept() -> None:
    """
    Neither it nor its message.
    """
    client = Client(spoken(), spoken("b"))
    chat(client, "one\ntwo\n")

    assert client.asked[1] == [("user", "two")]


def test_options_go_with_each_message() -> None:
    """
    As they do with a single question.
    """
    client = Client(spoken("a"), spoken("b"))
    chat(client, "one\ntwo\n", "--max-new-tokens", "7", "--temperature", "0.5")

    assert client.options == [{"max_new_tokens": 7, "temperature": 0.5}] * 2


def test_how_fast_it_was_is_said_beside_the_answer() -> None:
    """
    And that it was cut off.
    """
    cut = Token("", finish_reason=FinishReason.LENGTH, usage=Usage(3, 1))
    _, out, beside = chat(Client([Token("a"), cut]), "one\n")

    assert out == "a\n"
    assert len(beside) == 1
    assert beside[0].startswith("1 token, ")
    assert beside[0].endswith(" tokens/s, cut off at its length")


def test_with_details_it_is_said_how_sure_the_model_was() -> None:
    """
    And when it began.
    """
    sure = Token("a", token_id=1, log_prob=0.0)
    _, out, beside = chat(Client([sure, STOP]), "one\n", "--details")

    assert out == "a\n"
    (line,) = [one for one in beside if "the first after" in one]
    assert line.endswith("confidence 1.000")


def test_tool_calls_are_said_beside_the_answer() -> None:
    """
    A line each.
    """
    call = ToolCall("look", '{"at": 1}')
    end = Token("", finish_reason=FinishReason.TOOL_CALLS, tool_calls=(call,))
    _, out, beside = chat(Client([Token("a"), end]), "one\n")

    assert out == "a\n"
    assert beside[0] == 'calls look({"at": 1})'


def test_json_is_a_line_for_each_answer() -> None:
    """
    And nothing else.
    """
    status, out, beside = chat(
        Client(spoken("a", "b"), spoken("c")), "one\ntwo\n", "--json"
    )
    facts = [json.loads(line) for line in out.splitlines()]

    assert (status, beside) == (0, [])
    assert [one["text"] for one in facts] == ["ab", "c"]
    assert all(one["first_token_seconds"] <= one["seconds"] for one in facts)


def test_a_message_that_fails_is_not_kept() -> None:
    """
    The chat goes on, and its end says that one was not answered.
    """
    fault = LlmError("it is gone.", remedy="ask another")
    client = Client([Token("half"), fault], spoken("b"))
    status, out, beside = chat(client, "one\ntwo\n")

    assert (status, out) == (1, "half\nb\n")
    assert client.asked[1] == [("user", "two")]
    assert beside[:2] == [
        "sagemaker-llm chat: it is gone; ask another",
        "the message is not in the history; send it again, or another",
    ]
    failed = chat(Client([fault]), "one\n", "--json")
    assert failed[0] == 1
    assert json.loads(failed[1])["error"]["message"] == "it is gone."


def test_the_last_answer_does_not_make_up_for_another() -> None:
    """
    Nor one that follows for one that failed.
    """
    fault = LlmError("gone")

    assert chat(Client([fault], spoken("b")), "one\ntwo\n")[0] == 1
    assert chat(Client(spoken("b"), [fault]), "one\ntwo\n")[0] == 1
    assert chat(Client(spoken("b"), spoken("b")), "one\ntwo\n")[0] == 0
    assert chat(Client(), "")[0] == 0


def test_ctrl_c_stops_an_answer_which_is_kept() -> None:
    """
    As far as it had come.
    """
    client = Client([Token("half"), KeyboardInterrupt()], spoken("b"))
    status, out, beside = chat(client, "one\ntwo\n")

    assert (status, out) == (0, "half\nb\n")
    assert beside[0] == "stopped"
    assert client.asked[1] == [
        ("user", "one"),
        ("assistant", "half"),
        ("user", "two"),
    ]


def test_what_is_no_text_is_misuse() -> None:
    """
    In a line.
    """
    status, out, beside = chat(Client(), b"\xff\n")

    assert (status, out) == (2, "")
    assert beside == ["sagemaker-llm chat: standard input is not UTF-8 text"]


def typed(client: Client, *lines: str | BaseException) -> tuple[int, str, list[str]]:
    """
    Chat on a terminal, where lines are typed.
    """
    inputs = mock.Mock(side_effect=[*lines, EOFError()])
    is_terminal = "cdk_sagemaker_llm.cli.commands.chat._is_interactive"
    with (
        mock.patch(is_terminal, return_value=True),
        mock.patch("builtins.input", inputs),
    ):
        found = chat(client, "")
    assert {call.args for call in inputs.call_args_list} == {("> ",)}
    return found


def test_a_chat_on_a_terminal_begins_with_how_it_ends() -> None:
    """
    And ends with the line that Ctrl-D left open.
    """
    client = Client(spoken("a"))
    status, out, beside = typed(client, "one \ud800")

    assert (status, out) == (0, "a\n")
    assert beside[0] == (
        "/help lists the commands, Ctrl-C stops an answer, /exit ends the chat"
    )
    assert beside[-1] == ""
    assert client.asked == [[("user", "one ?")]]


def test_ctrl_c_between_answers_on_a_terminal_ends_nothing() -> None:
    """
    It says what does.
    """
    client = Client(spoken("a"))
    status, _, beside = typed(client, KeyboardInterrupt(), "one")

    assert (status, len(client.asked)) == (0, 1)
    assert beside[1:3] == ["", "/exit or Ctrl-D ends the chat"]


def test_a_message_without_an_answer_is_no_failure_on_a_terminal() -> None:
    """
    Who sits there has seen it.
    """
    assert typed(Client([LlmError("gone")]), "one")[0] == 0


def test_a_terminal_is_one_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A pipe on either side is none.
    """
    for reads, writes in ((True, True), (True, False), (False, True)):
        monkeypatch.setattr("sys.stdin", mock.Mock(isatty=lambda it=reads: it))
        monkeypatch.setattr("sys.stdout", mock.Mock(isatty=lambda it=writes: it))
        assert _is_interactive() is (reads and writes)
