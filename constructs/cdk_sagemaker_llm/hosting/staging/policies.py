"""
Policies of the roles that staging makes for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm.hosting.nag import acknowledge
from cdk_sagemaker_llm.hosting.statements import Statement, document_json, united

if TYPE_CHECKING:
    from constructs import Construct


def attach(
    scope: Construct, id: str, role: iam.IRole, statements: Sequence[Statement]
) -> iam.Policy:
    """
    Let a role do something, with the reasons of its wildcards told to cdk-nag.
    """
    found = united(statements)
    document = iam.PolicyDocument.from_json(document_json(found))
    policy = iam.Policy(scope, id, document=document, roles=[role])
    acknowledge(scope, policy.node, found, {})
    return policy
