"""
Reading what vLLM's configuration refuses: ``python -m tools.catalog.refusals``.

``EngineArgs.create_engine_config`` hands the arguments to classes that raise where some
do not go together. A condition of such an end is kept as Python's own expression over
the arguments' names; ``conditions.py`` says how it is read.
"""

from __future__ import annotations

import argparse
import ast
import datetime as dt
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import (
    ENGINES,
    REFUSALS,
    Engine,
    engine_releases,
)
from cdk_sagemaker_llm.serving.engines.checks.refusals import UNKNOWN, holds
from tools.catalog import wheels
from tools.catalog.conditions import Reader, Refusal, class_refusals
from tools.catalog.forms import form_refusals
from tools.catalog.server_args import ARCHITECTURE, STARTS, ServerArgs
from tools.catalog.sources import Source

CATALOG = Path(__file__).parents[2] / "constructs" / "cdk_sagemaker_llm" / "catalog"

_OF_VLLM = (
    "Conditions under which vLLM refuses what its parser takes, read in "
    "EngineArgs.create_engine_config and the configuration classes of each published "
    "wheel by python -m tools.catalog.refusals: if, Python's own expression over the "
    "names of arguments, with a key of an argument's JSON behind a point, and "
    "unknown() for what a model, a file or the machine decides; with, what each name "
    "is where it is left out; where, what short names in it stand for; in, the "
    "releases, first and last of each span; says, the engine's own words. like(), "
    "kind() and outside() look at a value's form. A container is taken for one node "
    "with GPUs of NVIDIA."
)


_OF_SGLANG = (
    "Conditions under which SGLang refuses what its parser takes, read in the methods "
    "of ServerArgs and the functions of arg_groups that its launch calls, of each "
    "published wheel, by python -m tools.catalog.refusals; written as in "
    "vllm_refusals.json. What the engine may fill in by itself counts as known where "
    "it is written alone."
)
_ABOUT = {"vllm": _OF_VLLM, "sglang": _OF_SGLANG}

_ALONE = {"nnodes": "1", "node_rank": "0"}


# What is longer than this with all that it stands for says little to anybody.
_LONGEST = 2500


# What else this says depends on the draft model.
_SAYS = {"SpeculativeConfig": "num_speculative_tokens was provided"}


# What the engine puts into a configuration beside what JSON says.
_OF_ENGINE = ("model_config", "parallel_config", "load_config")


# What is read into a class as JSON of an argument.
_OF_JSON = {
    "DiffusionConfig": "diffusion_config",
    "EPLBConfig": "eplb_config",
    "KVEventsConfig": "kv_events_config",
    "ProfilerConfig": "profiler_config",
    "SpeculativeConfig": "speculative_config",
    "StructuredOutputsConfig": "structured_outputs_config",
    "WatermarkConfig": "watermark_config",
}
# Those whose keys no parser looks at.
_UNREAD = ("DiffusionConfig", "WatermarkConfig")


def refusals(folder: Path) -> dict[str, dict[str, Any]]:
    """
    Return the conditions under which a release refuses its arguments, each with what
    its names are where they are left out.
    """
    source = Source(folder)
    own = {name: name for name in source.defaults("EngineArgs")}
    # A container is one node, which a check of its own says.
    own |= {name: value for name, value in _ALONE.items() if name in own}
    twice = {one: list(_written_twice(source, one)) for one in _OF_JSON.values()}
    # What arguments of their own stand for is made without the JSON as well.
    given = {
        name: " or ".join(
            f"{one} is not None" for one in [name, *(o for _, _, o in rows)]
        )
        for name, rows in twice.items()
    }
    source.made = {
        f"self.create_{name}": f"(unknown() if {text} else None)"
        for name, text in given.items()
        if name in own
    }
    reader = Reader(source, "EngineArgs", own)
    reader.read(["create_engine_config"])
    found = list(reader.found)
    for of, argument in _OF_JSON.items():
        if of in source.classes and argument in own:
            keys = {
                key: None if key.endswith(_OF_ENGINE) else f"{argument}.{key}"
                for key in source.defaults(of)
            }
            for refusal, key, one in twice[argument]:
                keys[key] = f"({argument}.{key} if {one} is None else {one})"
                found.append(refusal)
            ended = class_refusals(source, of, keys, (f"({given[argument]})",))
            found += [one for one in ended if one.words.startswith(_SAYS.get(of, ""))]
            if of in _UNREAD:
                outside = f"outside({argument}, {tuple(source.defaults(of))})"
                found.append(Refusal((outside,), f"{of} has no such key"))
    # What is left out is never refused for its form.
    forms = {
        condition: {"with": {name: None}, "says": says}
        for name, condition, says in form_refusals(source)
        if name in own
    }
    return {**_told(source, found), **forms}


