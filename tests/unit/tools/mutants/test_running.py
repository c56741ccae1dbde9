"""
Which tests a change is shown to, recording what they run, and running them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.mutants.changes import Source, made, own_changes
from tools.mutants.running import Suite, Tree

ROOM = "constructs/package/room/_module.py"
OTHER = "constructs/package/other.py"
CODE = "LIMIT = 1\ndef f(a=2):\n    return a\nFLAG = 3\n"
USER = "def g():\n    return LIMIT\n"
SAME = "tests/unit/room/test_module.py::test_same"
NEAR = "tests/unit/room/test_more.py::test_near"
FAR = "tests/snapshot/test_app.py::test_far"
FAST = "tests/unit/test_other.py::test_fast"
WHOLE = "tests/unit/room/test_module.py::test_cdk (whole)"
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
    began = time.process_time()
    while time.process_time() < began + 0.1:
        pass

@pytest.fixture
def own(): ...

@pytest.mark.parametrize("it", [1, 2])
def test_first(shared, own, it): ...

def test_second(own):
    assert False

def test_third(shared):
    time.sleep(1)

@pytest.mark.whole
def test_fourth(): ...
"""
LARGEST = "def largest(numbers) -> int:\n    return max(numbers)\n"
OF_LARGEST = """
from package import module

def test_any():
    assert module.largest([0]) == 0

def test_largest():
    assert module.largest([1, 2]) == 2
"""


def suite(covered: Mapping[str, Mapping[int, list[str]]], scale: float = 1.0) -> Suite:
    """
    Return tests that run these lines.
    """
    seconds = {SAME: 3 * scale, NEAR: 2 * scale, FAR: scale, FAST: scale / 2}
    sources = {ROOM: Source(ROOM, CODE), OTHER: Source(OTHER, USER)}
    return Suite(sources, seconds, [], covered)


def test_the_nearest_run_first_and_then_the_fastest() -> None:
    """
    They are the likeliest to notice, and soonest.
    """
    tests = suite({ROOM: {3: [FAR, NEAR, FAST, SAME]}}).choose(ROOM, 3)

    assert tests == [SAME, NEAR, FAST, FAR]


def test_those_that_run_least_come_before_the_fastest() -> None:
    """
    They are about what changed, and others run it on the way.
    """
    covered = {ROOM: {3: [FAR, FAST], 4: [FAST]}}

    assert suite(covered).choose(ROOM, 3) == [FAR, FAST]


def test_tests_that_fail_anyway_are_not_asked() -> None:
    """
    Nor any whose time is not known.
    """
    covered = {ROOM: {3: ["tests/test_a.py::test_fails", NEAR]}}

    assert suite(covered).choose(ROOM, 3) == [NEAR]


@pytest.mark.parametrize(("scale", "count"), [(100, 1), (30.1, 1), (30, 2), (25, 3)])
def test_a_mutant_takes_no_longer_than_the_limit(scale: float, count: int) -> None:
    """
    But one test is always run.
    """
    covered = {ROOM: {3: [FAR, NEAR, FAST, SAME]}}

    assert len(suite(covered, scale).choose(ROOM, 3)) == count


def test_a_line_that_no_test_runs_has_none() -> None:
    """
    Whatever the others run.
    """
    assert suite({ROOM: {2: [SAME]}}).choose(ROOM, 3) == []
    assert not suite({ROOM: {2: [WHOLE]}}).is_left_to_test_all(ROOM, 3)


def test_a_line_that_only_the_rest_of_the_tests_runs_is_told_apart() -> None:
    """
    ``make test`` can't notice it, ``make test-all`` may.
    """
    tests = suite({ROOM: {3: [WHOLE]}})

    assert tests.choose(ROOM, 3) == []
    assert tests.is_left_to_test_all(ROOM, 3)


def test_a_constant_is_noticed_where_it_is_used() -> None:
    """
    It ran when no test did.
    """
    covered = {ROOM: {1: [""], 3: [NEAR]}, OTHER: {2: [FAST]}}

    assert suite(covered).choose(ROOM, 1) == [FAST]


def test_a_default_is_noticed_by_those_that_run_the_function() -> None:
    """
    The line of the signature itself runs on import.
    """
    assert suite({ROOM: {2: [""], 3: [NEAR]}}).choose(ROOM, 2) == [NEAR]


def test_what_nothing_mentions_is_left_to_the_module() -> None:
    """
    Then to its folder.
    """
    assert suite({ROOM: {4: [""], 3: [FAR]}}).choose(ROOM, 4) == [FAR]
    assert suite({ROOM: {4: [""]}}).choose(ROOM, 4) == [SAME, NEAR]


def test_a_line_of_a_function_that_runs_on_import_alone_is_left_to_the_module() -> None:
    """
    It fills a table, say.
    """
    assert suite({ROOM: {3: [""]}}).choose(ROOM, 3) == [SAME, NEAR]


def test_what_a_shared_fixture_runs_is_credited_to_all_that_need_it(
    root: Path, tmp_path: Path
) -> None:
    """
    And tests that fail without any change are told apart.
    """
    (tmp_path / "coverage.py").write_text(COVERAGE)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = whole")

    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tools.mutants.running", "test_it.py"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(root),
            "MUTANTS_RECORD": str(tmp_path / "record"),
        },
    )
    record = json.loads((tmp_path / "record").read_text())
    fixture = "fixture shared of test_it.py"
    contexts = (tmp_path / "contexts").read_text().splitlines()
    tests = ["test_it.py::test_first", "test_it.py::test_third"]
    assert record["fixtures"][fixture] == tests
    assert contexts.count(fixture) == 1
    assert contexts.count("test_it.py::test_third") == 1
    assert contexts.count("test_it.py::test_fourth (whole)") == 1
    assert list(record["seconds"]) == tests
    # What it waits for costs nothing.
    assert all(0.09 <= it < 0.6 for it in record["seconds"].values())
    assert record["failed"] == ["test_it.py::test_second"]


def test_a_mutant_lives_until_a_test_notices_it(root: Path, tmp_path: Path) -> None:
    """
    And the copy is as it was after each, for the next.
    """
    path = "package/module.py"
    for name, text in {path: LARGEST, "tests/test_it.py": OF_LARGEST}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "tools").symlink_to(root / "tools")
    source = Source(path, LARGEST)
    (mutant,) = (made(source, it) for it in own_changes(source))
    assert mutant is not None

    tree = Tree(tmp_path)
    assert not tree.notices(mutant, {"tests/test_it.py::test_any": 0.1})
    assert tree.notices(mutant, {"tests/test_it.py::test_largest": 0.1})
    assert (tmp_path / path).read_text() == LARGEST
