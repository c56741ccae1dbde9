"""
Where a client's requests go: variant, container, prefixes, sessions.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from cdk_sagemaker_llm.client import LlmClient, ModelError, UnreadableAnswerError
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import answer

PREFIX = "x-amzn-sagemaker-"
EXPIRES = "2026-10-22T12:34:56Z"


def sent(server: Misbehaving) -> list[dict[str, str]]:
    """
    Return what each request said of its way, in lower case.
    """
    return [
        {
            name.removeprefix(PREFIX): value
            for name, value in fields.items()
            if name.startswith(PREFIX)
        }
        for fields in server.fields
    ]


def opened(peer: Peer) -> None:
    """
    Open a session, as vLLM's image does.
    """
    named = f"one-2; Expires={EXPIRES}"
    peer.whole(b"{}", X_Amzn_SageMaker_New_Session_Id=named)


def closed(peer: Peer) -> None:
    """
    Close it.
    """
    peer.whole(b"{}", X_Amzn_SageMaker_Closed_Session_Id="one-2")


def test_requests_say_where_they_go(connect: Connect) -> None:
    """
    Whole answers and streams alike; a request's own way is of that request alone.
    """
    with Misbehaving(answer) as server:
        client = connect(
            server.url, component="c", variant="a", container="x", prefix_aware_id="p"
        )
        client.generate("Who?")
        other = client.with_routing(
            variant="b", container="y", prefix_aware_id="q", inference_id="order-17"
        )
        list(other.stream("Who?"))
        client.chat("Who?")

        assert server.connections == 1

    first = {
        "inference-component": "c",
        "target-variant": "a",
        "target-container-hostname": "x",
        "prefix-aware-id": "p",
    }
    second = {
        "inference-component": "c",
        "target-variant": "b",
        "target-container-hostname": "y",
        "prefix-aware-id": "q",
        "inference-id": "order-17",
    }
    assert sent(server) == [first, second, first]


@pytest.mark.parametrize(
    "name", ["variant", "container", "prefix_aware_id", "session_id", "inference_id"]
)
def test_fails_if_a_way_has_no_name(name: str) -> None:
    """
    By its argument.
    """
    client = LlmClient("chat", region="us-east-1")
    with pytest.raises(ValueError, match=f"{name} must be a name, got ''; leave it"):
        client.with_routing(**{name: ""})


def test_a_session_is_opened_kept_and_closed(connect: Connect) -> None:
    """
    As its container names it; the client beside it has none.
    """
    with Misbehaving(opened, answer, answer, closed, answer) as server:
        client = connect(server.url)
        with client.session() as session:
            assert (session.session_id, session.session_expires) == ("one-2", EXPIRES)
            assert client.session_id is None
            session.generate("Who?")
            list(session.stream("Who?"))
        assert (session.session_id, session.session_expires) == (None, None)
        client.generate("Who?")

    ids = [{"session-id": name} for name in ("new_session", "one-2", "one-2", "one-2")]
    assert sent(server) == [*ids, {}]
    assert json.loads(server.requests[0]) == {"requestType": "NEW_SESSION"}
    assert json.loads(server.requests[3]) == {"requestType": "CLOSE"}


def test_a_session_of_a_task(connect_async: ConnectAsync) -> None:
    """
    The same in asyncio.
    """

    async def main(url: str) -> list[str | None]:
        async with connect_async(url) as client, client.session() as session:
            text = (await session.generate("Who?")).text
            streamed = "".join([token.text async for token in session.stream("Who?")])
            return [session.session_id, text, streamed]

    with Misbehaving(opened, answer, answer, closed) as server:
        assert asyncio.run(main(server.url)) == ["one-2", "The cat", "The cat"]

    names = [fields["session-id"] for fields in sent(server)]
    assert names == ["new_session", "one-2", "one-2", "one-2"]
    assert json.loads(server.requests[3]) == {"requestType": "CLOSE"}


def test_a_session_is_closed_after_an_error(
    connect: Connect, connect_async: ConnectAsync
) -> None:
    """
    Which is the one that is raised, though the session cannot be closed either.
    """

    def gone(peer: Peer) -> None:
        peer.refuse("ModelError", "session not found", 424)

    async def main(url: str) -> None:
        async with connect_async(url) as client:
            with pytest.raises(KeyError):
                async with client.session():
                    raise KeyError("mine")

    with Misbehaving(opened, gone, opened, gone) as server:
        client = connect(server.url)
        with pytest.raises(KeyError), client.session():
            raise KeyError("mine")
        asyncio.run(main(server.url))

    assert [json.loads(one)["requestType"] for one in server.requests] == [
        *("NEW_SESSION", "CLOSE", "NEW_SESSION", "CLOSE")
    ]


def test_fails_if_a_session_cannot_be_closed(connect: Connect) -> None:
    """
    Where nothing else went wrong.
    """

    def gone(peer: Peer) -> None:
        peer.refuse("ModelError", "session not found", 424)

    with Misbehaving(opened, gone) as server:
        client = connect(server.url)
        with (
            pytest.raises(ModelError, match="session not found"),
            client.session() as session,
        ):
            assert session.session_id == "one-2"


@pytest.mark.parametrize(
    ("status", "is_told"), [(424, True), (499, True), (500, False)]
)
def test_a_container_that_takes_a_session_for_a_prompt_is_told_how_to_keep_it(
    connect: Connect,
    status: int,
    is_told: bool,  # noqa: FBT001 - a table
) -> None:
    """
    With how it would keep sessions, unless the container itself has failed.
    """

    def refused(peer: Peer) -> None:
        said = {
            "OriginalStatusCode": status,
            "OriginalMessage": "missing field `inputs`",
        }
        peer.refuse("ModelError", "missing field `inputs`", 424, **said)

    with Misbehaving(refused) as server:
        with (
            pytest.raises(ModelError, match="missing field") as raised,
            connect(server.url).session(),
        ):
            pytest.fail("it was opened")
        assert ("enable_stateful_sessions=true" in str(raised.value)) is is_told
        assert ("embed()" in str(raised.value)) is not is_told


def test_fails_if_the_container_keeps_no_sessions(connect: Connect) -> None:
    """
    The way out names how it is told to.
    """
    with (
        Misbehaving(lambda peer: peer.whole(b"{}")) as server,
        pytest.raises(
            UnreadableAnswerError,
            match="opened no session; .*SAGEMAKER_ENABLE_STATEFUL_SESSIONS=true",
        ),
        connect(server.url).session(),
    ):
        pass
    assert len(server.requests) == 1


def test_clients_of_one_connection_are_closed_together(
    connect_async: ConnectAsync,
) -> None:
    """
    And open anew when they are used, their threads too.
    """

    async def main(url: str) -> list[str]:
        client = connect_async(url)
        other = client.with_routing(inference_id="one")
        texts = [(await client.generate("Who?")).text]
        client.close()
        texts.append((await other.generate("Who?")).text)
        other.close()
        texts.append((await client.generate("Who?")).text)
        client.close()
        return texts

    with Misbehaving(answer) as server:
        assert asyncio.run(main(server.url)) == ["The cat"] * 3
        assert server.connections == 3
