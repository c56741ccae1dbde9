"""
What people see when something goes wrong, and why it does.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from cdk_sagemaker_llm.catalog._data import load


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """
    One thing that people see, with its cause and the way out.

    Args:
        name: What it is called, in letters, digits, blanks and hyphens.

        seen: Where: ``failure_reason`` of an endpoint or component, ``event`` of
            CloudFormation or a refusal of an API, ``log`` of a container, ``client``,
            or ``metric``, which is metrics, alarms and scaling activities.

        of: Whose words they are, such as ``vLLM``.

        releases: The releases that have these words; empty where all are meant, or it
            is not known.

        pattern: A regular expression that finds them.

        example: The words; names, accounts and addresses are made up.

        rules: Codes of the rules that would have found it.

        commands: Commands of ``sagemaker-llm`` that would have shown it.

        sources: Where it was read.

        is_general: Whether it only says that something failed.

        beside: Names of other symptoms whose examples the pattern finds as well.
    """

    name: str
    seen: str
    of: str
    releases: str
    pattern: re.Pattern[str]
    example: str
    cause: str
    remedy: str
    rules: tuple[str, ...]
    commands: tuple[str, ...]
    sources: tuple[str, ...]
    is_general: bool
    beside: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """
        Where it stands in ``docs/troubleshooting.md``.
        """
        return self.name.lower().replace(" ", "-")


@functools.cache
def symptoms() -> tuple[Symptom, ...]:
    """
    List them by where they are seen.
    """
    return tuple(
        Symptom(
            name=row["name"],
            seen=row["seen"],
            of=row["of"],
            releases=row.get("releases", ""),
            pattern=re.compile("|".join(row["patterns"])),
            example=row["example"],
            cause=row["cause"],
            remedy=row["remedy"],
            rules=tuple(row["rules"]),
            commands=tuple(row["commands"]),
            sources=tuple(row["sources"]),
            is_general=row.get("general", False),
            beside=tuple(row.get("beside", ())),
        )
        for row in load("symptoms.json")["symptoms"]
    )


def explain(text: str) -> list[Symptom]:
    """
    Find the symptoms in a text, such as a container's log.

    The most specific comes first: what only says that something failed is last, and
    before it the longest match leads.
    """
    found = [(each, each.pattern.search(text)) for each in symptoms()]
    matches = [(each, match) for each, match in found if match is not None]
    matches.sort(key=lambda pair: (pair[0].is_general, -len(pair[1].group())))
    return [each for each, _ in matches]
