"""
How many examples a property is tried on.
"""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """
    Return all for ``make test-all``, which draws them anew, and a third for
    ``make test``, where they are the same every time.
    """
    return count // 3 if settings().derandomize else count
