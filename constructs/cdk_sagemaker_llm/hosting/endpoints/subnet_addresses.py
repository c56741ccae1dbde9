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
from cdk_sagemaker_llm.text import counted
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


def fleet_findings(
    networks: Iterable[Network], counts: Iterable[float], rollout: Rollout | None
) -> list[Finding]:
    """
    Check each network in which instances of an endpoint may be, the same one once,
    against the most instances of each variant, as if nothing else ran in its subnets.
    """
    each_count = list(counts)
    if is_unresolved(each_count):
        return []
    most, is_rolled = round(sum(each_count)), rollout is not None and rollout.batched
    needed = _ADDRESSES_EACH * most * (1 if is_rolled else _FLEETS)
    fleet = f"for up to {counted(most, 'instance')}"
    beside = "" if is_rolled else ", and an update runs a second fleet beside the first"
    found = []
    for network in {tuple(each.subnet_ids()): each for each in networks}.values():
        if network.is_pending_lookup:
            continue
        addresses = [_addresses_in(subnet) for subnet in network.chosen_subnets()]
        sizes = [count for count in addresses if count is not None]
        if not addresses or len(sizes) < len(addresses):
            continue
        free = sum(sizes)
        has = f"subnets have {free} addresses, those that AWS keeps left out"
        if free < most:
            found.append(
                NO_ADDRESSES.finding(
                    f"{has}, {fleet}: each needs at least one",
                    "choose larger subnets, or more of them, or fewer instances",
                )
            )
        elif free < needed:
            found.append(
                FEW_ADDRESSES.finding(
                    f"{has}, {fleet}: SageMaker asks for two each"
                    f"{beside}, which is {needed}",
                    "choose larger subnets, or more of them",
                )
            )
    return found


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
