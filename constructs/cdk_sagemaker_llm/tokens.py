"""
Telling values that are known at synth from the CDK's placeholders.

What belongs here stands for ``Token.is_unresolved`` where checks must not import the
CDK: it looks for the marker that its encoding leaves in strings, lists and numbers
(aws-cdk-lib, core/lib/private/encoding.ts).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

_MARKER = re.compile(r"[$#]\{Token\[[A-Za-z0-9:._-]+\]\}")
_NUMBER_BOUND = -1e288
# As messages quote one: alone, in a text, or as the digits of a number.
_QUOTED = re.compile(rf"(['\"]){_MARKER.pattern}\1|-1\.8\d*e\+289")
AT_DEPLOYMENT = "a value that is known only at deployment"
# What ``StringParameter.value_from_lookup`` returns until the value is known
# (aws-cdk-lib, aws-ssm/lib/parameter.ts).
_STAND_IN = "dummy-value-for-"


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


def told_apart(text: str) -> str:
    """
    Return a message with words in the place of the placeholders that it quotes, which
    tell nobody anything.
    """
    if not is_unresolved(text) and "e+289" not in text:
        return text
    return _MARKER.sub("<known at deployment>", _QUOTED.sub(AT_DEPLOYMENT, text))


def is_list_placeholder(value: object) -> bool:
    """
    Return whether a value is a whole list that is resolved at deploy time.

    The CDK writes it as a list of one item, whose marker is another than that of text.
    """
    return (
        isinstance(value, list | tuple)
        and len(value) == 1
        and isinstance(value[0], str)
        and value[0].startswith("#{")
        and is_placeholder(value[0])
    )


def placeholder_in(value: object) -> str | float | None:
    """
    Return the first placeholder that a value is or contains, in mappings too; ``None``
    without one.
    """
    if isinstance(value, str | int | float):
        return value if is_unresolved(value) else None
    found = (placeholder_in(item) for item in _parts(value))
    return next((one for one in found if one is not None), None)


def stand_in_remedy(text: str) -> str | None:
    """
    Say what to do about a parameter that was not looked up yet; ``None`` if a text
    quotes none.
    """
    if _STAND_IN not in text:
        return None
    return (
        f"{_STAND_IN}... stands for a parameter until the CDK's command has looked it "
        "up, which it does after a first synthesis without errors; give "
        "value_from_lookup a default_value= that may stand here"
    )


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    return value if isinstance(value, list | tuple) else ()


def is_placeholder(value: str) -> bool:
    """
    Return whether a text is one placeholder and nothing else.
    """
    return _MARKER.fullmatch(value) is not None
