"""
What ``sagemaker-llm adopt`` makes of published notebooks and scripts:
``python -m tools.published.conversions OWNER/NAME=FOLDER ...``.

Each folder is a clone. Every dictionary that names a model for a container, and every
call that deploys, has to come to a request, or else a remark has to stand at it; and
where there is a request, an app has to be written, which is made in this process.
Counts and hashes are kept in ``tools/published/conversions.json``; ``--check`` reads
the commits that are named there, and fails if anything differs. The dictionaries with
their plain values are kept in ``tests/data/public_dictionaries.json``, for the tests.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.adoption.deployment import (
    Deployment,
    Hidden,
    Open,
    is_secret_name,
)
from cdk_sagemaker_llm.adoption.scripts import read_script
from cdk_sagemaker_llm.adoption.scripts.calls import DEPLOYING
from cdk_sagemaker_llm.adoption.scripts.cells import Script, script_of
from cdk_sagemaker_llm.adoption.scripts.expressions import OF_MODELS
from cdk_sagemaker_llm.adoption.scripts.values import last_name
from cdk_sagemaker_llm.cli.app.adopting import adopted
from cdk_sagemaker_llm.text import kind_of
from tools.published.repository import Repository

_COUNTS = Path(__file__).with_name("conversions.json")
_DICTIONARIES = Path(__file__).parents[2] / "tests/data/public_dictionaries.json"
_ABOUT = (
    "Dictionaries of public notebooks and scripts that name a model for a container, "
    "as far as their values are plain: facts, no code. Credentials and what names an "
    "account are left out. Each stands here once. Written by "
    "tools.published.conversions."
)
_REGION = "us-east-1"
_ACCOUNT = re.compile(r"\b\d{12}\b")
_COLUMNS = (
    *("files", "apps", "dictionaries", "converted", "told", "silent"),
    *("calls", "calls converted", "calls told", "calls silent"),
)


@dataclass(frozen=True)
class Part:
    """
    A dictionary or a call of a script, and what became of it.

    Args:
        place: Where it stands.

        kind: ``dictionary`` or ``call``.

        text: What is hashed of it: the names and the plain values, or the call's name.

        outcome: ``converted``, ``told`` or ``silent``.
    """

    place: str
    kind: str
    text: str
    outcome: str


def parts_of(script: Script, found: Deployment, name: str) -> Iterator[Part]:
    """
    Yield what became of the parts of a script or a notebook.

    Args:
        script: The file as it was read.

        found: What it deploys.

        name: What it is called in its repository.
    """
    environments = [*_environments([one.parameters for one in found.requests])]
    own = {
        node.name
        for tree in script.trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    made = {one.where for one in found.requests}
    told = {one.where for one in found.remarks}
    for tree in script.trees:
        for node in ast.walk(tree):
            if not isinstance(node, ast.Dict | ast.Call):
                continue
            places = _places(script, node)
            if isinstance(node, ast.Dict) and _names_a_model(node):
                literals = _literals(node)
                is_made = any(_is_in(literals, one) for one in environments)
                text = json.dumps(literals, sort_keys=True)
                yield Part(
                    f"{name} {places[0]}",
                    "dictionary",
                    text,
                    _outcome(is_made=is_made, is_told=bool(told & {*places})),
                )
            elif isinstance(node, ast.Call) and last_name(node.func) in DEPLOYING - own:
                yield Part(
                    f"{name} {places[0]}",
                    "call",
                    last_name(node.func),
                    _outcome(
                        is_made=bool(made & {*places}),
                        is_told=bool(told & {*places}),
                    ),
                )


def _environments(value: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - JSON
    parts = value if isinstance(value, list) else []
    if isinstance(value, Mapping):
        parts = [*value.values()]
        if isinstance(value.get("Environment"), Mapping):
            yield value["Environment"]
    for one in parts:
        yield from _environments(one)


def _outcome(*, is_made: bool, is_told: bool) -> str:
    if is_made:
        return "converted"
    return "told" if is_told else "silent"


def _places(script: Script, node: ast.expr) -> list[str]:
    first = node.lineno
    return [script.place(line) for line in range(first, (node.end_lineno or first) + 1)]


def _names_a_model(node: ast.Dict) -> bool:
    return any(isinstance(k, ast.Constant) and k.value in OF_MODELS for k in node.keys)


def _literals(node: ast.Dict) -> dict[str, str | None]:
    """
    Return a dictionary's names with their values, ``None`` of what is not plain.
    """
    return {
        str(key.value): str(value.value) if isinstance(value, ast.Constant) else None
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _is_in(literals: Mapping[str, str | None], variables: Mapping[str, Any]) -> bool:
    return all(
        name in variables
        and (
            value is None
            or variables[name] == value
            or isinstance(variables[name], Hidden | Open)
        )
        for name, value in literals.items()
    )


@dataclass
class Reading:
    """
    What a repository's notebooks and scripts came to.

    Args:
        parts: Their dictionaries and calls.

        files: How many have some.

        apps: How many of them an app was written for.

        faults: Those that could not be read, or written.
    """

    parts: list[Part] = field(default_factory=list)
    files: int = 0
    apps: int = 0
    faults: list[str] = field(default_factory=list)


def reading_of(repository: Repository, commit: str) -> Reading:
    """
    Read a repository's notebooks and scripts that name a model for a container.
    """
    result = Reading()
    with tempfile.TemporaryDirectory() as folder:
        for path, text in repository.texts(commit, ".ipynb", ".py"):
            if not any(name in text for name in OF_MODELS):
                continue
            copy = Path(folder) / f"read{Path(path).suffix}"
            copy.write_text(text, encoding="utf-8")
            try:
                found = read_script(copy, region=_REGION)
                parts = [*parts_of(script_of(copy), found, path)]
                result.parts += parts
                result.files += bool(parts)
                if found.requests:
                    adopted(found)
                    result.apps += 1
            except ValueError as fault:
                result.faults.append(f"{path}: {fault}".replace(f"{copy}", "it"))
    return result


def dictionaries_of(name: str, parts: Iterable[Part]) -> Iterator[dict[str, Any]]:
    """
    Yield the dictionaries of a repository with what is plain of them.
    """
    for one in parts:
        if one.kind == "dictionary":
            variables = {
                key: value
                for key, value in json.loads(one.text).items()
                if value is not None
                and not (
                    is_secret_name(key) or kind_of(value) or _ACCOUNT.search(value)
                )
            }
            if variables:
                yield {
                    "repository": name,
                    "place": one.place,
                    "environment": variables,
                }


def counts_of(reading: Reading) -> dict[str, Any]:
    """
    Return what is counted, with the hash of what is published.
    """
    parts = reading.parts
    counted = Counter((one.kind, one.outcome) for one in parts)
    rows = sorted(f"{one.place} {one.kind} {one.text}" for one in parts)
    outcomes = ("converted", "told", "silent")
    return {
        "files": reading.files,
        "apps": reading.apps,
        "dictionaries": sum(one.kind == "dictionary" for one in parts),
        **{one: counted["dictionary", one] for one in outcomes},
        "calls": sum(one.kind == "call" for one in parts),
        **{f"calls {one}": counted["call", one] for one in outcomes},
        "sha256": hashlib.sha256("\n".join(rows).encode()).hexdigest(),
    }


def _keep(dictionaries: Sequence[Mapping[str, Any]]) -> None:
    once = {json.dumps(one["environment"], sort_keys=True): one for one in dictionaries}
    rows = ",\n  ".join(json.dumps(one) for one in once.values())
    _DICTIONARIES.write_text(
        f'{{\n "about": {json.dumps(_ABOUT)},\n "dictionaries": [\n  {rows}\n ]\n}}\n'
    )


def main() -> int:
    """
    Print a table, and keep or hold it.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.published.conversions")
    parser.add_argument("sources", nargs="+", metavar="OWNER/NAME=FOLDER")
    parser.add_argument("--check", action="store_true", help="hold the kept counts")
    options = parser.parse_args()
    kept = json.loads(_COUNTS.read_text()) if _COUNTS.exists() else {}
    found: dict[str, Any] = {}
    dictionaries: list[dict[str, Any]] = []
    faults: list[str] = []
    print("| source |", *(f"{name} |" for name in _COLUMNS))
    print("| --- " * (len(_COLUMNS) + 1) + "|")
    for source in options.sources:
        name, _, folder = source.partition("=")
        repository = Repository(name, Path(folder))
        before = kept.get(name, {})
        if options.check and not before:
            parser.error(f"nothing is kept of {name}")
        commit = before["commit"] if options.check else repository.commits()["HEAD"]
        reading = reading_of(repository, commit)
        counts = counts_of(reading)
        found[name] = {"commit": commit, "date": repository.date(commit), **counts}
        print(f"| {name} |", *(f"{counts[column]} |" for column in _COLUMNS))
        silent = [one for one in reading.parts if one.outcome == "silent"]
        faults += [f"{one.place}: {one.text}" for one in silent]
        faults += reading.faults
        dictionaries += dictionaries_of(name, reading.parts)
        if options.check and found[name] != before:
            faults.append(f"{name}: the kept counts are others: {before}")
    if not options.check:
        text = json.dumps({**kept, **found}, indent=1, sort_keys=True)
        _COUNTS.write_text(text + "\n")
        _keep(dictionaries)
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
