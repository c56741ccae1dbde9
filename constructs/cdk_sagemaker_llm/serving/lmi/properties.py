"""
A serving.properties: its lines, and its values as the containers read them.

The Python side declares its options with pydantic: version 1 up to LMI 0.27, then
version 2. The Java front end reads some of them before that with
``Integer.parseInt``. What one of the two refuses keeps the model from loading.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping

from cdk_sagemaker_llm.catalog.lmi import OptionType
from cdk_sagemaker_llm.tokens import is_unresolved

PropertyValue = str | int | float | bool
"""
What an option of a serving.properties is written from.
"""
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_LINE_END = r"\r\n|\r|\n"
_KEY = re.compile(r"[A-Za-z0-9_.\-]+\Z")
_TO_KEY_END = re.compile(rf"(?:[^\\=:{_BLANKS}]|\\.?)*", re.DOTALL)
_TRUE = frozenset({"1", "on", "t", "true", "y", "yes"})
_FALSE = frozenset({"0", "off", "f", "false", "n", "no"})
_JAVA_INT = re.compile(r"[+-]?[0-9]+\Z")
_WHOLE_FLOAT = re.compile(r"(\s*[+-]?[0-9_]+)\.0+\s*\Z")
_NUMBERS = ("int", "int-enum", "float")
# More digits than any number of 32 bits, leading zeros aside.
_LONGEST_JAVA_INT = 40


class PropertiesError(ValueError):
    """
    The text of a serving.properties cannot be read, or a value cannot be written.
    """


def render(properties: Mapping[str, PropertyValue]) -> str:
    """
    Write properties as ``key=value`` lines in the order given.

    Refuses a placeholder, and what one of the two readers would change: anything
    outside printable ASCII, a backslash, or blanks at an end.
    """
    return lines(texts_of(properties))


def texts_of(properties: Mapping[str, PropertyValue]) -> dict[str, str]:
    """
    Write each value as the text that both readers take for it.
    """
    texts = {}
    for key, value in properties.items():
        if not _KEY.match(key):
            raise PropertiesError(
                f"property name {key!r} must hold letters, digits, dots, dashes and "
                "underscores only"
            )
        texts[key] = text_of(key, value)
    return texts


def lines(texts: Mapping[str, str]) -> str:
    """
    Write values that ``texts_of`` made as the file's lines.
    """
    return "".join(f"{key}={text}\n" for key, text in texts.items())


def parse(text: str) -> dict[str, str]:
    """
    Read properties with the semantics of ``java.util.Properties.load``.

    Keys end at the first unescaped ``=``, ``:`` or blank; backslashes escape; blanks at
    the end of a value are kept; the last of two equal keys wins.
    """
    return dict(pairs(text))


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """
    Read keys and values in the order of the file, repeated ones too.
    """
    return iter(_pairs(text))


# Each image that may read a file asks for the same.
@functools.lru_cache(maxsize=8)
def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for line in _logical_lines(text):
        match = _TO_KEY_END.match(line)
        end = match.end() if match else 0
        value = line[end:].lstrip(_BLANKS)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(_BLANKS)
        found.append((_unescape(line[:end]), _unescape(value)))
    return tuple(found)


def text_of(key: str, value: PropertyValue) -> str:
    """
    Write one value.
    """
    if is_unresolved(value):
        raise PropertiesError(
            f"{key} is known only at deployment, too late for a file; pass it in an "
            "environment variable"
        )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    printable = text.isascii() and text.isprintable()
    if not printable or "\\" in text or text != text.strip():
        raise PropertiesError(
            f"{key} must be printable ASCII without backslashes or blanks at its "
            f"ends, got {text!r}"
        )
    return text


def _logical_lines(text: str) -> Iterator[str]:
    pending, is_open = "", False
    for natural in re.split(_LINE_END, re.sub(rf"(?:{_LINE_END})\Z", "", text)):
        line = natural.lstrip(_BLANKS)
        backslashes = len(line) - len(line.rstrip("\\"))
        is_open = (backslashes % 2 == 1) and (bool(pending) or line[0] not in "#!")
        if not pending and (not line or line[0] in "#!"):
            continue
        if is_open:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    # A backslash that nothing follows is a line all the same, with an empty key; Java
    # drops it only where the line ends in two characters (LineReader, JDK 17).
    if pending or (is_open and not text.endswith("\r\n")):
        yield pending


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise PropertiesError(f"malformed \\u escape in {text!r}")
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|.)", replace, text, flags=re.DOTALL)


def fault_of(declared: OptionType, value: str, *, strict_int: bool) -> str | None:
    """
    Say what a value must be and is not; ``None`` if it can be read.

    ``strict_int`` where ``4.0`` is no integer, as up to LMI 0.27.
    """
    if not strict_int and not value.isascii() and declared.kind in _NUMBERS:
        return "written in ASCII digits"
    if declared.kind in ("int", "int-enum") and not strict_int:
        match = _WHOLE_FLOAT.match(value)
        value = match[1] if match else value
    if declared.kind == "int":
        return None if _is_int(value) else "an integer"
    if declared.kind == "enum":
        return None if value in declared.choices else _one_of(declared.choices)
    if declared.kind == "int-enum":
        is_choice = _is_int(value) and str(int(value)) in declared.choices
        return None if is_choice else _one_of(declared.choices)
    check, rule = _READERS.get(declared.kind, (None, ""))
    return None if check is None or check(value) else rule


def java_int_fault(value: str) -> str | None:
    """
    Say what keeps ``Integer.parseInt`` from reading a value.
    """
    if not _JAVA_INT.match(value):
        blank = value != value.strip() and _JAVA_INT.match(value.strip())
        return "an integer without blanks after it" if blank else "an integer"
    fits = len(value) <= _LONGEST_JAVA_INT and -(2**31) <= int(value) < 2**31
    return None if fits else "an integer of 32 bits"


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


def _nothing(_value: str) -> bool:
    return False


def _one_of(choices: tuple[str, ...]) -> str:
    return "one of " + ", ".join(choices)


_READERS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "float": (_is_float, "a number"),
    "bool": (lambda value: as_bool(value) is not None, "true or false"),
    "int-list": (
        lambda value: all(map(_is_int, value.split(","))),
        "integers joined by commas, such as 128,512",
    ),
    "counts": (_is_counts, "name=count pairs joined by commas, such as image=2"),
    "floats": (_is_floats, "a list of numbers, such as [1.0,4.0]"),
    "dict": (
        lambda value: isinstance(_literal(value), dict),
        "a dictionary, such as {'key':'value'}",
    ),
    "none": (_nothing, "left out: this version takes no value"),
    "callable": (_nothing, "set by model.py: a file can name no function"),
}
