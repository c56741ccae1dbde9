"""
The front door before a service that answers as moto's do: what goes on as it is, and
what clients could not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest
from werkzeug.test import Client, TestResponse

from cdk_sagemaker_llm.local.server import Gateway
from tests.local.by_hand import hand_run_aws

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HTML = "text/html; charset=utf-8"
ACCOUNT = "299999999999"


@pytest.fixture(name="installed", scope="module", autouse=True)
def _installed() -> Iterator[None]:
    """
    What moto needs of this package is in its place.
    """
    with hand_run_aws(takes_time=False):
        yield


def answering(status: str, body: bytes, kind: str = HTML) -> WSGIApplication:
    """
    Return a service that always answers so.
    """

    def service(_: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response(status, [("Content-Type", kind), ("X-Own", "yes")])
        return [body]

    return service


def asked(moto: WSGIApplication, method: str, service: str = "") -> TestResponse:
    """
    Send a request that is signed for a service, or not at all.
    """
    signed = f"AWS4-HMAC-SHA256 Credential=a/20261122/us-east-1/{service}/aws4_request"
    headers = {"Authorization": signed} if service else {}
    client = Client(Gateway(moto, "us-east-1", ACCOUNT))
    return client.open("/some/path", method=method, headers=headers)


@pytest.mark.parametrize(
    ("method", "service", "status", "body", "kind"),
    [
        ("POST", "", "404 NOT FOUND", b"", HTML),
        ("POST", "s3", "404 NOT FOUND", b"", HTML),
        ("GET", "sns", "404 NOT FOUND", b"", HTML),
        ("POST", "sns", "404 NOT FOUND", b"<ErrorResponse/>", HTML),
        ("POST", "sns", "404 NOT FOUND", b"<html>", "text/xml"),
        ("POST", "sns", "302 FOUND", b"<html>", HTML),
        ("POST", "sns", "200 OK", b"", HTML),
        ("HEAD", "s3", "404 NOT FOUND", b"", HTML),
    ],
)
def test_an_answer_goes_on_as_it_is(
    method: str, service: str, status: str, body: bytes, kind: str
) -> None:
    """
    Whatever it is called, it is no page.
    """
    found = asked(answering(status, body, kind), method, service)

    assert (found.status, found.data) == (status, body)
    assert (found.headers["Content-Type"], found.headers["X-Own"]) == (kind, "yes")


@pytest.mark.parametrize(
    ("status", "body", "told", "code"),
    [
        ("404 NOT FOUND", b"<!doctype html>", 404, "UnknownOperationException"),
        ("404 NOT FOUND", b"\n <HTML><p>none", 404, "UnknownOperationException"),
        ("404 NOT FOUND", b"", 404, "UnknownOperationException"),
        ("499 OWN", b"<html>", 404, "UnknownOperationException"),
        ("500 INTERNAL SERVER ERROR", b"<!DOCTYPE HTML>", 500, "InternalFailure"),
    ],
)
def test_a_page_is_told_in_words_that_clients_read(
    status: str, body: bytes, told: int, code: str
) -> None:
    """
    A path that is not there is not emulated; anything else is a fault of the server's.
    """
    found = asked(answering(status, body), "POST", "ecr")

    assert found.status_code == told
    assert code in found.text
    assert "X-Own" not in found.headers
    assert "<html" not in found.text.lower()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (NotImplementedError("some part"), 400, "NotImplemented"),
        (ValueError("a fault"), 500, "InternalFailure"),
    ],
)
def test_what_a_service_raises_is_an_answer(
    capsys: pytest.CaptureFixture[str], error: Exception, status: int, code: str
) -> None:
    """
    And printed, if it is a fault.
    """

    def service(_: WSGIEnvironment, __: StartResponse) -> Iterable[bytes]:
        raise error

    found = asked(service, "POST", "ecr")

    assert found.status_code == status
    assert code in json.dumps([found.text, [*found.headers.items()]])
    assert ("Traceback" in capsys.readouterr().err) is (status == 500)
