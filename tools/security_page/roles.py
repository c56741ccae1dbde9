"""
Who may do what: a table of reasons, and one of each role.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from cdk_sagemaker_llm.cli.assembly import read_stacks
from cdk_sagemaker_llm.cli.roles import Allowed, Holder, condition_text, holders_in
from cdk_sagemaker_llm.permissions.reasons import REASONS, Reason
from tools.engine_page.tables import code, codes, table

_REASONS = """\
## Reasons

Every action that the library asks for, for a role that it makes or is given, or \
grants on request.
`sagemaker-llm permissions cdk.out` prints them for an app of yours.
"""
_ROLES = """\
## Roles

`Sid` is the statement's name in the template; what is granted on request has none.
`${...}` is decided at deployment.
"""
# The CDK ends a logical id in this.
_HASH = re.compile(r"(?<=[a-z])[0-9A-F]{8}(?=\b)")
_NOT_OURS = "*not of this library*"


def holders_by_app(assemblies: Path) -> dict[str, list[Holder]]:
    """
    Return the roles of each app, by its name.
    """
    folders = sorted(path.parent for path in assemblies.glob("*/manifest.json"))
    return {folder.name: holders_in(read_stacks(folder)) for folder in folders}


def used(assemblies: Path) -> dict[Reason, set[str]]:
    """
    Return the apps that need each reason.
    """
    found: dict[Reason, set[str]] = defaultdict(set)
    for app, holders in holders_by_app(assemblies).items():
        for holder in holders:
            for each in holder.allowed:
                if each.reason is not None:
                    found[each.reason].add(app)
    return found


def reasons(assemblies: Path) -> str:
    """
    Return the section of reasons.
    """
    counted = used(assemblies)
    rows = (
        [
            code(one.sid),
            codes(one.actions),
            one.why,
            one.without,
            one.source,
            str(len(counted.get(one, ()))),
        ]
        for one in REASONS
    )
    head = ("Sid", "actions", "why", "without", "source", "apps below")
    return f"{_REASONS}\n{table(head, rows)}"


def roles(assemblies: Path) -> str:
    """
    Return the section of roles.
    """
    apps = (_app(name, holders) for name, holders in holders_by_app(assemblies).items())
    return "\n".join([_ROLES, *apps])


def _app(name: str, holders: Sequence[Holder]) -> str:
    where = "app.py" if name == "reference" else f"examples/{name}/app.py"
    parts = [f"### [{name}](../{where})\n", *(_holder(each) for each in holders)]
    return "\n".join(parts)


def _holder(holder: Holder) -> str:
    trusted = f", taken by {'; '.join(holder.trusted)}" if holder.trusted else ""
    boundary = f", bounded by {code(holder.boundary)}" if holder.boundary else ""
    managed = "".join(
        f", with the policy {code(arn)}" for arn in holder.managed_policies
    )
    head = ("Sid", "actions", "on", "if", "why")
    place = _HASH.sub("", holder.place)
    told = f"{holder.kind} {code(place)}{trusted}{boundary}{managed}:\n"
    return f"{told}\n{table(head, _rows(holder.allowed))}"


def _rows(allowed: Sequence[Allowed]) -> Iterator[list[str]]:
    for one, group in groupby(allowed, key=_alike):
        sid, effect, resources, condition, reason = one
        denied = "" if effect == "Allow" else f"{effect}: "
        yield [
            code(sid),
            denied + codes(each.action for each in group),
            codes(_HASH.sub("", each) for each in resources),
            code(condition),
            _NOT_OURS if reason is None else reason.why,
        ]


def _alike(
    one: Allowed,
) -> tuple[str, str, tuple[str, ...], str, Reason | None]:
    condition = condition_text(one.condition)
    return (one.sid, one.effect, one.resources, condition, one.reason)
