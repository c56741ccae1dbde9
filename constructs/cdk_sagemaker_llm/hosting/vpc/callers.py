"""
Who calls AWS from inside a VPC: the models and endpoints of the app that are there,
its functions, and whom the user names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from constructs import IConstruct

from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint_config import EndpointConfig
from cdk_sagemaker_llm.hosting.models.model import Model
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.vpc.endpoint_policies import (
    Permission,
    Policies,
    permissions_of,
)

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """
    One who calls AWS from inside a VPC.

    Args:
        construct: It.

        is_host: Whether it is a model or an endpoint's configuration.

        connections: Its security groups.

        subnet_ids: Its subnets; ``None`` if they are not known.

        permissions: What its role may do; ``None`` if that is not known.
    """

    construct: IConstruct
    is_host: bool
    connections: ec2.Connections
    subnet_ids: tuple[str, ...] | None
    permissions: tuple[Permission, ...] | None


def callers_in(
    vpc: ec2.IVpc, constructs: Sequence[IConstruct], clients: Iterable[ec2.IConnectable]
) -> list[Caller]:
    """
    Find who calls AWS from inside a VPC, in the order of definition.

    Args:
        vpc: The VPC.

        constructs: All that is defined.

        clients: Whom the user names.
    """
    policies = Policies(constructs)
    named = list(clients)
    found = [*_hosts(vpc, constructs, policies), *_functions(vpc, constructs, policies)]
    known = {id(each.construct) for each in found}
    return [*found, *(_client(one, policies) for one in named if id(one) not in known)]


def hold_clients(clients: Iterable[ec2.IConnectable]) -> None:
    """
    Refuse a client that has security groups, and no place in the app.

    Raises:
        TypeError: If one is no construct.
    """
    for each in clients:
        if not hasattr(each, "node"):
            raise TypeError(
                f"clients must be constructs, got {type(each).__name__}; name what has "
                "these connections"
            )


def is_in(network: Network | None, vpc: ec2.IVpc) -> bool:
    """
    Return whether a network is of a VPC; several objects may stand for one.
    """
    if network is None or network.vpc is None:
        return False
    return network.vpc is vpc or network.vpc.vpc_id == vpc.vpc_id


def subnets_of(vpc: ec2.IVpc) -> dict[str, ec2.ISubnet]:
    """
    Return all subnets that are known of a VPC, by their ids.
    """
    every = [*vpc.isolated_subnets, *vpc.private_subnets, *vpc.public_subnets]
    return {subnet.subnet_id: subnet for subnet in every}


def _hosts(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct], policies: Policies
) -> Iterator[Caller]:
    for each in constructs:
        if not isinstance(each, Model | EndpointConfig) or not is_in(each.network, vpc):
            continue
        # It makes none of its own where its models bring theirs.
        role = each.role if isinstance(each, Model) else each.execution_role
        allowed = list(policies.of(role)) if role is not None else []
        yield Caller(
            construct=each,
            is_host=True,
            connections=each.network.connections,
            subnet_ids=tuple(each.network.subnet_ids()),
            permissions=(*_asked_for(each), *allowed),
        )


def _asked_for(host: Model | EndpointConfig) -> list[Permission]:
    """
    Return what a host needs, which a role that stays as it is has elsewhere.
    """
    if isinstance(host, EndpointConfig):
        return []
    asked = host._statements(host.definition.model)  # noqa: SLF001 - what its role is given
    return permissions_of(asked, stack_of(host))


def _functions(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct], policies: Policies
) -> Iterator[Caller]:
    module = sys.modules.get("aws_cdk.aws_lambda")
    if module is None:
        # An app without functions does not load them.
        return
    ours = subnets_of(vpc)
    for each in constructs:
        if not isinstance(each, module.Function):
            continue
        config = getattr(each.node.default_child, "vpc_config", None)
        subnets = tuple(getattr(config, "subnet_ids", None) or ())
        if subnets and set(subnets) <= set(ours):
            yield Caller(
                construct=each,
                is_host=False,
                connections=each.connections,
                subnet_ids=subnets,
                permissions=_permissions(each, policies),
            )


def _client(client: ec2.IConnectable, policies: Policies) -> Caller:
    return Caller(
        construct=cast("IConstruct", client),
        is_host=False,
        connections=client.connections,
        subnet_ids=None,
        permissions=_permissions(client, policies),
    )


def _permissions(client: object, policies: Policies) -> tuple[Permission, ...] | None:
    role = getattr(client, "grant_principal", None)
    if role is None or not hasattr(role, "role_name"):
        return None
    return tuple(policies.of(role))
