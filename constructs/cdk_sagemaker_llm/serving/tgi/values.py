"""
Reading values as the TGI launcher does, which is as clap 4 and Rust do.

Every version with an image parses its variables with clap 4: ``usize`` and ``f32``
with Rust's own ``FromStr``, the other integers within their type's range, booleans
with ``BoolValueParser``, which knows ``true`` and ``false`` and nothing else.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm.catalog.tgi import TgiOption
from cdk_sagemaker_llm.text import any_of

_LARGEST = {"usize": 2**64 - 1, "u64": 2**64 - 1, "u32": 2**32 - 1, "u16": 2**16 - 1}
# ASCII alone: Python's own \d and int() take digits of every script.
_INTEGER = re.compile(r"(?:\+?[0-9]+|-0+)\Z")
_FLOAT = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\Z",
    re.IGNORECASE,
)
# More digits than 64 bits can have, leading zeros aside.
_LONGEST = 40


def value_fault(option: TgiOption, value: str) -> str | None:
    """
    Say what a value must be and is not; ``None`` if the launcher can read it.
    """
    if option.kind in _LARGEST:
        return _integer_fault(value, _LARGEST[option.kind])
    if option.kind == "choice":
        return None if value in option.choices else any_of(option.choices)
    if option.kind == "usize-list":
        wrong = any(_integer_fault(v, _LARGEST["usize"]) for v in value.split(","))
        return "whole numbers joined by commas, such as 1,2,4" if wrong else None
    if option.kind == "bool":
        return None if value in ("true", "false") else "true or false"
    if option.kind == "f32":
        return None if _FLOAT.match(value) else "a number"
    return None


def as_count(value: str | None) -> int | None:
    """
    Read a whole number; ``None`` if it is left out or the launcher cannot read it.
    """
    if value is None or _integer_fault(value, _LARGEST["usize"]):
        return None
    return int(value)


def as_number(value: str | None) -> float | None:
    """
    Read a floating-point number; ``None`` if it is left out or cannot be read.
    """
    return float(value) if value is not None and _FLOAT.match(value) else None


def _integer_fault(value: str, largest: int) -> str | None:
    if not _INTEGER.match(value):
        return "a whole number of at least 0"
    fits = len(value) <= _LONGEST and int(value) <= largest
    return None if fits else f"at most {largest}"