def _written_twice(source: Source, argument: str) -> Iterator[tuple[Refusal, str, str]]:
    """
    Yield the keys of an argument's JSON that arguments of their own stand for, and what
    is said of both.
    """
    method = source.methods(source.of).get(f"create_{argument}")
    loops = [one for one in ast.walk(method or ast.Pass()) if isinstance(one, ast.For)]
    for loop in loops:
        turns = loop.iter.elts if isinstance(loop.iter, ast.Tuple) else []
        ends = any(isinstance(one, ast.Raise) for one in ast.walk(loop))
        for turn in turns if ends else []:
            flag, key, own = turn.elts if isinstance(turn, ast.Tuple) else [None] * 3
            words = [
                one.value if isinstance(one, ast.Constant) else None
                for one in (flag, key)
            ]
            name, inner = words
            if (
                isinstance(name, str)
                and isinstance(inner, str)
                and isinstance(own, ast.Attribute)
            ):
                path = (f"{own.attr} is not None", f"{argument}.{inner} is not None")
                says = f"{name} and {inner} of {argument} exclude each other"
                yield Refusal(path, says), inner, own.attr


def sglang_refusals(folder: Path, release: str) -> dict[str, dict[str, Any]]:
    """
    Return the conditions under which a release of SGLang refuses its arguments.
    """
    source = ServerArgs(folder, release)
    fields = {**source.fields, **{k: v for k, v in _ALONE.items() if k == "node_rank"}}
    reader = Reader(source, source.of, fields)
    reader.read([name for name in STARTS if name in reader.methods])
    unknown = (
        Refusal((condition,), "unknown speculative algorithm name")
        for condition in source.unknown_algorithm
    )
    kept = _told(source, [*reader.found, *unknown])
    # What it would refuse with nothing set was not read as it is meant.
    return {
        condition: row
        for condition, row in kept.items()
        if _of_defaults(condition, row) is not True
    }


def _of_defaults(condition: str, row: Mapping[str, Any]) -> object:
    def value(name: str) -> object:
        inner = row.get("where", {}).get(name)
        return row["with"].get(name) if inner is None else holds(inner, value)

    return holds(condition, value)


def _told(source: Source, found: list[Refusal]) -> dict[str, dict[str, Any]]:
    """
    Return what can be told of refusals from the arguments alone.
    """
    kept: dict[str, dict[str, Any]] = {}
    for refusal in found:
        parts = dict.fromkeys(refusal.path)
        text = " and ".join(one for one in parts if one != "True")
        condition = ast.unparse(ast.parse(text, mode="eval")) if text else ""
        where = dict(_where(source, condition)) if condition else {}
        texts = [condition, *where.values()]
        names = sorted({name for text in texts if text for name in _names(text)})
        names = [name for name in names if name not in where]
        defaults = {name: _default(source, name) for name in names}
        is_said = names and all(known for known, _ in defaults.values())
        # That something is set by then is no rule for those who set it.
        is_said = is_said and not condition.startswith("not (unknown()")
        is_open = is_said and holds(condition, lambda _: UNKNOWN) is UNKNOWN
        # The server alone sets what begins with an underscore.
        if is_open and not any(name.startswith("_") for name in names):
            told = {name: value for name, (_, value) in defaults.items()}
            if sum(map(len, texts)) > _LONGEST:
                continue
            condition, where = _renamed(condition, where)
            row = {"with": told, "says": refusal.words}
            kept.setdefault(condition, row | ({"where": where} if where else {}))
    return kept


