"""
What stands in the way of endpoints in a VPC, and what is missing where there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from constructs import Construct, IConstruct
from jsii.errors import JSIIError

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles.network import endpoints_of, is_of
from cdk_sagemaker_llm.hosting.vpc.services import Service

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2


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
        for service in wanted
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
        return endpoint.vpc_endpoint_type == "Gateway"
    return endpoint.private_dns_enabled is True


def _has_table(subnet: ec2.ISubnet) -> bool:
    try:
        return bool(subnet.route_table.route_table_id)
    except (RuntimeError, JSIIError):
        # jsii has no word for what an import leaves out.
        return False
