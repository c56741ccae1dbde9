"""
What people see when something goes wrong, and why it does.
"""

from __future__ import annotations

import functools
import itertools
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

        patterns: Regular expressions that find them, any of which will do.

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
    patterns: tuple[str, ...]
    example: str
    cause: str
    remedy: str
    rules: tuple[str, ...]
    commands: tuple[str, ...]
    sources: tuple[str, ...]
    is_general: bool
    beside: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """
        All patterns as one.
        """
        return re.compile("|".join(self.patterns))

    def matches(self, text: str, *, most: int = 20) -> list[re.Match[str]]:
        """
        Find the words in a text, the earliest first.

        Args:
            text: Where to look, such as a container's log.

            most: So many are found of each pattern at most.
        """
        found = [
            match
            for pattern in self.patterns
            if _literal(pattern) in text
            for match in itertools.islice(re.finditer(pattern, text), most)
        ]
        return sorted(found, key=lambda match: match.start())

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
            patterns=tuple(row["patterns"]),
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
    found = [(each, each.matches(text, most=1)) for each in symptoms()]
    matches = [(each, match[0]) for each, match in found if match]
    matches.sort(key=lambda pair: (pair[0].is_general, -len(pair[1].group())))
    return [each for each, _ in matches]


# An escape, a set, a parenthesis, a repetition, or one character.
_PART = re.compile(r"\\.|\[(?:\\.|[^]\\])*\]|\{[\d,]+\}|.")


@functools.cache
def _literal(pattern: str) -> str:
    """
    Return the longest text that stands in whatever a pattern finds; it may be empty.

    A log has hundreds of lines and the catalogue thousands of wordings, few of which
    are anywhere near; to look for texts takes a fraction of the time that it takes to
    search for patterns.
    """
    runs = [""]
    depth = 0
    for part in _PART.findall(pattern):
        if depth == 0 and part == "|":
            return ""
        depth += (part == "(") - (part == ")")
        if depth or part in "().^$":
            runs.append("")
        elif part == "?" or (part[0] == "{" and len(part) > 1):
            runs[-1] = runs[-1][:-1]
            runs.append("")
        elif len(part) == 1 or (part[0] == "\\" and not part[1].isalnum()):
            runs[-1] += part[-1]
        else:
            runs.append("")
    return max(runs, key=len)
