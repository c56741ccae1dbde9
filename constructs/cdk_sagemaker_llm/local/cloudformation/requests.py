"""
What CloudFormation wants to see in a request before it reads the template.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from moto.cloudformation.exceptions import CloudFormationError, ValidationError

from cdk_sagemaker_llm.local.cloudformation import template

_NAME = "[a-zA-Z][-a-zA-Z0-9]*"
_LONGEST_NAME = 128
_LONGEST_BODY = 51_200


class InsufficientCapabilities(CloudFormationError):  # noqa: N818 - the service's name
    """
    The code by which deployment tools know that a capability is missing.
    """

    code = "InsufficientCapabilitiesException"


def check_name(name: str) -> None:
    """
    Refuse a name that no new stack can have.
    """
    faults = []
    if not re.fullmatch(_NAME, name):
        faults.append(f"Member must satisfy regular expression pattern: {_NAME}")
    if len(name) > _LONGEST_NAME:
        faults.append(f"Member must have length less than or equal to {_LONGEST_NAME}")
    _refuse("stackName", name, faults)


def check_body(body: str) -> None:
    """
    Refuse a template that is too long to be sent; it would have to lie in S3.
    """
    if len(body.encode()) > _LONGEST_BODY:
        told = f"Member must have length less than or equal to {_LONGEST_BODY}"
        _refuse("templateBody", body, [told])


def check_capabilities(body: str, acknowledged: Collection[str]) -> None:
    """
    Refuse a template that makes roles and their like, if nobody has agreed to it.
    """
    needed = template.capabilities(template.parse(body))
    enough = {"CAPABILITY_NAMED_IAM", *needed}
    if needed and enough.isdisjoint(acknowledged):
        raise InsufficientCapabilities(f"Requires capabilities : [{needed[0]}]")


def _refuse(member: str, value: str, faults: list[str]) -> None:
    if faults:
        count = "1 validation error" if len(faults) == 1 else "2 validation errors"
        told = "; ".join(
            f"Value '{value}' at '{member}' failed to satisfy constraint: {fault}"
            for fault in faults
        )
        raise ValidationError(message=f"{count} detected: {told}")
