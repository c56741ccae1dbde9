"""
How many connections there are, and whose they are after a fork.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cdk_sagemaker_llm.client import (
    AnswerTimeoutError,
    AsyncLlmClient,
    CancelledRequestError,
    LlmClient,
    Timeouts,
)
from cdk_sagemaker_llm.client import connections as calls
from cdk_sagemaker_llm.client.connections import Call, Places
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Behaviour, Misbehaving, Peer
from tests.local.client.test_misbehaving import CAT, END, THE, answer, until

# Python from 3.12 on warns of threads, of which the test's own server has some.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def echo(peer: Peer) -> None:
    """
    Answer with the prompt.
    """
    peer.whole(json.dumps({"generated_text": json.loads(peer.body)["inputs"]}).encode())


def in_a_child(ask: Callable[[], str]) -> str:
    """
    Ask in a forked process.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, ask().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as text:
        said = text.read()
    os.waitpid(child, 0)
    return said


class Gate:
    """
    A server's behaviour that answers once it is opened, and counts who waits.
    """

    def __init__(self) -> None:
        self.open = threading.Event()
        self.waiting = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, peer: Peer) -> None:
        """
        Wait, and stream an answer.
        """
        with self._lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        self.open.wait(10)
        with self._lock:
            self.waiting -= 1
        answer(peer)


def test_a_child_process_opens_connections_of_its_own(connect: Connect) -> None:
    """
    On its parent's, one would read the answer of the other.
    """
    with Misbehaving(echo) as server, connect(server.url) as client:
        assert client.generate("before").text == "before"

        assert in_a_child(lambda: client.generate("child").text) == "child"
        assert server.connections == 2
        assert client.generate("parent").text == "parent"
        assert server.connections == 2


def test_a_child_process_has_threads_of_its_own(connect_async: ConnectAsync) -> None:
    """
    Those of its parent it does not have, and would wait for.
    """

    async def ask(text: str) -> str:
        return (await client.generate(text)).text

    with Misbehaving(echo) as server:
        client = connect_async(server.url)
        assert asyncio.run(ask("before")) == "before"
        assert in_a_child(lambda: asyncio.run(ask("child"))) == "child"
        client.close()


def test_a_child_process_has_all_its_places(connect: Connect) -> None:
    """
    Though all were taken when it was forked.
    """
    with (
        Misbehaving(answer, echo) as server,
        connect(server.url, max_connections=1) as client,
    ):
        stream = client.stream("Who?")
        next(stream)

        assert in_a_child(lambda: client.generate("child").text) == "child"
        assert "".join(token.text for token in stream) == " cat"


def test_a_child_process_cuts_no_answer_of_its_parent(connect: Connect) -> None:
    """
    What it inherits may be given up there, as by the end of its event loop.
    """

    given_up = threading.Event()

    def give_up() -> str:
        call.give_up()
        return "given up"

    def behave(peer: Peer) -> None:
        peer.begin()
        peer.part(THE)
        given_up.wait(10)
        peer.part(CAT)
        peer.part(END)
        peer.end()

    with (
        Misbehaving(behave) as server,
        connect(server.url) as client,
        client._asker.call() as call,  # noqa: SLF001 - as a client's own method does
    ):
        tokens = client._asker.stream("Who?", {}, call)  # noqa: SLF001 - as above
        first = next(tokens)[0].text

        assert in_a_child(give_up) == "given up"
        given_up.set()
        rest = (token.text for found in tokens for token in found)
        assert first + "".join(rest) == "The cat"


