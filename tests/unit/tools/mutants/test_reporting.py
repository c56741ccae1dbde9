"""
The report, and the file that survivors may move to.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.mutants.changes import Mutant, made
from tools.mutants.equivalents import as_entry, read_equivalents
from tools.mutants.own_operators import own_changes
from tools.mutants.reporting import EQUIVALENT, SURVIVED, UNTESTED, Report, Verdict
from tools.mutants.source import Source


@pytest.fixture(name="mutant")
def _mutant() -> Mutant:
    changes = own_changes(Source("room/module.py", "def f():\n    return g(a=1)\n"))
    (mutant,) = (made(c) for c in changes if c.operator == "drop_keyword")
    assert mutant is not None
    return mutant


def test_the_score_leaves_equivalents_out(mutant: Mutant) -> None:
    """
    A mutant that ran into its time limit was noticed; one that nothing runs was not.
    """
    outcomes = ["killed", "killed", "timed out", SURVIVED, UNTESTED, EQUIVALENT]
    verdicts = [Verdict("room", mutant, it, ["t"], 2.0) for it in outcomes]

    assert Report(1, verdicts, [], 60.0).table().splitlines()[2:] == [
        "| room | 6 | 2 | 1 | 1 | 1 | 1 | 60% |",
        "| all | 6 | 2 | 1 | 1 | 1 | 1 | 60% |",
    ]


def test_a_survivor_is_shown_with_the_tests_that_were_tried(
    mutant: Mutant, tmp_path: Path
) -> None:
    """
    For people its change and the first tests, for programs all of them.
    """
    tests = [f"tests/test_a.py::test_{number}" for number in range(10)]
    report = Report(1, [Verdict("room", mutant, SURVIVED, tests, 2.0)], ["t"], 60.0)

    text = report.write(tmp_path).read_text()
    (entry,) = json.loads((tmp_path / "report.json").read_text())["mutants"]
    assert "### room/module.py:2 (drop_keyword)" in text
    assert "-    return g(a=1)\n+    return g()\n" in text
    assert "`tests/test_a.py::test_7` and 2 more." in text
    assert "fail without a change: `t`." in text
    assert entry["tests"] == tests


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


def test_the_kept_file_can_be_read(root: Path) -> None:
    """
    Each of its entries has a reason and lines.
    """
    kept = read_equivalents(root / "tools" / "mutants" / "equivalent.txt")

    assert all(kept.values())
