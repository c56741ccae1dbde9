"""
From bytes, cut anywhere, to records: JSON lines, server-sent events, a document.

All three are lines. A line is a record by itself, or the beginning of one that goes on
for several lines, as indented JSON does. Of JSON that was cut off, or spoilt by its
container, what can be read is saved.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cdk_sagemaker_llm.client.arguments import as_bytes
from cdk_sagemaker_llm.client.errors import (
    AnswerTooLargeError,
    ConnectionCutError,
    UnreadableAnswerError,
)
from cdk_sagemaker_llm.client.wire.failures import failure_in
from cdk_sagemaker_llm.client.wire.step import Record

STREAM_END = object()
"""Stands for ``data: [DONE]``."""

_DONE = b"[DONE]"
_MARK = b"\xef\xbb\xbf"  # UTF-8's byte order mark.
_SLICE = 65_536
# What may come between two records and say nothing; keep-alives take hours for it.
_SILENCE = 1_048_576
# How long an odd end of a stream may be, after records that could be read.
_TAIL = 65_536
# How often a record of several lines is tried before its end.
_TRIES = 8
_EXCERPT = 120
_SAYING_NOTHING = (b"event:", b"id:", b"retry:")
_PREFIXES = (b"data:", b"error:", *_SAYING_NOTHING)
_OPENING, _CLOSING = b"{[", b"}]"

# Line breaks inside a text: LMI 0.27 and 0.28 write the prompt as it is.
_DECODER = json.JSONDecoder(strict=False)
_decode = _DECODER.decode
_scan = _DECODER.raw_decode

# What stands in place of bytes where a stream is read by hand.
_EACH = (
    "encode texts, and of the events of boto3's stream give "
    "event['PayloadPart']['Bytes']"
)

# The error that LMI up to 0.27 appends to whatever it has written by then.
_APPENDED = re.compile(r'\{\s*"(?:code|type|message|error)"\s*:[^{}]*\}\s*\]?\s*$')
# The prompt that LMI 0.27 and 0.28 write with its quotes as they are.
_UNESCAPED = re.compile(
    r'\s*\[?\{"generated_text": "(.*?)"'
    r'(?:, "details": (\{"finish_reason".*\}))?\}\]?\s*',
    re.DOTALL,
)
_DETAILS = '", "details": {'
# Loops that never go back: others keep a mark for every character.
_TEXT = re.compile(
    r'"(?:generated_text|content|text)"\s*:\s*"((?:[^"\\]++|\\.)*+)', re.DOTALL
)
_MARKS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_PAIRS = {"}": "{", "]": "["}
_WHOLE_ESCAPES = re.compile(r"(?:[^\\]++|\\[^u]|\\u[0-9a-fA-F]{4})*+", re.DOTALL)


class Framing:
    """
    Cuts what arrives into records.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._line: list[bytes] = []
        self._line_size = 0
        self._record: list[bytes] = []
        self._record_size = 0
        self._is_event = False
        self._tries = 0
        self._silence = 0
        self._found = 0

    def feed(self, chunk: bytes) -> Iterator[Record]:
        """
        Take bytes and walk through the records that they complete.
        """
        if chunk.__class__ is not bytes:
            chunk = as_bytes("each chunk", chunk, _EACH)
        if len(chunk) <= _SLICE:
            yield from self._feed(chunk)
            return
        for start in range(0, len(chunk), _SLICE):
            yield from self._feed(chunk[start : start + _SLICE])

    def end(self) -> Iterator[Record]:
        """
        Walk through what is left at the end.
        """
        last = b"".join(self._line).strip()
        if last and not self._record and any(p.startswith(last) for p in _PREFIXES):
            raise ConnectionCutError("the answer broke off in the middle of an event")
        if self._line:
            yield from self._take(b"")
        if self._record:
            yield self._rest(at_end=True)

    @property
    def unread(self) -> bytes:
        """
        What has come of a record that is not complete.
        """
        parts = (b"\n".join(self._record), b"".join(self._line))
        return b"\n".join(filter(None, parts))

    def _feed(self, chunk: bytes) -> Iterator[Record]:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            if self._line or self._record:
                yield from self._take(line)
                continue
            # The usual line, and nothing before it: the same as below, but faster.
            if not line:
                self._say_nothing(line)
                continue
            try:
                usual = line[5:] if line.startswith(b"data:") else line
                text = usual.strip().decode()
                record, end = _scan(text)
            except (ValueError, RecursionError):
                text, end = "", -1
            if end == len(text) and text[0] in "{[":
                self._silence = 0
                self._found += 1
                yield record
            else:
                yield from self._take(line)
        if rest:
            self._line.append(rest)
            self._line_size += len(rest)
            self._check_size(self._line_size + self._record_size)

    def _take(self, line: bytes) -> Iterator[Record]:
        """
        Take a line, of which the beginning may have come before.
        """
        if self._line:
            self._line.append(line)
            line = b"".join(self._line)
            self._line, self._line_size = [], 0
        stripped = line.strip()
        if self._record:
            yield from self._go_on(line, stripped)
        elif not stripped:
            self._say_nothing(line)
        else:
            yield from self._begin(line, stripped)

    def _begin(self, line: bytes, stripped: bytes) -> Iterator[Record]:
        payload = self._payload(stripped)
        if not payload:
            self._say_nothing(line)
            return
        if payload == _DONE:
            yield STREAM_END
            return
        if payload[0] not in _OPENING:
            raise UnreadableAnswerError(
                f"neither JSON nor an event: {_excerpt(payload)}"
            )
        try:
            record = _decode(payload.decode())
        except (ValueError, RecursionError):
            self._is_event = payload is not stripped
            self._record, self._record_size = [payload], len(payload)
            self._tries = 0
            return
        self._count()
        yield record

    def _go_on(self, line: bytes, stripped: bytes) -> Iterator[Record]:
        if self._is_event:
            if not stripped:
                yield self._rest()
                return
            stripped = line = self._payload(stripped)
        self._record.append(line)
        self._record_size += len(line) + 1
        self._check_size(self._record_size)
        if self._found and self._record_size > _TAIL:
            raise self._unreadable()
        if stripped[:1] and stripped[0] in _CLOSING and self._tries < _TRIES:
            self._tries += 1
            record = self._decoded()
            if record is not None:
                self._clear()
                yield record

    def _payload(self, line: bytes) -> bytes:
        """
        Return what a line says: of an event its data, of a comment nothing.
        """
        first = line[:1]
        if first in {b"{", b"["}:
            return line
        if line.startswith(_MARK):
            return self._payload(line[len(_MARK) :])
        if line.startswith(b"data:"):
            return line[5:].strip()
        if line.startswith(b"error:"):  # Older llama.cpp.
            return line[6:].strip()
        if first == b":" or line.startswith(_SAYING_NOTHING):
            return b""
        return line

    def _say_nothing(self, line: bytes) -> None:
        self._silence += len(line) + 1
        if self._silence > _SILENCE:
            raise UnreadableAnswerError(
                f"{_SILENCE} bytes of blank lines and comments came in a row"
            )

    def _decoded(self) -> Record:
        try:
            return _decode(self._whole())
        except (ValueError, RecursionError):
            return None

    def _rest(self, *, at_end: bool = False) -> Record:
        """
        Make a record of what could not be read so far, or say why not.
        """
        record = self._decoded()
        if record is None:
            record = _mended(self._whole())
        if record is None:
            if at_end and is_cut(self._whole()):
                raise ConnectionCutError("the answer broke off in the middle of JSON")
            raise self._unreadable()
        self._clear()
        return record

    def _unreadable(self) -> UnreadableAnswerError:
        excerpt = _excerpt(b"\n".join(self._record))
        return UnreadableAnswerError(f"what came is no JSON: {excerpt}")

    def _whole(self) -> str:
        return b"\n".join(self._record).decode(errors="replace")

    def _clear(self) -> None:
        self._record, self._record_size = [], 0
        self._count()

    def _count(self) -> None:
        self._silence = 0
        self._found += 1

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise AnswerTooLargeError(
                f"one part of the answer is larger than {self._max_bytes} bytes"
            )


