"""
How long a client waits, and for what.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class Timeouts:
    """
    How many seconds may pass.

    ``Timeouts(read=30)`` gives up a model that is silent for half a minute.

    Args:
        connect: Until there is a connection.

        read: Until the first part of an answer, and from one part to the next. Blank
            lines and keep-alives are no parts. SageMaker itself ends what is no stream
            after 60 seconds.

        total: From the call to its end, with everything that is waited for and tried
            again. If left out, only the others count.
    """

    connect: float = 10.0
    read: float = 120.0
    total: float | None = None

    def __post_init__(self) -> None:
        """
        Refuse what is no time.
        """
        for field in fields(self):
            seconds = getattr(self, field.name)
            if seconds is None and field.name == "total":
                continue
            if not isinstance(seconds, (int, float)) or not 0 < seconds < 1e9:  # noqa: PLR2004 - thirty years
                raise ValueError(f"{field.name} must be more than 0 s, got {seconds!r}")
