"""
Deleting network resources that moto makes by CloudFormation and deletes by API alone.

Without these a stack with a VPC could not be deleted: its route tables and gateways
would stay and hold on to it.
"""

from __future__ import annotations

from collections.abc import Callable

from moto.ec2.models import EC2Backend, ec2_backends

from cdk_sagemaker_llm.local.cloudformation.resource import Resource, Scope


def delete(resource: Resource, scope: Scope) -> bool:
    """
    Delete a resource of the network, if it is one that moto leaves behind.

    Returns:
        Whether it was one.
    """
    deletion = _DELETIONS.get(resource.declaration.type)
    if deletion is not None:
        deletion(ec2_backends[scope.account][scope.region], resource)
    return deletion is not None


def _disassociate(ec2: EC2Backend, resource: Resource) -> None:
    subnet_id = resource.properties["SubnetId"]
    table = ec2.get_route_table(resource.properties["RouteTableId"])
    for association_id, associated in list(table._associations.items()):  # noqa: SLF001 - moto has no other way
        if associated == subnet_id:
            ec2.disassociate_route_table(association_id)


def _detach(ec2: EC2Backend, resource: Resource) -> None:
    gateway_id = resource.properties.get("InternetGatewayId")
    if gateway_id:
        ec2.detach_internet_gateway(gateway_id, resource.properties["VpcId"])


_DELETIONS: dict[str, Callable[[EC2Backend, Resource], object]] = {
    "AWS::EC2::EIP": lambda ec2, r: ec2.release_address(r.physical_resource_id),
    "AWS::EC2::InternetGateway": (
        lambda ec2, r: ec2.delete_internet_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::NatGateway": (
        lambda ec2, r: ec2.delete_nat_gateway(r.physical_resource_id)
    ),
    "AWS::EC2::RouteTable": (
        lambda ec2, r: ec2.delete_route_table(r.physical_resource_id)
    ),
    "AWS::EC2::SubnetRouteTableAssociation": _disassociate,
    "AWS::EC2::VPCEndpoint": (
        lambda ec2, r: ec2.delete_vpc_endpoints([r.physical_resource_id])
    ),
    "AWS::EC2::VPCGatewayAttachment": _detach,
}
