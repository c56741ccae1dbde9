"""
Telling values that are known at synth from the CDK's placeholders.

The CDK has ``Token.is_unresolved`` for this; checks that must not import the CDK
look for the marker that its encoding leaves in strings, lists and numbers
(aws-cdk-lib, core/lib/private/encoding.ts).
"""

from __future__ import annotations

_STRING_MARKER = "${Token["
_LIST_MARKER = "#{Token["
_NUMBER_BOUND = -1e288


def is_unresolved(value: object) -> bool:
    """
    Return whether a value is, or contains, a placeholder resolved at deploy time.
    """
    if isinstance(value, str):
        return _STRING_MARKER in value or _LIST_MARKER in value
    if isinstance(value, int | float):
        return value < _NUMBER_BOUND
    if isinstance(value, list | tuple):
        return any(is_unresolved(item) for item in value)
    return False
