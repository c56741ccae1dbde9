"""
Bearer tokens as SageMaker's generator makes them, and OpenAI's requests with one.

``make clients`` holds the same against the generator itself.
"""

from __future__ import annotations

import base64
import http.client
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from unittest import mock

from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

SCHEME, HOST = "https://", "sagemaker.amazonaws.com"
CHAT: dict[str, Any] = {
    "model": "",
    "messages": [{"role": "user", "content": "Who is Roger Federer?"}],
    "max_tokens": 12,
}


def make_token(
    key: str = "test",
    secret: str = "test",  # noqa: S107 - what the embedded AWS hands out
    session: str | None = None,
    *,
    region: str = "us-east-1",
    expires: int = 43_200,
    at: float | None = None,
    action: str = "CallWithBearerToken",
    service: str = "sagemaker",
) -> str:
    """
    Sign a request for the action, at a time on the wall, and write it as a token.
    """
    request = AWSRequest(
        method="POST",
        url=f"https://{HOST}/",
        headers={"host": HOST},
        params={"Action": action},
    )
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    credentials = Credentials(key, secret, session)
    with mock.patch.object(auth, "get_current_datetime", return_value=moment):
        signer = auth.SigV4QueryAuth(credentials, service, region, expires=expires)
        signer.add_auth(request)
    return written(f"{str(request.url).removeprefix(SCHEME)}&Version=1")


def written(url: str) -> str:
    """
    Write a signed address as a token.
    """
    return "-".join(
        ["sagemaker", "api", "key", base64.b64encode(url.encode()).decode()]
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """
    An answer by HTTP.
    """

    status: int
    kind: str
    body: bytes

    @property
    def document(self) -> Untyped:
        """
        What its JSON says.
        """
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        """
        The error in OpenAI's form that it is.
        """
        error: dict[str, str] = self.document["error"]
        return error

    @property
    def chunks(self) -> list[dict[str, Any]]:
        """
        The chunks of a stream that came to its end.
        """
        *events, done, rest = self.body.decode().split("\n\n")
        assert (done, rest) == ("data: [DONE]", "")
        return [json.loads(event.removeprefix("data: ")) for event in events]


def address(endpoint: str, component: str | None = None) -> str:
    """
    Return the path that ``openai_base_url`` ends in.
    """
    below = "" if component is None else f"/inference-components/{component}"
    return f"/endpoints/{endpoint}{below}/openai/v1"


def ask(
    aws: EmbeddedAws,
    base: str,
    body: dict[str, Any] | bytes | None = None,
    *,
    token: str | None = None,
    headers: dict[str, str] | None = None,
    path: str = "/chat/completions",
    method: str = "POST",
) -> Reply:
    """
    Send what OpenAI's SDK would, a chat if nothing else is said.
    """
    fields = {
        "Authorization": f"Bearer {token or make_token()}",
        "Content-Type": "application/json",
        **(headers or {}),
    }
    content = body if isinstance(body, bytes) else json.dumps(body or CHAT).encode()
    connection = http.client.HTTPConnection("localhost", aws.port, timeout=30)
    try:
        connection.request(method, base + path, content, fields)
        answer = connection.getresponse()
        kind = answer.headers.get("Content-Type", "")
        return Reply(answer.status, kind, answer.read())
    finally:
        connection.close()
