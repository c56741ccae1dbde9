"""
Checks of the text itself: what Java and the partition script make of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.property_subject import JAVA
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, pairs

# The script ends on the first of them.
_MOST_LINES = 50


def text_findings(text: str, *, read_twice: bool) -> Iterator[Finding]:
    """
    Check how a file is written, before what it says.

    Args:
        text: The file's text.

        read_twice: Whether the TensorRT-LLM partition script reads it as well.
    """
    yield from _ascii_findings(text)
    yield from _repetitions(text)
    if read_twice:
        yield from itertools.islice(_partition_script_findings(text), _MOST_LINES)


UNREAD = Rule(
    "LLM186",
    "a serving.properties is empty, or in an encoding of which Java reads nothing",
    JAVA,
)
MARKED = Rule("LLM235", "a byte order mark at the beginning of a file", JAVA)
# As ISO-8859-1 shows them, and as a text that was decoded otherwise does.
_MARKS = ("\xef\xbb\xbf", "\ufeff")
_WIDE = ("\xff\xfe", "\xfe\xff", "\ufffe")
_SAVE = "save it as ASCII"


def encoding_findings(text: str) -> Iterator[Finding]:
    """
    Java takes a byte order mark for letters of the first line, and knows no UTF-16.
    """
    if is_wide(text):
        yield UNREAD.finding(
            "the file is in UTF-16, of which Java, reading ISO-8859-1, knows no "
            "property",
            _SAVE,
        )
    elif text.startswith(_MARKS):
        first = without_mark(text).split("\n", 1)[0].strip()
        name = re.split(r"[=:\s]", first, maxsplit=1)[0]
        if not name or name[0] in "#!":
            yield MARKED.finding(
                "the file begins with a byte order mark (BOM), which Java takes for "
                "the letters of a property",
                f"{_SAVE}, without the mark",
            )
        else:
            yield UNREAD.finding(
                "the file begins with a byte order mark (BOM), which Java takes for "
                f"letters of the first property: {name} is not read",
                f"{_SAVE}, without the mark",
            )


def is_wide(text: str) -> bool:
    """
    Whether a file is written with two bytes a letter.
    """
    return text.startswith(_WIDE) or "\0" in text


def without_mark(text: str) -> str:
    """
    Return a file's text behind its byte order mark.
    """
    for mark in _MARKS:
        text = text.removeprefix(mark)
    return text


NOT_ASCII = Rule("LLM217", "characters that Java reads otherwise", JAVA)


def _ascii_findings(text: str) -> Iterator[Finding]:
    """
    Java reads the bytes as ISO-8859-1.
    """
    if not text.isascii():
        yield NOT_ASCII.finding(
            "the file has characters outside ASCII, which Java reads as ISO-8859-1",
            r"write them as \uXXXX",
        )


WRITTEN_TWICE = Rule("LLM218", "a property is written twice", JAVA)


def _repetitions(text: str) -> Iterator[Finding]:
    """
    Of two values of one property the last wins.
    """
    seen: dict[str, str] = {}
    try:
        found = list(pairs(text))
    except PropertiesError:
        return
    for key, value in found:
        if seen.setdefault(key, value) != value:
            yield WRITTEN_TWICE.finding(f"{key} is written twice: the last value wins")


UNREADABLE_LINE = Rule(
    "LLM157",
    "a line that the TensorRT-LLM partition script cannot read",
    "partition/trt_llm_partition.py",
)


def _partition_script_findings(text: str) -> Iterator[Finding]:
    """
    Up to LMI 0.32 a second reader splits every line at its equals sign.

    The script (``partition/trt_llm_partition.py``) knows no escapes and no other
    separators, and ends on a line without an equals sign.
    """
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or "=" in stripped:
            continue
        yield UNREADABLE_LINE.finding(
            f"line {number} has no equals sign, on which the TensorRT-LLM partition "
            "script ends",
            "write key=value",
        )
