"""
Why a role may do what it may: the reason for each action, for people who review it.

What belongs here is about IAM's documents alone: the reason for each action that the
library asks for, and what of one document another one allows.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from cdk_sagemaker_llm.catalog._data import load

Statement = Mapping[str, Any]
_SERVICE = "sagemaker.amazonaws.com"
_TAKE = "sts:AssumeRole"
_VERSION = "2012-10-17"
# A statement's name ends in this where a key is known by its alias, and in a number
# where a policy has several of one name.
_ENDING = re.compile(r"(ByAlias)?\d*\Z")
# Of conditions; StringEquals knows no wildcards, which nobody writes there.
_COMPARISONS = {"StringEquals", "StringLike", "ArnEquals", "ArnLike", "Bool"}
ALARMS_SERVICE = "cloudwatch.amazonaws.com"
PUBLISH = "sns:Publish"
METADATA = "cdk-sagemaker-llm:given-role"
"""
The key of an entry in the assembly's metadata, which tells the command what a given
role must have: role, policy and trust.
"""


class Verdict(StrEnum):
    """
    What the policies of a principal say of something that it does.
    """

    ALLOWED = "allowed"
    DENIED = "denied"
    UNSAID = "unsaid"


@dataclass(frozen=True, slots=True)
class Reason:
    """
    Why something is allowed.

    Args:
        sid: The statement's name; empty for what is granted on request, which the CDK
            writes without names.

        actions: The actions that it is about.

        why: What they are needed for.

        without: What fails without them.

        source: Who says so.

        beside: For a grant, an action that the principal has with it; without it the
            statement is somebody else's. Empty for what no one else would grant.
    """

    sid: str
    actions: tuple[str, ...]
    why: str
    without: str
    source: str
    beside: str = ""


def policy_document(statements: Iterable[Statement]) -> dict[str, Any]:
    """
    Return a document of statements.
    """
    return {"Version": _VERSION, "Statement": list(statements)}


def trust_document(account: str) -> dict[str, Any]:
    """
    Return whom a role must trust that SageMaker takes, as the library writes it.
    """
    return policy_document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": _SERVICE},
                "Action": _TAKE,
                "Condition": {"StringEquals": {"aws:SourceAccount": account}},
            }
        ]
    )


def pasted(value: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    """
    Write what CloudFormation would compute as text: ``${Name}`` for what is not known.
    """
    if isinstance(value, list):
        return [pasted(each, values) for each in value]
    if isinstance(value, Mapping) and not _is_intrinsic(value):
        return {key: pasted(each, values) for key, each in value.items()}
    if isinstance(value, Mapping):
        value = _as_text(value)
    if not isinstance(value, str):
        return value
    for name, meant in values.items():
        value = value.replace(f"${{{name}}}", meant)
    return value


def lacking(
    statements: Iterable[Statement], allowed: Iterable[Statement]
) -> list[dict[str, Any]]:
    """
    Return what of some statements others do not allow.

    A condition must be the same or none; what is denied, or allowed by ``NotAction``
    and ``NotResource``, is not judged.
    """
    having = [each for each in allowed if each.get("Effect") == "Allow"]
    return [missing for each in statements for missing in _missing(each, having)]


def trusts_sagemaker(document: object) -> bool:
    """
    Whether a trust policy lets SageMaker take the role.
    """
    for statement in statements_of(document):
        principal = statement.get("Principal")
        services = principal.get("Service") if isinstance(principal, Mapping) else None
        if (
            statement.get("Effect") == "Allow"
            and matches_any(_TAKE, listed(statement.get("Action")))
            and _SERVICE in listed(services)
        ):
            return True
    return False


def lets_service(
    document: object, service: str, action: str, context: Mapping[str, str]
) -> bool:
    """
    Whether a resource's policy allows a service something, and denies it nowhere.

    Args:
        context: The values of condition keys, whose names are in lower case here. A
            condition on any other key does not hold.
    """
    effects = {
        each.get("Effect")
        for each in statements_of(document)
        if is_about(each, service, action) and _holds(each.get("Condition"), context)
    }
    return effects == {"Allow"}


def judge(
    documents: Iterable[object], action: str, resource: str, context: Mapping[str, str]
) -> Verdict:
    """
    Return what a principal's own policies say of an action on a resource.

    Args:
        context: The values of condition keys, whose names are in lower case here. A
            condition on any other key does not hold.
    """
    effects = {
        each.get("Effect")
        for document in documents
        for each in statements_of(document)
        if _speaks_of(each, "Action", action, ignore_case=True)
        and _speaks_of(each, "Resource", resource)
        and _holds(each.get("Condition"), context)
    }
    if "Deny" in effects:
        return Verdict.DENIED
    return Verdict.ALLOWED if "Allow" in effects else Verdict.UNSAID


def _speaks_of(
    statement: Statement, element: str, name: str, *, ignore_case: bool = False
) -> bool:
    others = statement.get(f"Not{element}")
    if others is not None:
        return not matches_any(name, listed(others), ignore_case=ignore_case)
    return matches_any(name, listed(statement.get(element)), ignore_case=ignore_case)


def is_about(statement: Statement, service: str, action: str) -> bool:
    """
    Whether a statement of a resource's policy speaks of what a service does.
    """
    principal = statement.get("Principal")
    kinds = principal if isinstance(principal, Mapping) else {"AWS": principal}
    names = {str(one) for each in kinds.values() for one in listed(each)}
    return not names.isdisjoint({"*", service}) and matches_any(
        action, listed(statement.get("Action")), ignore_case=True
    )


def statements_of(document: object) -> Iterator[Statement]:
    """
    Return the statements of a document, as far as they can be read.
    """
    if isinstance(document, Mapping):
        for statement in listed(document.get("Statement")):
            if isinstance(statement, Mapping):
                yield statement


@functools.cache
def reasons() -> tuple[Reason, ...]:
    """
    Return all reasons, in the order in which they are shown.

    A statement whose name and action have none fails a test, and so does a reason that
    no statement needs.
    """
    rows = load("permission_reasons.json")["reasons"]
    return tuple(
        Reason(**{"sid": "", **row, "actions": tuple(row["actions"])}) for row in rows
    )


def reason_for(
    sid: str, action: str, others: Collection[str] = frozenset()
) -> Reason | None:
    """
    Return why an action is in a statement; ``None`` for one of somebody else.

    Args:
        others: All actions that the same principal is allowed, which tell whose a
            grant is.
            If omitted, only what nobody else would grant is known.
    """
    reason = _by_statement().get((_ENDING.sub("", sid), action))
    if reason is None or not reason.beside:
        return reason
    is_known = any(other.startswith(reason.beside) for other in others)
    return reason if is_known else None


@functools.cache
def _by_statement() -> Mapping[tuple[str, str], Reason]:
    return MappingProxyType(
        {(one.sid, action): one for one in reasons() for action in one.actions}
    )


def _missing(statement: Statement, having: Sequence[Statement]) -> list[dict[str, Any]]:
    resources = listed(statement.get("Resource"))
    open_ = {
        action: [
            each for each in resources if not _allows(having, action, each, statement)
        ]
        for action in listed(statement.get("Action"))
    }
    actions = [action for action, left in open_.items() if left]
    if not actions:
        return []
    left = [each for each in resources if any(each in open_[one] for one in actions)]
    return [{**statement, "Action": actions, "Resource": left}]


def _allows(
    having: Sequence[Statement], action: str, resource: str, statement: Statement
) -> bool:
    return any(
        matches_any(action, listed(each.get("Action")), ignore_case=True)
        and matches_any(_any_partition(resource), _resources(each))
        and each.get("Condition") in (None, statement.get("Condition"))
        for each in having
    )


def _holds(condition: Mapping[str, Any] | None, context: Mapping[str, str]) -> bool:
    return all(
        operator in _COMPARISONS
        and matches_any(
            context.get(key.lower(), ""),
            listed(values),
            ignore_case=operator == "Bool",
        )
        for operator, keys in (condition or {}).items()
        for key, values in keys.items()
    )


def _resources(statement: Statement) -> list[str]:
    return [_any_partition(str(each)) for each in listed(statement.get("Resource"))]


def _any_partition(arn: str) -> str:
    return re.sub(r"\Aarn:(aws[a-z-]*|\$\{AWS::Partition\}):", "arn:aws:", str(arn))


def matches_any(
    text: str, patterns: Iterable[object], *, ignore_case: bool = False
) -> bool:
    """
    Whether a text is one of some patterns of IAM, with ``*`` and ``?``.
    """
    flags = re.IGNORECASE | re.DOTALL if ignore_case else re.DOTALL
    forms = (re.escape(str(each)) for each in patterns)
    return any(
        re.fullmatch(form.replace(r"\*", ".*").replace(r"\?", "."), text, flags)
        for form in forms
    )


def listed(value: object) -> list[Any]:
    """
    Return the elements of a list, or of what a policy has in place of a list of one.
    """
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _is_intrinsic(value: Mapping[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    match value:
        case {"Fn::Sub": str(text)}:
            return text
        case {"Fn::Join": [str(separator), [*parts]]}:
            return separator.join(map(_as_text, parts))
    return f"${{{_name_of(value)}}}"


def _name_of(value: object) -> str:
    match value:
        case {"Ref": str(name)} | {"Fn::FindInMap": [str(name), *_]}:
            return name
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
        case {"Fn::ImportValue": name}:
            return _as_text(name)
        case {"Fn::GetStackOutput": {"StackName": stack, "OutputName": name}}:
            return f"{_as_text(stack)}.{_as_text(name)}"
    return json.dumps(value)
