"""
``sagemaker-llm permissions``: what the roles of an app may do, on what, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from cdk_sagemaker_llm.cli.assembly import (
    Assembly,
    read_assembly,
    read_template,
)
from cdk_sagemaker_llm.cli.given import left_open, needed, trusted
from cdk_sagemaker_llm.cli.roles import Allowed, Holder, condition_text, holders_in
from cdk_sagemaker_llm.cli.shapes import AssemblyError, is_assembly

MISUSE = 2
_NOT_OURS = "not of this library"


def register(app: typer.Typer) -> None:
    """
    Add the subcommand.
    """
    app.command("permissions")(permissions)


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
            "in the app; left out, all roles."
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
        found = read_assembly(path) if is_assembly(path) else read_template(path)
    except AssemblyError as fault:
        _end(str(fault))
    unread = _unread(found)
    for reason in unread:
        _tell(reason)
    holders = holders_in(found.stacks)
    if role is not None:
        typer.echo(_document(path, holders, role, trust=trust))
    else:
        typer.echo(_as_json(holders) if as_json else "\n".join(lines(holders)))
    if unread:
        raise typer.Exit(MISUSE)


def _document(path: Path, holders: Sequence[Holder], role: str, *, trust: bool) -> str:
    policy = needed(path, holders, role)
    if policy is None:
        known = ", ".join(holder.name or holder.place for holder in holders)
        _end(f"the app has no role {role!r}" + (f"; it has {known}" if known else ""))
    document = trusted(path, role) if trust else policy
    open_ = left_open(document)
    if open_:
        _tell(f"put in what only deployment knows: {', '.join(open_)}")
    return json.dumps(document, indent=2)


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
        yield _heading(holder)
        yield from (f"  taken by {each}" for each in holder.trusted)
        if holder.boundary:
            yield f"  bounded by {holder.boundary}"
        for arn in holder.managed_policies:
            yield f"  has the policy {arn}, whose contents are not in the app"
        yield from _statement_lines(holder.allowed)


def _statement_lines(allowed: Sequence[Allowed]) -> Iterator[str]:
    for one, group in groupby(allowed, key=_alike):
        policy, sid, effect, resources, condition, reason = one
        actions = ", ".join(each.action for each in group)
        name = f" ({sid})" if sid else ""
        yield f"  {effect.lower()} {actions}{name}"
        yield from (f"    on {resource}" for resource in resources)
        if condition:
            yield f"    if {condition}"
        if reason is None:
            yield f"    {_NOT_OURS}: {policy}"
        else:
            yield f"    why: {reason.why}"
            yield f"    without: {reason.without}"
            yield f"    source: {reason.source}"


def _alike(one: Allowed) -> tuple[Any, ...]:
    condition = condition_text(one.condition)
    return (one.policy, one.sid, one.effect, one.resources, condition, one.reason)


def _heading(holder: Holder) -> str:
    name = f" named {holder.name}" if holder.name else ""
    made = ", made elsewhere" if holder.is_given else ""
    return f"{holder.kind.lower()} {holder.place}{name}{made}"


def _unread(found: Assembly) -> list[str]:
    absent = (f"the template of {name} is not in it" for name in found.unopened)
    return [*found.faults, *absent]


def _as_json(holders: Sequence[Holder]) -> str:
    return json.dumps({"roles": [_as_dict(holder) for holder in holders]}, indent=2)


def _as_dict(holder: Holder) -> dict[str, Any]:
    return {
        "role": holder.place,
        "kind": holder.kind,
        "name": holder.name or None,
        "made_elsewhere": holder.is_given,
        "trusted": list(holder.trusted),
        "permissions_boundary": holder.boundary or None,
        "managed_policies": list(holder.managed_policies),
        "allowed": [_action_dict(each) for each in holder.allowed],
    }


def _action_dict(one: Allowed) -> dict[str, Any]:
    reason = one.reason
    return {
        "policy": one.policy,
        "sid": one.sid or None,
        "effect": one.effect,
        "action": one.action,
        "resources": list(one.resources),
        "condition": dict(one.condition) or None,
        "why": reason.why if reason else None,
        "without": reason.without if reason else None,
        "source": reason.source if reason else None,
    }
