"""
Where a model runs: subnets, security groups, and whether it may reach out at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from constructs import Construct

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.hosting.statements import Statement

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """
    The part of a VPC that instances are attached to.

    A component's model and its endpoint must name the same subnets, groups and
    isolation, so that both are given the same object.

    ``Network(vpc=vpc)``
    ``Network(vpc=vpc, subnets=ec2.SubnetSelection(...), security_groups=[group])``
    ``Network(isolated=True)``

    Args:
        vpc: The VPC. If left out, SageMaker's own network is used.

        subnets:
            Which of its subnets, in two or more zones.
            If left out, the private ones with a way out are taken.

        security_groups:
            Up to five groups. SageMaker's network interfaces hold on to them, and to
            the subnets, some minutes after the endpoint is deleted: what is made in
            another stack does not fail to be deleted with it.
            If left out, the construct makes one that allows all outbound traffic.

        isolated:
            Whether containers are cut off from all networks, S3 and the Hugging
            Face Hub included; SageMaker itself still puts the tarball in place.
    """

    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    isolated: bool = False

    def __post_init__(self) -> None:
        """
        Hold each field to its kind; refuse subnets and groups of no VPC.
        """
        hold_kinds(self)
        if self.vpc is None and (self.subnets is not None or self.security_groups):
            raise TypeError("subnets and security_groups need a vpc")

    def with_security_group(self, scope: Construct) -> Network:
        """
        Return this network with a security group, made where none was given.
        """
        if self.vpc is None or self.security_groups:
            return self
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        group = ec2.SecurityGroup(
            scope, "SecurityGroup", vpc=self.vpc, description="SageMaker model"
        )
        return Network(
            vpc=self.vpc,
            subnets=self.subnets,
            security_groups=(group,),
            isolated=self.isolated,
        )

    @property
    def connections(self) -> ec2.Connections:
        """
        The security groups as a peer for ``allow_from`` and ``allow_to``.

        Raises:
            ValueError: If there is no VPC.
        """
        if self.vpc is None:
            raise ValueError("connections need a vpc: define network=Network(vpc=...)")
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        return ec2.Connections(security_groups=list(self.security_groups))

    def subnet_ids(self) -> list[str]:
        """
        Return the ids of the chosen subnets.
        """
        if self.vpc is None:
            return []
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        chosen = self.subnets or ec2.SubnetSelection()
        if chosen.subnets is not None:
            # Selecting them would ask for their zones, which need not be known.
            return [subnet.subnet_id for subnet in chosen.subnets]
        ids: list[str] = self._select(chosen).subnet_ids
        return ids

    def chosen_subnets(self) -> list[ec2.ISubnet]:
        """
        Return the chosen subnets.
        """
        if self.vpc is None:
            return []
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        chosen = self.subnets or ec2.SubnetSelection()
        if chosen.subnets is not None:
            return list(chosen.subnets)
        found: list[ec2.ISubnet] = self._select(chosen).subnets
        return found

    def _select(self, chosen: ec2.SubnetSelection) -> ec2.SelectedSubnets:
        vpc = cast("ec2.IVpc", self.vpc)
        return vpc.select_subnets(
            availability_zones=chosen.availability_zones,
            one_per_az=chosen.one_per_az,
            subnet_filters=chosen.subnet_filters,
            subnet_group_name=chosen.subnet_group_name,
            subnet_type=chosen.subnet_type,
        )

    def security_group_ids(self) -> list[str]:
        """
        Return the ids of the security groups.
        """
        return [group.security_group_id for group in self.security_groups]

    def access_statements(self) -> list[Statement]:
        """
        Return what a role needs to attach instances to the VPC.
        """
        if self.vpc is None:
            return []
        return [
            Statement(
                sid="AttachToVpc",
                actions=[
                    "ec2:CreateNetworkInterface",
                    "ec2:CreateNetworkInterfacePermission",
                    "ec2:DeleteNetworkInterface",
                    "ec2:DeleteNetworkInterfacePermission",
                    "ec2:DescribeDhcpOptions",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                    "ec2:DescribeVpcs",
                ],
                resources=["*"],
                wildcard_reason=(
                    "the interfaces do not exist when the role is checked, and the "
                    "describing actions have no resource to name"
                ),
            )
        ]
