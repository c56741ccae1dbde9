"""
Bodies in CBOR, which the newest SDKs prefer to JSON for some services.

It is the protocol ``rpcv2Cbor`` of Smithy: https://smithy.io/2.0/additional-specs/
protocols/smithy-rpc-v2.html.
"""

from __future__ import annotations

import re
from typing import Any

import cbor2
from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.errors import AwsError

PROTOCOL = "rpc-v2-cbor"
_PATH = re.compile(r"/service/([^/]+)/operation/([^/]+)")


def service(request: Request) -> str:
    """
    Return the service of a request in this protocol; nothing for any other.
    """
    return _named(request)[0]


def operation(request: Request) -> str:
    """
    Return the operation of a request in this protocol; nothing for any other.
    """
    return _named(request)[1]


def _named(request: Request) -> tuple[str, str]:
    found = _PATH.fullmatch(request.path)
    if found is None or request.headers.get("smithy-protocol") != PROTOCOL:
        return "", ""
    return found[1], found[2]


def read(body: bytes) -> dict[str, Any]:
    """
    Read a request's body; nothing at all stands for no members.

    Raises:
        AwsError: If it is not a map in CBOR.
    """
    if not body:
        return {}
    try:
        value = cbor2.loads(body)
    except cbor2.CBORDecodeError as error:
        raise AwsError("SerializationException", f"not valid CBOR: {error}") from error
    if not isinstance(value, dict):
        raise AwsError("SerializationException", "Unexpected field type")
    return value


def answer(body: dict[str, Any], status: int = 200) -> Response:
    """
    Write an answer.
    """
    return Response(
        cbor2.dumps(body, datetime_as_timestamp=True),
        status=status,
        content_type="application/cbor",
        headers={"smithy-protocol": PROTOCOL},
    )
