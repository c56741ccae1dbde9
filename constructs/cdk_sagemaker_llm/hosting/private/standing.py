"""
What stands in the way of endpoints in a VPC, and what is missing where there are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from constructs import Construct, IConstruct
from jsii.errors import JSIIError

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.private.services import Service
from cdk_sagemaker_llm.hosting.scope import stage_of

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

_TOKEN = re.compile(r"\$\{Token\[[^\]]+\]\}")

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
NO_WAY_TO_S3 = Rule(
    "LLM803",
    "model data is on S3, and its isolated subnets have no endpoint of S3",
    "SageMaker developer guide, host-vpc",
)
NOT_AWAITED = Rule(
    "LLM805", "models are deployed before the endpoints of a VPC that they need"
)
NOBODY_THERE = Rule("LLM804", "private access is defined where nobody calls AWS")


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
    wanted: Iterable[Service],
    constructs: Iterable[IConstruct],
) -> list[Finding]:
    """
    Check that nothing else of the app makes the same endpoints in a VPC.

    Args:
        access: What is to make them.

        vpc: The VPC.

        wanted: The services.

        constructs: All that is defined.
    """
    own = f"{access.node.path}/"
    others = [
        each
        for each in _endpoints_of(vpc, constructs)
        if not each.node.path.startswith(own)
    ]
    return [
        ENDPOINT_TWICE.finding(
            f"the VPC has an endpoint of {service.name} already, at "
            f"{other.node.path.removesuffix('/Resource')}: EC2 refuses a second one",
            f"define PrivateAccess(..., without=[{service.name!r}]), or remove the "
            "other",
        )
        for service in wanted
        for other in others
        if _is_of(other, service.name) and _is_in_the_way(other, service)
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


def s3_findings(construct: Construct, network: Network) -> list[Finding]:
    """
    Warn of subnets from which model data cannot be fetched, as far as the app shows
    it: of a VPC that was made elsewhere nothing is known.

    Args:
        construct: The model that has data on S3.

        network: Where it runs.
    """
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    vpc = network.vpc
    if not isinstance(vpc, ec2.Vpc):
        return []
    chosen = network.subnet_ids()
    isolated = {subnet.subnet_id for subnet in vpc.isolated_subnets}
    if not chosen or not set(chosen) <= isolated:
        return []
    defined = stage_of(construct).node.find_all()
    if any(isinstance(each, ec2.CfnRoute) for each in _below(vpc, defined)):
        return []
    ways = _endpoints_of(vpc, defined)
    if any(_is_of(each, "s3") for each in ways):
        return []
    return [
        NO_WAY_TO_S3.finding(
            "its weights or its tarball are on S3, and its subnets are isolated, "
            "without an endpoint of S3: SageMaker fetches them through these subnets",
            "define PrivateAccess(self, 'Private', vpc=vpc), or an endpoint of S3",
        )
    ]


def _endpoints_of(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct]
) -> list[ec2.CfnVPCEndpoint]:
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    return [
        each
        for each in constructs
        if isinstance(each, ec2.CfnVPCEndpoint) and each.vpc_id == vpc.vpc_id
    ]


def _is_of(endpoint: ec2.CfnVPCEndpoint, service: str) -> bool:
    # The region is in the middle, and S3's name ends in a placeholder of its own.
    name = _TOKEN.sub("", endpoint.service_name or "")
    return name.endswith(f".{service}")


def _is_in_the_way(endpoint: ec2.CfnVPCEndpoint, service: Service) -> bool:
    """
    Return whether EC2 refuses another: of its routes, or of its private DNS names.
    """
    if service.name == "s3":
        return endpoint.vpc_endpoint_type == "Gateway"
    return endpoint.private_dns_enabled is True


def _below(vpc: ec2.Vpc, constructs: Iterable[IConstruct]) -> list[IConstruct]:
    """
    Return what else is defined at the isolated subnets, such as a way by a gateway.
    """
    paths = tuple(f"{subnet.node.path}/" for subnet in vpc.isolated_subnets)
    return [each for each in constructs if each.node.path.startswith(paths)]


def _has_table(subnet: ec2.ISubnet) -> bool:
    try:
        return bool(subnet.route_table.route_table_id)
    except (RuntimeError, JSIIError):
        # jsii has no word for what an import leaves out.
        return False
