"""
Unchecked options that say again what a parameter, or an option, says.

What belongs here compares names alone: which of two values would win is never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.rules import REPEATED

_OFF = "no-"

LongName = Callable[[str], str]


def plain_name(spelling: str) -> str:
    """
    Return an argument's name as it is told apart: without dashes in front, in small
    letters.
    """
    return spelling.lstrip("-").replace("_", "-").lower()


def overlap_findings(
    parameters: Mapping[str, str],
    options: Iterable[str],
    unchecked: Iterable[str],
    long_name: LongName = plain_name,
) -> Iterator[Finding]:
    """
    Find unchecked options of an argument that is given already: they would be written
    over it without a word.

    Args:
        parameters: What the user calls each parameter that is given, by its argument's
            long name.

        options: The options, by whatever spelling.

        unchecked: The unchecked options, by whatever spelling.

        long_name: How a spelling's long name is found.
            If left out, the spelling is the name.
    """

    def told(spelling: str) -> str:
        return long_name(long_name(spelling).removeprefix(_OFF))

    said = {told(spelling): f"options[{spelling!r}]" for spelling in options}
    said |= {told(name): f"the parameter {word}" for name, word in parameters.items()}
    for spelling in unchecked:
        other = said.get(told(spelling))
        if other is not None:
            yield REPEATED.finding(
                f"unchecked_options repeats {spelling}, which {other} says already",
                "keep one of them",
            )
