"""
The parts of a response in ``application/vnd.amazon.eventstream``.
"""

from __future__ import annotations

import json

from moto.core.eventstream import EventStreamEncoder

CONTENT_TYPE = "application/vnd.amazon.eventstream"

_ENCODER = EventStreamEncoder()


def payload_part(payload: bytes) -> bytes:
    """
    Frame one part of a response body.
    """
    return _ENCODER.encode_message(
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
    return _ENCODER.encode_message(
        {
            ":message-type": "exception",
            ":exception-type": "ModelStreamError",
            ":content-type": "application/json",
        },
        json.dumps(why).encode(),
    )
