"""
What an endpoint of a VPC lets through: what the callers' roles may do, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aws_cdk import Aws, Stack

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.private.permissions import Permission
from cdk_sagemaker_llm.hosting.private.services import Service, reached_by

WIDER_POLICY = Rule(
    "LLM802",
    "an endpoint of a VPC lets more through than the app uses, since another stack "
    "decides what that is",
)


class EndpointPolicy:
    """
    The policy of one endpoint, as it grows.

    Args:
        service: The service behind it.

        may_name: Tells whether the resources of a permission can be named.
    """

    def __init__(
        self, service: Service, may_name: Callable[[Permission], bool]
    ) -> None:
        self._service = service
        self._may_name = may_name
        self._is_wide = False
        self._allowed: dict[tuple[tuple[str, ...], bool], list[Any]] = {}

    def allow(self, permission: Permission) -> None:
        """
        Let through what a role may do with this service.
        """
        name = self._service.name
        actions = tuple(a for a in permission.actions if name in reached_by(a))
        if not actions:
            return
        is_wide = not self._may_name(permission)
        resources = ["*"] if is_wide else permission.resources
        known = self._allowed.setdefault((actions, is_wide), [])
        known += [each for each in resources if each not in known]
        self._is_wide |= is_wide

    def allow_all(self) -> None:
        """
        Let all calls of the account through, where nothing tells which there are.
        """
        self._allowed.setdefault(((self._service.all_actions,), False), ["*"])

    @property
    def is_empty(self) -> bool:
        """
        Whether nothing is let through yet.
        """
        return not self._allowed

    def findings(self) -> list[Finding]:
        """
        Say where another stack's resources could not be named.
        """
        if not self._is_wide:
            return []
        return [
            WIDER_POLICY.finding(
                f"the endpoint of {self._service.name} lets through calls of any "
                "resource of this account: which one is decided in another stack, "
                "that may depend on this one",
                "define PrivateAccess in the stack of those who call",
            )
        ]

    def to_json(self, *further: dict[str, Any]) -> dict[str, Any]:
        """
        Render as IAM writes it.

        Args:
            further: Statements that no role of the app asks for.
        """
        allowed = [
            _statement(actions, resources, is_wide=is_wide)
            for (actions, is_wide), resources in self._allowed.items()
        ]
        return {"Statement": [*allowed, *further], "Version": "2012-10-17"}


def layer_statement() -> dict[str, Any]:
    """
    Return what lets the layers of images through, which Amazon ECR signs for itself.

    Amazon ECR user guide, vpc-endpoints: the bucket of a region has this name.
    """
    bucket = f"prod-{Aws.REGION}-starport-layer-bucket"
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:{partition()}:s3:::{bucket}/*",
    }


def invocations(
    endpoints: Iterable[tuple[str, Stack]],
) -> list[Permission]:
    """
    Return what a client of unknown permissions may invoke: the app's own endpoints.

    Args:
        endpoints: Their ARNs, with their stacks.
    """
    return [
        Permission(("sagemaker:InvokeEndpoint",), (arn,), stack)
        for arn, stack in endpoints
    ]


def _statement(
    actions: Sequence[str], resources: Sequence[Any], *, is_wide: bool
) -> dict[str, Any]:
    account = {"aws:PrincipalAccount": Aws.ACCOUNT_ID}
    if is_wide:
        account["aws:ResourceAccount"] = Aws.ACCOUNT_ID
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": _one_or_more(actions),
        "Resource": _one_or_more(resources),
        # Nobody else's credentials carry anything out of the VPC.
        "Condition": {"StringEquals": account},
    }


def _one_or_more(values: Sequence[Any]) -> object:
    return values[0] if len(values) == 1 else list(values)
