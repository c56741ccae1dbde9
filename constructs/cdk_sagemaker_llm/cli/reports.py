"""
What ``sagemaker-llm check`` is asked, and what it answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.findings import Finding


class MisuseError(ValueError):
    """
    A path or an argument cannot be used.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """
    Where files are to run; what is ``None`` is not known.
    """

    container: str | None = None
    version: str | None = None
    accelerators: int | None = None
    architecture: str | None = None
    backend: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """
    What was found of one subject, and the images that would take it.

    Args:
        subject: What was looked at.

        findings: What was found.

        images: The images that take it, where none was asked for.

        is_checked: Whether anything of it was checked.

        left_out: What of it was not checked, and why.

        fault: Why it could not be read; empty if it could.
    """

    subject: str
    findings: list[Finding]
    images: tuple[str, ...] = ()
    is_checked: bool = True
    left_out: tuple[str, ...] = ()
    fault: str = ""
