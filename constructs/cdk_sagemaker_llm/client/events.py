"""
The events of a stream: from the bytes of one read to what the model wrote in them.

botocore makes objects of every event and of each of its headers, which takes as long as
all the rest. What follows an event that is nothing but its payload is mostly like it,
and is read here; whatever else comes is left to botocore.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

# Of an event's bytes: how many there are, how many of them are headers, and a checksum
# of these two. Headers and payload follow, and a checksum of all.
_PRELUDE = struct.Struct(">III")
_CHECKSUM = struct.Struct(">I")
_CHECKED = 8
# What is larger is botocore's to take, or to refuse.
_LARGEST_HEADERS, _LARGEST = 131_072, 16_777_216


def payloads(
    body: Any,  # noqa: ANN401 - botocore's stream, or a stub's
    pieces: Iterable[bytes] | None = None,
) -> Iterator[list[bytes]]:
    """
    Walk through the payloads of a stream, all of one read together.

    There is no public way to its bytes. Where botocore is built otherwise, each event
    is a read of its own.

    Args:
        pieces: The stream's bytes, where they are read elsewhere; of an empty piece
            nothing is given out. If omitted, they are read from its connection.
    """
    stream = getattr(getattr(body, "_raw_stream", None), "stream", None)
    parse = getattr(body, "_parse_event", None)
    if stream is None or parse is None:
        for event in body:
            yield [_payload(event)]
        return
    events = _Events(_telling(parse))
    for piece in stream() if pieces is None else pieces:
        if piece:
            yield from events.feed(piece)
        else:
            yield []


class _Events:
    """
    Cuts bytes into events.

    Args:
        parse: botocore's reading of one that is not like those before.
    """

    def __init__(self, parse: Callable[[Any], Any]) -> None:
        self._parse = parse
        self._rest = b""
        self._usual: bytes | None = None
        self._botocores: Any = None

    def feed(self, piece: bytes) -> Iterator[list[bytes]]:
        """
        Walk through the payloads that a piece completes.
        """
        data = self._rest + piece if self._rest else piece
        place, size, usual = 0, len(data), self._usual
        found: list[bytes] = []
        while self._botocores is None and size - place >= _PRELUDE.size:
            length, headers, checksum = _PRELUDE.unpack_from(data, place)
            if (
                zlib.crc32(data[place : place + _CHECKED]) != checksum
                or headers > _LARGEST_HEADERS
                or not _PRELUDE.size + headers + _CHECKSUM.size <= length <= _LARGEST
            ):
                # What it says of that, and goes on to do, is botocore's to decide.
                self._botocores = _buffer()
                break
            end = place + length
            if end > size:
                break
            checked = end - _CHECKSUM.size
            begin = place + _PRELUDE.size + headers
            is_whole = _CHECKSUM.unpack_from(data, checked)[0] == zlib.crc32(
                data[place:checked]
            )
            if is_whole and data[place + _PRELUDE.size : begin] == usual:
                found.append(data[begin:checked])
            else:
                if found:
                    yield found
                    found = []
                event = data[place:end]
                found.extend(self._read(event, headers))
                usual = self._usual
            place = end
        if found:
            yield found
        self._rest = data[place:]
        if self._botocores is not None:
            rest, self._rest = self._rest, b""
            self._botocores.add_data(rest)
            for event in self._botocores:
                if parsed := self._parse(event):
                    yield [_payload(parsed)]

    def _read(self, data: bytes, headers: int) -> Iterator[bytes]:
        buffer = _buffer()
        buffer.add_data(data)
        for event in buffer:
            parsed = self._parse(event)
            if parsed:
                yield _payload(parsed)
            if parsed == {"PayloadPart": {"Bytes": event.payload}}:
                self._usual = data[_PRELUDE.size : _PRELUDE.size + headers]


def _buffer() -> Any:  # noqa: ANN401 - botocore's has no types
    from botocore.eventstream import EventStreamBuffer  # noqa: PLC0415 - an extra

    return EventStreamBuffer()


def _payload(event: Any) -> bytes:  # noqa: ANN401 - botocore's dictionaries
    payload: bytes = event.get("PayloadPart", {}).get("Bytes", b"")
    return payload


def _telling(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """
    Keep the type and the reason of the exception that ends a stream, which botocore
    drops.
    """
    from botocore.exceptions import EventStreamError  # noqa: PLC0415 - an extra

    def parsed(event: Any) -> object:  # noqa: ANN401 - botocore's event
        try:
            result: object = parse(event)
        except EventStreamError as error:
            details = error.response.setdefault("Error", {})
            try:
                said = json.loads(event.payload)
            except ValueError:
                said = None
            said = said if isinstance(said, dict) else {}
            kind = event.headers.get(":exception-type", "")
            details["Code"] = details.get("Code") or kind
            words = said.get("Message", said.get("message", ""))
            details["Message"] = details.get("Message") or str(words)
            error.response["ErrorCode"] = said.get("ErrorCode")  # type: ignore[typeddict-unknown-key]  # as a refusal of SageMaker has its own
            raise
        return result

    return parsed