def _renamed(condition: str, where: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """
    Number short names within one condition, which other releases share then.
    """
    names = {name: f"it{number}" for number, name in enumerate(where, 1)}

    def rename(text: str) -> str:
        return re.sub(r"\bit\d+\b", lambda match: names[match[0]], text)

    return rename(condition), {names[k]: rename(text) for k, text in where.items()}


def _where(source: Source, text: str) -> Iterator[tuple[str, str]]:
    """
    Yield what the short names in a condition stand for, and those inside of them.
    """
    for name in dict.fromkeys(_names(text)):
        if name in source.where:
            yield name, source.where[name]
            yield from _where(source, source.where[name])


def _default(source: Source, name: str) -> tuple[bool, Any]:
    first, _, key = name.partition(".")
    if name == ARCHITECTURE:
        return True, None
    if key:
        of = next((one for one, arg in _OF_JSON.items() if arg == first), "")
        return source.default(of or source.class_of(source.of, first), key)
    is_plain, value = source.default(source.of, first)
    # What is made by a factory stands for nothing where it is left out.
    return (True, None) if first in _OF_JSON.values() else (is_plain, value)


def _names(condition: str) -> Iterator[str]:
    tree = ast.parse(condition, mode="eval")
    inside = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
    called = {id(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Attribute):
            yield ast.unparse(one)
        elif isinstance(one, ast.Name) and id(one) not in inside | called:
            yield one.id


def main(arguments: list[str] | None = None) -> int:
    """
    Write the table of all described releases.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.catalog.refusals")
    parser.add_argument(
        "--packages",
        type=Path,
        help="a folder of unpacked wheels, such as vllm-0.30.0; else they are fetched",
    )
    parser.add_argument("--engine", choices=ENGINES, help="read this one alone")
    today = str(dt.datetime.now(tz=dt.UTC).date())
    parser.add_argument("--date", default=today, help="when they were read")
    options = parser.parse_args(arguments)
    for engine in [options.engine] if options.engine else ENGINES:
        releases = {
            one: _read(engine, one, options.packages) for one in engine_releases(engine)
        }
        table = {
            "about": _ABOUT[engine],
            "date": options.date,
            "refusals": rows(releases),
        }
        (CATALOG / REFUSALS[engine]).write_text(render(table), encoding="utf-8")
    return 0


def _read(
    engine: Engine, release: str, packages: Path | None
) -> dict[str, dict[str, Any]]:
    if packages is not None:
        return _refusals(engine, packages / f"{engine}-{release}", release)
    with tempfile.TemporaryDirectory() as folder:
        wheels.unpack(engine, release, Path(folder))
        return _refusals(engine, Path(folder), release)


def _refusals(engine: Engine, folder: Path, release: str) -> dict[str, dict[str, Any]]:
    return sglang_refusals(folder, release) if engine == "sglang" else refusals(folder)


def rows(
    releases: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> list[dict[str, Any]]:
    """
    Return each condition once, with the spans of the releases that have it.
    """
    order = list(releases)
    found: dict[str, dict[str, Any]] = {}
    for at, release in enumerate(order):
        for condition, row in releases[release].items():
            key = json.dumps([condition, row["with"], row.get("where")])
            kept = found.setdefault(key, {"if": condition, **row, "in": []})
            if kept["in"] and at and kept["in"][-1][1] == order[at - 1]:
                kept["in"][-1][1] = release
            else:
                kept["in"].append([release, release])
    return list(found.values())


def render(table: Mapping[str, Any]) -> str:
    """
    Return the table's text, a condition a line.
    """
    lines = ",\n".join(
        json.dumps(row, separators=(",", ":")) for row in table["refusals"]
    )
    about, date = json.dumps(table["about"]), json.dumps(table["date"])
    return f'{{\n"about": {about},\n"date": {date},\n"refusals": [\n{lines}\n]\n}}\n'


if __name__ == "__main__":
    sys.exit(main())
