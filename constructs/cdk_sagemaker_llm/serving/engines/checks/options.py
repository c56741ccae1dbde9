"""
Which argument of an engine's parser a flag is, and what it asks for.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog.engine_arguments import (
    Engine,
    EngineArgument,
    argument_names,
    find_argument,
    spellings,
)

_NO = "--no-"
HELP = "--help"


@dataclass(frozen=True, slots=True)
class Option:
    """
    What a flag is taken for.

    Args:
        flag: The flag, with its dashes.

        argument: The argument; ``None`` for one that this release does not have.

        spelling: How the parser spells it in full; empty for an unknown one.

        is_negative: Whether it is the form that switches the argument off.

        candidates: The spellings that it begins, if there are several of them.
    """

    flag: str
    argument: EngineArgument | None = None
    spelling: str = ""
    is_negative: bool = False
    candidates: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """
        Whether it is spelt in full.
        """
        return self.flag == self.spelling


def find_option(engine: Engine, release: str, flag: str) -> Option:
    """
    Find what a release's parser takes a flag for: what is spelt so, or the only
    argument that begins so.
    """
    known = _known(engine, release)
    begun = tuple(sorted(name for name in known if name.startswith(flag)))
    if flag not in known and len(begun) != 1:
        return Option(flag, candidates=begun)
    spelling = flag if flag in known else begun[0]
    name = known[spelling]
    argument = find_argument(engine, name, release)
    is_negative = spelling.startswith(_NO) and not name.startswith("no-")
    return Option(flag, argument, spelling, is_negative=is_negative)


@functools.lru_cache(maxsize=16)
def _known(engine: Engine, release: str) -> Mapping[str, str]:
    """
    Return the name behind each spelling, with what switches arguments off.
    """
    found = dict(spellings(engine, release))
    for name in argument_names(engine, release):
        argument = find_argument(engine, name, release)
        if argument is not None and argument.is_switch and argument.has_negative:
            for spelling in (f"--{name}", *argument.aliases):
                if spelling.startswith("--"):
                    found[_NO + spelling.removeprefix("--")] = name
    return {**found, HELP: "help"}
