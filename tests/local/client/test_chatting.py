"""
``sagemaker-llm chat``: in a pipe and on a terminal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.local.client.commands import Terminal, run
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_talking import NEAR
from tests.local.hosting_requests import LMI_28, TGI_3, serve

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws


def chunk(text: str, reason: str | None = None) -> bytes:
    """
    Write a part of a streamed chat.
    """
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


def answers(*texts: str) -> Iterator[bytes]:
    """
    Write a whole streamed chat.
    """
    for text in texts:
        yield chunk(text)
    yield chunk("", "stop")
    yield b"data: [DONE]\n\n"


def echo(peer: Peer) -> None:
    """
    Answer with how many messages there are.
    """
    count = len(json.loads(peer.body)["messages"])
    peer.begin()
    for part in answers("after ", f"{count}"):
        peer.part(part)
    peer.end()


def messages(server: Misbehaving) -> list[list[tuple[str, str]]]:
    """
    Return the messages of each request.
    """
    return [
        [(one["role"], one["content"]) for one in json.loads(body)["messages"]]
        for body in server.requests
    ]


def test_it_keeps_its_history() -> None:
    """
    And obeys; only answers are on standard output.
    """
    said = "Hi\n\nAnd?\n/system be kind\n//slash\n/clear\nAgain\n/huh\n/exit\nlost\n"
    with Misbehaving(echo) as server:
        done = run(NEAR, "chat", "bot", "--endpoint-url", server.url, said=said)

    assert done.returncode == 0
    assert done.stdout == "after 1\nafter 3\nafter 6\nafter 2\n"
    first = [("user", "Hi"), ("assistant", "after 1"), ("user", "And?")]
    assert messages(server) == [
        first[:1],
        first,
        [("system", "be kind"), *first, ("assistant", "after 3"), ("user", "/slash")],
        [("system", "be kind"), ("user", "Again")],
    ]
    paces = re.findall(r"2 tokens, [\d.]+ tokens/s\n", done.stderr)
    assert len(paces) == 4
    assert "/huh is no command; /help lists them, //huh sends it" in done.stderr


@pytest.mark.parametrize("image", [LMI_28, TGI_3])
def test_on_the_embedded_aws(embedded_aws: EmbeddedAws, image: str) -> None:
    """
    With a last line that has no end, and an object for each answer.
    """
    endpoint = serve(embedded_aws, image)
    done = run(
        embedded_aws.process_environment,
        *("chat", endpoint, "--max-new-tokens", "3", "--json"),
        said="Hi\nAnd?",
    )

    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [one["finish_reason"] for one in found] == ["length", "length"]
    assert [one["completion_tokens"] for one in found] == [3, 3]


def test_a_message_that_fails_is_not_kept(embedded_aws: EmbeddedAws) -> None:
    """
    The chat goes on, and the status tells.
    """
    refused = json.dumps({"Message": "slow down"}).encode()

    def refuse(peer: Peer) -> None:
        peer.whole(refused, 424, x_amzn_ErrorType="ModelError")

    with Misbehaving(refuse, echo) as server:
        done = run(NEAR, "chat", "b", "--endpoint-url", server.url, said="Hi\nYou\n")
    unknown = run(embedded_aws.process_environment, "chat", "nobody", said="Hi\n")

    assert (done.returncode, done.stdout) == (1, "after 1\n")
    assert messages(server)[1] == [("user", "You")]
    assert "the message is not in the history; send it again, or another" in done.stderr
    assert unknown.returncode == 1
    assert "nobody of account 123456789012 not found" in unknown.stderr


def test_what_is_no_text_is_misuse() -> None:
    """
    Before anything is sent.
    """
    done = run(NEAR, "chat", "b", "--endpoint-url", "http://localhost:1", said=b"\xff")

    assert done.returncode == 2
    assert done.stderr == "sagemaker-llm chat: standard input is not UTF-8 text\n"


def test_ctrl_c_stops_an_answer_and_the_chat_goes_on() -> None:
    """
    What had come stays in the history; /exit ends the chat, and so does Ctrl-D.
    """

    def stall(peer: Peer) -> None:
        peer.begin()
        peer.part(chunk("Well"))
        peer.left()

    with Misbehaving(stall, echo) as server:
        shown = Terminal(NEAR, "chat", "bot", "--endpoint-url", server.url)
        try:
            shown.await_text("> ")
            shown.interrupt("/exit or Ctrl-D ends the chat")
            shown.type("Hi\n")
            shown.await_text("Well")
            shown.interrupt("stopped")
            shown.type("And?\n")
            shown.await_text("after 3")
            # Before there is a prompt the terminal would take it for the end of a line.
            shown.await_text("> ")
            shown.type("\x04")
            status = shown.end()
        finally:
            shown.kill()

    assert status == 0
    assert messages(server)[1] == [
        ("user", "Hi"),
        ("assistant", "Well"),
        ("user", "And?"),
    ]
