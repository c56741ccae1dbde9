"""
Roles that a user gives: whose they are, whether two are the same, and what one lacks
that stays as it is.

Of a role that is made elsewhere, all that is asked of it is said; of one whose
statements are in the app, what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsii
from aws_cdk import Aspects, IAspect, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.names import OTHER_ARN
from cdk_sagemaker_llm.hosting.common.reporting import annotate
from cdk_sagemaker_llm.hosting.common.scope import account_of, stack_of, stage_of
from cdk_sagemaker_llm.hosting.roles.statements import Statement, document_json
from cdk_sagemaker_llm.permissions import (
    METADATA,
    lacking,
    pasted,
    statements_of,
    trust_document,
    trusts_sagemaker,
)
from cdk_sagemaker_llm.tokens import is_unresolved

UNTOUCHED_ROLE = Rule(
    "LLM237", "a role that stays as it is must be allowed elsewhere what it needs"
)
LACKING_ROLE = Rule(
    "LLM821",
    "a role of the app that stays as it is lacks permissions, as far as can be seen",
)
DISTRUSTING_ROLE = Rule(
    "LLM822",
    "a given role does not let SageMaker take it, as far as can be seen",
    "SageMaker developer guide, sagemaker-roles",
)

FOREIGN_ROLE = Rule(
    "LLM188",
    "an execution role is of another account than the stack",
    "SageMaker API reference, CreateModel",
)


def remind(
    policy: iam.Policy, role: iam.IRole, asked_for: Callable[[], Sequence[Statement]]
) -> None:
    """
    Warn at the end, once, of what a role must be allowed elsewhere.
    """
    Aspects.of(policy).add(_Reminder(role, asked_for))


def trust_findings(role: iam.IRole) -> list[Finding]:
    """
    Check that a role of the app trusts SageMaker; one made elsewhere shows nothing.
    """
    if not isinstance(role, iam.Role) or role.assume_role_policy is None:
        return []
    trust = stack_of(role).resolve(role.assume_role_policy)
    return [] if trusts_sagemaker(trust) else [_distrust_finding(role)]


def role_findings(scope: Construct, role: iam.IRole | None) -> list[Finding]:
    """
    Check that a given role is one, and of the stack's account: SageMaker takes no
    other, and a policy here would go to its namesake.
    """
    if role is None:
        return []
    arn = role.role_arn
    if not is_unresolved(arn) and ":role/" not in arn:
        return [OTHER_ARN.finding(f"role must be an IAM role, got {arn!r}")]
    theirs, ours = role.principal_account, account_of(scope)
    if theirs is None or is_unresolved(theirs) or is_unresolved(ours) or theirs == ours:
        return []
    return [
        FOREIGN_ROLE.finding(
            f"role must be of the stack's account {ours}, got one of {theirs}",
            "let a role of this account read what is over there",
        )
    ]


def same_role(one: iam.IRole, other: iam.IRole) -> bool:
    """
    Return whether two objects stand for one role of the stack's account, where a name
    is unique, as far as synth can tell.
    """
    if one is other:
        return True
    name = one.role_name
    if not is_unresolved(name) and name == other.role_name:
        return True
    return one.role_arn == other.role_arn


def access_id(role: iam.IRole, stack: Stack) -> str:
    """
    Choose the id of what a stack needs of a given role.

    It has the role's name, or where that is decided at deployment its path in the
    stack, or in the stage: never the text of a placeholder.
    """
    name = role.role_name
    if not is_unresolved(name):
        return f"SageMakerAccess:{name}"
    path, ours = role.node.path, stack.node.path
    if path.startswith(f"{ours}/"):
        return f"SageMakerAccessOf:{path.removeprefix(f'{ours}/')}"
    # With a slash before it, which no path in the stack has.
    above = stage_of(stack).node.path
    return f"SageMakerAccessOf:/{path.removeprefix(above).lstrip('/')}"


def stays_as_it_is(policy: iam.Policy) -> bool:
    """
    Return whether a role did not take a policy that was handed to it.
    """
    resource = policy.node.default_child
    roles = resource.roles if isinstance(resource, iam.CfnPolicy) else None
    return not stack_of(policy).resolve(roles)


@jsii.implements(IAspect)
class _Reminder:
    def __init__(
        self, role: iam.IRole, asked_for: Callable[[], Sequence[Statement]]
    ) -> None:
        self._role = role
        self._asked_for = asked_for

    def visit(self, node: IConstruct) -> None:
        """
        Warn at the policy, and not again at its resource.
        """
        if not isinstance(node, iam.Policy):
            return
        stack, needed = stack_of(node), list(self._asked_for())
        values = _placeholder_values(stack)
        document = _resolved(stack, document_json(needed), values)
        seen = _seen(self._role, values)
        node.node.add_metadata(
            METADATA,
            {
                "role": _name_of(self._role),
                "policy": document,
                "trust": trust_document(
                    values.get("AWS::AccountId", "${AWS::AccountId}")
                ),
            },
        )
        if seen is not None:
            annotate(node, _lack_findings(self._role, document, seen))
            return
        needs = "; ".join(str(statement) for statement in needed)
        untouched = UNTOUCHED_ROLE.finding(
            f"role {_name_of(self._role)} stays as it is, and must be allowed {needs}; "
            f"its policy: {_compact(document)}",
            "see that it is, where the role is made",
        )
        annotate(node, [untouched])


def _distrust_finding(role: iam.IRole) -> Finding:
    return DISTRUSTING_ROLE.finding(
        f"role {_name_of(role)} must let sagemaker.amazonaws.com take it "
        "(sts:AssumeRole), and its trust policy does not",
        "make it with assumed_by=ServicePrincipal('sagemaker.amazonaws.com')",
    )


def _placeholder_values(stack: Stack) -> dict[str, str]:
    names = {"AWS::AccountId": stack.account, "AWS::Region": stack.region}
    found = {name: each for name, each in names.items() if not is_unresolved(each)}
    if "AWS::Region" in found:
        from aws_cdk.region_info import RegionInfo  # noqa: PLC0415 - rarely needed

        partition = RegionInfo.get(found["AWS::Region"]).partition
        if partition is not None:
            found["AWS::Partition"] = partition
    return found


def _resolved(stack: Stack, value: object, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    return pasted(stack.resolve(value), values)


def _seen(role: iam.IRole, values: Mapping[str, str]) -> _Seen | None:
    """
    Return what the app says of a role; ``None`` for one that is made elsewhere.
    """
    # Whatever class jsii found for it, it hangs somewhere.
    scope = role.node.scope
    if not isinstance(scope, Construct):
        raise TypeError(f"role must be in a stack, got {role.node.path}")
    stack = stack_of(scope)
    match stack.resolve(role.role_arn):
        case {"Fn::GetAtt": [str(name), "Arn"]}:
            return _read(stack, name, values)
    return None


def _name_of(role: iam.IRole) -> str:
    name = role.role_name
    return role.node.path if is_unresolved(name) else name


def _lack_findings(
    role: iam.IRole, document: Mapping[str, Any], seen: _Seen
) -> list[Finding]:
    found = []
    missing = lacking(statements_of(document), seen.statements)
    if missing:
        unseen = ", ".join(seen.unseen)
        doubt = f", unless one of {unseen} allows it" if unseen else ""
        found.append(
            LACKING_ROLE.finding(
                f"role {_name_of(role)} stays as it is, and lacks "
                f"{_compact(missing)}{doubt}",
                "add it where the role is made",
            )
        )
    if not trusts_sagemaker(seen.trust):
        found.append(_distrust_finding(role))
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """
    What the app says of a role: its statements, and policies that are not in the app.
    """

    statements: Sequence[Mapping[str, Any]]
    trust: object
    unseen: Sequence[str]


def _read(stack: Stack, name: str, values: Mapping[str, str]) -> _Seen | None:
    statements: list[Mapping[str, Any]] = []
    unseen: list[str] = []
    found, trust = False, None
    for each in stack.node.find_all():
        if isinstance(each, iam.CfnRole) and stack.get_logical_id(each) == name:
            found, trust = True, stack.resolve(each.assume_role_policy_document)
            unseen = _resolved(stack, each.managed_policy_arns, values) or []
            for policy in stack.resolve(each.policies) or []:
                statements += statements_of(policy.get("policyDocument"))
        elif isinstance(each, iam.CfnPolicy | iam.CfnManagedPolicy) and {
            "Ref": name
        } in (stack.resolve(each.roles) or []):
            statements += statements_of(stack.resolve(each.policy_document))
    return _Seen(pasted(statements, values), trust, unseen) if found else None


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
