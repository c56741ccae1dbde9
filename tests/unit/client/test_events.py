"""
Events of a stream: read by the read, as botocore reads them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.eventstream import ChecksumMismatch, EventStream
from botocore.exceptions import EventStreamError
from botocore.model import ServiceModel
from botocore.parsers import create_parser

from cdk_sagemaker_llm.client.events import payloads
from cdk_sagemaker_llm.local.aws import protocols

ONE, TWO = protocols.payload_part(b"one"), protocols.payload_part(b"two")
EMPTY, BROKEN = protocols.payload_part(b""), protocols.broken_off()
# As it would be if the service added something.
MORE = protocols._ENCODER.encode_message(  # noqa: SLF001 - as botocore's parser reads
    {":event-type": "PayloadPart", ":message-type": "event", ":new": "x"}, b"more"
)
UNKNOWN = protocols._ENCODER.encode_message(  # noqa: SLF001 - as above
    {":event-type": "Metrics", ":message-type": "event"}, b"{}"
)


@cache
def _runtime() -> ServiceModel:
    session = botocore.session.get_session()
    return session.get_service_model("sagemaker-runtime")


def stream(pieces: Iterable[bytes]) -> Any:  # noqa: ANN401 - botocore's has no types
    """
    Make botocore's own stream of what arrives in pieces.
    """
    model = _runtime()
    shape: Any = model.operation_model("InvokeEndpointWithResponseStream").output_shape
    parser = create_parser(model.metadata["protocol"])._event_stream_parser  # type: ignore[attr-defined]  # noqa: SLF001 - as botocore makes it
    raw: Any = SimpleNamespace(stream=lambda: iter(pieces))
    return EventStream(raw, shape.members["Body"], parser, "Invoke")


def by_botocore(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """
    Walk through the payloads as botocore gives them.
    """
    for event in stream(pieces):
        yield event.get("PayloadPart", {}).get("Bytes", b"")


def test_events_of_one_read_come_together() -> None:
    """
    And those that end in a later one then.
    """
    body = ONE + TWO + ONE
    pieces = [body, body[:-1], body[-1:] + ONE]

    assert list(payloads(stream(pieces))) == [
        [b"one", b"two", b"one"],
        [b"one", b"two"],
        [b"one", b"one"],
    ]


@pytest.mark.parametrize(
    "body",
    [
        ONE + TWO + EMPTY + ONE,
        ONE + MORE + TWO + MORE,
        ONE + UNKNOWN + TWO,
        EMPTY + ONE,
    ],
    ids=["ordinary", "with more headers", "of an unknown kind", "empty at first"],
)
def test_wherever_they_are_cut_they_are_the_same(body: bytes) -> None:
    """
    As botocore reads them, event by event.
    """
    expected = list(by_botocore([body]))
    for cut in range(len(body) + 1):
        pieces = [body[:cut], body[cut:]]
        assert list(chain.from_iterable(payloads(stream(pieces)))) == expected


def test_what_came_before_an_exception_comes_first() -> None:
    """
    Though both are of one read; the exception keeps its name and its reason.
    """
    found = payloads(stream([ONE + TWO + TWO + BROKEN]))

    assert next(found) == [b"one", b"two", b"two"]
    with pytest.raises(EventStreamError) as caught:
        next(found)
    assert caught.value.response["Error"]["Code"] == "ModelStreamError"
    said: Any = caught.value.response
    assert said["ErrorCode"] == "StreamBroken"


@pytest.mark.parametrize("place", [5, 9, 40, -6, -1])
def test_fails_if_an_event_is_spoilt(place: int) -> None:
    """
    In its length, its checksums, its headers or its payload.
    """
    spoilt = bytearray(TWO)
    spoilt[place] ^= 1
    found = payloads(stream([ONE + ONE + bytes(spoilt)]))

    assert next(found) == [b"one", b"one"]
    with pytest.raises(ChecksumMismatch):
        next(found)


def test_large_events_are_botocores() -> None:
    """
    Beyond 16 MiB, and those after them too.
    """
    large = protocols.payload_part(b"x" * 17_000_000)

    found = list(chain.from_iterable(payloads(stream([ONE + large, TWO]))))
    assert [len(part) for part in found] == [3, 17_000_000, 3]


def test_a_stream_of_another_kind_is_read_event_by_event() -> None:
    """
    As a stub is.
    """
    events = [{"PayloadPart": {"Bytes": b"one"}}, {}, {"PayloadPart": {"Bytes": b"2"}}]

    assert list(payloads(events)) == [[b"one"], [b""], [b"2"]]
