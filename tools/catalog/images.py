"""
Making images.json of the SDK's lists and the recorded differences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tools.catalog.recorded import EVERY_FAMILY, Recorded
from tools.catalog.sdk import Release

Lists = Mapping[str, Mapping[str, Release]]


def build(lists: Lists, record: Recorded, kept: Mapping[str, Any]) -> dict[str, Any]:
    """
    Make the catalogue's content.

    Args:
        lists: The SDK's releases, by family and version.

        record: What to add and to hold back.

        kept: The content to take the domains from, which no list has.

    Raises:
        ValueError: If a record has no counterpart any more, or regions disagree.
    """
    wanted = {
        family: _taken(lists[family], family, record) for family in record.families
    }
    regions = {
        family: {v: _regions(family, row, record) for v, row in rows.items()}
        for family, rows in wanted.items()
    }
    sets = _region_sets(regions, record)
    return {
        "about": record.about,
        "date": record.date,
        "domains": kept["domains"],
        "accounts": _accounts(wanted, regions, record, ""),
        "other_accounts": {
            name: _accounts(wanted, regions, record, name)
            for name in sorted(set(record.accounts.values()))
        },
        "region_sets": {name: sorted(names) for names, name in sets.items()},
        "families": {
            family: _family(family, wanted[family], regions[family], sets, record)
            for family in record.families
        },
    }


def render(content: Mapping[str, Any]) -> str:
    """
    Write the content with a line for each release and each account.
    """
    lines = ["{"]
    lines += [f" {_text(key)}: {_text(content[key])}," for key in ("about", "date")]
    for key in ("domains", "accounts"):
        lines += [f" {_text(key)}: {{", *_rows(content[key], 2), " },"]
    lines.append(' "other_accounts": {')
    lines += _joined(
        [_accounts_text(*row) for row in content["other_accounts"].items()]
    )
    lines += [" },", ' "region_sets": {', *_rows(content["region_sets"], 2), " },"]
    lines.append(' "families": {')
    lines += _joined([_family_text(*item) for item in content["families"].items()])
    return "\n".join([*lines, " }", "}", ""])


def stale_records(lists: Lists, record: Recorded) -> list[str]:
    """
    Return what is recorded and has nothing to differ from any more.
    """
    versions = {(f, v) for f, rows in lists.items() for v in rows}
    regions = {
        (name, region)
        for family, rows in lists.items()
        for row in rows.values()
        for region in row.accounts
        for name in (family, EVERY_FAMILY)
    }
    added = [(image.family, image.version) for image in record.added]
    aliased = {f for f, rows in lists.items() for row in rows.values() if row.aliases}
    held_back = [
        *(key for key in record.held_back_versions if key not in versions),
        *(key for key in record.held_back_regions if key not in regions),
        *((f, "by another name") for f in record.held_back_aliases if f not in aliased),
    ]
    return [
        *(
            f"{family} {version} is listed now"
            for family, version in added
            if (family, version) in versions
        ),
        *(f"{family} {name} is listed no more" for family, name in held_back),
    ]


def undescribed(content: Mapping[str, Any], inside: Mapping[str, Any]) -> list[str]:
    """
    Return the versions of which nobody says what is inside, and the other way round.
    """
    listed, described = (
        {(family, v) for family in inside["families"] for v in _versions(data, family)}
        for data in (content, inside)
    )
    return [
        *(
            f"{f} {v} is not in engine_releases.json"
            for f, v in sorted(listed - described)
        ),
        *(
            f"{f} {v} is in engine_releases.json only"
            for f, v in sorted(described - listed)
        ),
    ]


def _versions(data: Mapping[str, Any], family: str) -> Mapping[str, Any]:
    versions: Mapping[str, Any] = data["families"].get(family, {}).get("versions", {})
    return versions


def _taken(
    rows: Mapping[str, Release], family: str, record: Recorded
) -> dict[str, Release]:
    return {
        version: rows[version]
        for version in sorted(rows, key=_numbers)
        if (family, version) not in record.held_back_versions
    }


def _numbers(version: str) -> tuple[int, ...]:
    # Of 0.36.0-lmi18 the last is LMI's own number.
    return tuple(map(int, re.findall(r"\d+", version)))


def _regions(family: str, row: Release, record: Recorded) -> frozenset[str]:
    return frozenset(r for r in row.accounts if record.takes(family, r))


def _region_sets(
    regions: Mapping[str, Mapping[str, frozenset[str]]], record: Recorded
) -> dict[frozenset[str], str]:
    """
    Name each set of regions by its size, and by a letter where sizes are alike.
    """
    named: dict[frozenset[str], str] = {}
    for family in record.families:
        for names in regions[family].values():
            if names not in named:
                alike = sum(len(other) == len(names) for other in named)
                letter = chr(ord("a") + alike) if alike else ""
                named[names] = f"regions_{len(names)}{letter}"
    return named


def _accounts(
    wanted: Mapping[str, Mapping[str, Release]],
    regions: Mapping[str, Mapping[str, frozenset[str]]],
    record: Recorded,
    name: str,
) -> dict[str, str]:
    """
    Collect the registry accounts by region: those of all families, or those that
    some have under a name.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for family, rows in wanted.items():
        if record.accounts.get(family, "") == name:
            taken.update(*regions[family].values())
            for row in rows.values():
                _collect(found, row.accounts)
    return {region: found[region] for region in sorted(taken)}


def _collect(found: dict[str, str], accounts: Mapping[str, str]) -> None:
    for region, account in accounts.items():
        other = found.setdefault(region, account)
        if other != account:
            raise ValueError(f"{region} has two accounts: {other} and {account}")


def _family(
    family: str,
    rows: Mapping[str, Release],
    regions: Mapping[str, frozenset[str]],
    sets: Mapping[frozenset[str], str],
    record: Recorded,
) -> dict[str, Any]:
    (repository,) = {row.repository for row in rows.values()}
    versions: dict[str, dict[str, str]] = {
        version: {"tag": row.tag, "regions": sets[regions[version]]}
        for version, row in rows.items()
    }
    for image in record.added:
        if image.family == family:
            versions[image.version] = {
                "tag": image.tag,
                "regions": versions[image.regions_of]["regions"],
                "note": image.reason,
            }
    found: dict[str, Any] = {
        "repository": repository,
        "source": f"{record.pin.package} {record.listing(family).name}.json",
    }
    if family in record.accounts:
        found["accounts"] = record.accounts[family]
    aliases = {alias: v for v, row in rows.items() for alias in row.aliases}
    if aliases and family not in record.held_back_aliases:
        found["aliases"] = {alias: aliases[alias] for alias in sorted(aliases)}
    found["versions"] = {v: versions[v] for v in sorted(versions, key=_numbers)}
    return found


def _family_text(name: str, family: Mapping[str, Any]) -> str:
    head = [f"  {_text(name)}: {{"]
    head += [
        f"   {_text(key)}: {_text(value)},"
        for key, value in family.items()
        if key != "versions"
    ]
    head.append('   "versions": {')
    return "\n".join([*head, *_rows(family["versions"], 4), "   }", "  }"])


def _accounts_text(name: str, accounts: Mapping[str, str]) -> str:
    return "\n".join([f"  {_text(name)}: {{", *_rows(accounts, 3), "  }"])


def _rows(mapping: Mapping[str, Any], indent: int) -> Iterator[str]:
    blanks = " " * indent
    return iter(
        _joined([f"{blanks}{_text(k)}: {_text(v)}" for k, v in mapping.items()])
    )


def _joined(rows: list[str]) -> list[str]:
    return [f"{row}," for row in rows[:-1]] + rows[-1:]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
