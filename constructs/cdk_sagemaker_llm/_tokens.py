"""
Telling values that are known at synth from the CDK's placeholders.

What belongs here stands for ``Token.is_unresolved`` where checks must not import the
CDK: it looks for the marker that its encoding leaves in strings, lists and numbers
(aws-cdk-lib, core/lib/private/encoding.ts).
"""

from __future__ import annotations

import math
import re

_MARKER = re.compile(r"[$#]\{Token\[[A-Za-z0-9:._-]+\]\}")
_NUMBER_BOUND = -1e288


def is_unresolved(value: object) -> bool:
    """
    Return whether a value is, or contains, a placeholder resolved at deploy time.
    """
    if isinstance(value, str):
        return _MARKER.search(value) is not None
    if isinstance(value, int | float):
        # What is no number at all is below every number, too.
        return -math.inf < value < _NUMBER_BOUND
    if isinstance(value, list | tuple):
        return any(is_unresolved(item) for item in value)
    return False


def is_placeholder(value: str) -> bool:
    """
    Return whether a text is one placeholder and nothing else.
    """
    return _MARKER.fullmatch(value) is not None
