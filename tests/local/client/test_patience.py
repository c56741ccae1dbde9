"""
How long a client waits between two tries, on a clock that jumps instead.
"""

from __future__ import annotations

from types import SimpleNamespace

import boto3
import pytest
from botocore.config import Config

from cdk_sagemaker_llm.client import (
    LlmError,
    NoCapacityError,
    ThrottledError,
    Timeouts,
)
from cdk_sagemaker_llm.client import transport as transporting
from cdk_sagemaker_llm.client.connections import Call
from cdk_sagemaker_llm.client.runtime import Opened, Settings
from cdk_sagemaker_llm.client.transport import Transport
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.runtime.invocations import NO_CAPACITY
from tests.local.client.conftest import Connect
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import WHOLE, answer


class Jumping(Call):
    """
    Waits in no time, and keeps for how long.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float] = []

    def wait(self, seconds: float) -> None:
        """
        Let the clock jump.
        """
        self.waits.append(seconds)

    @property
    def now(self) -> float:
        """
        What the clock shows.
        """
        return 1000.0 + sum(self.waits)


@pytest.fixture(name="call")
def _call(monkeypatch: pytest.MonkeyPatch) -> Jumping:
    """
    A call by which the transport's clock goes.
    """
    call = Jumping()
    monkeypatch.setattr(
        transporting, "time", SimpleNamespace(monotonic=lambda: call.now)
    )
    return call


def ask(
    server: Misbehaving, session: boto3.Session, call: Call, **settings: Untyped
) -> bytes:
    """
    Send a request, and return its answer.
    """
    direct = Config(proxies={"http": ""})
    given = Settings(endpoint_url=server.url, config=direct, **settings)
    transport = Transport({"EndpointName": "chat"}, Opened(given, session))
    return b"".join(transport.chunks(b"{}", call, stream=False))


def empty(peer: Peer) -> None:
    """
    Have no copy.
    """
    peer.refuse("ValidationError", NO_CAPACITY, 400)


def throttle(peer: Peer) -> None:
    """
    Refuse for now.
    """
    peer.refuse("ThrottlingException", "Rate exceeded", 400)


def test_pauses_double_up_to_eight_seconds(
    session: boto3.Session, call: Jumping
) -> None:
    """
    Each is between half of it and all of it, so that clients do not come together.
    """
    with Misbehaving(throttle) as server:
        with pytest.raises(ThrottledError):
            ask(server, session, call, retries=7)
        assert len(server.requests) == 8

    longest = [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert len(call.waits) == 7
    for seconds, most in zip(call.waits, longest, strict=True):
        assert most / 2 <= seconds <= most


def test_looks_for_capacity_become_rarer_and_end(
    session: boto3.Session, call: Jumping
) -> None:
    """
    From a second to a quarter of a minute apart; the last is at the bound itself.
    """
    told: list[str] = []
    with Misbehaving(empty) as server:
        with pytest.raises(NoCapacityError, match="; waited 600 s; wait for") as caught:
            ask(server, session, call, on_wait=told.append)
        assert len(server.requests) == len(call.waits) + 1

    longest = [1.0, 1.5, 2.25, 3.375, 5.0625, 7.59375, 11.390625, 15.0, 15.0, 15.0]
    for seconds, most in zip(call.waits, longest, strict=False):
        assert 0.8 * most <= seconds <= most
    assert max(call.waits) <= 15
    assert sum(call.waits) == pytest.approx(600)
    assert caught.value.waited == pytest.approx(600)
    # At once, and then again with the first look after each minute.
    assert 8 <= len(told) <= 10
    assert told[0].endswith("waiting for one since 0 s, for 600 s at most")


def test_a_total_that_ends_while_nobody_is_there(connect: Connect) -> None:
    """
    What is missing is capacity, and not patience with an answer.
    """
    with Misbehaving(empty) as server:
        client = connect(server.url, timeouts=Timeouts(total=0.3))
        with pytest.raises(
            NoCapacityError, match=r"the total of 0\.3 s is over"
        ) as found:
            client.generate("Who?")

    assert 0.2 < found.value.waited < 1
    assert len(server.requests) == 1


def test_a_short_wait_is_not_longer(session: boto3.Session, call: Jumping) -> None:
    """
    Than it was said, and one of nothing is none.
    """
    with Misbehaving(empty) as server:
        with pytest.raises(NoCapacityError):
            ask(server, session, call, wait_for_capacity=0.5)
        assert call.waits == [0.5]
        with pytest.raises(NoCapacityError) as caught:
            ask(server, session, call, wait_for_capacity=0)

    assert call.waits == [0.5]
    assert caught.value.waited == 0
    assert "waited" not in str(caught.value)


def test_waiting_for_capacity_is_no_try(session: boto3.Session, call: Jumping) -> None:
    """
    What is throttled after it is sent again all the same.
    """
    with Misbehaving(empty, empty, throttle, answer) as server:
        assert ask(server, session, call, retries=1) == WHOLE
        assert len(server.requests) == 4


def test_nothing_is_sent_for_whom_nobody_waits(
    session: boto3.Session, call: Jumping
) -> None:
    """
    Neither at first nor after a pause.
    """

    class GivenUp(Jumping):
        def wait(self, seconds: float) -> None:
            super().wait(seconds)
            self.give_up()

    with Misbehaving(throttle) as server:
        with pytest.raises(LlmError, match="the request was given up"):
            ask(server, session, GivenUp())
        assert len(server.requests) == 1
        call.give_up()
        with pytest.raises(LlmError, match="the request was given up"):
            ask(server, session, call)
        assert len(server.requests) == 1


def test_both_sides_of_the_largest_document(
    session: boto3.Session, call: Jumping
) -> None:
    """
    As many bytes as may be kept, and one more.
    """
    with Misbehaving(answer) as server:
        assert ask(server, session, call, max_bytes=len(WHOLE)) == WHOLE
        with pytest.raises(LlmError, match=f"larger than {len(WHOLE) - 1} bytes"):
            ask(server, session, call, max_bytes=len(WHOLE) - 1)


def test_what_is_said_of_time_and_connections_is_botocores(
    session: boto3.Session,
) -> None:
    """
    Over what else was said; it never tries again by itself.
    """
    given = Settings(
        endpoint_url="http://localhost:1",
        max_connections=7,
        config=Config(read_timeout=1, user_agent_extra="mine", max_pool_connections=2),
    )
    transport = Transport({"EndpointName": "chat"}, Opened(given, session))
    config = transport.opened.runtime.meta.config

    assert (config.connect_timeout, config.read_timeout) == (10, 120)
    assert config.retries == {"total_max_attempts": 1, "mode": "standard"}
    assert config.max_pool_connections == 7
    assert config.tcp_keepalive is True
    assert config.user_agent_extra == "mine"
