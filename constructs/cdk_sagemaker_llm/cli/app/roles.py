"""
The roles of a synthesised app: who may take each, and what it may do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cdk_sagemaker_llm.cli.app.assembly import Stack
from cdk_sagemaker_llm.cli.app.intrinsics import resolve
from cdk_sagemaker_llm.cli.app.template_shapes import text_of
from cdk_sagemaker_llm.permissions import Reason, listed, reason_for, statements_of

# A policy names whom it is attached to, by the kind.
_HOLDERS = {"Roles": "Role", "Users": "User", "Groups": "Group"}
_POLICIES = ("Policy", "ManagedPolicy", "RolePolicy", "UserPolicy", "GroupPolicy")


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """
    One action of a statement.

    Args:
        sid: The statement's name; empty if it has none.

        action: The action; for a statement of ``NotAction``, with ``not`` before it.

        resources: On what, with the references left as ``${...}``.

        reason: Why, if it is of this library.
    """

    policy: str
    sid: str
    effect: str
    action: str
    resources: tuple[str, ...]
    condition: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Holder:
    """
    A role, or a user or group, and what it may do.

    Args:
        place: Where it is defined, such as ``Chat/ModelRole``, or the name of one that
            is not defined in the app.

        is_given: Whether it is made elsewhere.

        managed_policies: The ARNs of policies whose contents are not in the app.
    """

    place: str
    kind: str = "Role"
    is_given: bool = False
    name: str = ""
    trusted: tuple[str, ...] = ()
    boundary: str = ""
    managed_policies: tuple[str, ...] = ()
    allowed: tuple[Permission, ...] = ()


def holders_in(stacks: Sequence[Stack]) -> list[Holder]:
    """
    Return every role, user and group of an app that policies speak of, in the order of
    their places.
    """
    found: dict[str, dict[str, Any]] = {}
    for stack in stacks:
        for kind in _HOLDERS.values():
            for name, properties in stack.of_type(kind, "IAM"):
                place = f"{stack.name}/{name}"
                found[place] = _defined(stack, place, kind, properties)
    for stack in stacks:
        for kind in _POLICIES:
            for name, properties in stack.of_type(kind, "IAM"):
                document = properties.get("PolicyDocument")
                allowed = list(_allowed(f"{stack.name}/{name}", document))
                for holder in _holders(found, stack, properties):
                    holder["allowed"] += allowed
    _attach_managed(found, stacks)
    return [_with_reasons(found[place]) for place in sorted(found)]


def condition_text(condition: Mapping[str, Any]) -> str:
    """
    Write a condition in a line.
    """
    return " and ".join(
        f"{operator} {key} = {' or '.join(map(text_of, listed(values)))}"
        for operator, keys in condition.items()
        if isinstance(keys, Mapping)
        for key, values in keys.items()
    )


def _defined(
    stack: Stack, place: str, kind: str, properties: Mapping[str, Any]
) -> dict[str, Any]:
    inline = (p for p in listed(properties.get("Policies")) if isinstance(p, Mapping))
    documents = (
        (text_of(p.get("PolicyName")), p.get("PolicyDocument")) for p in inline
    )
    return {
        "place": place,
        "kind": kind,
        "name": text_of(properties.get(f"{kind}Name", "")),
        "trusted": tuple(_trusted(properties.get("AssumeRolePolicyDocument"))),
        "boundary": text_of(properties.get("PermissionsBoundary", "")),
        "managed": [
            (stack, arn) for arn in listed(properties.get("ManagedPolicyArns"))
        ],
        "allowed": [
            each
            for name, document in documents
            for each in _allowed(f"{place}/{name}", document)
        ],
    }


def _holders(
    found: dict[str, dict[str, Any]], stack: Stack, properties: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for key, kind in _HOLDERS.items():
        named = [*listed(properties.get(key)), *listed(properties.get(f"{kind}Name"))]
        for value in named:
            place = resolve(stack, value) or text_of(value)
            other = {"place": place, "kind": kind, "is_given": True}
            yield found.setdefault(place, {**other, "managed": [], "allowed": []})


def _attach_managed(found: dict[str, dict[str, Any]], stacks: Sequence[Stack]) -> None:
    documents = {
        f"{one.name}/{name}": properties.get("PolicyDocument")
        for one in stacks
        for name, properties in one.of_type("ManagedPolicy", "IAM")
    }
    for holder in found.values():
        left = []
        for where, arn in holder["managed"]:
            key = resolve(where, arn)
            if key in documents:
                holder["allowed"] += _allowed(key, documents[key])
            else:
                left.append((where, arn))
        holder["managed"] = left


def _with_reasons(holder: dict[str, Any]) -> Holder:
    managed = holder.pop("managed")
    allowed = holder.pop("allowed")
    others = {each.action for each in allowed}
    return Holder(
        **holder,
        managed_policies=tuple(text_of(arn) for _, arn in managed),
        allowed=tuple(
            replace(each, reason=reason_for(each.sid, each.action, others))
            if each.effect == "Allow"
            else each
            for each in allowed
        ),
    )


def _trusted(document: object) -> Iterator[str]:
    for statement in statements_of(document):
        principals = statement.get("Principal", {})
        if not isinstance(principals, Mapping):
            principals = {"": principals}
        texts = [
            f"{kind} {text_of(who)}".strip() if kind != "Service" else text_of(who)
            for kind, each in principals.items()
            for who in listed(each)
        ]
        condition = statement.get("Condition")
        words = condition_text(condition) if isinstance(condition, Mapping) else ""
        yield ", ".join(texts) + (f" if {words}" if words else "")


def _allowed(policy: str, document: object) -> Iterator[Permission]:
    for statement in statements_of(document):
        condition = statement.get("Condition")
        resources = [
            f"{before}{text_of(resource)}"
            for word, before in (("Resource", ""), ("NotResource", "not "))
            for resource in listed(statement.get(word))
        ]
        for word, before in (("Action", ""), ("NotAction", "not ")):
            for action in listed(statement.get(word)):
                yield Permission(
                    policy=policy,
                    sid=text_of(statement.get("Sid", "")),
                    effect=text_of(statement.get("Effect", "")),
                    action=f"{before}{text_of(action)}",
                    resources=tuple(resources),
                    condition=condition if isinstance(condition, Mapping) else {},
                )
