"""
Findings: one fault is one line, several are listed, warnings stop nothing.
"""

from __future__ import annotations

import re

import pytest

from cdk_sagemaker_llm.findings import Finding, Rule, Severity, raise_errors

FIRST, SECOND = Rule("LLM198", "one thing"), Rule("LLM199", "another thing")
DOUBT = Rule("LLM299", "something doubtful")


def test_one_error_is_one_line() -> None:
    """
    The subject heads it, the remedy ends it.
    """
    with pytest.raises(ValueError, match=r"^App/Model: LLM199 a is wrong; use b$"):
        raise_errors("App/Model", [SECOND.finding("a is wrong", "use b")])


def test_several_errors_are_raised_together() -> None:
    """
    Nobody mends one fault to be told of the next.
    """
    faults = [
        FIRST.finding("first"),
        DOUBT.finding("no"),
        SECOND.finding("second"),
    ]
    message = "App: 2 errors\n  - LLM198 first\n  - LLM199 second"

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        raise_errors("App", faults)


def test_warnings_stop_nothing() -> None:
    """
    Doubt never stops a synthesis.
    """
    raise_errors("App", [DOUBT.finding("doubt")])


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("LLM100", Severity.ERROR),
        ("LLM199", Severity.ERROR),
        ("LLM200", Severity.WARNING),
        ("LLM299", Severity.WARNING),
        ("LLM300", Severity.ERROR),
        ("LLM399", Severity.ERROR),
        ("LLM400", Severity.WARNING),
        ("LLM499", Severity.WARNING),
    ],
)
def test_a_rules_code_says_how_certain_it_is(code: str, severity: Severity) -> None:
    """
    Odd hundreds stop a synthesis, even ones do not; a finding is as certain as its
    rule.
    """
    rule = Rule(code, "a is wrong", "the makers of a")

    assert rule.severity is severity
    assert rule.finding("a is 1", "use b") == Finding(severity, code, "a is 1", "use b")
