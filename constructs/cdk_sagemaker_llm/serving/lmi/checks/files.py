"""
Checks of the text itself: what Java and the partition script make of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.serving.lmi.checks.sources import JAVA
from cdk_sagemaker_llm.serving.lmi.properties import PropertiesError, pairs


def text_findings(text: str, *, read_twice: bool) -> Iterator[Finding]:
    """
    Check how a file is written, before what it says.

    Args:
        text: The file's text.

        read_twice: Whether the TensorRT-LLM partition script reads it as well.
    """
    yield from _encoding_findings(text)
    yield from _repetitions(text)
    if read_twice:
        yield from _partition_script_findings(text)


NOT_ASCII = Rule("LLM217", "characters that Java reads otherwise", JAVA)


def _encoding_findings(text: str) -> Iterator[Finding]:
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
