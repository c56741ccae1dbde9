"""
Options of the TGI launcher: which version knows which variable, and how it reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from cdk_sagemaker_llm.catalog._data import load


class TgiOption(NamedTuple):
    """
    How one version reads a variable.

    Args:
        kind: ``usize``, ``u16``, ``u32``, ``u64``, ``f32``, ``bool``, ``str``,
            ``usize-list``, or ``choice``.

        default: What is used when the variable is left out; ``None`` where the
            launcher decides, often by the model.
    """

    name: str
    kind: str
    choices: tuple[str, ...] = ()
    default: str | None = None


def tgi_versions() -> tuple[str, ...]:
    """
    Return the versions that the table describes, oldest first.
    """
    return tuple(_table()["versions"])


@functools.lru_cache
def described_version(version: str) -> str:
    """
    Return the version whose row describes another one: itself, or the newest before.
    """
    numbers = _numbers(version)
    before = [v for v in tgi_versions() if _numbers(v) <= numbers]
    return before[-1] if before else tgi_versions()[0]


def is_between(version: str, first: str, last: str | None = None) -> bool:
    """
    Whether a version lies within two others; without the last, whether it is not older.
    """
    at = _numbers(version)
    return _numbers(first) <= at and (last is None or at <= _numbers(last))


def tgi_option_names() -> tuple[str, ...]:
    """
    Return every variable that some version knows, without SageMaker's own names.
    """
    return tuple(_rows())


def tgi_aliases() -> Mapping[str, str]:
    """
    Return the launcher's variable for each name of SageMaker's entry point.
    """
    aliases: Mapping[str, str] = _table()["aliases"]
    return aliases


def tgi_flags() -> tuple[str, ...]:
    """
    Return the launcher's options that no variable sets.
    """
    return tuple(_table()["flags"])


def tgi_option_span(name: str) -> tuple[str, str | None]:
    """
    Return the first and the last version that know a variable; the last is ``None``
    where the newest does.
    """
    row = _rows()[name]
    return row["from"], row["to"]


# Every check asks for its variables anew.
@functools.lru_cache(maxsize=1024)
def find_tgi_option(name: str, version: str) -> TgiOption | None:
    """
    Look up how a version reads a variable; ``None`` where it does not.
    """
    row = _rows().get(name)
    at = described_version(version)
    if row is None or not is_between(at, row["from"], row["to"]):
        return None
    entry = _newest(row["history"], at)
    kind, choices = entry["type"], _choices(entry["type"], at)
    return TgiOption(
        name=name,
        kind="choice" if choices else kind,
        choices=choices,
        default=entry["default"],
    )


def _table() -> Mapping[str, Any]:
    return load("tgi_options.json")


@functools.cache
def _rows() -> Mapping[str, Any]:
    return {**_table()["options"], **_table()["router"]}


def _choices(kind: str, version: str) -> tuple[str, ...]:
    if kind not in _table()["choices"]:
        return ()
    return tuple(_newest(_table()["choices"][kind], version)["values"])


def _newest(entries: list[Mapping[str, Any]], version: str) -> Mapping[str, Any]:
    return [e for e in entries if _numbers(e["from"]) <= _numbers(version)][-1]


@functools.lru_cache
def _numbers(version: str) -> tuple[int, ...]:
    # What is no number, as in a release candidate, counts as 0.
    return tuple(int(p) if p.isdecimal() else 0 for p in version.split("."))
