"""
Sessions of a container: which there are, and until when.

As the session manager of model-hosting-container-standards 0.1.16 keeps them.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field


class SessionFaultError(ValueError):
    """
    A session that is not there.
    """


@dataclass
class Sessions:
    """
    The sessions that one container has begun.

    Args:
        ends: When each ends, in seconds since 1970.
    """

    ends: dict[str, float] = field(default_factory=dict)

    def begin(self, moment: float, seconds: float) -> str:
        """
        Begin a session that lasts so many seconds, and forget those that have ended.
        """
        for name in [name for name, end in self.ends.items() if moment > end]:
            del self.ends[name]
        name = str(uuid.uuid4())
        self.ends[name] = moment + seconds
        return name

    def hold(self, name: str, moment: float) -> None:
        """
        Hold that a session is there.

        One that has ended passes this once: the manager forgets it then, and refuses
        it from the next time on.

        Raises:
            SessionFaultError: If it never began, or is forgotten.
        """
        if name not in self.ends:
            raise SessionFaultError(f"session not found: {name}")
        if moment > self.ends[name]:
            del self.ends[name]

    def close(self, name: str | None) -> None:
        """
        End a session.

        Raises:
            SessionFaultError: If it is not there.
        """
        if not name:
            raise SessionFaultError(f"invalid session_id: {name}")
        if name not in self.ends:
            raise SessionFaultError(f"session not found: {name}")
        del self.ends[name]
