"""
Composite alarms: the states of other alarms, joined by AND, OR and NOT.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cdk_sagemaker_llm.simulation.alarms import ALARM, OK

_TOKEN = re.compile(
    r"\s*(?:(?P<state>ALARM|OK|INSUFFICIENT_DATA)\s*\(\s*"
    r"(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>[^\")\s]+))\s*\)"
    r"|(?P<word>AND\b|OR\b|NOT\b|TRUE\b|FALSE\b|[()]))"
)

StateOf = Callable[[str], str | None]


def composite_state(rule: str, state_of: StateOf) -> str | None:
    """
    Return the state of a composite alarm; ``None`` if its rule cannot be read.

    Args:
        rule: Such as ``ALARM("slow") AND NOT ALARM("deploying")``.

        state_of: Returns an alarm's state by its name.
    """
    try:
        return ALARM if _Reading(rule, state_of).result() else OK
    except (ValueError, IndexError):
        return None


class _Reading:
    """
    One rule, read from left to right; NOT binds closest, then AND, then OR.
    """

    def __init__(self, rule: str, state_of: StateOf) -> None:
        self._tokens = list(_tokens(rule, state_of))

    def result(self) -> bool:
        """
        Tell whether the rule is met.
        """
        value = self._any()
        if self._tokens:
            raise ValueError(self._tokens[0])
        return value

    def _any(self) -> bool:
        value = self._all()
        while self._tokens and self._tokens[0] == "OR":
            del self._tokens[0]
            value = self._all() or value
        return value

    def _all(self) -> bool:
        value = self._one()
        while self._tokens and self._tokens[0] == "AND":
            del self._tokens[0]
            value = self._one() and value
        return value

    def _one(self) -> bool:
        token = self._tokens.pop(0)
        if token == "NOT":  # noqa: S105 - a word of the language
            return not self._one()
        if token == "(":  # noqa: S105 - the same
            value = self._any()
            if self._tokens.pop(0) != ")":
                raise ValueError(token)
            return value
        if token not in {"TRUE", "FALSE"}:
            raise ValueError(token)
        return token == "TRUE"  # noqa: S105 - the same


def _tokens(rule: str, state_of: StateOf) -> list[str]:
    found, place, text = [], 0, rule.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(text[place:])
        if match["state"]:
            name = (match["quoted"] or match["plain"]).rpartition(":alarm:")[2]
            met = state_of(name) == match["state"]
            found.append("TRUE" if met else "FALSE")
        else:
            found.append(match["word"])
        place = match.end()
    return found
