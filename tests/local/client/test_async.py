"""
The same in asyncio, where a task may be cancelled at any time.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AsyncLlmClient,
    ConnectionCutError,
    Timeouts,
)
from cdk_sagemaker_llm.local.runtime.invocations import NO_CAPACITY
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Behaviour, Misbehaving, Peer
from tests.local.client.test_misbehaving import (
    BEGIN,
    WHOLE,
    answer,
    cut_after,
    stream,
    until,
)

SOON = 2.0


def test_answers(connect_async: ConnectAsync) -> None:
    """
    Plain and streamed, many at a time over one client.
    """

    async def ask(client: AsyncLlmClient) -> str:
        streamed = "".join([token.text async for token in client.stream("Who?")])
        whole = await client.generate("Who?")
        return f"{streamed}|{whole.text}"

    async def main(url: str) -> list[str]:
        async with connect_async(url) as client:
            return await asyncio.gather(*(ask(client) for _ in range(20)))

    with Misbehaving(answer) as server:
        assert asyncio.run(main(server.url)) == ["The cat|The cat"] * 20


def test_requests_are_under_way_at_a_time(connect_async: ConnectAsync) -> None:
    """
    As many as there may be connections: here each waits for the other.
    """
    together = threading.Barrier(2, timeout=SOON)

    def behave(peer: Peer) -> None:
        together.wait()
        answer(peer)

    async def main(url: str) -> list[str]:
        async with connect_async(url, max_connections=2) as client:
            both = (client.generate("Who?"), client.generate("What?"))
            return [one.text for one in await asyncio.gather(*both)]

    with Misbehaving(behave) as server:
        assert asyncio.run(main(server.url)) == ["The cat", "The cat"]


def test_a_client_that_is_closed_ends_its_connections(
    connect: Connect, connect_async: ConnectAsync
) -> None:
    """
    Those that wait for another request.
    """
    left: list[bool] = []

    def behave(peer: Peer) -> None:
        answer(peer)
        left.append(peer.left(SOON))

    async def main(url: str) -> None:
        async with connect_async(url) as client:
            await client.generate("Who?")

    with Misbehaving(behave) as server:
        asyncio.run(main(server.url))
        until(lambda: left == [True])
        with connect(server.url) as client:
            client.generate("Who?")
        until(lambda: left == [True, True])


def test_a_chain_has_the_bounds_that_are_said(connect_async: ConnectAsync) -> None:
    """
    Of requests and of tokens, of which each answer has one.
    """
    line = (
        b'{"token": {"id": 5, "text": "a", "log_prob": -1.0}, "generated_text": "a", '
        b'"details": {"finish_reason": "length"}}\n'
    )

    async def main(url: str) -> list[int]:
        async with connect_async(url) as client:
            found = [
                await client.continue_to_end("Who?", max_requests=3),
                await client.continue_to_end("Who?", max_total_tokens=2),
            ]
        return [one.requests for one in found]

    with Misbehaving(stream(line)) as server:
        assert asyncio.run(main(server.url)) == [3, 2]


def test_what_is_asked_for_is_sent(connect_async: ConnectAsync) -> None:
    """
    By each of the methods.
    """

    async def main(url: str) -> None:
        async with connect_async(url) as client:
            await client.embed("a", parameters={"truncate": True})
            await client.chat("Hi", max_new_tokens=5)
            async for _ in client.stream_chat("Hi", max_new_tokens=6):
                pass

    def vectors(peer: Peer) -> None:
        peer.whole(b"[[0.5]]")

    def whole(peer: Peer) -> None:
        peer.whole(WHOLE)

    with Misbehaving(vectors, whole, answer) as server:
        asyncio.run(main(server.url))

    first, second, third = (json.loads(body) for body in server.requests)
    assert first == {"inputs": ["a"], "truncate": True}
    assert (second["max_tokens"], "stream" in second) == (5, False)
    assert (third["max_tokens"], third["stream"]) == (6, True)


def test_other_tasks_go_on(connect_async: ConnectAsync) -> None:
    """
    While an answer is waited for.
    """

    def slow(peer: Peer) -> None:
        time.sleep(0.5)
        answer(peer)

    async def main(url: str) -> int:
        ticks = 0
        async with connect_async(url) as client:
            task = asyncio.create_task(client.generate("Who?"))
            while not task.done():
                await asyncio.sleep(0.01)
                ticks += 1
            assert (await task).text == "The cat"
        return ticks

    with Misbehaving(slow) as server:
        assert asyncio.run(main(server.url)) > 10


def test_errors_keep_the_text(connect_async: ConnectAsync) -> None:
    """
    As they do without asyncio.
    """

    async def main(url: str) -> None:
        async with connect_async(url, timeouts=Timeouts(total=0.4)) as client:
            with pytest.raises(ConnectionCutError) as cut:
                _ = [token async for token in client.stream("Who?")]
            assert cut.value.text == "The"
            with pytest.raises(AnswerTimeoutError):
                await client.generate("Who?")

    with Misbehaving(cut_after(*BEGIN), lambda peer: peer.left()) as server:
        asyncio.run(main(server.url))


@pytest.mark.parametrize("when", ["before", "in the middle"])
@pytest.mark.parametrize("method", ["generate", "stream", "chat", "continue_to_end"])
def test_a_cancelled_task_frees_its_connection(
    connect_async: ConnectAsync, method: str, when: str
) -> None:
    """
    At once, before the first byte and after it; its thread ends with it.
    """
    left: list[bool] = []
    behave = _stalled(left, when, method)

    async def ask(client: AsyncLlmClient) -> None:
        if method == "stream":
            async for _ in client.stream("Who?"):
                pass
        else:
            await getattr(client, method)("Who?")

    async def main(server: Misbehaving) -> None:
        client = connect_async(server.url)
        task = asyncio.create_task(ask(client))
        await asyncio.to_thread(until, lambda: bool(server.requests))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(until, lambda: bool(left))
        assert time.monotonic() - began < SOON
        client.close()

    with Misbehaving(behave) as server:
        asyncio.run(main(server))

    assert left == [True]
    until(lambda: not any("llm-client" in t.name for t in threading.enumerate()))


def test_a_cancelled_task_waits_for_no_capacity(connect_async: ConnectAsync) -> None:
    """
    Its thread ends too, and no request follows.
    """

    def empty(peer: Peer) -> None:
        peer.refuse("ValidationError", NO_CAPACITY, 400)

    async def main(server: Misbehaving) -> None:
        client = connect_async(server.url, wait_for_capacity=600)
        task = asyncio.create_task(client.generate("Who?"))
        await asyncio.to_thread(until, lambda: bool(server.requests))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        client.close()

    with Misbehaving(empty) as server:
        asyncio.run(main(server))
        until(lambda: not any("llm-client" in t.name for t in threading.enumerate()))
        assert len(server.requests) == 1


def test_a_task_that_stops_reading_frees_its_connection(
    connect_async: ConnectAsync,
) -> None:
    """
    Closing the generator is enough.
    """
    left: list[bool] = []

    def behave(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        left.append(peer.left())

    async def main(url: str) -> None:
        async with connect_async(url) as client:
            tokens = client.stream("Who?")
            assert (await anext(tokens)).text == "The"
            await tokens.aclose()

    with Misbehaving(behave) as server:
        asyncio.run(main(server.url))
        until(lambda: left == [True])


def test_a_client_is_of_use_after_a_cancelled_task(connect_async: ConnectAsync) -> None:
    """
    What was cut is not what the next request is sent on.
    """

    async def main(server: Misbehaving) -> None:
        async with connect_async(server.url) as client:
            for _ in range(3):
                task = asyncio.create_task(client.generate("Who?"))
                await asyncio.to_thread(until, lambda: bool(server.requests))
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                server.requests.clear()
                assert (await client.generate("Who?")).text == "The cat"
                server.requests.clear()

    behaviours: list[Behaviour] = [lambda peer: peer.left(), answer] * 3
    with Misbehaving(*behaviours) as server:
        asyncio.run(main(server))


def _stalled(left: list[bool], when: str, method: str) -> Behaviour:
    """
    Stop before the answer or in the middle of it, until the client has left.
    """

    def behave(peer: Peer) -> None:
        if when != "before":
            if method in {"generate", "chat"}:
                peer.head(Content_Type="application/json", Content_Length="500")
                peer.send(b'{"generated_text": "The c')
            else:
                for step in BEGIN:
                    step(peer)
        left.append(peer.left())

    return behave
