"""
Recording what tests run, and running chosen tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tools.mutants.plugin import RECORD, Chooser

# It stands for coverage.py, which only the environment of the mutants has.
COVERAGE = """
from pathlib import Path

class Coverage:
    current = classmethod(lambda cls: cls())

    def switch_context(self, name):
        with Path("contexts").open("a") as file:
            file.write(f"{name}\\n")
"""
TESTS = """
import time
import pytest

@pytest.fixture(scope="module")
def shared():
    time.sleep(0.1)

@pytest.fixture
def own(): ...

def test_first(shared, own): ...

def test_second(own):
    assert False

def test_third(shared): ...
"""


def test_what_a_shared_fixture_runs_is_credited_to_all_that_need_it(
    root: Path, tmp_path: Path
) -> None:
    """
    And tests that fail without any change are told apart.
    """
    (tmp_path / "coverage.py").write_text(COVERAGE)
    (tmp_path / "test_it.py").write_text(TESTS)

    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tools.mutants.plugin", "test_it.py"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(root),
            RECORD: str(tmp_path / "record"),
        },
    )
    record = json.loads((tmp_path / "record").read_text())
    fixture = "fixture shared of test_it.py"
    contexts = (tmp_path / "contexts").read_text().splitlines()
    tests = ["test_it.py::test_first", "test_it.py::test_third"]
    assert record["fixtures"][fixture]["tests"] == tests
    assert contexts.count(fixture) == 1
    assert contexts.count("test_it.py::test_third") == 1
    assert list(record["seconds"]) == tests
    assert record["fixtures"][fixture]["seconds"] >= 0.1 > record["seconds"][tests[0]]
    assert record["failed"] == ["test_it.py::test_second"]


def test_chosen_tests_run_in_their_order_and_renamed_ones_with_any_parameter() -> None:
    """
    A change of a table renames the tests that have its rows for parameters.
    """
    items: list[Any] = [
        SimpleNamespace(nodeid=name)
        for name in ("t.py::a", "t.py::b[1]", "t.py::b[2]", "t.py::c[new]", "t.py::d")
    ]

    Chooser(["t.py::d", "t.py::c[old]", "t.py::b[2]"]).pytest_collection_modifyitems(
        items
    )
    assert [item.nodeid for item in items] == ["t.py::d", "t.py::c[new]", "t.py::b[2]"]
