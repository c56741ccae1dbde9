"""
Roles that a user gives: whose they are, and whether they are the same.
"""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.imports import OTHER_ARN
from cdk_sagemaker_llm.hosting.scope import account_of, stack_of, stage_of

FOREIGN_ROLE = Rule(
    "LLM188",
    "an execution role is of another account than the stack",
    "SageMaker API reference, CreateModel",
)


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
    Return whether two objects stand for one role, as far as synth can tell.

    Both are of the stack's account, where a name is unique.
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
