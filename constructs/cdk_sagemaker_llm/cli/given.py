"""
What one role must have: a policy, and whom it must trust, ready to be pasted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.cli.roles import Allowed, Holder
from cdk_sagemaker_llm.cli.shapes import MANIFEST, AssemblyError, read_json
from cdk_sagemaker_llm.permissions import (
    METADATA,
    policy_document,
    statements_of,
    trust_document,
)

_HASH = re.compile(r"[0-9A-F]{8}\Z")
_NUMBER = re.compile(r"\d*\Z")
_OPEN = re.compile(r"\$\{[^}]*\}")


def needed(path: Path, holders: Sequence[Holder], role: str) -> dict[str, Any] | None:
    """
    Return the policy that a role must have, of what this library asks for; ``None`` if
    the app has no such role.

    Args:
        path: The cloud assembly.

        holders: Its roles.

        role: The role's name, ARN or place in the app.
    """
    told = [each.get("policy") for each in _told(path) if _is(each.get("role"), role)]
    found = [one for one in holders if _names(one) & {role, role.rpartition("/")[2]}]
    if not told and not found:
        return None
    statements = [each for document in told for each in statements_of(document)]
    for holder in found:
        statements += _statements(holder.allowed)
    return policy_document(_numbered(statements))


def trusted(path: Path, role: str) -> dict[str, Any]:
    """
    Return whom a role must trust.
    """
    for each in _told(path):
        if _is(each.get("role"), role) and isinstance(each.get("trust"), dict):
            found: dict[str, Any] = each["trust"]
            return found
    return trust_document("${AWS::AccountId}")


def left_open(document: Mapping[str, Any]) -> list[str]:
    """
    Return the placeholders in a document, which only deployment knows.
    """
    return sorted(set(_OPEN.findall(json.dumps(document))))


def _told(path: Path) -> Iterator[Mapping[str, Any]]:
    """
    Return what the constructs have said of roles that stay as they are.
    """
    for file in sorted(path.rglob("*.metadata.json")) if path.is_dir() else ():
        yield from _entries(_read(file))
    for file in sorted(path.rglob(MANIFEST)) if path.is_dir() else ():
        artifacts = _read(file).get("artifacts")
        for each in artifacts.values() if isinstance(artifacts, dict) else ():
            if isinstance(each, dict):
                yield from _entries(each.get("metadata"))


def _read(file: Path) -> dict[str, Any]:
    try:
        return read_json(file)
    except AssemblyError:
        # What of the assembly cannot be read is told where its stacks are read.
        return {}


def _entries(metadata: object) -> Iterator[Mapping[str, Any]]:
    for entries in metadata.values() if isinstance(metadata, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            is_ours = isinstance(entry, dict) and entry.get("type") == METADATA
            if is_ours and isinstance(entry.get("data"), dict):
                yield entry["data"]


def _is(told: object, role: str) -> bool:
    return isinstance(told, str) and told in {role, role.rpartition("/")[2]}


def _names(holder: Holder) -> set[str]:
    last = holder.place.rpartition("/")[2]
    places = {holder.place, last, _HASH.sub("", last), _HASH.sub("", holder.place)}
    return {name for name in (holder.name, *places) if name}


def _statements(allowed: Sequence[Allowed]) -> Iterator[dict[str, Any]]:
    """
    Put the actions of ours together as statements have them.
    """
    ours = [each for each in allowed if each.reason is not None]
    for _, group in groupby(ours, key=lambda one: (one.policy, one.sid, one.resources)):
        every = list(group)
        first = every[0]
        sid = {"Sid": first.sid} if first.sid else {}
        condition = {"Condition": dict(first.condition)} if first.condition else {}
        yield {
            **sid,
            "Effect": "Allow",
            "Action": [each.action for each in every],
            "Resource": list(first.resources),
            **condition,
        }


def _numbered(statements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """
    Leave out repeats, and give each statement a name of its own, as IAM asks.
    """
    found: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    known = set()
    for statement in statements:
        sid = _NUMBER.sub("", str(statement.get("Sid", "")))
        key = json.dumps({**statement, "Sid": sid}, sort_keys=True)
        if key in known:
            continue
        known.add(key)
        counts[sid] = counts.get(sid, 0) + 1
        number = counts[sid] if counts[sid] > 1 else ""
        found.append({**statement, **({"Sid": f"{sid}{number}"} if sid else {})})
    return found
