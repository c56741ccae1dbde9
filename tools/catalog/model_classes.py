"""
Rebuilding what the engines' releases load: ``python -m tools.catalog.model_classes``.

The newest described releases are read again, from their published packages, and with
``--sources`` from clones of the repositories of those that are in no package; with
``--check`` nothing is written, and it fails unless the tables are as they say.
``--releases`` reads more of them, ``--engine`` one engine alone.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.releases import in_spans, release_key
from tools.catalog import wheels
from tools.catalog.clones import REPOSITORIES, read_clones
from tools.catalog.model_types import read_llama_cpp, read_neuron
from tools.catalog.registries import Registered, read_registries
from tools.catalog.transformers_package import read_transformers

CATALOG = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm" / "catalog"
CLASSES, TYPES = "model_classes.json", "model_types.json"
FORMATS, PARSERS = "gpu_formats.json", "parsers.json"
TRANSFORMERS, LMI = "transformers.json", "lmi_engines.json"
TABLES = (CLASSES, FORMATS, PARSERS, TYPES, TRANSFORMERS, LMI)
_BY_CLASS = ("vllm", "sglang")
_BY_TYPE = ("tgi", "tei", "optimum-neuron", "llama.cpp")
ENGINES = (*_BY_CLASS, *_BY_TYPE, "transformers", "lmi")
# The engines of which it is known which transformers their releases have inside.
_BRINGING = ("vllm", "sglang", "tgi")
# The abilities and branches that have releases of their own in a row, in its order.
_ABILITIES = (
    "in",
    "lora",
    "pp",
    "eagle3",
    "by_transformers",
    "flash",
    "flash_to_shard",
)
_SPANS = ("model_types", "attention", "backend", "causal", "sequences", "classes")
_LLAMA_CPP = "vendor/llama.cpp"
_NEWEST = 5
# The paths in the tables whose members have a line each.
_OPEN = {
    CLASSES: {
        (),
        ("engines",),
        *(("engines", one) for one in _BY_CLASS),
        *(
            ("engines", one, key)
            for one in _BY_CLASS
            for key in ("classes", "transformers")
        ),
    },
    TYPES: {
        (),
        ("engines",),
        *(("engines", one) for one in _BY_TYPE),
        *(("engines", one, key) for one in _BY_TYPE for key in ("types", "classes")),
    },
    TRANSFORMERS: {(), *((key,) for key in _SPANS), ("class_types",), ("gguf",)},
    LMI: {(), ("vllm",), ("lmi_dist",)},
    FORMATS: {
        (),
        ("releases",),
        *(
            path
            for key in ("methods", "schemes")
            for path in ((key,), *((key, one) for one in _BY_CLASS))
        ),
    },
    PARSERS: {
        (),
        ("releases",),
        *(
            path
            for key in ("tool", "reasoning")
            for path in ((key,), *((key, one) for one in _BY_CLASS))
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
    parser.add_argument(
        "--sources",
        type=Path,
        help="a folder with clones, each called as its repository is",
    )
    options = parser.parse_args(arguments)
    kept = {name: (CATALOG / name).read_text("utf-8") for name in TABLES}
    tables = {name: json.loads(text) for name, text in kept.items()}
    for engine in [options.engine] if options.engine else ENGINES:
        missing = _missing(engine, options.sources)
        if missing:
            wanted = " and ".join(missing)
            _say(f"{engine} is not read: --sources names no folder with {wanted}")
            continue
        left = options.releases
        for release in chosen_releases(tables, engine, options.releases):
            found = _read(tables, engine, release, options.sources)
            if found is None:
                _say(f"{engine} {release} is not read: no clone decides what it has")
                continue
            tables = replaced(tables, engine, release, found)
            _say(f"{engine} {release} is read")
            left -= 1
            if engine in REPOSITORIES and not left:
                break
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


def _missing(engine: str, sources: Path | None) -> list[str]:
    """
    Return the clones that an engine is read out of and that are not there.
    """
    wanted = REPOSITORIES.get(engine, ())
    return [one for one in wanted if sources is None or not (sources / one).is_dir()]


def replaced(
    tables: Mapping[str, Table], engine: str, release: str, found: Registered
) -> dict[str, Table]:
    """
    Return the tables with what was found of a release in place of what they said.
    """
    if not (found.classes or found.types or found.values):
        # Read so, nothing would differ either.
        raise ValueError(f"{engine} {release} has nothing where it was read until now")
    after = copy.deepcopy(dict(tables))
    own, known = _own(after, engine), _known(after, engine)
    for key, rows in (("classes", found.classes), ("types", found.types)):
        if rows:
            _replace_abilities(own[key], known, release, rows)
            own[key] = dict(sorted(own[key].items()))
    if found.methods:
        formats = after[FORMATS]
        _replace_rows(
            formats["methods"][engine],
            formats["releases"][engine],
            release,
            found.methods,
        )
    for kind, parsed in found.parsers.items():
        parsers = after[PARSERS]
        described = parsers["releases"][engine]
        _replace_names(parsers[kind], engine, described, release, parsed)
    for key, names in found.names.items():
        _replace_names(own, key, known, release, names)
    for key, values in found.values.items():
        own[key] = dict(sorted({**own[key], **values}.items()))
    if found.inside is not None:
        _inside(own)[release] = found.inside
    return after


def _own(tables: Mapping[str, Table], engine: str) -> Table:
    """
    Return the part of the tables that is an engine's own.
    """
    if engine in {"transformers", "lmi"}:
        return tables[TRANSFORMERS if engine == "transformers" else LMI]
    table: Table = tables[CLASSES if engine in _BY_CLASS else TYPES]["engines"][engine]
    return table


def _known(tables: Mapping[str, Table], engine: str) -> list[str]:
    """
    Return the releases of an engine that the tables describe, oldest first.
    """
    own = _own(tables, engine)
    if engine == "lmi":
        return list(own["vllm"])
    releases: list[str] = own["versions" if engine == "transformers" else "releases"]
    return releases


def chosen_releases(tables: Mapping[str, Table], engine: str, count: int) -> list[str]:
    """
    Return the newest releases that the tables describe, oldest first: of transformers
    the versions inside the engines' newest releases too. Of what is in clones it is
    all, newest first, since these may lack some.
    """
    known = _known(tables, engine)
    if engine in REPOSITORIES:
        return known[::-1]
    chosen = set(known[-count:])
    if engine == "transformers":
        newest = [
            inside
            for one in _BRINGING
            for inside in list(_inside(_own(tables, one)).values())[-count:]
        ]
        chosen.update(one for one in known for inside in newest if _is_of(inside, one))
    return [one for one in known if one in chosen]


def _inside(own: Table) -> dict[str, str]:
    """
    Return the transformers inside an engine's releases.
    """
    inside: dict[str, str] = own.get("inside") or own["transformers"]
    return inside


def patch_inside(tables: Mapping[str, Table], version: str) -> str:
    """
    Return the newest patch of a minor version that is inside an engine's release; the
    version itself where none is.
    """
    inside = (
        one for engine in _BRINGING for one in _inside(_own(tables, engine)).values()
    )
    return max(
        (one for one in (version, *inside) if _is_of(one, version)), key=release_key
    )


def _is_of(version: str, other: str) -> bool:
    return release_key(version)[0][:2] == release_key(other)[0][:2]


def _replace_abilities(
    rows: Table, known: list[str], release: str, found: Mapping[str, frozenset[str]]
) -> None:
    for name in sorted({*rows, *found}):
        row = rows.setdefault(name, {})
        able = found.get(name, frozenset())
        said = {one: row.pop(one, "") for one in _ABILITIES}
        kept = dict(row)
        row.clear()
        for ability, spans in said.items():
            flags = _flags(spans, known)
            flags[release] = ability in able
            _set(row, ability, spans_of(flags))
        row.update(kept)
        if not row.get("in"):
            del rows[name]


def _replace_names(
    table: Table, key: str, known: list[str], release: str, names: Collection[str]
) -> None:
    rows = table[key]
    for name in sorted({*rows, *names}):
        flags = _flags(rows.get(name, ""), known)
        flags[release] = name in names
        _set(rows, name, spans_of(flags))
    table[key] = dict(sorted(rows.items()))


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


def _read(
    tables: Mapping[str, Table], engine: str, release: str, sources: Path | None
) -> Registered | None:
    if engine in REPOSITORIES:
        return read_clones(engine, release, sources) if sources else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if engine == "llama.cpp":
            wanted = (f"{_LLAMA_CPP}/src/llama-arch.cpp", f"{_LLAMA_CPP}/conversion/")
            wheels.unpack_source("llama-cpp-python", release, folder, wanted)
            return read_llama_cpp(folder / _LLAMA_CPP)
        if engine == "transformers":
            wheels.unpack(engine, patch_inside(tables, release), folder)
            return read_transformers(folder)
        wheels.unpack(engine, release, folder)
        if engine == "optimum-neuron":
            return read_neuron(folder)
        return read_registries(engine, folder)


def _differences(before: str, after: str) -> Iterator[str]:
    old, new = before.splitlines(), after.splitlines()
    gone, come = set(old) - set(new), set(new) - set(old)
    yield from (f"- {line.strip()}" for line in old if line in gone)
    yield from (f"+ {line.strip()}" for line in new if line in come)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
