"""
Whether the subnets have an IP address for each instance that there may be.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jsii.errors import JSIIError

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

    from cdk_sagemaker_llm.hosting.updates.rollout import Rollout

# VPC user guide, subnet sizing: the first four addresses and the last.
_RESERVED = 5
# SageMaker developer guide, host-vpc: "at least two available private IP addresses for
# each instance".
_ADDRESSES_EACH = 2
# An update starts a second fleet beside the first, unless it is rolled out.
_FLEETS = 2

NO_ADDRESSES = Rule(
    "LLM701",
    "subnets have fewer addresses than there may be instances",
    "SageMaker developer guide, host-vpc",
)
FEW_ADDRESSES = Rule(
    "LLM801",
    "subnets have fewer than two addresses for each instance that there may be, those "
    "of an update included",
    "SageMaker developer guide, host-vpc",
)


def subnet_address_findings(
    network: Network, instances: float, *, is_rolled: bool = False
) -> list[Finding]:
    """
    Compare a network's addresses with the most instances in it, as if nothing else ran
    in its subnets; ``is_rolled`` if an update goes through the fleet in parts.
    """
    free = _addresses_of(network)
    if free is None:
        return []
    most = round(instances)
    has = f"subnets have {free} addresses, those that AWS keeps left out"
    if free < most:
        return [
            NO_ADDRESSES.finding(
                f"{has}, for up to {most} instances: each needs at least one",
                "choose larger subnets, or more of them, or fewer instances",
            )
        ]
    fleets = 1 if is_rolled else _FLEETS
    needed = _ADDRESSES_EACH * most * fleets
    if free >= needed:
        return []
    beside = "" if is_rolled else ", and an update runs a second fleet beside the first"
    return [
        FEW_ADDRESSES.finding(
            f"{has}, for up to {most} instances: SageMaker asks for two each{beside}, "
            f"which is {needed}",
            "choose larger subnets, or more of them",
        )
    ]


def _addresses_of(network: Network) -> int | None:
    """
    Count the addresses that are free to use; ``None`` where a subnet's are unknown.
    """
    counts = [_addresses_in(subnet) for subnet in network.chosen_subnets()]
    if not counts or None in counts:
        return None
    return sum(count for count in counts if count is not None)


def _addresses_in(subnet: ec2.ISubnet) -> int | None:
    try:
        block = subnet.ipv4_cidr_block
    except (RuntimeError, JSIIError):
        # An imported subnet, of which only the id is known.
        return None
    if not block or is_unresolved(block):
        return None
    try:
        size = ipaddress.ip_network(block, strict=False).num_addresses
    except ValueError:
        return None
    return max(size - _RESERVED, 0)


def fleet_findings(
    networks: Iterable[Network], counts: Iterable[float], rollout: Rollout | None
) -> list[Finding]:
    """
    Check each network in which instances of an endpoint may be, the same one once,
    against the most instances of each variant.
    """
    most = list(counts)
    if is_unresolved(most):
        return []
    by_subnets = {tuple(each.subnet_ids()): each for each in networks}
    is_rolled = type(rollout).__name__ == "Rolling"
    return [
        finding
        for network in by_subnets.values()
        for finding in subnet_address_findings(network, sum(most), is_rolled=is_rolled)
    ]
