"""
The report, and the file that survivors may move to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutants.__main__ import OUTCOMES, as_entry, read_equivalents, report
from tools.mutants.changes import Mutant, Source, made, own_changes


@pytest.fixture(name="mutant")
def _mutant() -> Mutant:
    source = Source("room/module.py", "def f():\n    return [a]\n")
    (mutant,) = (made(source, it) for it in own_changes(source))
    assert mutant is not None
    return mutant


def test_the_report_counts_and_shows_what_no_test_notices(mutant: Mutant) -> None:
    """
    What only ``make test-all`` reaches stands apart.
    """
    tests = [f"tests/test_a.py::test_{number}" for number in range(10)]
    text = report("Seed 1", [(mutant, it, tests) for it in OUTCOMES], ["t"])

    assert (
        "Seed 1, 5 mutants; killed: 1, survived: 1, no test reaches it: 1, "
        "only make test-all reaches it: 1, equivalent: 1."
    ) in text
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Survived",
        "## No test reaches it",
        "## Only make test-all reaches it",
    ]
    assert text.count("### room/module.py:2 (drop_element)") == 3
    assert "-    return [a]\n+    return []\n" in text
    assert "10 tests were tried, the first: tests/test_a.py::test_0, " in text
    assert "fail without a change: t." in text


def test_a_survivor_can_be_pasted_into_the_file_of_equivalents(
    mutant: Mutant, tmp_path: Path
) -> None:
    """
    Its lines are its key; the head of the file is no entry.
    """
    file = tmp_path / "equivalent.txt"
    file.write_text(f"For people.\n\n{as_entry(mutant, 'g ignores it')}\n")

    assert read_equivalents(file) == {mutant.key: "g ignores it"}


@pytest.mark.parametrize("entry", ["# \na.py\n- x", "# why\na.py", "# why\na.py\nx"])
def test_an_entry_without_a_reason_or_lines_is_refused(
    entry: str, tmp_path: Path
) -> None:
    """
    It would hide who knows what.
    """
    file = tmp_path / "equivalent.txt"
    file.write_text(f"For people.\n\n{entry}\n")

    with pytest.raises(ValueError, match="an entry needs a reason"):
        read_equivalents(file)


def test_the_kept_file_names_lines_that_are_there(root: Path) -> None:
    """
    An entry whose lines are gone stands for nothing.
    """
    kept = read_equivalents(root / "tools" / "mutants" / "equivalent.txt")

    for path, removed, _ in kept:
        lines = {line.strip() for line in (root / path).read_text().splitlines()}
        assert lines.issuperset(removed), path
