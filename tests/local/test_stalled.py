"""
Clients that stop in the middle of a request.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from werkzeug.serving import make_server

from cdk_sagemaker_llm.local import EmbeddedAws
from cdk_sagemaker_llm.local.scaling import application_auto_scaling
from cdk_sagemaker_llm.local.server import Gateway, QuietRequestHandler

_LIMIT = 20
SIGNED = (
    "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{}/aws4_request"
)
STALLED = {
    "nothing": "",
    "half a request line": "POST /",
    "half a header": "POST / HTTP/1.1\r\nHost: lo",
    "half a body": "POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nActi",
    "half a body of a model": (
        "POST /endpoints/x/invocations HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"
    ),
    "half a call": (
        "POST / HTTP/1.1\r\nX-Amz-Target: SageMaker.ListModels\r\n"
        f"{SIGNED.format('sagemaker')}\r\nContent-Length: 100\r\n\r\n{{"
    ),
    "half a chunk": (
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"
        f"{SIGNED.format('cloudformation')}\r\n\r\n10\r\nabc"
    ),
    "half an object": (
        f"PUT /bucket/key HTTP/1.1\r\n{SIGNED.format('s3')}\r\n"
        "Content-Length: 100\r\n\r\nabc"
    ),
}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws() as aws:
        yield aws


@contextmanager
def stalled(port: int, text: str) -> Iterator[socket.socket]:
    """
    Send half a request, and no more.
    """
    with socket.create_connection(("localhost", port), timeout=_LIMIT) as connection:
        connection.sendall(text.encode())
        yield connection


@pytest.mark.parametrize("text", STALLED.values(), ids=STALLED)
def test_the_others_are_answered(aws: EmbeddedAws, text: str) -> None:
    """
    By hosting, by CloudFormation and by S3.
    """
    with stalled(aws.port, text), stalled(aws.port, text):
        for service, call in (
            ("sagemaker", "list_endpoints"),
            ("cloudformation", "list_stacks"),
            ("s3", "list_buckets"),
        ):
            answer = getattr(aws.client(service), call)()
            assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_body_that_comes_in_time_is_read(aws: EmbeddedAws) -> None:
    """
    In whatever pieces; a stalled client's turn is not lost.
    """
    half = STALLED["half a call"].replace("100", "2")
    with stalled(aws.port, half) as connection:
        aws.client("sagemaker").list_endpoints()
        connection.sendall(b"}")
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"Models": []}')


class Hasty(QuietRequestHandler):
    """
    The server's own handler, but for its patience.
    """

    timeout = 1


@pytest.mark.parametrize("name", [name for name in STALLED if name != "half an object"])
def test_silence_ends_a_request(name: str) -> None:
    """
    Without an answer where there was no request yet, with status 408 after that.
    """
    application_auto_scaling.install()
    server = make_server(
        "127.0.0.1",
        0,
        Gateway(lambda *_: [], "us-east-1"),
        threaded=True,
        request_handler=Hasty,
    )
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        with stalled(server.port, STALLED[name]) as connection:
            answer = connection.makefile("rb").read()
    finally:
        server.shutdown()
        serving.join()
        server.server_close()

    status = b"HTTP/1.1 408 " if "body" in name or "call" in name else b""
    status = b"HTTP/1.1 408 " if "chunk" in name else status
    assert answer[:13] == status


def test_the_servers_patience_is_half_a_minute() -> None:
    """
    For each silence, not for a request.
    """
    assert QuietRequestHandler.timeout == 30
