"""
``sagemaker-llm support``: which releases of which engines load a model, and where.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from cdk_sagemaker_llm.architectures.config import read_config
from cdk_sagemaker_llm.catalog.engine_releases import ENGINES
from cdk_sagemaker_llm.catalog.instances import (
    InstanceType,
    accelerated_type_names,
    find_instance_type,
    priced_regions,
)
from cdk_sagemaker_llm.catalog.releases import (
    images_by_release,
    known_releases,
    release_key,
)
from cdk_sagemaker_llm.cli.commands._options import (
    AsJson,
    complete,
    complete_instance_types,
    complete_models,
)
from cdk_sagemaker_llm.cli.output.plans import plain_console
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.serving.support.check import is_judged
from cdk_sagemaker_llm.serving.support_check import check_support
from cdk_sagemaker_llm.text import any_of

LOADS, WARNS, REFUSES, UNKNOWN = "loads", "warning", "does not", "not known"
SERVED, NOT_SERVED, MISUSE = 0, 1, 2
_ON_NEURON = ("vllm-neuron", "tgi-neuron")
_CONFIG = "config.json"
# Of types that are treated alike so many are named, unless they are all but some.
_MOST_NAMES = 3
_OTHERS = "other types"


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    What a release of an engine does with the model on an instance type.
    """

    engine: str
    release: str
    instance_type: str
    findings: tuple[Finding, ...]
    is_known: bool

    @property
    def word(self) -> str:
        """
        What becomes of the model: it loads, loads with a warning, does not load, or
        nobody knows.
        """
        if any(one.severity is Severity.ERROR for one in self.findings):
            return REFUSES
        if not self.is_known:
            return UNKNOWN
        return WARNS if self.findings else LOADS

    @property
    def kind(self) -> tuple[str, tuple[str, ...]]:
        """
        What releases of one row have in common: the word, and the rules behind it.
        """
        return self.word, tuple(one.code for one in self.findings)


