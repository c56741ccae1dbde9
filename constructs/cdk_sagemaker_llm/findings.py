"""
What a check has to say: one type for every check of the library.

What belongs here knows no rule; each rule stands beside the check that finds it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from cdk_sagemaker_llm.text import redacted
from cdk_sagemaker_llm.tokens import stand_in_remedy


class Severity(enum.StrEnum):
    """
    How certain a check is: an error stops the synthesis, a warning does not.
    """

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One fault or doubt that a check found.

    Args:
        severity: Whether it stops the synthesis.

        code: The check's identifier, such as ``LLM101``; stable, for acknowledging.

        message: What is wrong, in the caller's words, with the value got.

        remedy: The way out; empty when the message says it all.
    """

    severity: Severity
    code: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        """
        Render as one line: code, message, remedy.
        """
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.code} {self.message}{remedy}"


@dataclass(frozen=True, slots=True)
class Rule:
    """
    What a check looks for; it stands beside the check, and nowhere else.

    ``NO_SHARD = Rule("LLM167", "TGI has no shard", "launcher/src/main.rs of TGI")``
    ``yield NO_SHARD.finding("num_gpus must be at least 1, got 0")``

    Args:
        code: Odd hundreds, such as ``LLM1xx``, stop the synthesis, even ones
            are shown and let it go on.
            A code keeps its meaning once it was released, so that acknowledging one
            stays right.

        finds: What is found, as ``docs/checks.md`` lists it.

        source: Where the rule is from; empty for the library's own.
    """

    code: str
    finds: str
    source: str = ""

    @property
    def severity(self) -> Severity:
        """
        Whether what is found stops the synthesis.
        """
        is_odd = int(self.code.removeprefix("LLM")) // 100 % 2
        return Severity.ERROR if is_odd else Severity.WARNING

    def finding(self, message: str, remedy: str = "") -> Finding:
        """
        Say that the rule was broken: how, in the caller's words, and the way out.

        A value that is quoted may be a credential: what looks like one is left out.
        One that is only a stand-in is none of the caller's.
        """
        remedy = stand_in_remedy(message) or remedy
        return Finding(self.severity, self.code, redacted(message), redacted(remedy))


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    """
    Return the errors among findings.
    """
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def raise_errors(subject: str, findings: Iterable[Finding]) -> None:
    """
    Raise every error among the findings together, headed by what was defined.
    """
    errors = [str(finding) for finding in errors_of(findings)]
    if len(errors) == 1:
        raise ValueError(f"{subject}: {errors[0]}")
    if errors:
        lines = "".join(f"\n  - {line}" for line in errors)
        raise ValueError(f"{subject}: {len(errors)} errors{lines}")
