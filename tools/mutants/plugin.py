"""
A plugin of pytest: record which tests pass and run what, or run chosen tests in order.
"""

from __future__ import annotations

import json
import operator
import os
import resource
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

RECORD = "MUTANTS_RECORD"  # Where to write what each test takes.
CHOSEN = "MUTANTS_CHOSEN"  # Where the tests to run are listed.
TEST = "MUTANTS_TEST"  # The test that runs, for coverage.py in what it starts.
_PACKAGE = "cdk_sagemaker_llm."
_MEMORY = 4 << 30  # Bytes; a mutant may fill a list for ever.


def pytest_configure(config: pytest.Config) -> None:
    """
    Choose what to do by the environment.
    """
    if RECORD in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ[RECORD])))
    if CHOSEN in os.environ:
        chosen = json.loads(Path(os.environ[CHOSEN]).read_text(encoding="utf-8"))
        config.pluginmanager.register(Chooser(chosen))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        with suppress(ValueError, OSError):  # Where the system has no such limit.
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))


class Recorder:
    """
    Writes the seconds of each test that passes, and names tests to coverage.py.
    """

    def __init__(self, target: Path) -> None:
        # Only in the environment of the mutants; this class is not used elsewhere.
        from coverage import (  # type: ignore[import-not-found]  # noqa: PLC0415
            Coverage,
        )

        self._measuring = Coverage.current()
        self._target = target
        self._running = ""
        self._seconds: dict[str, float] = {}
        self._outcomes: dict[str, set[str]] = {}
        self._fixtures: dict[str, dict[str, object]] = {}
        self._needs: dict[str, Sequence[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """
        Keep which fixtures each test needs.
        """
        for item in session.items:
            self._needs[item.nodeid] = getattr(item, "fixturenames", ())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """
        Let coverage.py know which test runs, its own fixtures included.
        """
        _forget()
        self._running = item.nodeid
        self._seconds[item.nodeid] = 0.0
        with self._named(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """
        Credit what a shared fixture runs to all tests that need it, not to the first.
        """
        if fixturedef.scope == "function":
            return (yield)
        name, origin = fixturedef.argname, fixturedef.baseid
        key = f"fixture {name} of {origin}"
        began = time.perf_counter()
        try:
            with self._named(key):
                return (yield)
        finally:
            seconds = time.perf_counter() - began
            # They are no part of what the first test takes.
            self._seconds[self._running] -= seconds
            tests = [
                test
                for test, needs in self._needs.items()
                if test.startswith(origin) and name in needs
            ]
            self._fixtures[key] = {"seconds": seconds, "tests": tests}

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        before = os.environ.get(TEST, "")
        self._measuring.switch_context(name)
        os.environ[TEST] = name
        try:
            yield
        finally:
            self._measuring.switch_context(before)
            os.environ[TEST] = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """
        Add the seconds of set-up, call and tear-down.
        """
        self._seconds[report.nodeid] += report.duration
        self._outcomes.setdefault(report.nodeid, set()).add(report.outcome)

    def pytest_sessionfinish(self) -> None:
        """
        Write what was recorded.
        """
        passed = [name for name, seen in self._outcomes.items() if seen == {"passed"}]
        failed = [name for name, seen in self._outcomes.items() if "failed" in seen]
        record = {
            "seconds": {name: self._seconds[name] for name in passed},
            "failed": failed,
            "fixtures": self._fixtures,
        }
        self._target.write_text(json.dumps(record), encoding="utf-8")


def _forget() -> None:
    # What a function remembers from one test, it does not run in the next.
    modules = [sys.modules[name] for name in sys.modules if name.startswith(_PACKAGE)]
    for value in [value for module in modules for value in vars(module).values()]:
        if callable(clear := getattr(value, "cache_clear", None)):
            clear()


class Chooser:
    """
    Runs the chosen tests in their order, and no others.
    """

    def __init__(self, chosen: list[str]) -> None:
        self._chosen = {name: place for place, name in enumerate(chosen)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """
        Sort them, and leave out the others.
        """
        there = {item.nodeid for item in items}
        # A mutant may rename the parameters of a test: then it runs with any of them.
        renamed = {
            _function(name): place
            for name, place in self._chosen.items()
            if name not in there
        }
        places = renamed | self._chosen
        placed = [
            (places[name], item)
            for item in items
            if (name := item.nodeid) in places
            or (name := _function(item.nodeid)) in renamed
        ]
        items[:] = [item for _, item in sorted(placed, key=operator.itemgetter(0))]


def _function(name: str) -> str:
    return name.partition("[")[0]
