"""
Streams that the event loop reads itself: whatever HTTP or the server does, they bring
what they bring without asyncio.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AsyncLlmClient,
    ConnectionCutError,
    LlmError,
    Timeouts,
    Token,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.local.aws import protocols
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Behaviour, Misbehaving, Peer
from tests.local.client.test_misbehaving import (
    BEGIN,
    CAT,
    END,
    FRAME,
    THE,
    cut_after,
    stream,
    walk,
)

FRAMES = b"".join(map(protocols.payload_part, (THE, CAT, END)))


class Unwatching(asyncio.SelectorEventLoop):
    """
    A loop that watches no sockets, as that of Windows.
    """

    add_reader = asyncio.AbstractEventLoop.add_reader


class Counting(asyncio.SelectorEventLoop):
    """
    A loop that counts what it runs.
    """

    runs = 0

    def _run_once(self) -> None:
        self.runs += 1
        super()._run_once()  # type: ignore[misc]  # typeshed leaves it out


async def taken(tokens: AsyncIterator[Token]) -> tuple[str, LlmError | None]:
    """
    Read a stream to its end or its error.
    """
    text = ""
    try:
        async for token in tokens:
            text += token.text
    except LlmError as error:
        return text, error
    return text, None


def framed(*chunks: bytes, last: bytes = b"0\r\n\r\n") -> Behaviour:
    """
    Send bytes in chunks of HTTP.
    """

    def behave(peer: Peer) -> None:
        peer.begin()
        for chunk in chunks:
            peer.chunk(chunk)
        peer.send(last)

    return behave


def dribbled(peer: Peer) -> None:
    """
    Send some bytes at a time, whatever they are of.
    """
    peer.begin()
    body = b"".join(
        b"%x\r\n%s\r\n" % (len(one), one) for one in (FRAMES[:50], FRAMES[50:])
    )
    for start in range(0, len(body), 7):
        peer.send(body[start : start + 7])
        time.sleep(0.0002)
    peer.end()


def counted(peer: Peer) -> None:
    """
    Say the length before.
    """
    kind, length = protocols.EVENT_STREAM, str(len(FRAMES))
    peer.head(Content_Type=kind, Content_Length=length)
    peer.send(FRAMES)


def extended(peer: Peer) -> None:
    """
    Say more than is needed, as HTTP allows.
    """
    peer.begin()
    peer.send(b"%X;of=it\r\n%s\r\n" % (len(FRAMES), FRAMES))
    peer.send(b"0\r\nChecksum: 1\r\nMore: 2\r\n\r\n")


@pytest.mark.parametrize("loop", [None, Unwatching], ids=["watched", "in threads"])
@pytest.mark.parametrize(
    "behave",
    [
        stream(THE, CAT, END),
        framed(FRAMES),
        framed(FRAMES[:3], FRAMES[3:90], FRAMES[90:]),
        dribbled,
        counted,
        extended,
    ],
    ids=["by the event", "at once", "cut", "dribbled", "counted", "extended"],
)
def test_streams_are_whole_and_their_connection_is_used_again(
    connect_async: ConnectAsync,
    behave: Behaviour,
    loop: Callable[[], asyncio.AbstractEventLoop] | None,
) -> None:
    """
    However HTTP frames them, and where the loop can watch no sockets too.
    """

    async def main(url: str) -> list[tuple[str, LlmError | None]]:
        async with connect_async(url) as client:
            return [await taken(client.stream("Who?")) for _ in range(3)]

    with Misbehaving(behave) as server, asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(main(server.url)) == [("The cat", None)] * 3
        assert server.connections == 1


def test_a_connection_that_the_server_ends_is_read_to_its_end(
    connect_async: ConnectAsync,
) -> None:
    """
    It says so in the head, and every answer has one of its own.
    """

    def once(peer: Peer) -> None:
        peer.head(Content_Type=protocols.EVENT_STREAM, Connection="close")
        peer.send(FRAMES)
        peer.cut()

    async def main(url: str) -> list[tuple[str, LlmError | None]]:
        async with connect_async(url) as client:
            return [await taken(client.stream("Who?")) for _ in range(2)]

    with Misbehaving(once) as server:
        assert asyncio.run(main(server.url)) == [("The cat", None)] * 2
        assert server.connections == 2


CUTS: dict[str, Behaviour] = {
    "after the head": cut_after(Peer.begin),
    "in the first event": cut_after(Peer.begin, lambda peer: peer.chunk(FRAME[:20])),
    "between events": cut_after(*BEGIN),
    "in a chunk": cut_after(*BEGIN, lambda peer: peer.send(b"ff\r\nabc")),
    "in the length of a chunk": cut_after(*BEGIN, lambda peer: peer.send(b"f")),
    "in an event": cut_after(*BEGIN, lambda peer: peer.chunk(FRAME[:40])),
    "in a line": cut_after(*BEGIN, lambda peer: peer.part(CAT[:30])),
    "in a line, well framed": stream(THE, CAT[:30]),
    "without an end, well framed": stream(THE),
    "by SageMaker": cut_after(*BEGIN, lambda peer: peer.chunk(protocols.broken_off())),
    "no length of a chunk": cut_after(*BEGIN, lambda peer: peer.send(b"xyz\r\n")),
}


@pytest.mark.parametrize("behave", CUTS.values(), ids=CUTS)
def test_what_breaks_off_ends_as_without_asyncio(
    connect: Connect, connect_async: ConnectAsync, behave: Behaviour
) -> None:
    """
    In the same error, with what had come.
    """

    async def main(url: str) -> tuple[str, LlmError | None]:
        async with connect_async(url) as client:
            return await taken(client.stream("Who?"))

    with Misbehaving(behave) as server:
        expected, error = walk(connect(server.url).stream("Who?"))
        came, ours = asyncio.run(main(server.url))

    assert type(ours) is type(error) is ConnectionCutError
    assert isinstance(ours, ConnectionCutError)
    assert (came, ours.text) == (expected, expected)


def test_a_spoilt_event_is_told_as_without_asyncio(
    connect: Connect, connect_async: ConnectAsync
) -> None:
    """
    After those before it, though all came at once.
    """
    spoilt = bytearray(FRAME)
    spoilt[-6] ^= 1
    begun = protocols.payload_part(THE)

    async def main(url: str) -> tuple[str, LlmError | None]:
        async with connect_async(url) as client:
            return await taken(client.stream("Who?"))

    with Misbehaving(framed(begun + begun + bytes(spoilt))) as server:
        expected, error = walk(connect(server.url).stream("Who?"))
        came, ours = asyncio.run(main(server.url))

    assert type(ours) is type(error) is UnreadableAnswerError
    assert str(ours) == str(error)
    assert came == expected == "TheThe"


def test_silence_ends_a_stream(connect_async: ConnectAsync) -> None:
    """
    And so does one that is broken by keep-alives alone.
    """

    def keep_alive(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        while not peer.left(0.05):
            peer.part(b": ping\n\n")

    async def main(url: str) -> list[tuple[str, LlmError | None]]:
        patience = Timeouts(connect=2, read=0.3)
        async with connect_async(url, timeouts=patience) as client:
            return [await taken(client.stream("Who?")) for _ in range(2)]

    def silent(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        peer.left()

    with Misbehaving(silent, keep_alive) as server:
        began = time.monotonic()
        found = asyncio.run(main(server.url))

    assert 0.6 <= time.monotonic() - began < 8
    assert [text for text, _ in found] == ["The", "The"]
    assert [type(error) for _, error in found] == [AnswerTimeoutError] * 2
    assert [error.text for _, error in found if error] == ["The", "The"]
    assert "nothing came for 0.3 s" in str(found[0][1])
    assert "keep-alives for 0.3 s" in str(found[1][1])


def test_a_pause_of_the_reader_is_no_silence(connect_async: ConnectAsync) -> None:
    """
    However long it thinks about a token.
    """

    async def main(url: str) -> str:
        patience = Timeouts(connect=2, read=0.1)
        text = ""
        async with connect_async(url, timeouts=patience) as client:
            async for token in client.stream("Who?"):
                text += token.text
                await asyncio.sleep(0.2)
        return text

    def slowly(peer: Peer) -> None:
        peer.begin()
        for part in (THE, CAT, END):
            peer.part(part)
            time.sleep(0.05)
        peer.end()

    with Misbehaving(slowly) as server:
        assert asyncio.run(main(server.url)) == "The cat"


def test_a_reader_that_lags_holds_the_server_up(connect_async: ConnectAsync) -> None:
    """
    What it has not taken is not piled up here.
    """
    large = json.dumps({"token": {"id": 1, "text": "a" * 500_000}}).encode() + b"\n"
    sent: list[int] = []

    def flood(peer: Peer) -> None:
        peer.begin()
        for number in range(50):
            peer.part(large)
            sent.append(number)
        peer.part(END)
        peer.end()

    async def main(url: str) -> tuple[int, int]:
        async with connect_async(url) as client:
            tokens = client.stream("Who?")
            await anext(tokens)
            await asyncio.sleep(0.5)
            before = len(sent)
            return before, sum([len(token.text) async for token in tokens])

    with Misbehaving(flood) as server:
        before, rest = asyncio.run(main(server.url))

    assert before < 40
    assert rest == 49 * 500_000


def test_a_refusal_within_a_stream_is_learnt_from(connect_async: ConnectAsync) -> None:
    """
    The second request is sent as the container wants it, and not by the loop.
    """
    refused = (
        b'{"error": {"message": "Either prompt or prompt_embeds must be provided", '
    )
    refused += b'"code": 400}}\n'
    text = b'data: {"choices": [{"text": "Hi", "finish_reason": "stop"}]}\n\n'

    async def main(client: AsyncLlmClient) -> str:
        async with client:
            return "".join([token.text async for token in client.stream("Who?")])

    with Misbehaving(stream(refused), stream(text)) as server:
        assert asyncio.run(main(connect_async(server.url))) == "Hi"

    first, second = map(json.loads, server.requests)
    assert (first["inputs"], second["prompt"]) == ("Who?", "Who?")


def test_slow_streams_keep_nobody_waiting(connect_async: ConnectAsync) -> None:
    """
    Sixty in the middle of their answers, and twenty beside them.
    """

    def behave(peer: Peer) -> None:
        if b"slow" in peer.body:
            for step in BEGIN:
                step(peer)
            peer.left()
        else:
            stream(THE, CAT, END)(peer)

    async def main(url: str) -> list[str]:
        async with connect_async(url) as client:
            slow = [client.stream("slow") for _ in range(60)]
            await asyncio.gather(*(anext(tokens) for tokens in slow))
            quick = (taken(client.stream("Who?")) for _ in range(20))
            found = await asyncio.wait_for(asyncio.gather(*quick), 5)
            for tokens in slow:
                await tokens.aclose()
            return [text for text, _ in found]

    with Misbehaving(behave) as server:
        assert asyncio.run(main(server.url)) == ["The cat"] * 20


def test_tokens_that_come_together_cost_no_switch(connect_async: ConnectAsync) -> None:
    """
    The loop turns as often for two thousand of them as for a few, or nearly so.
    """
    many = b"".join(protocols.payload_part(CAT) for _ in range(2000))

    async def main(url: str) -> int:
        async with connect_async(url) as client:
            return len([token async for token in client.stream("Who?")])

    with (
        Misbehaving(framed(many + protocols.payload_part(END))) as server,
        asyncio.Runner(loop_factory=Counting) as runner,
    ):
        assert runner.run(main(server.url)) == 2001
        loop = runner.get_loop()

    assert isinstance(loop, Counting)
    assert loop.runs < 400


def test_a_stream_takes_no_thread_while_it_is_read(
    connect_async: ConnectAsync,
) -> None:
    """
    Streams that are open do not keep the only thread from another request.
    """

    def behave(peer: Peer) -> None:
        if b"slow" in peer.body:
            for step in BEGIN:
                step(peer)
            peer.left()
        else:
            stream(THE, CAT, END)(peer)

    async def main(url: str) -> str:
        async with connect_async(url, max_connections=4) as client:
            opened = client._asker.transport.opened  # noqa: SLF001 - there is no other way to its threads
            with ThreadPoolExecutor(1) as one:
                opened._threads = one  # noqa: SLF001 - as above
                slow = [client.stream("slow") for _ in range(3)]
                for tokens in slow:
                    await anext(tokens)
                text, _ = await taken(client.stream("Who?"))
                for tokens in slow:
                    await tokens.aclose()
            return text

    with Misbehaving(behave) as server:
        assert asyncio.run(main(server.url)) == "The cat"
