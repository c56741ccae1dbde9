"""
``sagemaker-llm chat``: a conversation, line by line.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from cdk_sagemaker_llm.cli.commands import MisuseError
from cdk_sagemaker_llm.cli.commands import _asking as asking
from cdk_sagemaker_llm.cli.commands._options import grouped
from cdk_sagemaker_llm.cli.output.answers import (
    Answering,
    Paper,
    answer_facts,
    calls,
    note,
    pace,
    put_line,
    summary,
)
from cdk_sagemaker_llm.client.answers import FinishReason, Generation
from cdk_sagemaker_llm.client.errors import LlmError
from cdk_sagemaker_llm.client.requests import Message, Options, Schema

if TYPE_CHECKING:
    from cdk_sagemaker_llm.client.llm_client import LlmClient

_GREETING = "/help lists the commands, Ctrl-C stops an answer, /exit ends the chat"
_HOW_TO_END = "/exit or Ctrl-D ends the chat"
HELP = """\
/system TEXT  set what the model is told first; without a text, show it
/clear        forget the messages, but not the system message
/exit         end the chat, as Ctrl-D does
//TEXT        send a message that begins with a slash
Ctrl-C        stop an answer; what has come of it stays in the history"""
ENDINGS = ("/exit", "/quit")
# What is installed to have it.
EXTRA = "cli,client"


@grouped
def chat(
    endpoint: asking.EndpointName,
    *,
    system: Annotated[
        str, typer.Option(help="What the model is told first; if omitted, nothing.")
    ] = "",
    question: asking.QuestionOptions,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each answer.")
    ] = False,
) -> None:
    """
    Chat with an endpoint: a line is a message, and the model knows those before.

    /system TEXT, /clear, /help and /exit are commands. Ctrl-C stops an answer, not the
    chat. Without a terminal it reads messages from standard input; standard output has
    the answers alone, the rest is said on standard error.

    Exits with 0 when the chat has ended; 1 if there was no terminal and a message got
    no answer, or not the whole of it; 2 on misuse, 130 after Ctrl-C between answers
    without a terminal.
    """
    with asking.ending("chat", as_json=as_json):
        options = question.options()
        with question.connect(endpoint, Schema.OPENAI) as client:
            chatting = _Chat(client, Conversation(system), options, as_json=as_json)
            is_answered = chatting.run()
    if not is_answered and not _is_interactive():
        raise typer.Exit(asking.FAILED)


class _Chat:
    """
    A conversation over a client.
    """

    def __init__(
        self,
        client: LlmClient,
        conversation: Conversation,
        options: Options,
        *,
        as_json: bool,
    ) -> None:
        self._client = client
        self._conversation = conversation
        self._options = options
        self._details = bool(options.get("details"))
        self._as_json = as_json

    def run(self) -> bool:
        is_answered = True
        for line in _lines():
            text = line.strip()
            if text in ENDINGS:
                break
            if text.startswith("/") and not text.startswith("//"):
                note(self._conversation.obey(text))
            elif text:
                said = text.removeprefix("/") if text.startswith("//") else text
                is_answered &= self._answer(said)
        return is_answered

    def _answer(self, text: str) -> bool:
        answering, paper = Answering(), Paper(shaded=self._details)
        try:
            messages = self._conversation.asking(text)
            tokens = self._client.stream_chat(messages, **self._options)
            with closing(tokens):
                for token in tokens:
                    answering.add(token)
                    if not self._as_json:
                        paper.token(token)
        except KeyboardInterrupt:
            paper.end()
            note("stopped")
        except LlmError as error:
            paper.end()
            asking.complain("chat", error, as_json=self._as_json)
            note("the message is not in the history; send it again, or another")
            return False
        paper.end()
        self._print_answer(answering)
        if answering.answer.text:
            self._conversation.keep(text, answering.answer.text)
        return True

    def _print_answer(self, answering: Answering) -> None:
        answer = answering.answer
        if self._as_json:
            facts = answer_facts(answer, answering.seconds, answering.first)
            put_line(json.dumps(facts))
            return
        for line in calls(answer):
            note(line)
        if self._details:
            note(summary(answer, answering.seconds, answering.first))
        else:
            note(pace(answer, answering.seconds) + cut_off(answer))


def cut_off(answer: Generation) -> str:
    """
    Say whether an answer ended at its length, and whether that was before it began.
    """
    if answer.finish_reason is not FinishReason.LENGTH:
        return ""
    is_thought = bool(answer.reasoning) and not answer.text.strip()
    rest = " while the model thought: raise --max-new-tokens" if is_thought else ""
    return f", cut off at its length{rest}"


def _is_interactive() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _lines() -> Iterator[str]:
    if _is_interactive():
        yield from _typed()
        return
    for line in sys.stdin.buffer:
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise MisuseError("standard input is not UTF-8 text") from error


def _typed() -> Iterator[str]:
    # Editing of lines, where Python was built with it.
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - its import is its effect
    note(_GREETING)
    while True:
        try:
            line = input("> ")
        except EOFError:
            note("")
            return
        except KeyboardInterrupt:
            note(f"\n{_HOW_TO_END}")
            continue
        # What the keyboard sent may be no text.
        yield line.encode("utf-8", "replace").decode()


class Conversation:
    """
    What was said so far.
    """

    def __init__(self, system: str = "") -> None:
        self.system = system
        self._said: list[Message] = []

    def asking(self, text: str) -> list[Message]:
        """
        Return the messages that ask for the next answer.
        """
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, *self._said, {"role": "user", "content": text}]

    def keep(self, text: str, answer: str) -> None:
        """
        Keep a message and its answer.
        """
        # A model may write halves of characters, which no request can carry.
        whole = answer.encode("utf-8", "replace").decode()
        self._said.append({"role": "user", "content": text})
        self._said.append({"role": "assistant", "content": whole})

    def obey(self, line: str) -> str:
        """
        Carry out a command; return what to tell the user.
        """
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if name == "/help":
            return HELP
        if name == "/clear":
            self._said.clear()
            return "the messages are forgotten"
        if name == "/system" and rest:
            self.system = rest
            return "the system message is set"
        if name == "/system":
            return self.system or "there is no system message"
        return f"{name} is no command; /help lists them, //{line[1:]} sends it"
