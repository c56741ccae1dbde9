"""
``sagemaker-llm permissions``: what the roles of an app may do, on what, and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from cdk_sagemaker_llm.cli.app.assembly import read_app
from cdk_sagemaker_llm.cli.app.roles import (
    Holder,
    Permission,
    condition_text,
    holders_in,
)
from cdk_sagemaker_llm.cli.app.template_shapes import MANIFEST, AssemblyError, read_json
from cdk_sagemaker_llm.permissions import (
    METADATA,
    policy_document,
    statements_of,
    trust_document,
)

MISUSE = 2
_NOT_OURS = "not of this library"
_HASH = re.compile(r"[0-9A-F]{8}\Z")
_NUMBER = re.compile(r"\d*\Z")
_OPEN = re.compile(r"\$\{[^}]*\}")


def permissions(
    *,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="CDK.OUT", help="What cdk synth has written, or one template."
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the roles as JSON.")
    ] = False,
    role: Annotated[
        str | None,
        typer.Option(
            help="Print the policy that this role must have, by its name, ARN or place "
            "in the app; if omitted, all roles."
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Print whom the role must trust instead."),
    ] = False,
) -> None:
    """
    Print role by role what it may do, on what, under which condition, and why.

    The reason of each action is the library's own, with the source that asks for it;
    what other constructs allow is listed as not of this library. With --role, one JSON
    document is printed, ready to be pasted into a policy. Exits with 0, or 2 where
    something cannot be read or there is no such role; whatever else there is is
    printed.
    """
    if trust and role is None:
        _end("--trust needs --role")
    try:
        found = read_app(path)
    except AssemblyError as fault:
        _end(str(fault))
    absent = (f"the template of {name} is not in it" for name in found.unopened)
    unread = [*found.faults, *absent]
    for reason in unread:
        _tell(reason)
    holders = holders_in(found.stacks)
    if role is not None:
        typer.echo(_document(path, holders, role, trust=trust))
    else:
        roles = {"roles": [_as_dict(holder) for holder in holders]}
        text = json.dumps(roles, indent=2) if as_json else "\n".join(lines(holders))
        typer.echo(text)
    if unread:
        raise typer.Exit(MISUSE)


def _document(path: Path, holders: Sequence[Holder], role: str, *, trust: bool) -> str:
    policy = needed(path, holders, role)
    if policy is None:
        names = ", ".join(holder.name or holder.place for holder in holders)
        _end(f"the app has no role {role!r}" + (f"; it has {names}" if names else ""))
    document = trusted(path, role) if trust else policy
    text = json.dumps(document, indent=2)
    if placeholders := sorted(set(_OPEN.findall(text))):
        _tell(f"put in what only deployment knows: {', '.join(placeholders)}")
    return text


def _tell(text: str) -> None:
    typer.echo(f"sagemaker-llm permissions: {text}", err=True)


def _end(text: str) -> NoReturn:
    _tell(text)
    raise typer.Exit(MISUSE)


def lines(holders: Sequence[Holder]) -> Iterator[str]:
    """
    Write roles for a reader.
    """
    if not holders:
        yield "there is no role in it"
    for holder in holders:
        name = f" named {holder.name}" if holder.name else ""
        made = ", made elsewhere" if holder.is_given else ""
        yield f"{holder.kind.lower()} {holder.place}{name}{made}"
        yield from (f"  taken by {each}" for each in holder.trusted)
        if holder.boundary:
            yield f"  bounded by {holder.boundary}"
        for arn in holder.managed_policies:
            yield f"  has the policy {arn}, whose contents are not in the app"
        for alike in (list(group) for _, group in groupby(holder.allowed, _but_action)):
            one, actions = alike[0], ", ".join(each.action for each in alike)
            sid = f" ({one.sid})" if one.sid else ""
            yield f"  {one.effect.lower()} {actions}{sid}"
            yield from (f"    on {resource}" for resource in one.resources)
            if condition := condition_text(one.condition):
                yield f"    if {condition}"
            if one.reason is None:
                yield f"    {_NOT_OURS}: {one.policy}"
            else:
                yield f"    why: {one.reason.why}"
                yield f"    without: {one.reason.without}"
                yield f"    source: {one.reason.source}"


def _but_action(one: Permission) -> tuple[Any, ...]:
    condition = condition_text(one.condition)
    return (one.policy, one.sid, one.effect, one.resources, condition, one.reason)


def _as_dict(holder: Holder) -> dict[str, Any]:
    actions = [
        {
            "policy": one.policy,
            "sid": one.sid or None,
            "effect": one.effect,
            "action": one.action,
            "resources": list(one.resources),
            "condition": dict(one.condition) or None,
            "why": one.reason.why if one.reason else None,
            "without": one.reason.without if one.reason else None,
            "source": one.reason.source if one.reason else None,
        }
        for one in holder.allowed
    ]
    return {
        "role": holder.place,
        "kind": holder.kind,
        "name": holder.name or None,
        "made_elsewhere": holder.is_given,
        "trusted": list(holder.trusted),
        "permissions_boundary": holder.boundary or None,
        "managed_policies": list(holder.managed_policies),
        "allowed": actions,
    }


def needed(path: Path, holders: Sequence[Holder], role: str) -> dict[str, Any] | None:
    """
    Return the policy that a role must have, of what this library asks for; ``None`` if
    the app has no such role.
    """
    entries = [
        each.get("policy") for each in _entries_of(path) if _is(each.get("role"), role)
    ]
    found = [one for one in holders if _names(one) & {role, role.rpartition("/")[2]}]
    if not entries and not found:
        return None
    statements = [each for document in entries for each in statements_of(document)]
    for holder in found:
        statements += _statements(holder.allowed)
    return policy_document(_numbered(statements))


def trusted(path: Path, role: str) -> dict[str, Any]:
    for each in _entries_of(path):
        if _is(each.get("role"), role) and isinstance(each.get("trust"), dict):
            found: dict[str, Any] = each["trust"]
            return found
    return trust_document("${AWS::AccountId}")


def _entries_of(path: Path) -> Iterator[Mapping[str, Any]]:
    """
    Return what the constructs write of roles that are made elsewhere.
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


def _is(name: object, role: str) -> bool:
    return isinstance(name, str) and name in {role, role.rpartition("/")[2]}


def _names(holder: Holder) -> set[str]:
    last = holder.place.rpartition("/")[2]
    places = {holder.place, last, _HASH.sub("", last), _HASH.sub("", holder.place)}
    return {name for name in (holder.name, *places) if name}


def _statements(allowed: Sequence[Permission]) -> Iterator[dict[str, Any]]:
    ours = [each for each in allowed if each.reason is not None]
    for _, group in groupby(ours, _statement):
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


def _statement(one: Permission) -> tuple[Any, ...]:
    return (one.policy, one.sid, one.resources, one.condition)


def _numbered(statements: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    counts: dict[str, int] = {}
    seen = set()
    for statement in statements:
        sid = _NUMBER.sub("", str(statement.get("Sid", "")))
        key = json.dumps({**statement, "Sid": sid}, sort_keys=True)
        if key in seen:
            continue
        seen.add(key)
        counts[sid] = counts.get(sid, 0) + 1
        number = counts[sid] if counts[sid] > 1 else ""
        found.append({**statement, **({"Sid": f"{sid}{number}"} if sid else {})})
    return found
