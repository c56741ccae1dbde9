"""
Who uses a connection, and who may cut it.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from cdk_sagemaker_llm.client.connections import Call, make_known, under_way


class Connection:
    """
    What botocore's connections are to the call: a socket, and when it is used.
    """

    sock: socket.socket | None = None

    def connect(self) -> None:
        """
        Connect.
        """

    def request(self) -> None:
        """
        Send a request.
        """


class Pool:
    """
    A pool of them.
    """

    ConnectionCls = Connection


class Http:
    """
    As much of botocore's session as is looked at.
    """

    def __init__(self) -> None:
        self._pool_classes_by_scheme: dict[str, type[Pool]] = {"http": Pool}

    def connection(self) -> Connection:
        """
        Make a connection as a pool does.
        """
        return self._pool_classes_by_scheme["http"].ConnectionCls()


class Endpoint:
    """
    As much of botocore's endpoint as is looked at.
    """

    def __init__(self) -> None:
        self.http_session = Http()


class Runtime:
    """
    As much of boto3's client as is looked at.
    """

    def __init__(self) -> None:
        self._endpoint = Endpoint()


@pytest.fixture(name="pair")
def _pair() -> Iterator[tuple[Connection, socket.socket]]:
    """
    A connection, and its other end.
    """
    runtime = Runtime()
    make_known(runtime)
    connection = runtime._endpoint.http_session.connection()  # noqa: SLF001 - its own class
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(0.05)
        connection.sock = ours
        yield connection, theirs


def has_ended(other: socket.socket) -> bool:
    """
    Tell whether the connection was shut down.
    """
    try:
        return other.recv(1) == b""
    except TimeoutError:
        return False


def test_a_call_ends_the_connection_that_it_uses(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    Also one that was opened before.
    """
    connection, other = pair
    with Call() as call, under_way(call):
        connection.request()
        assert not has_ended(other)
        call.give_up()

    assert has_ended(other)


def test_a_call_that_was_given_up_gets_no_connection(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    It may have been connecting meanwhile.
    """
    connection, other = pair
    with Call() as call, under_way(call):
        call.give_up()
        connection.connect()

    assert has_ended(other)


def test_a_call_leaves_alone_what_another_has_taken(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    The pool gives a connection on as soon as an answer was read.
    """
    connection, other = pair
    with Call() as first, Call() as second:
        with under_way(first):
            connection.request()
        with under_way(second):
            connection.request()
        first.give_up()
        assert not has_ended(other)


def test_a_call_that_is_over_ends_nothing(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    Its connection waits in the pool.
    """
    connection, other = pair
    with Call(0.05) as call, under_way(call):
        connection.request()
    time.sleep(0.1)
    call.give_up()

    assert not has_ended(other)
    assert not call.is_late


def test_a_connection_that_has_ended_by_itself_is_no_error(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    Whoever gives up may be late.
    """
    connection, _ = pair
    with Call() as call, under_way(call):
        connection.request()
        assert connection.sock is not None
        connection.sock.close()
        call.give_up()

    assert call.is_given_up


def test_a_connection_that_was_made_again_is_the_one_that_ends(
    pair: tuple[Connection, socket.socket],
) -> None:
    """
    And not the socket that it had before.
    """
    connection, old = pair
    ours, theirs = socket.socketpair()
    with ours, theirs, Call() as call, under_way(call):
        theirs.settimeout(0.05)
        connection.request()
        connection.sock = ours
        connection.connect()
        call.give_up()

        assert has_ended(theirs)
        assert not has_ended(old)


def test_a_client_that_is_built_otherwise_is_left_as_it_is() -> None:
    """
    A stub of a test has no connections.
    """
    make_known(object())