def support(
    *,
    model: Annotated[
        str,
        typer.Argument(
            autocompletion=complete_models,
            help="A model of the Hugging Face Hub, or a config.json.",
        ),
    ],
    instance_types: Annotated[
        list[str] | None,
        typer.Option(
            "--instance-type",
            autocompletion=complete_instance_types,
            help="An instance type, several times for several; if omitted, the "
            "smallest of each accelerator.",
        ),
    ] = None,
    engines: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            autocompletion=complete(*ENGINES),
            help=f"One of {', '.join(ENGINES)}; several times for several; if "
            "omitted, all.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(help="The engine's own release; if omitted, all of the images'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Say which releases of which engines load a model, on which instance types, and why
    not. Memory is not looked at: that is what plan does.

    Exits with 0 if something that is asked about loads it, or may load it; 1 if
    nothing does, 2 on misuse.
    """
    try:
        name, config = _read(model)
        verdicts = [
            each
            for engine in _chosen(engines)
            for each in _verdicts(name, config, engine, release, instance_types)
        ]
    except (ValueError, OSError) as fault:
        for line in str(fault).splitlines():
            typer.echo(f"sagemaker-llm support: {line}", err=True)
        raise typer.Exit(MISUSE) from fault
    if as_json:
        typer.echo(json.dumps([*map(_facts, verdicts)], indent=2))
    else:
        _show(name, verdicts)
    is_served = any(one.word != REFUSES for one in verdicts)
    raise typer.Exit(SERVED if is_served else NOT_SERVED)


def _read(model: str) -> tuple[str, dict[str, Any] | None]:
    path = Path(model)
    if path.is_dir():
        path /= _CONFIG
    if path.is_file():
        read_config(path)
        return str(path), json.loads(path.read_text("utf-8"))
    if path.suffix == ".json":
        raise ValueError(f"{model} is not there")
    return model, None


def _chosen(engines: Sequence[str] | None) -> Sequence[str]:
    for one in engines or ():
        if one not in ENGINES:
            raise ValueError(f"--engine must be {any_of(ENGINES)}, got {one!r}")
    return tuple(dict.fromkeys(engines or ENGINES))


def _verdicts(
    model: str,
    config: dict[str, Any] | None,
    engine: str,
    release: str | None,
    instance_types: Sequence[str] | None,
) -> Iterator[Verdict]:
    columns = instance_types or _columns(engine)
    for each in _releases(engine, release):
        is_known = is_judged(model, engine=engine, release=each, config=config)
        for instance_type in columns:
            findings = check_support(
                model,
                engine=engine,
                release=each,
                instance_type=instance_type,
                config=config,
            )
            yield Verdict(engine, each, instance_type, findings, is_known)


def _releases(engine: str, release: str | None) -> Sequence[str]:
    releases = known_releases(engine)
    if release is None:
        return releases
    found = [one for one in releases if release_key(one) == release_key(release)]
    if not found:
        raise ValueError(
            f"no catalogued image has {ENGINES[engine]} {release}; they have "
            f"{', '.join(releases)}"
        )
    return found


def _columns(engine: str) -> list[str]:
    """
    Return the smallest instance type of each accelerator that an engine runs on, of
    those that AWS has a price for.
    """
    smallest: dict[str, InstanceType] = {}
    for one in map(
        find_instance_type, filter(priced_regions, accelerated_type_names())
    ):
        if one.has_neuron_cores != (engine in _ON_NEURON):
            continue
        before = smallest.setdefault(one.accelerator_model, one)
        if (one.accelerators, one.vcpus) < (before.accelerators, before.vcpus):
            smallest[one.accelerator_model] = one
    return [one.name for one in smallest.values()]


def _facts(verdict: Verdict) -> dict[str, Any]:
    return {
        "engine": verdict.engine,
        "release": verdict.release,
        "image": dict(images_by_release(verdict.engine))[verdict.release],
        "instance_type": verdict.instance_type,
        "verdict": verdict.word,
        "findings": [
            {
                "code": one.code,
                "severity": one.severity.value,
                "message": one.message,
                "remedy": one.remedy,
            }
            for one in verdict.findings
        ],
    }


def _show(model: str, verdicts: Sequence[Verdict]) -> None:
    console = plain_console()
    console.print(model, style="bold", highlight=False, markup=False)
    unknown = []
    for engine, group in groupby(verdicts, key=lambda one: one.engine):
        own = list(group)
        if all(one.word == UNKNOWN for one in own):
            unknown.append(f"{ENGINES[engine]} {_span(own)}")
            continue
        columns = _columns_of(own)
        table = Table(box=None, pad_edge=False)
        for name in (ENGINES[engine], *columns, "why"):
            table.add_column(name, overflow="fold")
        reasons: dict[tuple[str, str], str] = {}
        # The newest release that breaks a rule says why for those before it.
        rows = list(_rows(own, [*columns.values()]))
        for row in reversed(rows):
            for key, reason in row.reasons.items():
                reasons.setdefault(key, reason)
        numbers = {key: str(number) for number, key in enumerate(reasons, 1)}
        for row in rows:
            table.add_row(*row.cells, ", ".join(numbers[key] for key in row.reasons))
        console.print()
        console.print(table)
        for key, reason in reasons.items():
            line = f"{numbers[key]}: {reason}"
            console.print(line, highlight=False, markup=False)
        for one in [one for one in own if one.word in {LOADS, WARNS}][-1:]:
            image = dict(images_by_release(engine))[one.release]
            console.print(f"the newest image that serves it: {image}", highlight=False)
    if unknown:
        console.print(f"\nnot known: {', '.join(unknown)}", highlight=False)


def _columns_of(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """
    Return what heads each column, and an instance type of it: types that every release
    treats alike share one.
    """
    alike: dict[tuple[object, ...], list[str]] = {}
    for name in dict.fromkeys(one.instance_type for one in verdicts):
        kinds = tuple(one.kind for one in verdicts if one.instance_type == name)
        alike.setdefault(kinds, []).append(name)
    if len(alike) == 1:
        return {"every type": next(iter(alike.values()))[0]}
    groups = sorted(alike.values(), key=len)
    last = _OTHERS if len(groups[-1]) > _MOST_NAMES else _heads(groups[-1])
    named = {_heads(names): names[0] for names in groups[:-1]}
    return {**named, last: groups[-1][0]}


def _heads(names: Sequence[str]) -> str:
    kinds = [f"{one} ({find_instance_type(one).accelerator_model})" for one in names]
    return ", ".join(kinds)


def _span(verdicts: Sequence[Verdict]) -> str:
    first, last = verdicts[0].release, verdicts[-1].release
    return first if first == last else f"{first} to {last}"


@dataclass(frozen=True, slots=True)
class _Row:
    """
    Releases, one after the other, that do the same on each instance type, and why: by
    the rule's code and the type.
    """

    cells: tuple[str, ...]
    reasons: Mapping[tuple[str, str], str]


def _rows(verdicts: Sequence[Verdict], types: Sequence[str]) -> Iterator[_Row]:
    by_release = []
    for _, group in groupby(verdicts, key=lambda one: one.release):
        found = {one.instance_type: one for one in group}
        by_release.append([found[one] for one in types])
    for _, alike in groupby(by_release, key=lambda row: [one.kind for one in row]):
        rows = list(alike)
        reasons: dict[tuple[str, str], str] = {}
        for one in rows[-1]:
            for each in one.findings:
                text = "; ".join(filter(None, (each.message, each.remedy)))
                if text not in reasons.values():
                    reasons[each.code, one.instance_type] = text
        cells = (_span([*rows[0], *rows[-1]]), *(one.word for one in rows[-1]))
        yield _Row(cells, reasons)
