"""
Rebuilding the tables of the engines' arguments: ``python -m tools.catalog.engines``.

Releases that no table describes yet are asked and added; with ``--check`` nothing is
written, and it fails unless the newest described ones are as the tables say. Of a wheel
only the modules are fetched, and they are asked in an environment of its own: see
``asking.py``. What cannot be asked is reported, and then that release is not added:
``known.json`` is where a hand helps.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cdk_sagemaker_llm.catalog.engine_arguments import ENGINES, TABLES, Engine
from tools.catalog import tables, wheels
from tools.catalog.tables import Release

ROOT = Path(__file__).parents[2]
CATALOG = ROOT / "constructs" / "cdk_sagemaker_llm" / "catalog"
# What asks a release; the packages that engines declare their arguments with are there.
PYTHON = ROOT / ".venv-catalog" / "bin" / "python"
_NEWEST = 3


def main(arguments: list[str] | None = None) -> int:
    """
    Run the command and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.catalog.engines")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare, write nothing, fail if it differs",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="ask every described release again, as far as it can be asked",
    )
    parser.add_argument("--release", help="compare this described release alone")
    parser.add_argument("--engine", choices=ENGINES, help="look at this one alone")
    options = parser.parse_args(arguments)
    failed = False
    for engine in [options.engine] if options.engine else ENGINES:
        if options.again:
            _ask_again(engine)
        elif options.check or options.release:
            failed |= not _compare(engine, options.release)
        else:
            failed |= not _rebuild(engine)
    return int(failed)


def _rebuild(engine: Engine) -> bool:
    """
    Add what is newer than the table, as far as it can be read.
    """
    path = CATALOG / TABLES[engine]
    table = json.loads(path.read_text("utf-8"))
    newer = _newer(engine, table["versions"][-1])
    if not newer:
        _say(f"{path.name} has the newest release of {engine}")
    for release in newer:
        found = _read(engine, release, table)
        if found is None:
            return False
        before = table
        table = tables.add(table, release, found)
        table["date"] = str(dt.datetime.now(tz=dt.UTC).date())
        path.write_text(tables.render(table), encoding="utf-8")
        for line in _changed(before, table, release):
            _say(f"{engine} {release}: {line}")
        _say(f"{path.name} has {release}: review the change like code")
    return True


def _ask_again(engine: Engine) -> None:
    """
    Make a table anew of what its releases say; old ones stay that cannot be asked.
    """
    path = CATALOG / TABLES[engine]
    table = json.loads(path.read_text("utf-8"))
    asked = {release: _read(engine, release, table) for release in table["versions"]}
    known = {release: found for release, found in asked.items() if found is not None}
    path.write_text(tables.render(tables.again(table, known)), encoding="utf-8")
    _say(f"{path.name} is made anew of {len(known)} releases: review it like code")


def _compare(engine: Engine, only: str | None) -> bool:
    """
    Say where releases differ from the table.
    """
    table = json.loads((CATALOG / TABLES[engine]).read_text("utf-8"))
    agrees = True
    for release in [only] if only else table["versions"][-_NEWEST:]:
        found = _read(engine, release, table)
        lines = [] if found is None else list(differences(table, release, found))
        agrees = agrees and found is not None and not lines
        for line in lines or ["as the table says"] * (found is not None):
            _say(f"{engine} {release}: {line}")
    return agrees


def differences(table: tables.Table, release: str, found: Release) -> Iterator[str]:
    """
    Tell how a release differs from what a table says of it.
    """
    told = tables.at(table, release)
    rows = tables.settled(found.rows, told)
    for name in sorted({*told, *rows}):
        if name not in told:
            yield f"has --{name}, which the table has not"
        elif name not in rows:
            yield f"has no --{name}, which the table has"
        else:
            for line in tables.differs(told[name], rows[name]):
                yield f"--{name}: {line}"
    kept = tables.schemas_at(table, release)
    for name, of in found.schemas.items():
        if kept.get(name) != of["keys"]:
            yield f"{name}: its keys are {json.dumps(of['keys'])}"


def _read(engine: Engine, release: str, table: tables.Table) -> Release | None:
    """
    Ask a release; report what wants a hand, if something does.
    """
    with tempfile.TemporaryDirectory() as folder:
        wheels.unpack(engine, release, Path(folder))
        program = [str(PYTHON), "-m", "tools.catalog.asking", engine, folder]
        done = subprocess.run(
            [*program, *table.get("schemas", ())],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
    if done.returncode:
        reason = done.stderr.strip().rpartition("\n")[2]
        _say(f"{engine} {release}: cannot be asked: {reason}")
        return None
    found = Release(**json.loads(done.stdout))
    for name, why in found.wanting.items():
        _say(f"{engine} {release}: --{name} wants a hand: {why}")
    return None if found.wanting else found


def _changed(before: tables.Table, after: tables.Table, release: str) -> Iterator[str]:
    """
    Tell what a release brought.
    """
    for name, entry in after["args"].items():
        if entry["first"] == release:
            yield f"adds --{name}"
        elif entry["last"] == before["versions"][-1]:
            yield f"drops --{name}"
        elif entry["h"][-1]["v"] == release:
            change = {key: one for key, one in entry["h"][-1].items() if key != "v"}
            yield f"changes --{name}: {json.dumps(change)}"


def _newer(engine: Engine, known: str) -> list[str]:
    listed = [one for one in wheels.published(engine) if re.fullmatch(r"[\d.]+", one)]
    newer = (one for one in listed if _numbers(one) > _numbers(known))
    return sorted(newer, key=_numbers)


def _numbers(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
