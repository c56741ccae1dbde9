"""
serving.properties: written so that every reader agrees, read as Java reads it.

Deep Java Library Serving loads the file with ``java.util.Properties.load``; the
TensorRT-LLM images up to 0.32 read it a second time with a naive line splitter
(``partition/trt_llm_partition.py``). What is written here means the same to both.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from cdk_sagemaker_llm.tokens import is_unresolved

PropertyValue = str | int | float | bool

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_LINE_END = r"\r\n|\r|\n"
_KEY = re.compile(r"[A-Za-z0-9_.\-]+\Z")
_TO_KEY_END = re.compile(rf"(?:[^\\=:{_BLANKS}]|\\.?)*", re.DOTALL)


class PropertiesError(ValueError):
    """
    The text of a serving.properties cannot be read, or a value cannot be written.
    """


def render(properties: Mapping[str, PropertyValue]) -> str:
    """
    Write properties as ``key=value`` lines in the order given.

    Raises:
        PropertiesError: If a value is a placeholder, or holds what one of the two
            readers would change: anything outside printable ASCII, a backslash, or
            blanks at an end.
    """
    return lines(texts_of(properties))


def texts_of(properties: Mapping[str, PropertyValue]) -> dict[str, str]:
    """
    Write each value as the text that both readers take for it.

    Raises:
        PropertiesError: As ``render``.
    """
    return {_checked_key(key): text_of(key, value) for key, value in properties.items()}


def lines(texts: Mapping[str, str]) -> str:
    """
    Write values that ``texts_of`` made as the file's lines.
    """
    return "".join(f"{key}={text}\n" for key, text in texts.items())


def parse(text: str) -> dict[str, str]:
    """
    Read properties with the semantics of ``java.util.Properties.load``.

    Keys end at the first unescaped ``=``, ``:`` or blank; backslashes escape;
    blanks at the end of a value are kept; the last of two equal keys wins.

    Raises:
        PropertiesError: If a ``\\u`` escape is malformed, where Java refuses too.
    """
    return dict(pairs(text))


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """
    Read keys and values in the order of the file, repeated ones too.

    Raises:
        PropertiesError: As ``parse``.
    """
    return iter(_pairs(text))


# Each image that may read a file asks for the same.
@functools.lru_cache(maxsize=8)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_key_and_value(line) for line in _logical_lines(text))


def _checked_key(key: str) -> str:
    if not _KEY.match(key):
        raise PropertiesError(
            f"property name {key!r} must hold letters, digits, dots, dashes and "
            "underscores only"
        )
    return key


def text_of(key: str, value: PropertyValue) -> str:
    """
    Write one value.

    Raises:
        PropertiesError: If it cannot be written so that both readers agree.
    """
    if is_unresolved(value):
        raise PropertiesError(
            f"{key} is known only at deployment, too late for a file; pass it in an "
            "environment variable"
        )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    printable = text.isascii() and text.isprintable()
    if not printable or "\\" in text or text != text.strip():
        raise PropertiesError(
            f"{key} must be printable ASCII without backslashes or blanks at its "
            f"ends, got {text!r}"
        )
    return text


def _logical_lines(text: str) -> Iterator[str]:
    pending, is_open = "", False
    for natural in re.split(_LINE_END, re.sub(rf"(?:{_LINE_END})\Z", "", text)):
        line = natural.lstrip(_BLANKS)
        is_open = _continues(line) and (bool(pending) or line[0] not in "#!")
        if not pending and (not line or line[0] in "#!"):
            continue
        if is_open:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    # A backslash that nothing follows is a line all the same, with an empty key; Java
    # drops it only where the line ends in two characters (LineReader, JDK 17).
    if pending or (is_open and not text.endswith("\r\n")):
        yield pending


def _continues(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1


def _key_and_value(line: str) -> tuple[str, str]:
    end = _key_end(line)
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return _unescape(line[:end]), _unescape(value)


def _key_end(line: str) -> int:
    match = _TO_KEY_END.match(line)
    return match.end() if match else 0


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise PropertiesError(f"malformed \\u escape in {text!r}")
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", replace, text, flags=re.DOTALL)
