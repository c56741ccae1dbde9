"""
One run of all tests under coverage.py: what passes, how long it takes, what it runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants import plugin
from tools.mutants.choosing import Fixture
from tools.mutants.trees import Tree, project_files, run_pytest

_LIMIT = 3600.0
# Two runs side by side: what is quick, and what starts the CDK CLI, servers and pip.
_HALVES = (("tests/unit",), ("tests", "--ignore=tests/unit"))
_SETTINGS = f"""\
[run]
core = ctrace
source_dirs = {{root}}/{{package}}
data_file = {{folder}}/coverage
parallel = true
context = ${{{{{plugin.TEST}-}}}}
disable_warnings = no-data-collected,module-not-measured
"""


@dataclass(frozen=True)
class Measurement:
    """
    What a run of all tests told.

    Args:
        seconds: What each test takes that passes.

        failed: The tests that do not pass, even without a change.

        fixtures: What tests share.

        covered: The tests that run each line of each module.
    """

    seconds: Mapping[str, float]
    failed: Sequence[str]
    fixtures: Mapping[str, Fixture]
    covered: Mapping[str, Mapping[int, set[str]]]


def measure(
    checkout: Path, package: str, folder: Path, trees: Sequence[Tree]
) -> Measurement:
    """
    Run all tests in the copies, unless the last measurement is of the same project.
    """
    mark = folder / "measured"
    fingerprint = _fingerprint(checkout)
    if not mark.is_file() or mark.read_text(encoding="utf-8") != fingerprint:
        for old in folder.glob("*"):
            old.unlink()
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(len(trees)) as pool:
            runs = [
                pool.submit(_record, trees[half % len(trees)], package, folder, half)
                for half in range(len(_HALVES))
            ]
            for run in runs:
                run.result()
        mark.write_text(fingerprint, encoding="utf-8")
    records = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    fixtures = {
        name: Fixture(it["seconds"], frozenset(it["tests"]))
        for name, it in _merged(records, "fixtures").items()
    }
    return Measurement(
        _merged(records, "seconds"),
        [name for record in records for name in record["failed"]],
        fixtures,
        _covered(folder, package, fixtures),
    )


def _merged(records: Sequence[dict[str, Any]], part: str) -> dict[str, Any]:
    return {name: it for record in records for name, it in record[part].items()}


def _record(tree: Tree, package: str, folder: Path, number: int) -> None:
    settings = folder / f"coverage-{number}.ini"
    settings.write_text(
        _SETTINGS.format(root=tree.root, package=package, folder=folder),
        encoding="utf-8",
    )
    record = folder / f"tests-{number}.json"
    # coverage.py starts with every Python that finds this variable, not only with ours.
    variables = {
        "COVERAGE_PROCESS_START": str(settings),
        plugin.RECORD: str(record),
    }
    log = record.with_suffix(".log")
    run_pytest(tree.root, ("-q", *_HALVES[number]), variables, _LIMIT, log)
    if not record.is_file():
        raise RuntimeError(f"the tests did not come to an end; see {log}")


def _covered(
    folder: Path, package: str, fixtures: Mapping[str, Fixture]
) -> Mapping[str, Mapping[int, set[str]]]:
    # Only in the environment of the mutants.
    from coverage import (  # type: ignore[import-not-found]  # noqa: PLC0415
        CoverageData,
    )

    covered: dict[str, dict[int, set[str]]] = {}
    for file in folder.glob("coverage.*"):
        data = CoverageData(str(file))
        data.read()
        for name in data.measured_files():
            # Each copy of the checkout has an address of its own.
            module = name.partition(f"/{package}/")[2]
            lines = covered.setdefault(f"{package}/{module}", {})
            for line, names in data.contexts_by_lineno(name).items():
                run = lines.setdefault(line, set())
                for it in names:
                    run |= fixtures[it].tests if it in fixtures else {it}
    return covered


def _fingerprint(checkout: Path) -> str:
    digest = hashlib.sha256()
    tested = (n for n in project_files(checkout) if not n.startswith("tools/mutants/"))
    for name in tested:
        digest.update(name.encode() + b"\0" + (checkout / name).read_bytes())
    return digest.hexdigest()
