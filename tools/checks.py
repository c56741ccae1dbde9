"""
Write ``docs/checks.md`` from the codes in the library: ``python -m tools.checks``.
"""

from __future__ import annotations

from pathlib import Path

from cdk_sagemaker_llm.codes import CODES

TARGET = Path(__file__).parent.parent / "docs" / "checks.md"
_HEAD = """\
# Checks

Every finding has a code.
Codes that begin with `LLM1` are errors: the synthesis stops, and says what to do.
Codes that begin with `LLM2` are warnings: acknowledge one with
`Annotations.of(construct).acknowledge_warning("cdk-sagemaker-llm:LLM201", "why")`.
`sagemaker-llm check` prints the same findings.

This page is generated from the code by `make docs`.
"""


def page() -> str:
    """
    Return the page's text.
    """
    errors = {code: text for code, text in CODES.items() if code < "LLM2"}
    warnings = {code: text for code, text in CODES.items() if code not in errors}
    return f"{_HEAD}\n## Errors\n\n{_table(errors)}\n## Warnings\n\n{_table(warnings)}"


def _table(codes: dict[str, str]) -> str:
    head = "| code | finds that | source of the rule |\n| --- | --- | --- |\n"
    return head + "".join(_row(code, text) for code, text in codes.items())


def _row(code: str, text: str) -> str:
    what, _, source = text.partition("; ")
    return f"| {code} | {what} | {source} |\n"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
