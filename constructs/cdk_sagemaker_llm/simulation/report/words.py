"""
How moments, spans and counts are written.
"""

from __future__ import annotations

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def moment(seconds: float) -> str:
    """
    Write a moment since the start: ``1:05:30``, and days where there are any.
    """
    whole = round(seconds)
    days, rest = divmod(whole, _DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, left = divmod(rest, _MINUTE)
    clock = f"{hours}:{minutes:02}:{left:02}"
    return f"day {days + 1}, {clock}" if days else clock


def span(seconds: float) -> str:
    """
    Write how long something took.
    """
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h"


def count(number: float, what: str, several: str = "") -> str:
    """
    Write how many there are of something, whose plural ends in s or is given.
    """
    shown = f"{number:,.0f}"
    return f"{shown} {what}" if shown == "1" else f"{shown} {several or what + 's'}"


def share(part: float, whole: float) -> str:
    """
    Write a part in per cent; what is not all never reads as all, nor some as none.
    """
    if not whole:
        return "none"
    per_cent = 100 * part / whole
    if 0 < per_cent < 0.05:  # noqa: PLR2004 - what would be rounded to 0 per cent
        return "less than 0.1 %"
    most = 99.9 if per_cent < 100 else per_cent  # noqa: PLR2004 - per cent
    return f"{min(round(per_cent, 1), most):g} %"
