"""
Deleting managed policies, which moto makes by CloudFormation and deletes by API alone.

Without it a role with one could not be deleted.
"""

from __future__ import annotations

from moto.iam.models import Group, ManagedPolicy, Role, User, iam_backends
from moto.utilities.utils import get_partition

from cdk_sagemaker_llm.local.cloudformation.resource import Resource, Scope


def delete(resource: Resource, scope: Scope) -> bool:
    """
    Detach and delete a managed policy, if it is one.

    Returns:
        Whether it was one.
    """
    policy = resource.native
    if not isinstance(policy, ManagedPolicy):
        return False
    iam = iam_backends[scope.account][get_partition(scope.region)]
    holders: list[Role | User | Group] = [
        *iam.roles.values(),
        *iam.users.values(),
        *iam.groups.values(),
    ]
    for holder in holders:
        if policy.arn in holder.managed_policies:
            policy.detach_from(holder)
    iam.delete_policy(policy.arn)
    return True
