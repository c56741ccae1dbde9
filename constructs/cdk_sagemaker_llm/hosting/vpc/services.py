"""
The services of AWS that hosting calls from inside a VPC: who calls each, and why.

What belongs here is the reading of IAM's actions by the table of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.text import any_of

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

_INVOKE = "sagemaker:invoke"

UNKNOWN_SERVICE = Rule(
    "LLM705", "a service is named that hosting does not call from inside a VPC"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """
    A service that is called from inside a VPC.

    Args:
        name: Its name, as an endpoint's service name ends.

        id: The id of its endpoint.

        namespace: What its actions begin with in IAM.

        callers: Who calls it.

        why: What for.

        source: Where that is written, or that it is not.

        constant: The CDK's word for it.

        is_of_hosts: Whether an execution role that may call it does so in the VPC.

        is_awaited: Whether instances call it as they start, so that an endpoint of
            models waits for it.
    """

    name: str
    id: str
    namespace: str
    callers: str
    why: str
    source: str
    constant: str = ""
    is_of_hosts: bool = True
    is_awaited: bool = False

    @property
    def all_actions(self) -> str:
        """
        All that can be called of it, as IAM says it.
        """
        is_runtime = self.name == "sagemaker.runtime"
        return f"{self.namespace}:{'InvokeEndpoint*' if is_runtime else '*'}"

    @property
    def aws_service(self) -> ec2.IInterfaceVpcEndpointService:
        """
        The CDK's interface endpoint service, which knows partitions and regions.
        """
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        found: ec2.IInterfaceVpcEndpointService = getattr(
            ec2.InterfaceVpcEndpointAwsService, self.constant
        )
        return found


SERVICES = tuple(Service(**row) for row in load("vpc_services.json")["services"])
"""What hosting calls, in the order in which endpoints are made."""

_BY_NAME = {service.name: service for service in SERVICES}


def service_named(name: str) -> Service:
    """
    Return a service by its name.
    """
    return _BY_NAME[name]


def reached_by(action: str) -> tuple[str, ...]:
    """
    Return the names of the services that an action of IAM is a call of.

    An action of any service at all tells of none.

    Args:
        action: The action, such as ``sagemaker:InvokeEndpoint`` or ``s3:Get*``.
    """
    namespace, _, verb = action.lower().partition(":")
    if namespace == "sagemaker":
        return _reached_of_sagemaker(f"{namespace}:{verb}")
    return tuple(one.name for one in SERVICES if one.namespace == namespace)


def _reached_of_sagemaker(action: str) -> tuple[str, ...]:
    if action.startswith(_INVOKE):
        return ("sagemaker.runtime",)
    if fnmatchcase(f"{_INVOKE}endpoint", action):
        return ("sagemaker.runtime", "sagemaker.api")
    return ("sagemaker.api",)


def name_findings(parameter: str, names: Iterable[str]) -> list[Finding]:
    """
    Check that services are named as the table has them.
    """
    return [
        UNKNOWN_SERVICE.finding(
            f"{parameter} must name services that hosting calls, got {name!r}",
            f"use {any_of(_BY_NAME)}",
        )
        for name in names
        if name not in _BY_NAME
    ]
