"""
Arguments of the engines' own servers: which release knows which, and how it reads it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from cdk_sagemaker_llm.catalog._data import load

Engine = Literal["vllm", "sglang"]
ENGINES: tuple[Engine, ...] = ("vllm", "sglang")

# The files of the tables, beside this one.
TABLES: Mapping[str, str] = {
    "vllm": "vllm_serve_args.json",
    "sglang": "sglang_args.json",
}
REFUSALS: Mapping[str, str] = {
    "vllm": "vllm_refusals.json",
    "sglang": "sglang_refusals.json",
}
_LISTS = ("choices", "known")
# Engines whose parsers no table describes.
_NAMES = load("engine_names.json")
LLAMA_CPP: tuple[str, ...] = tuple(_NAMES["llama_cpp"]["names"])
LLAMA_CPP_ALIASES: Mapping[str, str] = _NAMES["llama_cpp"]["aliases"]
GONE_FROM_LLAMA_CPP: tuple[str, ...] = tuple(_NAMES["llama_cpp"]["gone"])
ON_IN_LLAMA_CPP: tuple[str, ...] = tuple(_NAMES["llama_cpp"]["on"])
OFF_IN_LLAMA_CPP: tuple[str, ...] = tuple(_NAMES["llama_cpp"]["off"])
NEURON: tuple[str, ...] = tuple(_NAMES["neuron"])
TEI_SINCE: Mapping[str, str] = _NAMES["tei"]["since"]
TEI_SWITCHES: tuple[str, ...] = tuple(_NAMES["tei"]["switches"])
TEI_LIMITS: tuple[str, ...] = tuple(_NAMES["tei"]["limits"])
TEI_NUMBERS: tuple[str, ...] = tuple(_NAMES["tei"]["numbers"])
TEI_CHOICES: Mapping[str, Mapping[str, str]] = _NAMES["tei"]["choices"]
TEI_PAIRS: tuple[list[str], ...] = tuple(_NAMES["tei"]["pairs"])
OMNI: Mapping[str, list[str]] = _NAMES["vllm_omni"]["arguments"]
VLLM_CONFIGURATION: Mapping[str, Mapping[str, list[str]]] = _NAMES["vllm_configuration"]
VLLM_INSTEAD: Mapping[str, str] = _NAMES["vllm_instead"]
VLLM_STATEFUL: tuple[str, ...] = tuple(_NAMES["vllm_stateful"])
USUAL_NAMES: Mapping[str, str] = _NAMES["usual"]
VLLM_PROCESS: tuple[str, ...] = tuple(_NAMES["vllm_process"])


class EngineArgument(NamedTuple):
    """
    How one release reads an argument.

    Args:
        name: The long name, without dashes in front.

        kind: ``bool``, ``int``, ``float``, ``str``, ``json``, ``json_or_str``,
            ``kvs`` (``a=1,b=2``), ``human_int`` (``8k``), or ``human_int_or_auto``.

        aliases: Other spellings, with their dashes.

        default: What is used where it is left out; ``None`` where the engine decides.

        nargs: ``+``, ``*`` or ``?`` as argparse has them; ``None`` for one value.

        known_values: The values that the engine knows, which its parser does not check.

        has_negative: Whether ``--no-<name>`` switches it off.

        takes_truth: Whether a ``bool`` takes ``true`` or ``false`` after it.

        allows_none: Whether the text ``None`` leaves it unset.

        bounds: Limits by ``ge``, ``gt``, ``le`` and ``lt``, checked when the engine
            is configured.

        schema: The configuration class that its JSON is read into.

        is_csv: Whether one value holds a list, with commas between.

        folds: Whether capitals and dashes of its choices are taken for the others.

        action: The name of a parser's own action; ``append`` may come several times.

        instead: The argument that takes its place, with its dashes.

        source: ``engine``, ``async`` or ``frontend`` of vLLM; of SGLang, how it was
            declared.
    """

    name: str
    kind: str = "str"
    aliases: tuple[str, ...] = ()
    default: Any = None
    nargs: str | None = None
    choices: tuple[Any, ...] = ()
    known_values: tuple[str, ...] = ()
    has_negative: bool = False
    takes_truth: bool = False
    allows_none: bool = False
    bounds: Mapping[str, float] = {}
    schema: str | None = None
    is_csv: bool = False
    folds: bool = False
    action: str | None = None
    is_required: bool = False
    deprecation: str = ""
    instead: str | None = None
    source: str = ""

    @property
    def is_switch(self) -> bool:
        """
        Whether it takes no value.
        """
        return self.kind == "bool" and not self.takes_truth

    @property
    def takes_several(self) -> bool:
        """
        Whether it takes a list of values.
        """
        return self.nargs in {"+", "*"}


def engine_releases(engine: Engine) -> tuple[str, ...]:
    """
    Return the releases that the table describes, oldest first.
    """
    return tuple(load(TABLES[engine])["versions"])


@functools.lru_cache
def described_release(engine: Engine, release: str) -> str:
    """
    Return the release whose rows describe another one: itself, or the newest before,
    or else the oldest.
    """
    numbers = _numbers(release)
    releases = engine_releases(engine)
    return ([one for one in releases if _numbers(one) <= numbers] or [releases[0]])[-1]


@functools.lru_cache(maxsize=64)
def argument_names(engine: Engine, release: str) -> tuple[str, ...]:
    """
    Return the long names that a release knows, in the order of the alphabet.
    """
    return tuple(name for name in _rows(engine) if _has(engine, name, release))


def all_argument_names(engine: Engine) -> tuple[str, ...]:
    """
    Return the long names that some release knows.
    """
    return tuple(_rows(engine))


# Every check asks for its arguments anew.
@functools.lru_cache(maxsize=4096)
def find_argument(engine: Engine, name: str, release: str) -> EngineArgument | None:
    """
    Look up how a release reads an argument; ``None`` where it does not know it.
    """
    if name not in _rows(engine) or not _has(engine, name, release):
        return None
    row = _row_at(engine, name, release)
    return EngineArgument(
        name=name,
        kind=row.get("type") or "str",
        aliases=tuple(row.get("alias", ())),
        default=row.get("default"),
        nargs=row.get("nargs"),
        choices=tuple(row.get("choices", ())),
        known_values=tuple(row.get("known", ())),
        has_negative=bool(row.get("no")),
        takes_truth=bool(row.get("bool_value")),
        allows_none=bool(row.get("null")),
        bounds=row.get("bounds", {}),
        schema=row.get("schema"),
        is_csv=bool(row.get("csv")),
        folds="fold" in row,
        action=row.get("action"),
        is_required=bool(row.get("required")),
        deprecation=_text(row.get("deprecated")),
        instead=row.get("use"),
        source=row.get("src", ""),
    )


@functools.lru_cache(maxsize=64)
def spellings(engine: Engine, release: str) -> Mapping[str, str]:
    """
    Return the long name behind each spelling with its dashes, without ``--no-`` forms.
    """
    found: dict[str, str] = {}
    for name in argument_names(engine, release):
        found[f"--{name}"] = name
        # Few have another spelling, and a row's whole history is long.
        if any("alias" in entry for entry in _rows(engine)[name]["h"]):
            for alias in _row_at(engine, name, release).get("alias", ()):
                found.setdefault(alias, name)
    return found


def find_omni_argument(name: str, release: str | None) -> EngineArgument | None:
    """
    Look up one of vLLM-Omni's own arguments; ``None`` where a release does not have it.

    Between releases that were read one goes by those around it; the newest is taken to
    have what the newest that was read has.
    """
    if name not in OMNI:
        return None
    kind, first, last = OMNI[name]
    at = release or _NAMES["vllm_omni"]["newest_read"]
    if not is_release_between(at, first, last or None):
        return None
    kinds = {"bool": "bool", "negatable": "bool", "several": "str"}
    return EngineArgument(
        name=name,
        kind=kinds.get(kind, kind),
        nargs="+" if kind == "several" else None,
        has_negative=kind == "negatable",
    )


def field_of(engine: Engine, name: str) -> str:
    """
    Return what an argument is called in the engine's own code, by its long name.
    """
    rows = (row["field"] for row in _rows(engine)[name]["h"] if "field" in row)
    return next(rows, name.replace("-", "_"))


def argument_span(engine: Engine, name: str) -> tuple[str, str | None]:
    """
    Return the first and the last release that know an argument; the last is ``None``
    where the newest does.
    """
    row = _rows(engine)[name]
    newest = engine_releases(engine)[-1]
    return row["first"], None if row["last"] == newest else row["last"]


def is_release_between(release: str, first: str, last: str | None = None) -> bool:
    """
    Whether a release lies within two others; without the last, whether it is not older.
    """
    at = _numbers(release)
    return _numbers(first) <= at and (last is None or at <= _numbers(last))


def schema_keys(name: str, release: str) -> tuple[str, ...] | None:
    """
    Return the keys that a configuration class of vLLM takes; ``None`` where that
    release does not have the class, or takes keys that it does not know.
    """
    row = load(TABLES["vllm"])["schemas"].get(name)
    if row is None:
        return None
    since = row.get("unknown_keys_rejected_since", row["first"])
    if not is_release_between(release, max(since, row["first"], key=_numbers)):
        return None
    if not is_release_between(release, row["first"], row["last"]):
        return None
    return tuple(
        key
        for key, span in row["keys"].items()
        if not span or is_release_between(release, *span)
    )


class SchemaKind(NamedTuple):
    """
    What a key of a configuration class is: ``bool``, ``int``, ``float``, ``str``,
    ``object``, with the name of another class behind a colon where it is one, or
    ``list of int``; without choices it takes any value, within bounds by ``ge``,
    ``gt``, ``le`` and ``lt`` where it has some.
    """

    kind: str
    choices: tuple[Any, ...]
    bounds: Mapping[str, float]


@functools.lru_cache(maxsize=64)
def schema_kinds(name: str, release: str) -> Mapping[str, SchemaKind]:
    """
    Return what the keys of a configuration class of vLLM are in a release.
    """
    row = load(TABLES["vllm"])["schemas"].get(name, {"keys": {}, "types": {}})
    found = {}
    for key, span in row["keys"].items():
        if span and not is_release_between(release, *span):
            continue
        kinds = row["types"].get(key)
        if isinstance(kinds, list):
            past = [one for one in kinds if is_release_between(release, one[0])]
            kinds = past[-1][1:] if past else None
        if kinds:
            kind, *more = [kinds] if isinstance(kinds, str) else kinds
            choices = next((one for one in more if isinstance(one, list)), ())
            bounds = next((one for one in more if isinstance(one, dict)), {})
            found[key] = SchemaKind(kind, tuple(choices), bounds)
    return found


@functools.lru_cache(maxsize=16)
def refusals_of(engine: Engine, release: str) -> Mapping[str, Mapping[str, Any]]:
    """
    Return the conditions under which a release refuses what its parser takes, each
    with what its arguments are where they are left out.
    """
    at = described_release(engine, release)
    return {
        row["if"]: row
        for row in load(REFUSALS[engine])["refusals"]
        if any(is_release_between(at, *span) for span in row["in"])
    }


def _rows(engine: Engine) -> Mapping[str, Any]:
    rows: Mapping[str, Any] = load(TABLES[engine])["args"]
    return rows


def _has(engine: Engine, name: str, release: str) -> bool:
    row = _rows(engine)[name]
    at = described_release(engine, release)
    return is_release_between(at, row["first"], row["last"]) and at not in row.get(
        "absent", ()
    )


def _row_at(engine: Engine, name: str, release: str) -> dict[str, Any]:
    at = described_release(engine, release)
    row: dict[str, Any] = {}
    for entry in _rows(engine)[name]["h"]:
        if is_release_between(at, entry["v"]):
            row = changed_row(row, entry)
    return row


def changed_row(row: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return a row after a change in its history.
    """
    plain = {k: v for k, v in entry.items() if k[0] not in "+-" and k != "drop"}
    dropped = entry.get("drop", ())
    after = {k: v for k, v in {**row, **plain}.items() if k not in dropped}
    for key in _LISTS:
        gone = entry.get(f"-{key}", ())
        there = [value for value in after.get(key, ()) if value not in gone]
        there += entry.get(f"+{key}", ())
        if key in after or there:
            after[key] = there
    return after


def _text(value: object) -> str:
    return value if isinstance(value, str) else "deprecated" if value else ""


@functools.lru_cache(maxsize=1024)
def _numbers(release: str) -> tuple[int, ...]:
    # What is no number, as in 0.29.0rc1 or .post1, counts as it begins, or as 0.
    return tuple(_leading(part) for part in release.split("."))


def _leading(part: str) -> int:
    found = re.match(r"\d+", part)
    return int(found[0]) if found else 0
