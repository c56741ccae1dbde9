"""
The tables as they are kept: each argument's history over the releases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.catalog.engine_arguments import changed_row, is_release_between

Row = dict[str, Any]
Table = dict[str, Any]
_LISTS = ("choices", "known")
# What is written an entry a line.
_LINES = ("args", "schemas")


@dataclass(frozen=True)
class Release:
    """
    What a release says of its arguments.

    Args:
        rows: The arguments, by their long names.

        wanting: Why others have no row, by their names. They want a hand.

        schemas: The classes that JSON is read into, by their names.
    """

    rows: Mapping[str, Row]
    wanting: Mapping[str, str]
    schemas: Mapping[str, Mapping[str, Any]]


def add(table: Table, release: str, found: Release) -> Table:
    """
    Return a table with one release more, which is newer than all that it has.
    """
    arguments = dict(table["args"])
    for name, row in settled(found.rows, arguments).items():
        arguments[name] = _continued(
            arguments.get(name), row, release, table["versions"]
        )
    after = {**table, "versions": [*table["versions"], release]}
    after["args"] = dict(sorted(arguments.items()))
    if "schemas" in table:
        after["schemas"] = _schemas(table["schemas"], found.schemas, release)
    return after


def again(table: Table, found: Mapping[str, Release]) -> Table:
    """
    Return a table made anew, release by release: of what was asked again, and else of
    what the table has.
    """
    made: Table = {**table, "versions": [], "args": {}}
    if "schemas" in table:
        made["schemas"] = {}
    for release in table["versions"]:
        made = add(made, release, found.get(release) or described(table, release))
    return {key: made[key] for key in table}


def described(table: Table, release: str) -> Release:
    """
    Return a release as a table has it.
    """
    schemas = {
        name: {
            "keys": keys,
            "rejects": _rejects(table["schemas"][name], release),
        }
        for name, keys in schemas_at(table, release).items()
    }
    return Release(at(table, release), {}, schemas)


def _rejects(schema: Mapping[str, Any], release: str) -> bool:
    since = schema.get("unknown_keys_rejected_since")
    return since is not None and is_release_between(release, since)


def row_at(history: Sequence[Mapping[str, Any]]) -> Row:
    """
    Return what a history comes to.
    """
    row: Row = {}
    for entry in history:
        row = changed_row(row, entry)
    row.pop("v", None)
    return row


def at(table: Table, release: str) -> dict[str, Row]:
    """
    Return the rows that a table has of a release.
    """
    return {
        name: row_at([h for h in entry["h"] if not _is_after(h["v"], release)])
        for name, entry in table["args"].items()
        if is_release_between(release, entry["first"], entry["last"])
        and release not in entry.get("absent", ())
    }


def schemas_at(table: Table, release: str) -> dict[str, dict[str, Any]]:
    """
    Return the keys that a table has of each configuration at a release.
    """
    return {
        name: {
            key: _kind_at(entry["types"][key], release)
            for key, span in entry["keys"].items()
            if not span or is_release_between(release, *span)
        }
        for name, entry in table.get("schemas", {}).items()
        if is_release_between(release, entry["first"], entry["last"])
    }


def _kind_at(kinds: Any, release: str) -> list[Any]:  # noqa: ANN401 - as _kinds
    if isinstance(kinds, str):
        return [kinds]
    found: list[Any] = [k for k in kinds if not _is_after(k[0], release)][-1]
    return found[1:]


def _is_after(one: str, release: str) -> bool:
    return not is_release_between(release, one)


def settled(rows: Mapping[str, Row], names: Mapping[str, Any]) -> dict[str, Row]:
    """
    Return rows by the names that the table has, if the engine now says another first.
    """
    found: dict[str, Row] = {}
    for name, row in rows.items():
        others = [one.removeprefix("--") for one in row.get("alias", ())]
        kept = next((one for one in others if one in names), name)
        if name in names or kept in rows:
            kept = name
        if kept != name:
            aliases = {*row["alias"], f"--{name}"} - {f"--{kept}"}
            found[kept] = {**row, "alias": sorted(aliases)}
        else:
            found[name] = row
    return found


def _continued(
    entry: Mapping[str, Any] | None, row: Row, release: str, versions: Sequence[str]
) -> dict[str, Any]:
    if entry is None:
        first = {"v": release, **dict(sorted(row.items()))}
        return {"first": release, "last": release, "h": [first]}
    missed = versions[versions.index(entry["last"]) + 1 :]
    history = list(entry["h"])
    change = changes(row_at(history), row)
    if change:
        history.append({"v": release, **change})
    absent = [*entry.get("absent", ()), *missed]
    found = {"first": entry["first"], "last": release}
    return {**found, **({"absent": absent} if absent else {}), "h": history}


def changes(before: Row, after: Row) -> Row:
    """
    Return what turns one row into another.
    """
    lists = [key for key in _LISTS if key in before and key in after]
    plain = {
        key: after[key]
        for key in sorted(after)
        if key not in lists and not _same(before.get(key, _same), after[key])
    }
    for key in lists:
        come = [one for one in after[key] if one not in before[key]]
        gone = [one for one in before[key] if one not in after[key]]
        plain |= {f"+{key}": come} if come else {}
        plain |= {f"-{key}": gone} if gone else {}
    dropped = sorted(set(before) - set(after))
    return {**plain, "drop": dropped} if dropped else plain


def differs(before: Row, after: Row) -> list[str]:
    """
    Return what differs between a table's row and one that was read, column by column.
    """
    found: list[str] = []
    for key, value in changes(before, after).items():
        if key == "drop":
            found += [f"has no {one}" for one in value]
        else:
            told = before.get(key, "nothing") if key[0] not in "+-" else "less or more"
            found.append(f"{key} is {json.dumps(value)}, and the table has {told}")
    return found


def _same(one: object, other: object) -> bool:
    # True is 1 to Python, and not to an engine.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _schemas(
    known: Mapping[str, Any],
    found: Mapping[str, Mapping[str, Any]],
    release: str,
) -> dict[str, Any]:
    after = dict(known)
    for name in found:
        after[name] = _schema(known.get(name), found[name], release)
    return dict(sorted(after.items()))


def _schema(
    known: Mapping[str, Any] | None, found: Mapping[str, Any], release: str
) -> dict[str, Any]:
    known = known or {"first": release, "last": release, "keys": {}, "types": {}}
    first = known["first"]
    spans = {key: span or [first, known["last"]] for key, span in known["keys"].items()}
    for key in found["keys"]:
        spans[key] = [spans.get(key, [release])[0], release]
    kinds = dict(known["types"])
    for key, kind in found["keys"].items():
        kinds[key] = _kinds(kinds.get(key), kind, spans[key][0], release)
    since = known.get("unknown_keys_rejected_since")
    since = since or (release if found["rejects"] else None)
    return {
        "first": first,
        "last": release,
        **({"unknown_keys_rejected_since": since} if since else {}),
        "keys": {
            key: [] if span == [first, release] else span
            for key, span in sorted(spans.items())
        },
        "types": dict(sorted(kinds.items())),
    }


def _kinds(known: Any, kind: list[Any], first: str, release: str) -> Any:  # noqa: ANN401 - a word or a history of them
    history = [[first, known]] if isinstance(known, str) else list(known or ())
    if not history or history[-1][1:] != kind:
        history.append([release, *kind])
    is_plain = len(history) == 1 and len(history[0]) == len(("release", "kind"))
    return history[0][1] if is_plain else history


def render(table: Mapping[str, Any]) -> str:
    """
    Return a table's text.
    """
    parts: list[str] = []
    for key, value in table.items():
        if key in _LINES:
            lines = ",\n".join(
                f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}"
                for name, entry in value.items()
            )
            parts.append(f"{json.dumps(key)}: {{\n{lines}\n}}")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
