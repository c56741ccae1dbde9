"""
What an endpoint uses and is somewhere else: in another region, or another account.

A template can name it, so that CloudFormation deploys it; SageMaker refuses it then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.scope import account_of, region_of, stack_of
from cdk_sagemaker_llm.tokens import is_unresolved

FAR_SOURCE = Rule(
    "LLM797",
    "what a model or an endpoint uses is in another region, account or VPC",
    "SageMaker API reference, ContainerDefinition and VpcConfig; SageMaker developer "
    "guide, host-vpc",
)

BOUND = Rule(
    "LLM808",
    "a model or a configuration is of another stack than what names it",
    "CloudFormation user guide, using-cfn-stack-exports; CloudFormation template "
    "reference, Fn::GetStackOutput; SageMaker API reference, CreateModel",
)

_UNKNOWN = ("unknown-region", "unknown-account")


@dataclass(frozen=True, slots=True)
class Used:
    """
    Something that an endpoint uses, as the caller calls it; no construct has no place.

    Args:
        is_of_account:
            Whether it must be of the endpoint's own account, since it is named
            without one, or SageMaker takes no other's.
    """

    name: str
    resource: object
    is_of_account: bool = False


def elsewhere_findings(scope: Construct, used: Iterable[Used]) -> list[Finding]:
    """
    Check that what is used is in the region, and where it must be the account, of what
    uses it; as far as both are known.
    """
    found = []
    for each in used:
        if each.resource is None or isinstance(each.resource, str):
            continue
        account, region = _environment_of(each.resource)
        ours = region_of(scope)
        if _differ(ours, region):
            found.append(far_finding(each.name, f"region {ours}", region))
        elif each.is_of_account and _differ(account_of(scope), account):
            own = f"account {account_of(scope)}"
            found.append(far_finding(each.name, own, account))
    return found


def bound_findings(
    scope: Construct, parts: Iterable[tuple[str, Construct]]
) -> list[Finding]:
    """
    Warn of what another stack of the app makes, and replaces with every change: what
    a stack imports, CloudFormation removes from no other, and what a stack reads by
    ``Fn::GetStackOutput`` is read when that stack is updated, not when it changes.
    """
    ours = stack_of(scope)
    return [
        BOUND.finding(
            f"{name} {part.node.path} is of another stack, and this one names it: "
            "each change replaces it, which CloudFormation refuses while an export of "
            "it is in use; where references are weak, as in apps of cdk init, this "
            "stack goes on naming what is gone",
            "define it in the stack of its endpoint",
        )
        for name, part in parts
        if stack_of(part) is not ours
    ]


def scaled_findings(scaled: Construct) -> list[Finding]:
    """
    Check that what is imported and scaled is of the stack's own account and region.
    """
    account, region = far_place(scaled)
    places = {
        "region": (region_of(scaled), region),
        "account": (account_of(scaled), account),
    }
    return [
        FAR_SOURCE.finding(
            f"scaling must be defined in the {what} of what it scales, {theirs}, got "
            f"{ours}",
            "define it in a stack of that environment",
        )
        for what, (ours, theirs) in places.items()
        if theirs is not None
    ]


def far_place(imported: Construct) -> tuple[str | None, str | None]:
    """
    Return the account and the region that something is imported from, each where it
    is another than the stack's.
    """
    account, region = _environment_of(imported)
    return (
        account if _differ(account_of(imported), account) else None,
        region if _differ(region_of(imported), region) else None,
    )


def far_finding(name: str, own: str, got: str | None, remedy: str = "") -> Finding:
    """
    Say that something is not where the endpoint is.
    """
    return FAR_SOURCE.finding(
        f"{name} must be of the endpoint's own {own}, got {got}",
        remedy or "define or name one that is there",
    )


def _environment_of(resource: object) -> tuple[str | None, str | None]:
    arn = getattr(resource, "alarm_arn", None)
    if isinstance(arn, str) and not is_unresolved(arn):
        # An imported alarm's own environment is that of the stack that imports it.
        _, _, _, region, account, *_ = f"{arn}:::::".split(":")
        return account or None, region or None
    environment = getattr(resource, "env", None)
    if environment is None:
        return None, None
    return environment.account, environment.region


def _differ(ours: str | None, theirs: str | None) -> bool:
    if ours is None or theirs is None or theirs in _UNKNOWN:
        return False
    return ours != theirs and not is_unresolved((ours, theirs))
