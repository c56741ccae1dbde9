"""
The arguments of a call: checked, and refused by their names, before anything is sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NoReturn, TypeVar

from cdk_sagemaker_llm.text import any_of

_Choice = TypeVar("_Choice", bound=StrEnum)
_LONGEST = 60


def refuse(name: str, rule: str, value: object, way_out: str = "") -> NoReturn:
    """
    Say what is wrong with an argument, and what to write in its place.
    """
    got = repr(value)
    got = got[:_LONGEST] + ("..." if len(got) > _LONGEST else "")
    message = f"{name} must be {rule}, got {got}"
    raise ValueError(f"{message}; {way_out}" if way_out else message)


def check_text(name: str, value: object, way_out: str = "") -> None:
    if not isinstance(value, str):
        refuse(name, "a text", value, way_out)


def check_name(name: str, value: object, way_out: str = "") -> None:
    """
    Check that an argument is a text that is not empty.
    """
    check_text(name, value, way_out)
    if not value:
        refuse(name, "a name", value, way_out)


def check_header(name: str, value: str) -> None:
    """
    Check that a header can carry a text, and that the API takes it in one.
    """
    if not (value.isascii() and value.isprintable()):
        refuse(name, "printable ASCII, as it travels in a header", value)


def check_whole(name: str, value: object, least: int | None = None) -> None:
    """
    Check that an argument is a whole number, and not too small.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        refuse(name, "a whole number", value)
    if least is not None and value < least:
        refuse(name, f"at least {least}", value)


def check_number(name: str, value: object) -> None:
    """
    Check that an argument is a number that JSON can hold.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        refuse(name, "a number", value)
    if not math.isfinite(value):
        refuse(name, "a finite number", value)


def check_seconds(name: str, value: object) -> None:
    """
    Check that an argument is a number of seconds; 0 and infinity are allowed.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        refuse(name, "a number of seconds", value)
    if not value >= 0:
        refuse(name, "at least 0", value)


def check_mapping(name: str, value: object, way_out: str = "") -> None:
    if not isinstance(value, Mapping):
        refuse(name, "a dictionary", value, way_out)


def choice(name: str, kind: type[_Choice], value: object) -> _Choice:
    """
    Return one of a closed set of words.
    """
    words = [str(one) for one in kind]
    if value not in words:
        refuse(name, any_of(map(repr, words)), value)
    return kind(value)


def as_bytes(name: str, value: object, way_out: str = "") -> bytes:
    """
    Return bytes, whatever holds them.
    """
    if not isinstance(value, (bytes, bytearray, memoryview)):
        refuse(name, "bytes", value, way_out)
    return bytes(value)


def as_list(
    name: str, value: object, check: Callable[[str, object], None], way_out: str
) -> Sequence[object]:
    """
    Return the parts of a list, after a check of each.

    A text, bytes and a dictionary could be walked through too, letter by letter, which
    is never what was meant.
    """
    single = isinstance(value, (str, bytes, bytearray, Mapping))
    if single or not isinstance(value, Iterable):
        refuse(name, "a list", value, way_out)
    parts = list(value)
    for number, part in enumerate(parts):
        check(f"{name}[{number}]", part)
    return parts
