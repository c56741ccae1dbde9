"""
Bodies in CBOR, which the newest SDKs prefer to JSON for some services.

It is the protocol ``rpcv2Cbor`` of Smithy: https://smithy.io/2.0/additional-specs/
protocols/smithy-rpc-v2.html. A moment is a number of seconds under the tag 1.
"""

from __future__ import annotations

import re
import struct
from datetime import datetime
from typing import TYPE_CHECKING, Any

from werkzeug.wrappers import Request, Response

from cdk_sagemaker_llm.local.errors import AwsError
from cdk_sagemaker_llm.local.untyped import Untyped

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOL = "rpc-v2-cbor"
_PATH = re.compile(r"/service/([^/]+)/operation/([^/]+)")
_INTEGER, _NEGATIVE, _TEXT, _LIST, _MAP, _MOMENT = 0, 1, 3, 4, 5, b"\xc1"
_SIMPLE = {False: b"\xf4", True: b"\xf5", None: b"\xf6"}
_LARGEST_INSIDE = 23


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
    from botocore.parsers import RpcV2CBORParser  # noqa: PLC0415 - server only

    parser = RpcV2CBORParser()
    if not body:
        return {}
    try:
        value = parser.parse_data_item(parser.get_peekable_stream_from_bytes(body))
    except Exception as error:
        raise AwsError("SerializationException", f"not valid CBOR: {error}") from error
    if not isinstance(value, dict):
        raise AwsError("SerializationException", "Unexpected field type")
    return value


def answer(body: dict[str, Any]) -> Response:
    """
    Write an answer.
    """
    return Response(
        b"".join(_written(body)),
        content_type="application/cbor",
        headers={"smithy-protocol": PROTOCOL},
    )


def _written(value: Untyped) -> Iterator[bytes]:
    if value is None or isinstance(value, bool):
        yield _SIMPLE[value]
    elif isinstance(value, int):
        yield _head(_INTEGER, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
    elif isinstance(value, float):
        yield b"\xfb" + struct.pack(">d", value)
    elif isinstance(value, datetime):
        yield _MOMENT
        yield from _written(value.timestamp())
    elif isinstance(value, dict):
        yield _head(_MAP, len(value))
        for key, item in value.items():
            yield from _written(key)
            yield from _written(item)
    elif isinstance(value, list | tuple):
        yield _head(_LIST, len(value))
        for item in value:
            yield from _written(item)
    else:
        text = str(value).encode()
        yield _head(_TEXT, len(text)) + text


def _head(major: int, number: int) -> bytes:
    if number <= _LARGEST_INSIDE:
        return bytes([major << 5 | number])
    size = next(size for size in (1, 2, 4, 8) if number < 1 << (8 * size))
    return bytes([major << 5 | 24 + size.bit_length() - 1]) + number.to_bytes(
        size, "big"
    )