def begun(text: str) -> str:
    """
    Return the answer in JSON that is cut off; empty if none has begun.

    Half a line of a single token tells none: it may be a special one.
    """
    found = _TEXT.search(text)
    if found is None or '"token"' in text[: found.start()]:
        return ""
    return _plain(found[1])


def is_cut(text: str) -> bool:
    """
    Return whether text is JSON that is cut off, rather than no JSON.
    """
    opened: list[str] = []
    for found in _MARKS.finditer(text):
        mark = found.group()
        if mark in _PAIRS:
            if not opened or opened.pop() != _PAIRS[mark]:
                return False
        elif mark in _PAIRS.values():
            opened.append(mark)
    return bool(opened)


def _excerpt(garbage: bytes) -> str:
    text = garbage[: _EXCERPT + 1].decode(errors="replace")
    return repr(text[:_EXCERPT]) + ("..." if len(garbage) > _EXCERPT else "")


def _mended(text: str) -> Record:
    """
    Return the record that broken JSON stands for; ``None`` if that is unclear.

    An error that was appended comes with the text before it as ``generated_text``.
    """
    appended = _APPENDED.search(text)
    if appended:
        error = _loads(appended.group().rstrip("] \r\n"))
        if failure_in(error):
            return error | {"generated_text": begun(text[: appended.start()])}
    unescaped = _UNESCAPED.fullmatch(text)
    if unescaped is None or _DETAILS in unescaped[1]:
        return None
    details = _loads(unescaped[2]) if unescaped[2] else None
    if unescaped[2] and details is None:
        return None
    return {"generated_text": _plain(unescaped[1]), "details": details}


def _plain(escaped: str) -> str:
    """
    Undo the escapes of a text that may end in the middle of one.
    """
    found = _WHOLE_ESCAPES.match(escaped)
    whole = found.group() if found else ""
    read = _loads(f'"{whole}"')
    text = read if isinstance(read, str) else whole
    # Half of a pair of surrogates is no text.
    return text.encode(errors="ignore").decode()


def _loads(text: str) -> Record:
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        return None
