"""
Where the processes of other machines join.
"""

from __future__ import annotations

PORT = 5557
"""The port where none is named: Locust's own."""

_MOST = 65_535


def address_of(text: str) -> tuple[str, int]:
    """
    Read an address: ``HOST`` or ``HOST:PORT``.

    Raises:
        ValueError: If it is none.
    """
    host, sign, number = text.partition(":")
    is_number = number.isascii() and number.isdigit()
    port = int(number) if is_number else -1 if sign else PORT
    if not host or host != host.strip() or "/" in host or not 0 < port <= _MOST:
        raise ValueError(f"must be HOST or HOST:PORT, such as 10.0.0.5, got {text!r}")
    return host, port
