"""
Which tests could notice a change: those that ran its line, the nearest first.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from tools.mutants.source import Source, Statement

_IMPORT = ""  # What coverage.py calls the time when no test runs.
_ELSEWHERE = 2
# It reads the rules of all modules at once, so that no line of its own leads to it.
_PAGE = "tests/unit/test_codes.py::test_the_page_is_the_one_the_code_makes"


@dataclass(frozen=True)
class Fixture:
    """
    What several tests share.

    Args:
        seconds: What it takes, once.

        tests: Those that need it.
    """

    seconds: float
    tests: frozenset[str]


@dataclass(frozen=True)
class Suite:
    """
    The tests that pass, and which lines they run.

    Args:
        package: The path of the folder with the code.

        sources: All modules of the code, by their path.

        seconds: What each test takes, without what it shares with others.

        fixtures: What tests share.

        covered: The tests that run each line of each module.

        limit: Seconds of tests for one mutant.
    """

    package: str
    sources: Mapping[str, Source]
    seconds: Mapping[str, float]
    fixtures: Collection[Fixture]
    covered: Mapping[str, Mapping[int, Collection[str]]]
    limit: float

    def choose(self, path: str, line: int) -> list[str]:
        """
        Return the tests for a change of a line, in the order to run them.

        None at all are returned if no test runs the line.
        """
        statement = self.sources[path].statement(line)
        if statement is None:
            return []
        found = self._running(path, statement.lines)
        if statement.runs_at_import or (_IMPORT in found and len(found) == 1):
            found |= self._using(path, statement)
        return self._nearest(path, found)

    def _running(self, path: str, lines: Iterable[int]) -> set[str]:
        covered = self.covered.get(path, {})
        return {test for line in lines for test in covered.get(line, ())}

    def _using(self, path: str, statement: Statement) -> set[str]:
        # What runs on import is noticed by those that use what it defines.
        found = self._running(path, statement.body)
        found |= {_PAGE} & self.seconds.keys()
        for name in statement.names:
            for user, lines in self._mentions.get(name, {}).items():
                found |= self._running(user, lines)
        if not found - {_IMPORT, _PAGE}:
            found |= self._running(path, self.sources[path].function_lines)
        if not found - {_IMPORT, _PAGE}:
            found |= {
                test
                for test in self.seconds
                if _distance(self.package, path, test) < _ELSEWHERE
            }
        return found

    @cached_property
    def _mentions(self) -> dict[str, dict[str, list[int]]]:
        mentions: dict[str, dict[str, list[int]]] = {}
        for path, source in self.sources.items():
            texts = source.text.splitlines()
            for line in source.function_lines:
                for name in set(re.findall(r"[^\W\d]\w*", texts[line - 1])):
                    mentions.setdefault(name, {}).setdefault(path, []).append(line)
        return mentions

    def _nearest(self, path: str, found: set[str]) -> list[str]:
        tests = sorted(
            found & self.seconds.keys(),
            key=lambda test: (
                _distance(self.package, path, test),
                self._seconds_alone(test, self.fixtures),
                test,
            ),
        )
        return self._within_limit(tests)

    def _seconds_alone(self, test: str, unmade: Iterable[Fixture]) -> float:
        shared = (fixture.seconds for fixture in unmade if test in fixture.tests)
        return self.seconds[test] + sum(shared)

    def _within_limit(self, tests: Sequence[str]) -> list[str]:
        chosen: list[str] = []
        left = self.limit
        unmade = set(self.fixtures)
        for test in tests:
            left -= self._seconds_alone(test, unmade)
            unmade = {fixture for fixture in unmade if test not in fixture.tests}
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen


def _distance(package: str, path: str, test: str) -> int:
    """
    Tell how far a test is: 0 of the same name, 1 of the same folder, or elsewhere.
    """
    module = PurePosixPath(path).relative_to(package)
    file = PurePosixPath(test.partition("::")[0])
    if file.parent != PurePosixPath("tests/unit", module.parent):
        return _ELSEWHERE
    return int(file.name != f"test_{module.stem.lstrip('_')}.py")
