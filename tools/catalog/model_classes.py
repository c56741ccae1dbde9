"""
Rebuilding what the engines' releases load: ``python -m tools.catalog.model_classes``.

The newest described releases are read again, from the modules of their published
wheels; with ``--check`` nothing is written, and it fails unless the tables are as they
say. ``--releases`` reads more of them, ``--engine`` one engine alone.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.releases import in_spans
from tools.catalog import wheels
from tools.catalog.registries import Registered, read_registries

CATALOG = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm" / "catalog"
ENGINES = ("vllm", "sglang")
TABLES = ("model_classes.json", "gpu_formats.json", "parsers.json")
_NEWEST = 5
# The paths in the tables whose members have a line each.
_OPEN = {
    "model_classes.json": {
        (),
        ("engines",),
        *(("engines", one) for one in ENGINES),
        *(
            ("engines", one, key)
            for one in ENGINES
            for key in ("classes", "transformers")
        ),
    },
    "gpu_formats.json": {
        (),
        ("releases",),
        *(
            path
            for key in ("methods", "schemes")
            for path in ((key,), *((key, one) for one in ENGINES))
        ),
    },
    "parsers.json": {
        (),
        ("releases",),
        *(
            path
            for key in ("tool", "reasoning")
            for path in ((key,), *((key, one) for one in ENGINES))
        ),
    },
}
Table = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run the command and return the exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.catalog.model_classes")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare, write nothing, fail if it differs",
    )
    parser.add_argument("--engine", choices=ENGINES, help="look at this one alone")
    parser.add_argument(
        "--releases", type=int, default=_NEWEST, help="how many of the newest to read"
    )
    options = parser.parse_args(arguments)
    kept = {name: (CATALOG / name).read_text("utf-8") for name in TABLES}
    tables = {name: json.loads(text) for name, text in kept.items()}
    for engine in [options.engine] if options.engine else ENGINES:
        releases = tables[TABLES[0]]["engines"][engine]["releases"]
        for release in releases[-options.releases :]:
            tables = replaced(tables, engine, release, _read(engine, release))
            _say(f"{engine} {release} is read")
    rebuilt = {name: render(name, table) for name, table in tables.items()}
    changed = [name for name in TABLES if rebuilt[name] != kept[name]]
    for name in changed:
        for line in _differences(kept[name], rebuilt[name]):
            _say(f"{name}: {line}")
        if not options.check:
            (CATALOG / name).write_text(rebuilt[name], encoding="utf-8")
            _say(f"{name} is rebuilt: review the change like code")
    if not changed:
        _say("the tables are what the packages say")
    return int(bool(changed and options.check))


def replaced(
    tables: Mapping[str, Table], engine: str, release: str, found: Registered
) -> dict[str, Table]:
    """
    Return the tables with what was found of a release in place of what they said.
    """
    after = copy.deepcopy(dict(tables))
    engine_table = after["model_classes.json"]["engines"][engine]
    _replace_abilities(engine_table, release, found.classes)
    formats = after["gpu_formats.json"]
    _replace_rows(
        formats["methods"][engine], formats["releases"][engine], release, found.methods
    )
    parsers = after["parsers.json"]
    for kind, names in found.parsers.items():
        known = parsers["releases"][engine]
        rows = parsers[kind][engine]
        for name in sorted({*rows, *names}):
            flags = _flags(rows.get(name, ""), known)
            flags[release] = name in names
            _set(rows, name, spans_of(flags))
        parsers[kind][engine] = dict(sorted(rows.items()))
    return after


def _replace_abilities(
    table: Table, release: str, classes: Mapping[str, frozenset[str]]
) -> None:
    rows, known = table["classes"], table["releases"]
    for name in sorted({*rows, *classes}):
        row = rows.setdefault(name, {})
        able = classes.get(name, frozenset())
        for ability in sorted({*_abilities(row), *able}):
            flags = _flags(row.get(ability, ""), known)
            flags[release] = ability in able
            _set(row, ability, spans_of(flags))
        if not row.get("in"):
            del rows[name]
    table["classes"] = dict(sorted(rows.items()))


def _abilities(row: Mapping[str, object]) -> set[str]:
    return set(row) & {"in", "lora", "pp", "eagle3", "by_transformers"}


def _replace_rows(
    methods: Table,
    known: list[str],
    release: str,
    found: Mapping[str, Mapping[str, object]],
) -> None:
    for name in sorted({*methods, *found}):
        at: dict[str, Mapping[str, object] | None] = {}
        for one in known:
            row = next(
                (r for r in methods.get(name, ()) if _is_in(one, r, known)), None
            )
            at[one] = row and {key: value for key, value in row.items() if key != "in"}
        at[release] = found.get(name)
        rows = list(_joined(at, known))
        _set(methods, name, rows)
    for name in sorted(methods):
        methods[name] = methods.pop(name)


def _joined(
    at: Mapping[str, Mapping[str, object] | None], known: list[str]
) -> Iterator[dict[str, object]]:
    """
    Yield a row for each span of releases that say the same.
    """
    start = 0
    for number, release in enumerate(known):
        is_last = number + 1 == len(known)
        if not is_last and at[known[number + 1]] == at[release]:
            continue
        row = at[release]
        if row is not None:
            end = "" if is_last else release
            yield {"in": f"{known[start]}..{end}", **row}
        start = number + 1


def _is_in(release: str, row: Mapping[str, Any], known: list[str]) -> bool:
    return bool(in_spans(release, row["in"], tuple(known)))


def _flags(spans: str, known: list[str]) -> dict[str, bool]:
    return {one: bool(in_spans(one, spans, tuple(known))) for one in known}


def spans_of(flags: Mapping[str, bool]) -> str:
    """
    Return releases as spans, such as ``0.2.7..0.4.2 0.6.2..``; open where the newest
    one is within.
    """
    known = list(flags)
    at: dict[str, Mapping[str, object] | None] = {
        one: {} if flag else None for one, flag in flags.items()
    }
    return " ".join(str(row["in"]) for row in _joined(at, known))


def _set(rows: Table, name: str, value: object) -> None:
    """
    Put a value in its place, or take it away where it is empty.
    """
    if value:
        rows[name] = value
    else:
        rows.pop(name, None)


def render(name: str, table: Table) -> str:
    """
    Write a table as it is kept: a line for each row.
    """
    return f"{_rendered(table, (), _OPEN[name])}\n"


def _rendered(
    value: object, path: tuple[str, ...], opened: set[tuple[str, ...]]
) -> str:
    if path not in opened:
        return json.dumps(value, ensure_ascii=False)
    indent = " " * (len(path) + 1)
    if isinstance(value, dict):
        lines = [
            f"{indent}{json.dumps(key)}: {_rendered(one, (*path, key), opened)}"
            for key, one in value.items()
        ]
        marks = "{}"
    elif isinstance(value, list):
        lines = [f"{indent}{json.dumps(one, ensure_ascii=False)}" for one in value]
        marks = "[]"
    else:
        return json.dumps(value)
    inner = ",\n".join(lines)
    return f"{marks[0]}\n{inner}\n{' ' * len(path)}{marks[1]}"


def _read(engine: str, release: str) -> Registered:
    with tempfile.TemporaryDirectory() as folder:
        wheels.unpack(engine, release, Path(folder))
        return read_registries(engine, Path(folder))


def _differences(before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(), after.splitlines()
    gone, come = set(old) - set(new), set(new) - set(old)
    yield from (f"- {line.strip()}" for line in old if line in gone)
    yield from (f"+ {line.strip()}" for line in new if line in come)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
