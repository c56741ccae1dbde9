"""
A copy in which tests are run against mutants.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mutants.changes import made
from tools.mutants.own_operators import own_changes
from tools.mutants.source import Source
from tools.mutants.trees import Outcome, Tree

CODE = "def largest(numbers):\n    return max(numbers)\n"
TESTS = """
from package import module

def test_any():
    assert module.largest([1])

def test_largest():
    assert module.largest([1, 2]) == 2
"""


@pytest.fixture(name="tree")
def _tree(root: Path, tmp_path: Path) -> Tree:
    for name, text in {"package/module.py": CODE, "tests/test_it.py": TESTS}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "tools").symlink_to(root / "tools")
    return Tree(tmp_path)


def test_a_mutant_lives_until_a_test_notices_it(tree: Tree) -> None:
    """
    And the copy is as it was after each, for the next.
    """
    changes = own_changes(Source("package/module.py", CODE))
    (mutant,) = (made(c) for c in changes if c.operator == "call_counterpart")
    assert mutant is not None

    survived = tree.judge(mutant, {"tests/test_it.py::test_any": 0.1})
    killed = tree.judge(mutant, {"tests/test_it.py::test_largest": 0.1})
    assert (survived, killed) == (Outcome.SURVIVED, Outcome.KILLED)
    assert (tree.root / mutant.path).read_text() == CODE
