"""
Making images.json of the SDK's lists and the recorded differences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
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
        "accounts": _accounts(wanted.values(), set().union(*sets)),
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
    for key in ("domains", "accounts", "region_sets"):
        lines += [f" {_text(key)}: {{", *_rows(content[key], 2), " },"]
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
    held_back = [
        *(key for key in record.held_back_versions if key not in versions),
        *(key for key in record.held_back_regions if key not in regions),
    ]
    return [
        *(
            f"{family} {version} is listed now"
            for family, version in added
            if (family, version) in versions
        ),
        *(f"{family} {name} is listed no more" for family, name in held_back),
    ]


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
    families: Iterable[Mapping[str, Release]], regions: set[str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in (row for rows in families for row in rows.values()):
        for region, account in row.accounts.items():
            other = found.setdefault(region, account)
            if other != account:
                raise ValueError(f"{region} has two accounts: {other} and {account}")
    return {region: found[region] for region in sorted(regions)}


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
    versions = {v: versions[v] for v in sorted(versions, key=_numbers)}
    source = f"{record.pin.package} {family}.json"
    return {"repository": repository, "source": source, "versions": versions}


def _family_text(name: str, family: Mapping[str, Any]) -> str:
    head = [f"  {_text(name)}: {{"]
    keys = ("repository", "source")
    head += [f"   {_text(key)}: {_text(family[key])}," for key in keys]
    head.append('   "versions": {')
    return "\n".join([*head, *_rows(family["versions"], 4), "   }", "  }"])


def _rows(mapping: Mapping[str, Any], indent: int) -> Iterator[str]:
    blanks = " " * indent
    return iter(
        _joined([f"{blanks}{_text(k)}: {_text(v)}" for k, v in mapping.items()])
    )


def _joined(rows: list[str]) -> list[str]:
    return [f"{row}," for row in rows[:-1]] + rows[-1:]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
