"""
The tests against a mutant: private copies of the checkout, and which tests run there.

One run of all tests under coverage.py tells which of them run a line. pytest loads this
module as a plugin, both for that run and for the chosen tests of a mutant.
"""

from __future__ import annotations

import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tools.mutants.changes import Function, Mutant, Source

_VARIABLE = "MUTANTS_"
_RECORD = f"{_VARIABLE}RECORD"  # Where to write what each test takes.
_TEST = f"{_VARIABLE}TEST"  # The test that runs, for coverage.py in what it starts.
_PLUGIN = ("-p", "tools.mutants.running", "-p", "no:cacheprovider", "-q")
_PACKAGE = "cdk_sagemaker_llm"
# The servers of the embedded AWS end by os._exit, before which nothing else is saved.
_SETTINGS = f"""\
[run]
core = ctrace
source_dirs = {{root}}/constructs/{_PACKAGE}
data_file = {{folder}}/coverage
parallel = true
patch = _exit
context = ${{{{{_TEST}-}}}}
disable_warnings = no-data-collected,module-not-measured
"""
_WHOLE = " (whole)"  # After the name of a test that only `make test-all` runs.
_IMPORT = ""  # What coverage.py calls the time when no test runs.
# What a statement that runs on import defines.
_DEFINES = re.compile(r"\s*(?:async def |def |class )?(\w+(?:, \w+)*)(?:[:(\[]| =)")
_LOG = ".pytest.log"
_ELSEWHERE = 2
_MEMORY = 4 << 30  # Bytes; a mutant may fill a list for ever.
_MEASURING = 7200.0  # Seconds for the run of all tests.
# Seconds of the processor for one mutant, which another program does not stretch as it
# does the clock's; only a mutant that nothing notices takes them all.
_TESTING = 150.0
_START = 120.0  # Seconds that a run of pytest may take on top of its tests.
_SLACK = 5.0  # How many times as long as measured a test may take by the clock.


@dataclass(frozen=True)
class Suite:
    """
    All tests, and which lines they run.

    Args:
        sources: All modules of the package, by their path.

        seconds: What each test of ``make test`` takes of the processor that passes,
            shared fixtures included.

        failed: The tests that fail without any change.

        covered: The tests that run each line of each module.
    """

    sources: Mapping[str, Source]
    seconds: Mapping[str, float]
    failed: Sequence[str]
    covered: Mapping[str, Mapping[int, Collection[str]]]

    def choose(self, path: str, line: int) -> list[str]:
        """
        Return the tests for a change of a line: the nearest first, then those that run
        the fewest lines, and then the fastest.
        """
        near = sorted(
            self._reaching(path, line) & self.seconds.keys(),
            key=lambda test: (
                _distance(path, test),
                # Whoever needs a server of its own process is credited with all of it.
                self._counts[test],
                self.seconds[test],
                test,
            ),
        )
        chosen: list[str] = []
        left = _TESTING
        for test in near:
            left -= self.seconds[test]
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    @functools.cached_property
    def _counts(self) -> Counter[str]:
        lines = (tests for module in self.covered.values() for tests in module.values())
        return Counter(test for tests in lines for test in tests)

    def is_left_to_test_all(self, path: str, line: int) -> bool:
        """
        Say whether a test reaches a line that ``make test`` does not run.
        """
        return any(test.endswith(_WHOLE) for test in self._reaching(path, line))

    def _reaching(self, path: str, line: int) -> set[str]:
        source = self.sources[path]
        owners = source.owners
        if line not in owners:
            return set()
        statement, at_import = owners[line]
        own = [it for it, (owner, _) in owners.items() if owner is statement]
        found = self._running(path, own)
        if not at_import and found != {_IMPORT}:
            return found
        # What runs on import is noticed by those that use what it defines.
        if isinstance(statement, Function):
            inside = range(statement.body[0].lineno, (statement.end_lineno or 0) + 1)
            found |= self._running(path, inside)
        if named := _DEFINES.match(source.text.splitlines()[statement.lineno - 1]):
            names = named[1].replace(", ", "|")
            found |= self._mentioning(re.compile(rf"\b({names})\b"))
        if found <= {_IMPORT}:
            inner = (it for it, (_, on_import) in owners.items() if not on_import)
            found |= self._running(path, inner)
        if found <= {_IMPORT}:
            found |= {it for it in self.seconds if _distance(path, it) < _ELSEWHERE}
        return found

    def _mentioning(self, names: re.Pattern[str]) -> set[str]:
        found: set[str] = set()
        for path, source in self.sources.items():
            lines = enumerate(source.text.splitlines(), 1)
            named = (line for line, text in lines if names.search(text))
            inner = (it for it in named if not source.owners.get(it, (None, True))[1])
            found |= self._running(path, inner)
        return found

    def _running(self, path: str, lines: Iterable[int]) -> set[str]:
        covered = self.covered.get(path, {})
        return {test for line in lines for test in covered.get(line, ())}


