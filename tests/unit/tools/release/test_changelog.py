"""
``CHANGELOG.md`` as a release reads it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.release.changelog import (
    Section,
    entries_since,
    findings,
    says_that_it_breaks,
    sections,
)

TEXT = """\
# Changelog

For users.

## 0.2.0 - 2027-01-31

### Changed

- **Breaking: `Chat` is `Talk`
  now.**
- A plan is quicker.

## 0.1.0 - 2026-12-01

- Everything.
"""


def test_entries_are_read_by_version() -> None:
    """
    Each as one line, headings inside a version aside.
    """
    assert sections(TEXT) == [
        Section(
            "0.2.0",
            "2027-01-31",
            ("**Breaking: `Chat` is `Talk` now.**", "A plan is quicker."),
        ),
        Section("0.1.0", "2026-12-01", ("Everything.",)),
    ]


def test_a_version_is_read_in_a_minute(root: Path) -> None:
    """
    At most 60 lines each; what led to the first one is in docs/history.md.
    """
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]

    assert parts
    assert max(part.count("\n") for part in parts) <= 60
    assert findings(text, sections(text)[0].name, is_tagged=False) == []


def test_a_heading_may_have_brackets_or_no_date() -> None:
    """
    As Keep a Changelog writes it, and before the release.
    """
    found = sections("## [Unreleased]\n- One.\n## 0.1.0\n- Two.\n")

    assert [(part.name, part.date) for part in found] == [
        ("Unreleased", None),
        ("0.1.0", None),
    ]


@pytest.mark.parametrize("is_tagged", [False, True])
def test_a_version_with_date_and_entries_is_complete(*, is_tagged: bool) -> None:
    """
    Before its tag and with it.
    """
    assert findings(TEXT, "0.2.0", is_tagged=is_tagged) == []


@pytest.mark.parametrize(
    ("text", "is_tagged", "expected"),
    [
        ("## 0.1.0\n- All.\n", False, "CHANGELOG.md has no entry for 0.2.0"),
        ("## 0.2.0\n\nSoon.\n", False, "CHANGELOG.md has no entry for 0.2.0"),
        ("## 0.2.0\n- One.\n", True, "does not say when 0.2.0 was released"),
        ("## 0.2.0 - soon\n- One.\n", True, "does not say when 0.2.0 was released"),
        (
            "## Unreleased\n- Two.\n## 0.2.0\n- One.\n",
            False,
            "has unreleased entries; move them under ## 0.2.0",
        ),
    ],
)
def test_what_a_version_lacks_is_said_with_the_way_out(
    text: str, expected: str, *, is_tagged: bool
) -> None:
    """
    One finding for each.
    """
    (found,) = findings(text, "0.2.0", is_tagged=is_tagged)

    assert expected in found


def test_a_version_has_no_date_before_its_tag() -> None:
    """
    Nobody knows it yet.
    """
    assert findings("## 0.2.0\n- One.\n", "0.2.0", is_tagged=False) == []


def test_entries_since_a_release_stand_above_its_heading() -> None:
    """
    Under whatever heading.
    """
    text = f"## Unreleased\n- New.\n{TEXT}"

    assert entries_since(text, "0.1.0") == [
        "New.",
        "**Breaking: `Chat` is `Talk` now.**",
        "A plan is quicker.",
    ]


@pytest.mark.parametrize(
    ("entry", "is_said"),
    [
        ("**Breaking: `Chat` lost `voice`.**", True),
        ("**Breaking:** `Chat(voice=)` is gone.", True),
        ("`Chat` lost `voice`.", False),
        ("**Breaking: `Chat` is gone.**", False),
        ("**Breaking: `Chats` lost `voices`.**", False),
    ],
)
def test_a_break_is_said_in_bold_and_by_its_names(entry: str, *, is_said: bool) -> None:
    """
    Whole words, and all of them in one entry.
    """
    assert says_that_it_breaks([entry], ("Chat", "voice")) is is_said
