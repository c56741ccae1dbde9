"""
Reading option values as the containers do.

The Python side declares its options with pydantic: version 1 up to LMI 0.27, then
version 2. The Java front end reads some of them before that with
``Integer.parseInt``. What one of the two refuses keeps the model from loading.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from cdk_sagemaker_llm.catalog.lmi import OptionType

_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "off", "f", "false", "n", "no"})
_JAVA_INT = re.compile(r"[+-]?[0-9]+\Z")
_WHOLE_FLOAT = re.compile(r"(\s*[+-]?[0-9_]+)\.0+\s*\Z")
_NUMBERS = ("int", "int-enum", "float")
# More digits than any number of 32 bits, leading zeros aside.
_LONGEST_JAVA_INT = 40


def fault_of(declared: OptionType, value: str, *, strict_int: bool) -> str | None:
    """
    Say what a value must be and is not; ``None`` if it can be read.

    Args:
        declared: How the container reads it.

        value: The text in the file.

        strict_int: Whether ``4.0`` is no integer, as up to LMI 0.27.
    """
    if not strict_int and not value.isascii() and declared.kind in _NUMBERS:
        return "written in ASCII digits"
    if declared.kind in ("int", "int-enum") and not strict_int:
        value = _without_zero_fraction(value)
    if declared.kind == "int":
        return None if _is_int(value) else "an integer"
    if declared.kind == "enum":
        return None if value in declared.choices else _one_of(declared.choices)
    if declared.kind == "int-enum":
        known = _is_int(value) and str(int(value)) in declared.choices
        return None if known else _one_of(declared.choices)
    check, rule = _READERS.get(declared.kind, (_anything, ""))
    return None if check(value) else rule


def java_int_fault(value: str) -> str | None:
    """
    Say what keeps ``Integer.parseInt`` from reading a value.
    """
    if not _JAVA_INT.match(value):
        blank = value != value.strip() and _JAVA_INT.match(value.strip())
        return "an integer without blanks after it" if blank else "an integer"
    return None if _fits_32_bits(value) else "an integer of 32 bits"


def as_bool(value: str | None) -> bool | None:
    """
    Read a switch; ``None`` if it is left out or unreadable.
    """
    lowered = (value or "").lower()
    if lowered in _TRUE:
        return True
    return False if lowered in _FALSE else None


def as_int(value: str | None) -> int | None:
    """
    Read a whole number; ``None`` if it is left out or unreadable.
    """
    return int(value) if value is not None and _is_int(value) else None


def _without_zero_fraction(value: str) -> str:
    match = _WHOLE_FLOAT.match(value)
    return match[1] if match else value


def _fits_32_bits(value: str) -> bool:
    if len(value) > _LONGEST_JAVA_INT:
        return False
    return -(2**31) <= int(value) < 2**31


def _is_int(value: str) -> bool:
    try:
        int(value)
    except ValueError:
        return False
    return True


def _is_float(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _is_int_list(value: str) -> bool:
    return all(map(_is_int, value.split(",")))


def _is_counts(value: str) -> bool:
    counts: dict[str, str] = {}
    for item in value.split(","):
        name, mark, count = (part.strip().lower() for part in item.partition("="))
        if not mark or not _is_int(count) or counts.setdefault(name, count) != count:
            return False
    return True


def _literal(value: str) -> object:
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _is_floats(value: str) -> bool:
    read = _literal(value)
    if isinstance(read, list | tuple):
        return all(_is_float(str(item)) for item in read)
    return isinstance(read, int | float)


def _is_dict(value: str) -> bool:
    return isinstance(_literal(value), dict)


def _anything(_value: str) -> bool:
    return True


def _nothing(_value: str) -> bool:
    return False


def _one_of(choices: tuple[str, ...]) -> str:
    return "one of " + ", ".join(choices)


_READERS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "float": (_is_float, "a number"),
    "bool": (lambda value: as_bool(value) is not None, "true or false"),
    "int-list": (_is_int_list, "integers joined by commas, such as 128,512"),
    "counts": (_is_counts, "name=count pairs joined by commas, such as image=2"),
    "floats": (_is_floats, "a list of numbers, such as [1.0,4.0]"),
    "dict": (_is_dict, "a dictionary, such as {'key':'value'}"),
    "none": (_nothing, "left out: this version takes no value"),
    "callable": (_nothing, "set by model.py: a file can name no function"),
}
