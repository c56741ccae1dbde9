"""
What stands for ``argparse``'s parser while the engines add their arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.catalog.reading.reader import Reader
from tools.catalog.reading.values import Field, Unread, Value, known

# Under which word a field comes along to the parser.
DECLARED_AS = "declared as"


@dataclass(frozen=True)
class Added:
    """
    An argument as it was added.

    Args:
        names: Its spellings.

        words: What else the parser was told.

        within: The functions that added it, outermost first.

        field: The field that it was made of, where it was.
    """

    names: tuple[str, ...]
    words: Mapping[str, Value]
    within: tuple[str, ...]
    field: Field | None = None

    @property
    def dest(self) -> str:
        """
        Return the name of its value.
        """
        given = known(self.words.get("dest"))
        return given or self.longest.removeprefix("--").replace("-", "_")

    @property
    def longest(self) -> str:
        """
        Return the first of its long spellings.
        """
        return next(one for one in self.names if one.startswith("--"))


class Parser:
    """
    A parser that remembers what is added, and its groups.

    Args:
        reader: What follows the functions that add.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.added: list[Added] = []
        self.unread: list[str] = []

    def add_argument(self, *names: Value, **words: Value) -> None:
        """
        Take an argument; one that needs no dashes is none of an environment.
        """
        for one in names:
            if isinstance(one, Unread):
                self.unread.append(one.why)
                return
        if any(one.startswith("--") for one in names):
            within = tuple(self._reader.followed)
            of = words.pop(DECLARED_AS, None)
            self.added.append(Added(names, words, within, of))

    def add_argument_group(self, *_: Value, **__: Value) -> Parser:
        """
        Return itself: groups are for the reader of the help.
        """
        return self

    add_mutually_exclusive_group = add_argument_group
