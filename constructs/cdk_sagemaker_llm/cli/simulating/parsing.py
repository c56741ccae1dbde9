"""
What is written on the command line as a rate, a time or a number with a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

_NUMBER = r"\d+(?:\.\d+)?"
_RATE = re.compile(rf"({_NUMBER})\s*/\s*(s|sec|second|min|m|minute|h|hour)")
_SPAN = re.compile(
    rf"(?:({_NUMBER})d)?(?:({_NUMBER})h)?(?:({_NUMBER})m)?(?:({_NUMBER})s)?"
)
_UNITS = (86400.0, 3600.0, 60.0, 1.0)
_PER: Mapping[str, float] = {"s": 1.0, "m": 60.0, "h": 3600.0}


def rate(flag: str, text: str) -> float:
    """
    Read requests by the second, minute or hour; return those of a second.
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"{flag} must be a rate such as 20/min, 5/s or 1000/h, got {text!r}"
        )
    return float(found[1]) / _PER[found[2][0]]


def seconds(flag: str, text: str) -> float:
    """
    Read a time such as ``1h30m``; return its seconds.
    """
    found = _SPAN.fullmatch(text.strip().replace(" ", ""))
    if found is None or not any(found.groups()):
        raise ValueError(
            f"{flag} must be a time with its unit, such as 90s, 4m, 1h30m or 7d, got "
            f"{text!r}"
        )
    return math.fsum(
        float(part) * unit
        for part, unit in zip(found.groups(), _UNITS, strict=True)
        if part
    )


def moment(flag: str, text: str) -> datetime:
    """
    Read a moment; one without a zone is UTC.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as fault:
        raise ValueError(
            f"{flag} must be a moment such as 2026-03-02T08:00+01:00, got {text!r}"
        ) from fault
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def named_numbers(
    flag: str, given: Sequence[str], known: Mapping[str, str]
) -> dict[str, str]:
    """
    Read several ``name=value``; the values are left as they are.

    Args:
        flag: Where they are from.

        given: What was written.

        known: The names there are, each with an example of a value.
    """
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            examples = ", ".join(f"{key}={value}" for key, value in known.items())
            raise ValueError(f"{flag} must be one of {examples}, got {text!r}")
        found[name] = value
    return found


def whole(flag: str, text: str, least: int = 0) -> int:
    """
    Read a whole number.
    """
    try:
        found = int(text)
    except ValueError:
        found = least - 1
    if found < least:
        raise ValueError(
            f"{flag} must be a whole number of at least {least}, got {text!r}"
        )
    return found


def positive(flag: str, text: str) -> float:
    """
    Read a number above zero.
    """
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        raise ValueError(f"{flag} must be a number above 0, got {text!r}")
    return found
