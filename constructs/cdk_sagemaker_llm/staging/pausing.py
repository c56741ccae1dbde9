"""
Waiting before a busy server is asked once more.
"""

from __future__ import annotations

import os
import time

# The first pause; each is twice the one before.
_PAUSE = float(os.environ.get("STAGING_RETRY_SECONDS", "2"))


def pause(attempt: int) -> None:
    """
    Wait after an attempt, the longer the more there were.

    Args:
        attempt: Which one it was, from 0 on.
    """
    time.sleep(_PAUSE * 2**attempt)
