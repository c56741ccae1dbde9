"""
A client that was closed, and requests that follow one another.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from cdk_sagemaker_llm.client import ConnectionCutError, Options
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Misbehaving, Peer

HALF = (
    b'{"token": {"id": 1, "text": "Hi \\ud83d", "log_prob": -1.0}, '
    b'"generated_text": "", "details": {"finish_reason": "length"}}\n'
)


def half(peer: Peer) -> None:
    """
    Stream an answer that ends for its length, in the middle of a character.
    """
    peer.begin()
    peer.part(HALF)
    peer.end()


def thought(peer: Peer) -> None:
    """
    Stream a thought, and an answer that ends for its length.
    """
    peer.begin()
    peer.part(b'{"choices": [{"delta": {"reasoning": "First. "}}]}\n')
    peer.part(b'{"choices": [{"delta": {"content": "Hi"}, "finish_reason": "length"}]}')
    peer.end()


def broken_thought(peer: Peer) -> None:
    """
    Break off in the middle of a thought.
    """
    peer.begin()
    peer.part(b'{"choices": [{"delta": {"reasoning": "Then"}}]}\n')
    peer.cut()


def test_a_closed_client_opens_new_connections(
    connect: Connect, connect_async: ConnectAsync
) -> None:
    """
    In asyncio too, where its threads had ended.
    """

    async def main(url: str) -> list[str]:
        client = connect_async(url)
        client.close()
        first = await client.generate("Who?")
        client.close()
        client.close()
        async with client:
            return [first.text, (await client.generate("Who?")).text]

    with Misbehaving(lambda peer: peer.whole(b'{"generated_text": "Hi"}')) as server:
        client = connect(server.url)
        client.close()
        assert client.generate("Who?").text == "Hi"
        client.close()
        assert asyncio.run(main(server.url)) == ["Hi", "Hi"]


def test_half_a_character_is_continued(connect: Connect) -> None:
    """
    No request can carry it, and the text so far is not lost for that.
    """
    with Misbehaving(half) as server, connect(server.url) as client:
        found = client.continue_to_end("Who?", max_requests=2)

    assert (found.text, found.requests) == ("Hi \ud83dHi \ud83d", 2)
    assert json.loads(server.requests[1])["inputs"] == "Who?Hi ?"


def test_each_request_has_all_stop_sequences(connect: Connect) -> None:
    """
    Also of what can be walked through once.
    """
    options: Options = {"stop": (text for text in ("a", "b"))}  # type: ignore[typeddict-item]  # on purpose

    with Misbehaving(half) as server, connect(server.url) as client:
        client.continue_to_end("Who?", max_requests=3, **options)

    for request in server.requests:
        assert json.loads(request)["parameters"]["stop_sequences"] == ["a", "b"]


def test_an_error_has_the_thoughts_of_all_requests(connect: Connect) -> None:
    """
    As it has their text.
    """
    with Misbehaving(thought, broken_thought) as server:
        client = connect(server.url)
        with pytest.raises(ConnectionCutError) as caught:
            client.continue_to_end("Who?")

    assert (caught.value.text, caught.value.reasoning) == ("Hi", "First. Then")


def test_a_proxy_that_is_not_there_is_named(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    With the variables that name it.
    """
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    client = connect("http://127.0.0.1:2", config=None, retries=0)

    with pytest.raises(ConnectionCutError, match=r"proxy URL.*NO_PROXY"):
        client.generate("Who?")
