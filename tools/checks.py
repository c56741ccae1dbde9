"""
Write ``docs/checks.md`` from the rules in the library: ``python -m tools.checks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cdk_sagemaker_llm.codes import rules
from cdk_sagemaker_llm.findings import Rule, Severity

TARGET = Path(__file__).parent.parent / "docs" / "checks.md"
_HEAD = """\
# Checks

Every finding has a code.
Codes that begin with `LLM1`, `LLM3`, `LLM5`, `LLM7` or `LLM9` are errors: the synthesis
stops, and says what to do.
Codes that begin with `LLM2`, `LLM4`, `LLM6` or `LLM8` are warnings: acknowledge one
with `Annotations.of(construct).acknowledge_warning("cdk-sagemaker-llm:LLM201", "why")`.
`sagemaker-llm check` prints the same findings, of apps that are made otherwise too: see
[Check an app that is made otherwise](how-to/check-any-app.md).
`LLM561` to `LLM576` and `LLM661` to `LLM667` are those of `sagemaker-llm preflight`,
which asks an account.

This page is generated from the code by `make docs`.
"""


def page() -> str:
    """
    Return the page's text.
    """
    found = rules().values()
    errors = _table(rule for rule in found if rule.severity is Severity.ERROR)
    warnings = _table(rule for rule in found if rule.severity is Severity.WARNING)
    return f"{_HEAD}\n## Errors\n\n{errors}\n## Warnings\n\n{warnings}"


def _table(rules: Iterable[Rule]) -> str:
    head = "| code | finds that | source of the rule |\n| --- | --- | --- |\n"
    return head + "".join(
        f"| {rule.code} | {rule.finds} | {rule.source} |\n" for rule in rules
    )


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
