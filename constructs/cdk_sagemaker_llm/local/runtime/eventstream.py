"""
The framing of ``application/vnd.amazon.eventstream``.
"""

from __future__ import annotations

import json
import struct
import zlib

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_STRING = 7  # The header value type of a string.
_OVERHEAD = 16  # Two lengths, the checksum of both, the checksum of the message.


def payload_part(payload: bytes) -> bytes:
    """
    Frame one part of a response body.
    """
    return message(
        {
            ":message-type": "event",
            ":event-type": "PayloadPart",
            ":content-type": "application/octet-stream",
        },
        payload,
    )


def broken_off() -> bytes:
    """
    Frame the exception that ends a stream before its time.
    """
    why = {
        "Message": "The stream from the model container was interrupted.",
        # API reference, ModelStreamError.
        "ErrorCode": "StreamBroken",
    }
    return message(
        {
            ":message-type": "exception",
            ":exception-type": "ModelStreamError",
            ":content-type": "application/json",
        },
        json.dumps(why).encode(),
    )


def message(headers: dict[str, str], payload: bytes) -> bytes:
    """
    Frame a message: lengths and their CRC, headers, payload, CRC of it all.
    """
    block = b"".join(_header(name, value) for name, value in headers.items())
    total = len(block) + len(payload) + _OVERHEAD
    prelude = struct.pack(">II", total, len(block))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    body = prelude + block + payload
    return body + struct.pack(">I", zlib.crc32(body))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    sizes = struct.pack(">B", len(key)), struct.pack(">BH", _STRING, len(text))
    return sizes[0] + key + sizes[1] + text
