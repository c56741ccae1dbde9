"""
What is wrong with the settings of a load, in the words of whoever wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """
    One thing that is wrong.

    ``Fault("{} must be at least 1, got {}", ("users",), (0,))``

    Args:
        words: What is wrong, with a place for each setting and then for each value.

        settings: The settings that it is about, by their names in Python.

        values: What they are. If omitted, the words need none.
    """

    words: str
    settings: tuple[str, ...]
    values: tuple[object, ...] = ()

    def text(self, named: Callable[[str], str]) -> str:
        """
        Return the message, with each setting by the name that the caller knows.
        """
        return self.words.format(*map(named, self.settings), *self.values)


class SettingsError(ValueError):
    """
    The settings of a load test are wrong.

    Args:
        faults: What is wrong with it.
    """

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(fault.text(str) for fault in self.faults))
