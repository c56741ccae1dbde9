"""
Reading the packaged data files and naming what is near to a wrong name.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any


@functools.cache
def load(name: str) -> dict[str, Any]:
    """
    Read one of the JSON files of this package, once.
    """
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """
    Return the known names most like the given one, best first.
    """
    return difflib.get_close_matches(name, list(known), n=count, cutoff=0.6)


def any_of(names: Iterable[str]) -> str:
    """
    Join names as a sentence does: ``a, b or c``.
    """
    *rest, last = names
    return f"{', '.join(rest)} or {last}" if rest else last