@pytest.mark.parametrize("count", [1, 3])
def test_no_more_connections_are_open_than_were_said(
    connect: Connect, count: int
) -> None:
    """
    Streams and whole answers count alike.
    """
    gate = Gate()

    def ask(client: LlmClient) -> str:
        return "".join(token.text for token in client.stream("Who?"))

    with (
        Misbehaving(gate) as server,
        connect(server.url, max_connections=count) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        answers = [threads.submit(ask, client) for _ in range(8)]
        until(lambda: gate.waiting == count)
        gate.open.set()

        assert [one.result() for one in answers] == ["The cat"] * 8
        assert (gate.most, server.connections) == (count, count)


def test_tasks_wait_for_a_place_too(connect_async: ConnectAsync) -> None:
    """
    Without the threads that the streams before them need.
    """
    gate = Gate()
    gate.open.set()

    async def ask(url: str) -> list[str]:
        async with connect_async(url, max_connections=2) as client:

            async def stream() -> str:
                return "".join([token.text async for token in client.stream("Who?")])

            return await asyncio.gather(*(stream() for _ in range(10)))

    with Misbehaving(gate) as server:
        assert asyncio.run(ask(server.url)) == ["The cat"] * 10
        assert gate.most <= 2
        assert server.connections == 2


def test_who_waits_for_a_place_may_be_late(connect: Connect) -> None:
    """
    The whole time counts.
    """
    with (
        Misbehaving(answer) as server,
        connect(server.url, max_connections=1, timeouts=Timeouts(total=0.2)) as client,
    ):
        stream = client.stream("Who?")
        next(stream)
        with pytest.raises(AnswerTimeoutError, match="no whole answer within"):
            client.generate("Who?")
        stream.close()

        assert next(client.stream("Who?")).text == "The"
        assert len(server.requests) == 2


def test_a_cancelled_task_waits_for_no_place(connect_async: ConnectAsync) -> None:
    """
    And what it waited for goes to the next.
    """

    async def main(url: str) -> str:
        async with connect_async(url, max_connections=1) as client:
            stream = client.stream("Who?")
            await anext(stream)
            waiting = asyncio.create_task(client.generate("Who?"))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await stream.aclose()
            return (await client.generate("Who?")).text

    behaviours: list[Behaviour] = [answer, answer]
    with Misbehaving(*behaviours) as server:
        assert asyncio.run(main(server.url)) == "The cat"


def test_who_gives_up_waiting_gets_no_place() -> None:
    """
    Nor takes it from the others.
    """
    places = Places(1)
    with Call(None, places):
        second = Call(None, places)
        threading.Timer(0.05, second.give_up).start()
        with pytest.raises(CancelledRequestError), second:
            pass
    with Call(None, places) as third:
        assert not third.is_given_up


def test_a_long_wait_for_a_place_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """
    A program may wait for a stream of its own.
    """
    monkeypatch.setattr(calls, "_LONG_WAIT", 0.01)
    places = Places(1)
    with Call(None, places), pytest.raises(AnswerTimeoutError), Call(0.1, places):
        pass

    (line,) = caplog.messages
    assert line == (
        "all 1 connections are in use for 0.01 s, and requests wait for one: 1 by now; "
        "read streams to their end, close them, or allow more with max_connections="
    )


def test_tasks_that_wait_long_are_logged_in_one_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """
    Whose wait is short are not, and who waits too long is told what all wait for.
    """
    monkeypatch.setattr(calls, "_LONG_WAIT", 0.05)
    places = Places(1)

    async def wait(seconds: float) -> str:
        try:
            async with Call(seconds, places):
                return ""
        except AnswerTimeoutError as error:
            return str(error)

    async def main() -> list[str]:
        async with Call(None, places):
            return await asyncio.gather(*(wait(0.2) for _ in range(3)))

    async def briefly() -> None:
        async with Call(None, places):
            waiting = asyncio.create_task(wait(1))
            await asyncio.sleep(0.01)
        assert not await waiting

    asyncio.run(briefly())
    assert not caplog.messages
    found = asyncio.run(main())

    told = "no whole answer within 0.2 s: all 1 connections were in use; read streams "
    told += "to their end, close them, or allow more with max_connections="
    assert found == [told] * 3
    (line,) = caplog.messages
    assert "requests wait for one: 3 by now" in line


def test_tasks_have_their_turns_in_the_order_they_came(
    connect_async: ConnectAsync,
) -> None:
    """
    Streams and whole answers alike, however many there are.
    """
    ended: list[int] = []

    async def ask(client: AsyncLlmClient, number: int) -> None:
        if number % 2:
            await client.generate("Who?")
        else:
            async for _ in client.stream("Who?"):
                pass
        ended.append(number)

    async def main(url: str) -> None:
        async with connect_async(url, max_connections=1) as client:
            await asyncio.gather(*(ask(client, number) for number in range(12)))

    with Misbehaving(answer) as server:
        asyncio.run(main(server.url))

    assert ended == list(range(12))
