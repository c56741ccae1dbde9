"""
The services of AWS that hosting calls from inside a VPC: who calls each and why, and
what stands in the way of an endpoint of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from constructs import Construct, IConstruct
from jsii.errors import JSIIError

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles.network import endpoints_of, is_of
from cdk_sagemaker_llm.text import any_of

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

_INVOKE = "sagemaker:invoke"

UNKNOWN_SERVICE = Rule(
    "LLM705", "a service is named that hosting does not call from inside a VPC"
)

ENDPOINT_TWICE = Rule(
    "LLM702",
    "a VPC has an endpoint of a service already",
    "EC2 API reference, CreateVpcEndpoint",
)
NO_ROUTES = Rule(
    "LLM703",
    "the route tables of subnets that need a way to S3 are not known",
    "EC2 API reference, CreateVpcEndpoint",
)
NO_NAMES = Rule(
    "LLM704",
    "a VPC has its DNS turned off, without which names lead to no endpoint in it",
    "AWS PrivateLink guide, private DNS names",
)
NOT_AWAITED = Rule(
    "LLM805", "models are deployed before the endpoints of a VPC that they need"
)
NOBODY_THERE = Rule("LLM804", "private access is defined where nobody calls AWS")


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """
    A service that is called from inside a VPC.

    Args:
        name: Its name, as an endpoint's service name ends.

        namespace: What its actions begin with in IAM.

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
    Return the names of the services that an action of IAM, but ``*``, is a call of.
    """
    action = action.lower()
    namespace = action.partition(":")[0]
    if namespace != "sagemaker":
        return tuple(one.name for one in SERVICES if one.namespace == namespace)
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


def names_findings(vpc: ec2.IVpc) -> list[Finding]:
    """
    Check that a VPC of the app resolves names; of an imported one it is not known.
    """
    is_on = [
        getattr(vpc, each, True)
        for each in ("dns_hostnames_enabled", "dns_support_enabled")
    ]
    if all(is_on):
        return []
    return [
        NO_NAMES.finding(
            "vpc must resolve names, got one with its DNS turned off: private DNS of "
            "endpoints needs it",
            "define the VPC with enable_dns_hostnames=True and enable_dns_support=True",
        )
    ]


def taken_findings(
    access: Construct,
    vpc: ec2.IVpc,
    services: Iterable[Service],
    constructs: Iterable[IConstruct],
) -> list[Finding]:
    """
    Check that nothing else of the app makes the same endpoints in a VPC.
    """
    own = f"{access.node.path}/"
    others = [
        each
        for each in endpoints_of(vpc, constructs)
        if not each.node.path.startswith(own)
    ]
    return [
        ENDPOINT_TWICE.finding(
            f"the VPC has an endpoint of {service.name} already, at "
            f"{other.node.path.removesuffix('/Resource')}: EC2 refuses a second one",
            f"define PrivateAccess(..., without=[{service.name!r}]), or remove the "
            "other",
        )
        for service in services
        for other in others
        if is_of(other, service.name) and _is_in_the_way(other, service)
    ]


def route_findings(subnets: Sequence[ec2.ISubnet]) -> list[Finding]:
    """
    Check that the way to S3 can be written into the subnets' route tables.
    """
    unknown = [each.subnet_id for each in subnets if not _has_table(each)]
    if subnets and not unknown:
        return []
    what = f"of {', '.join(unknown)}" if unknown else "of any subnet"
    return [
        NO_ROUTES.finding(
            f"the way to S3 goes into route tables, and that {what} is not known",
            "import the VPC with isolated_subnet_route_table_ids or "
            "private_subnet_route_table_ids, or define without=['s3'] where it has an "
            "endpoint of S3",
        )
    ]


def _is_in_the_way(endpoint: ec2.CfnVPCEndpoint, service: Service) -> bool:
    """
    Return whether EC2 refuses another: of its routes, or of its private DNS names.
    """
    if service.name == "s3":
        # EC2 API reference, CreateVpcEndpoint: without a type it is a gateway.
        return endpoint.vpc_endpoint_type in {None, "Gateway"}
    return endpoint.private_dns_enabled is True


def _has_table(subnet: ec2.ISubnet) -> bool:
    try:
        return bool(subnet.route_table.route_table_id)
    except (RuntimeError, JSIIError):
        # jsii has no word for what an import leaves out.
        return False
