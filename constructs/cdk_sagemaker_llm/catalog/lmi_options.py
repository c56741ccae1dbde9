"""
Options of serving.properties: which LMI version and backend knows which, and how.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.lmi_versions import LmiVersion, row_versions

# From this version on vLLM's own arguments pass through (VllmRbProperties).
ARGUMENTS_SINCE = "0.32"
_FIRST_DOCUMENTED = "0.26"
# Arguments of vLLM 0.8 were read from its source, which LMI 0.33 ships; the newer
# list is from a fork, and says of no name for certain that it is missing.
_VERIFIED_ARGUMENTS = {"0.32", "0.33"}


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionType:
    """
    How one version reads an option's value.

    Args:
        kind: ``int``, ``float``, ``bool``, ``str``, ``enum``, ``int-enum``,
            ``int-or-max``, ``int-list``, ``counts``, ``floats``, ``dict``, ``any``,
            or ``none`` and ``callable``, which no text can be.

        choices: The values of an enumeration.

        documented_only: Whether this is the documentation's word alone, because the
            reader's source is closed.

        above: The number that a value must exceed, by the documentation.

        range: The least and the largest value, by the documentation.
    """

    kind: str
    choices: tuple[str, ...] = ()
    documented_only: bool = False
    above: float | None = None
    range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """
    The versions in which a backend knows an option; ``last`` is open when ``None``.
    """

    backend: str
    first: str
    last: str | None

    def covers(self, version: str) -> bool:
        """
        Whether a version of the tables lies within.
        """
        order = row_versions()
        last = order[-1] if self.last not in order else self.last
        at = order.index(version)
        return order.index(self.first) <= at <= order.index(str(last))


@functools.lru_cache(maxsize=4096)
def option_type(backend: str, key: str, version: LmiVersion) -> OptionType | None:
    """
    Return how a backend reads an option; ``None`` where its property model has none.
    """
    for row in reversed(version.rows):
        found = _model_type(backend, key, row) or _documented_type(backend, key, row)
        if found is not None:
            return found
    return None


@functools.lru_cache(maxsize=4096)
def front_end_type(key: str) -> OptionType | None:
    """
    Return how the Java server itself reads a key; ``None`` where it does not.
    """
    row = _tables()["server"].get(key) or _tables()["front_end"].get(key)
    return OptionType(kind=row["type"]) if row else None


def is_known(key: str, backends: Iterable[str], version: LmiVersion) -> bool:
    """
    Whether one of the backends, or the server, reads a key at a version.
    """
    return _is_known(key, frozenset(backends), version)


@functools.lru_cache(maxsize=4096)
def _is_known(key: str, backends: frozenset[str], version: LmiVersion) -> bool:
    names = {*backends, "common", "server"}
    spans = [span for span in option_spans(key) if span.backend in names]
    return any(span.covers(row) for span in spans for row in version.rows)


@functools.lru_cache(maxsize=4096)
def option_spans(key: str) -> tuple[Span, ...]:
    """
    Return where a key is known, or was, oldest first; empty for an unknown key.
    """
    found = [*_server_spans(key), *_documented_spans(key)]
    for backend, rows in _tables()["backends"].items():
        if key in rows:
            found += _row_spans(backend, rows[key])
        found += [Span(backend, h["from"], h["to"]) for h in _aliases(backend, key)]
    return tuple(sorted(found, key=lambda span: row_versions().index(span.first)))


@functools.cache
def option_names() -> tuple[str, ...]:
    """
    Return every key that some version reads.
    """
    tables = _tables()
    names = {*tables["server"], *tables["front_end"], *tables["trtllm_documented"]}
    for rows in tables["backends"].values():
        names |= set(rows)
    return tuple(sorted(names))


@functools.lru_cache(maxsize=4096)
def deprecated_since(key: str) -> str | None:
    """
    Return the version that deprecated a key, by the documentation.
    """
    for rows in _tables()["backends"].values():
        since: str | None = rows.get(key, {}).get("deprecated")
        if since:
            return since
    return None


def engine_argument_state(name: str, version: LmiVersion) -> str:
    """
    Say whether vLLM takes an argument: ``known``, ``doubtful`` or ``unknown``.

    Doubtful is what the older list has and the newer, unverified one has not.
    """
    old, new = _arguments("0.8"), _arguments("0.23")
    if version.rows[0] in _VERIFIED_ARGUMENTS:
        return "known" if name in old else "unknown"
    if name in new:
        return "known"
    return "doubtful" if name in old else "unknown"


@functools.cache
def engine_arguments() -> frozenset[str]:
    """
    Return the names of vLLM's arguments in all versions.
    """
    return _arguments("0.8") | _arguments("0.23")


@functools.cache
def _arguments(release: str) -> frozenset[str]:
    return frozenset(load("vllm_engine_args.json")[release])


def _tables() -> Mapping[str, Any]:
    return load("lmi_options.json")


def _model_type(backend: str, key: str, row: str) -> OptionType | None:
    rows = _tables()["backends"].get(backend, {})
    entries = [*rows.get(key, {}).get("history", ()), *_aliases(backend, key)]
    for entry in entries:
        if Span(backend, entry["from"], entry["to"]).covers(row):
            choices = tuple(str(choice) for choice in entry.get("choices", ()))
            return OptionType(kind=entry["type"], choices=choices)
    return None


def _aliases(backend: str, key: str) -> Sequence[Mapping[str, Any]]:
    return _all_aliases(backend).get(key, ())


@functools.cache
def _all_aliases(backend: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    # By name: names that nobody knows are looked up by the thousand.
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in _tables()["backends"].get(backend, {}).values():
        for entry in row.get("history", ()):
            if "alias" in entry:
                found.setdefault(entry["alias"], []).append(entry)
    return found


def _documented_type(backend: str, key: str, row: str) -> OptionType | None:
    if backend != "trtllm":
        return None
    entry = _tables()["trtllm_documented"].get(key)
    if not entry or not Span(backend, entry["since"], entry.get("until")).covers(row):
        return None
    return OptionType(
        kind=entry["type"],
        choices=tuple(entry.get("choices", ())),
        documented_only=True,
        above=entry.get("above"),
        range=tuple(entry["range"]) if "range" in entry else None,
    )


def _row_spans(backend: str, row: Mapping[str, Any]) -> list[Span]:
    if "history" in row:
        return [Span(backend, h["from"], h["to"]) for h in row["history"]]
    documented = row.get("documented")
    if not documented:
        return []
    # The documentation that was read begins with 0.26, which does not say that the
    # option did.
    first = documented["from"]
    first = row_versions()[0] if first == _FIRST_DOCUMENTED else first
    return [Span(backend, first, documented["to"])]


def _server_spans(key: str) -> list[Span]:
    tables = _tables()
    row = tables["server"].get(key) or tables["front_end"].get(key)
    if not row:
        return []
    return [Span("server", row.get("since", row_versions()[0]), row.get("until"))]


def _documented_spans(key: str) -> list[Span]:
    entry = _tables()["trtllm_documented"].get(key)
    return [Span("trtllm", entry["since"], entry.get("until"))] if entry else []
