"""
Over TLS, as AWS's own endpoints are: a request that is given up ends there too.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cdk_sagemaker_llm.client import AnswerTimeoutError, Timeouts
from cdk_sagemaker_llm.local.aws import protocols
from tests.local.client.conftest import Connect, ConnectAsync
from tests.local.client.misbehaving import Misbehaving, Peer
from tests.local.client.test_misbehaving import (
    BEGIN,
    CAT,
    END,
    THE,
    answer,
    until,
    walk,
)

HOUR = dt.timedelta(hours=1)


@pytest.fixture(name="tls")
def _tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """
    Make a certificate for the loopback interface that boto3 trusts.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - HOUR)
        .not_valid_after(now + HOUR)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    public, private = tmp_path / "certificate.pem", tmp_path / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    monkeypatch.setenv("AWS_CA_BUNDLE", str(public))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return context


def test_a_deadline(connect: Connect, tls: ssl.SSLContext) -> None:
    """
    It ends in time, with what came.
    """
    left: list[bool] = []

    def behave(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        left.append(peer.left())

    began = time.monotonic()
    with Misbehaving(behave, tls=tls) as server:
        client = connect(server.url, timeouts=Timeouts(total=0.5))
        came, error = walk(client.stream("Who?"))
        until(lambda: bool(left))

    assert time.monotonic() - began < 5
    assert type(error) is AnswerTimeoutError
    assert (came, error.text) == ("The", "The")


def test_a_cancelled_task(connect_async: ConnectAsync, tls: ssl.SSLContext) -> None:
    """
    Before the first byte; the client is of use afterwards.
    """
    left: list[bool] = []

    def behave(peer: Peer) -> None:
        left.append(peer.left())

    async def main(server: Misbehaving) -> str:
        async with connect_async(server.url) as client:
            task = asyncio.create_task(client.generate("Who?"))
            await asyncio.to_thread(until, lambda: bool(server.requests))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(until, lambda: bool(left))
            return (await client.generate("Who?")).text

    with Misbehaving(behave, answer, tls=tls) as server:
        assert asyncio.run(main(server)) == "The cat"


def test_streams_of_a_task(connect_async: ConnectAsync, tls: ssl.SSLContext) -> None:
    """
    Much at once, of which the socket does not tell, and by the byte; a task that is
    cancelled in the middle leaves the client of use.
    """
    many = b"".join(protocols.payload_part(CAT) for _ in range(5000))
    end = protocols.payload_part(END)
    left: list[bool] = []

    def flood(peer: Peer) -> None:
        peer.begin()
        peer.chunk(many + end)
        peer.end()

    def dribble(peer: Peer) -> None:
        peer.begin()
        for byte in protocols.payload_part(THE) + end:
            peer.chunk(bytes([byte]))
        peer.end()

    def stall(peer: Peer) -> None:
        for step in BEGIN:
            step(peer)
        left.append(peer.left())

    async def main(url: str) -> list[str]:
        async with connect_async(url) as client:
            found = []
            for _ in range(2):
                tokens = [token.text async for token in client.stream("Who?")]
                found.append("".join(tokens))
            stream = client.stream("Who?")
            await anext(stream)
            task = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(until, lambda: bool(left))
            return [*found, (await client.generate("Who?")).text]

    with Misbehaving(flood, dribble, stall, answer, tls=tls) as server:
        assert asyncio.run(main(server.url)) == [" cat" * 5000, "The", "The cat"]
        assert server.connections == 2


def test_what_is_deciphered_with_the_head_is_read(
    connect_async: ConnectAsync, tls: ssl.SSLContext
) -> None:
    """
    No more comes then, of which the socket would tell.
    """
    frames = b"".join(protocols.payload_part(CAT) for _ in range(80))
    assert 9000 < len(frames) < 15_000

    def at_once(peer: Peer) -> None:
        kind = f"HTTP/1.1 200 OK\r\nContent-Type: {protocols.EVENT_STREAM}\r\n"
        head = f"{kind}Transfer-Encoding: chunked\r\n\r\n{len(frames):x}\r\n".encode()
        peer.send(head + frames + b"\r\n")
        peer.left()

    async def main(url: str) -> list[str]:
        async with connect_async(url) as client:
            stream = client.stream("Who?")
            async with asyncio.timeout(5):
                found = [(await anext(stream)).text for _ in range(80)]
            await stream.aclose()
            return found

    with Misbehaving(at_once, tls=tls) as server:
        assert asyncio.run(main(server.url)) == [" cat"] * 80