def _distance(path: str, test: str) -> int:
    # 0 of the same name, 1 of the same folder, or elsewhere.
    module = PurePosixPath(*PurePosixPath(path).parts[2:])
    file = PurePosixPath(test.partition("::")[0])
    if file.parent != PurePosixPath("tests/unit", module.parent):
        return _ELSEWHERE
    return int(file.name != f"test_{module.stem.lstrip('_')}.py")


@dataclass
class Tree:
    """
    A copy of the checkout, in which tests run against one mutant at a time.
    """

    root: Path
    # Python tells a changed module by the second it was written in: each gets its own.
    _stamp: int = field(default_factory=lambda: int(time.time()), init=False)

    @classmethod
    def copy(cls, checkout: Path, target: Path) -> Tree:
        """
        Copy what git would keep, added or not, and link what npm installed.
        """
        listing = ["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"]
        listed = subprocess.check_output(listing, text=True, cwd=checkout)
        for name in set(filter(None, listed.split("\0"))):
            if (checkout / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(checkout / name, target / name)
        (target / "node_modules").symlink_to(checkout / "node_modules")
        return cls(target)

    def notices(self, mutant: Mutant, tests: Mapping[str, float]) -> bool:
        """
        Say whether tests, whose usual seconds are given, fail or hang with a mutant.
        """
        file = self.root / mutant.path
        before = file.read_text(encoding="utf-8")
        limit = _START + _SLACK * sum(tests.values())
        try:
            self._write(file, mutant.text)
            return self.run(("-x", *tests), {}, limit) != 0
        finally:
            self._write(file, before)

    def _write(self, file: Path, text: str) -> None:
        file.write_text(text, encoding="utf-8")
        self._stamp += 1
        os.utime(file, (self._stamp, self._stamp))

    def run(
        self, options: Sequence[str], variables: Mapping[str, str], limit: float
    ) -> int | None:
        """
        Run pytest; return its exit status, or None if it took too long.
        """
        paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_VARIABLE)}
        roots = f"{self.root / 'constructs'}{os.pathsep}{self.root}"
        with (self.root / _LOG).open("wb") as output:
            running = subprocess.Popen(
                [sys.executable, "-m", "pytest", *_PLUGIN, *options],
                cwd=self.root,
                env={**kept, "PATH": paths, "PYTHONPATH": roots, **variables},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Node and servers end with it.
            )
        try:
            return running.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def measure(
    trees: Sequence[Tree],
    sources: Mapping[str, Source],
    parts: Sequence[Sequence[str]],
    folder: Path,
) -> Suite:
    """
    Run all tests under coverage.py, those of ``make test-all`` as well.

    Args:
        parts: What to name to pytest: a run each, side by side.

        folder: Where to keep what was recorded.
    """

    def record(number: int) -> dict[str, Any]:
        tree = trees[number % len(trees)]
        settings, target = folder / f"{number}.ini", folder / f"{number}.json"
        settings.write_text(_SETTINGS.format(root=tree.root, folder=folder), "utf-8")
        # coverage.py starts with every Python that finds it, not only with ours.
        variables = {"COVERAGE_PROCESS_START": str(settings), _RECORD: str(target)}
        tree.run(("-m", "whole or not whole", *parts[number]), variables, _MEASURING)
        if not target.is_file():
            log = (tree.root / _LOG).read_text("utf-8", "replace")
            raise RuntimeError(f"the tests did not come to an end: {log}")
        return dict(json.loads(target.read_text("utf-8")))

    with ThreadPoolExecutor(len(trees)) as pool:
        records = list(pool.map(record, range(len(parts))))
    return Suite(
        sources,
        {test: took for it in records for test, took in it["seconds"].items()},
        [test for it in records for test in it["failed"]],
        _covered(folder, {k: v for it in records for k, v in it["fixtures"].items()}),
    )


