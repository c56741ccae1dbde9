"""
Pages read as a native colleague writes: proselint's rules, and words of our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from proselint.checks import __register__ as usual_checks
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.tools import LintFile

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
        ),
        *(ROOT / "docs").rglob("*.md"),
    ]
)
# One word for one thing, and none that says nothing.
VOCABULARY = {
    "basically": "nothing",
    "behavior": "behaviour",
    "in order to": "to",
    "just simply": "nothing",
    "leverage": "use",
    "leverages": "uses",
    "obviously": "nothing",
    "of course": "nothing",
    "please note": "nothing",
    "prior to": "before",
    "seamless": "nothing",
    "simply": "nothing",
    "subsequently": "then",
    "synthesize": "synthesise",
    "synthesized": "synthesised",
    "utilise": "use",
    "utilize": "use",
    "via": "by, over or through",
}
CONFIG: Any = {
    "max_errors": 1000,
    "checks": {
        **DEFAULT["checks"],
        "house": True,
        # Pages show commands and code, whose quotes are straight.
        "typography": False,
        # Numbers before "am" and "pm" are parts of names and releases.
        "dates_times": False,
        # A very short time is one.
        "weasel_words": False,
    },
}
_FENCE = re.compile(r"^( *)(`{3,}).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ .+$", re.MULTILINE)
_CODE = re.compile(r"(`+)[^`\n]+?\1")
_MARK = re.compile(r"\|(?: *\|)*|\b\d[\d.,:]*")
_LINK = re.compile(r"\]\([^)\n]*\)")


@pytest.fixture(name="checks", autouse=True, scope="module")
def _checks() -> None:
    """
    Register proselint's own checks, and ours.
    """
    registry = CheckRegistry()
    registry.register_many(usual_checks)
    registry.register(
        Check(
            check_type=types.PreferredFormsSimple(items=VOCABULARY),
            path="house.vocabulary",
            message="Write {} in place of '{}'.",
        )
    )


def prose(text: str) -> str:
    """
    Leave code and addresses out, line for line.
    """
    text = _FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    # What follows a heading may begin with its last word.
    text = _HEADING.sub(r"\g<0>.", text)
    # Neither two pieces of code, nor two numbers or cells in a row are a repetition.
    count: Iterator[int] = iter(range(10**6))
    text = _CODE.sub(lambda _: f"Code{next(count)}", text)
    text = _MARK.sub(lambda _: f". Mark{next(count)} ", text)
    return _LINK.sub("]", text)


def faults_in(text: str) -> list[str]:
    """
    Return what the linter says of a page.
    """
    found = LintFile("page", prose(text)).lint(CONFIG)
    return [f"{one.pos[0]}: {one.check_result.message}" for one in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_plain_english(page: Path) -> None:
    """
    Without clichés, repeated words, and words that say nothing.
    """
    assert faults_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Use it in order to deploy.", "Write to in place of 'in order to'."),
        ("You could utilize it.", "Write use in place of 'utilize'."),
        ("It is the the model.", "There's a lexical illusion"),
        ("It runs at the end of the day.", "'at the end of the day' is a cliché"),
    ],
)
def test_what_is_not_plain_is_found(text: str, says: str) -> None:
    """
    By the vocabulary, and by the linter's own rules.
    """
    assert any(says in fault for fault in faults_in(text)), faults_in(text)


def test_code_is_no_prose() -> None:
    """
    In a line, in a block, and in an address.
    """
    text = "Call `utilize`.\n\n```sh\nutilize the the\n```\n\nSee [it](utilize.md).\n"

    assert faults_in(text) == []
