"""
Which tests a change is shown to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tools.mutants.choosing import Fixture, Suite
from tools.mutants.source import Source

ROOM = "package/room/_module.py"
OTHER = "package/other.py"
CODE = "LIMIT = 1\ndef f(a=2):\n    return a\nFLAG = 3\n"
USER = "def g():\n    return LIMIT\n"
SAME = "tests/unit/room/test_module.py::test_same"
NEAR = "tests/unit/room/test_more.py::test_near"
FAR = "tests/snapshot/test_app.py::test_far"
FAST = "tests/unit/test_other.py::test_fast"
SECONDS = {SAME: 3.0, NEAR: 2.0, FAR: 1.0, FAST: 0.5}


def suite(
    covered: Mapping[str, Mapping[int, list[str]]],
    seconds: Mapping[str, float] = SECONDS,
    limit: float = 100.0,
    fixtures: Sequence[Fixture] = (),
) -> Suite:
    """
    Return tests that run these lines.
    """
    sources = {ROOM: Source(ROOM, CODE), OTHER: Source(OTHER, USER)}
    return Suite("package", sources, seconds, fixtures, covered, limit)


def test_the_nearest_run_first_and_then_the_fastest() -> None:
    """
    They are the likeliest to notice, and soonest.
    """
    tests = suite({ROOM: {3: [FAR, NEAR, FAST, SAME]}}).choose(ROOM, 3)

    assert tests == [SAME, NEAR, FAST, FAR]


def test_tests_that_fail_anyway_are_not_asked() -> None:
    """
    Nor any whose time is not known.
    """
    assert suite({ROOM: {3: ["tests/test_a.py::test_fails", NEAR]}}).choose(
        ROOM, 3
    ) == [NEAR]


@pytest.mark.parametrize(("limit", "count"), [(0.1, 1), (4.9, 1), (5.0, 2), (6.0, 3)])
def test_a_mutant_takes_no_longer_than_the_limit(limit: float, count: int) -> None:
    """
    But one test is always run.
    """
    covered = {ROOM: {3: [FAR, NEAR, FAST, SAME]}}

    assert len(suite(covered, limit=limit).choose(ROOM, 3)) == count


def test_what_tests_share_is_paid_by_the_first() -> None:
    """
    Which is no longer fast, then.
    """
    covered = {ROOM: {3: [FAR, FAST]}}
    server = Fixture(9.0, frozenset({FAST, NEAR}))

    assert suite(covered, limit=10.4, fixtures=[server]).choose(ROOM, 3) == [FAR]
    assert suite(covered, limit=10.5, fixtures=[server]).choose(ROOM, 3) == [FAR, FAST]


def test_what_tests_share_is_paid_once() -> None:
    """
    The next has it for nothing.
    """
    covered = {ROOM: {3: [NEAR, FAST]}}
    server = Fixture(9.0, frozenset({FAST, NEAR}))

    assert suite(covered, limit=11.5, fixtures=[server]).choose(ROOM, 3) == [NEAR, FAST]


def test_a_line_that_no_test_runs_has_none() -> None:
    """
    Whatever the others run.
    """
    assert suite({ROOM: {2: [SAME]}}).choose(ROOM, 3) == []


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