def _covered(
    folder: Path, fixtures: Mapping[str, Collection[str]]
) -> dict[str, dict[int, set[str]]]:
    # Only in the environment of the mutants.
    import coverage  # type: ignore[import-not-found]  # noqa: PLC0415

    covered: dict[str, dict[int, set[str]]] = {}
    for file in folder.glob("coverage.*.*"):
        data = coverage.CoverageData(str(file))
        data.read()
        for name in data.measured_files():
            lines = covered.setdefault(name[name.rindex("constructs/") :], {})
            for line, contexts in data.contexts_by_lineno(name).items():
                for it in contexts:
                    lines.setdefault(line, set()).update(fixtures.get(it, {it}))
    return covered


def pytest_configure(config: pytest.Config) -> None:
    """
    Choose by the environment what this plugin of pytest does.
    """
    if _RECORD in os.environ:
        config.pluginmanager.register(Recorder(Path(os.environ[_RECORD])))
    else:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        with suppress(ValueError, OSError):  # Where the system has no such limit.
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))


class Recorder:
    """
    Writes the seconds of each test that passes, and names tests to coverage.py.
    """

    def __init__(self, target: Path) -> None:
        import coverage  # noqa: PLC0415 - only in the environment of the mutants

        self._measuring = coverage.Coverage.current()
        self._target = target
        self._items: Sequence[pytest.Item] = ()
        self._seconds: dict[str, float] = {}
        self._shared = 0.0  # Seconds of shared fixtures, which are credited to all.
        self._outcomes: dict[str, set[str]] = {}
        self._fixtures: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """
        Keep the tests.
        """
        self._items = session.items
        self._seconds = dict.fromkeys(map(_name, session.items), 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        """
        Let coverage.py know which test runs, its own fixtures included.
        """
        # What a function remembers from one test, it does not run in the next; what the
        # embedded AWS keeps that way is its state.
        ours = [
            sys.modules[it]
            for it in sys.modules
            if it.startswith(_PACKAGE) and not it.startswith(f"{_PACKAGE}.local")
        ]
        for value in [value for module in ours for value in vars(module).values()]:
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()
        began = _processor_seconds() - self._shared
        try:
            with self._named(_name(item)):
                return (yield)
        finally:
            own = _processor_seconds() - self._shared - began
            self._seconds[_name(item)] += own

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
        near = (item for item in self._items if item.nodeid.startswith(origin))
        needing = {_name(it) for it in near if name in getattr(it, "fixturenames", ())}
        self._fixtures[key] = sorted(needing)
        began = _processor_seconds()
        try:
            with self._named(key):
                return (yield)
        finally:
            seconds = _processor_seconds() - began
            self._shared += seconds
            for test in needing:
                self._seconds[test] += seconds

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        before = os.environ.get(_TEST, "")
        self._measuring.switch_context(name)
        os.environ[_TEST] = name
        try:
            yield
        finally:
            self._measuring.switch_context(before)
            os.environ[_TEST] = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """
        Keep what became of set-up, call and tear-down.
        """
        report = yield
        self._outcomes.setdefault(_name(item), set()).add(report.outcome)
        return report

    def pytest_sessionfinish(self) -> None:
        """
        Write what was recorded.
        """
        seen = self._outcomes.items()
        record = {
            "seconds": {
                test: self._seconds[test]
                for test, outcomes in seen
                if outcomes == {"passed"} and not test.endswith(_WHOLE)
            },
            "failed": [test for test, outcomes in seen if "failed" in outcomes],
            "fixtures": self._fixtures,
        }
        self._target.write_text(json.dumps(record), encoding="utf-8")


def _processor_seconds() -> float:
    # Of this process, and of those that it started and that have ended.
    return sum(os.times()[:4])


def _name(item: pytest.Item) -> str:
    # All parameters of a test as one: a mutant may rename them.
    name = item.nodeid.partition("[")[0]
    return name + _WHOLE if item.get_closest_marker("whole") else name
