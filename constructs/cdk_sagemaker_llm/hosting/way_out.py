"""
What a network lets a model do: attach to it at all, and reach the Hugging Face Hub.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from constructs import Construct, IConstruct

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.scope import stage_of
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.rules import API

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

# botocore 1.44.5: VpcConfig.
_MOST_GROUPS = 5
_MOST_SUBNETS = 16
# The variables by which the Hub's client is told of a mirror, and of a proxy.
_WAYS_AROUND = ("HF_ENDPOINT", "HTTPS_PROXY", "https_proxy")

IMPOSSIBLE_NETWORK = Rule(
    "LLM199", "a network has no, or too many, subnets or security groups", API
)
NO_WAY_OUT = Rule(
    "LLM247",
    "a model is to come from the Hugging Face Hub, and its subnets have no way there",
    "SageMaker developer guide, host-vpc",
)


ONE_ZONE = Rule(
    "LLM450",
    "a network has one subnet, so that all instances are in one zone",
    "SageMaker developer guide, host-vpc",
)


def network_findings(network: Network) -> list[Finding]:
    """
    Check that SageMaker can attach instances to the network.
    """
    if network.vpc is None:
        return []
    found = []
    groups = len(network.security_groups)
    if groups > _MOST_GROUPS:
        found.append(
            IMPOSSIBLE_NETWORK.finding(
                f"security_groups must be at most {_MOST_GROUPS}, got {groups}"
            )
        )
    try:
        count = len(network.subnet_ids())
    except RuntimeError as fault:
        reason = str(fault).splitlines()[0].removeprefix("Error: ")
        return [
            *found,
            IMPOSSIBLE_NETWORK.finding(
                f"subnets select none of the VPC: {reason}",
                "name subnets that it has, such as subnets=ec2.SubnetSelection("
                "subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)",
            ),
        ]
    if not 1 <= count <= _MOST_SUBNETS and not is_unresolved(network.subnet_ids()):
        found.append(
            IMPOSSIBLE_NETWORK.finding(
                f"subnets must be 1 to {_MOST_SUBNETS}, got {count}",
                "name subnets that the VPC has",
            )
        )
    return found


def zone_findings(network: Network) -> list[Finding]:
    """
    Warn of a usable network's only subnet; of several the zones are not asked for.
    """
    if network.vpc is None:
        return []
    chosen = network.subnet_ids()
    if len(chosen) != 1 or is_unresolved(chosen):
        return []
    return [
        ONE_ZONE.finding(
            "subnets must be in two or more zones, by SageMaker's guide, got one "
            "subnet: capacity of one zone runs out first, and a zone that fails takes "
            "all instances along",
            "name a subnet of another zone as well",
        )
    ]


def way_out_findings(
    network: Network, model: ModelSource | None, variables: Mapping[str, str]
) -> list[Finding]:
    """
    Warn of subnets from which a container does not reach the Hub, as far as the
    template shows it: a transit gateway or a proxy elsewhere may be the way.

    Args:
        network: Where the container runs.

        model: Where the weights come from.

        variables: The container's environment.
    """
    if network.vpc is None or network.isolated:
        return []
    if not isinstance(model, HuggingFaceModel) or set(_WAYS_AROUND) & set(variables):
        return []
    kind = kind_without_a_way(network)
    if kind is None:
        return []
    addresses = ": SageMaker's network interfaces get no public address there"
    return [
        NO_WAY_OUT.finding(
            f"{model.model_id} is downloaded from the Hugging Face Hub, and its "
            f"subnets are {kind}{addresses if kind == 'public' else ''}",
            "choose private subnets with a NAT gateway, serve an S3Model, or name a "
            "mirror as HF_ENDPOINT in environment",
        )
    ]


def kind_without_a_way(network: Network) -> str | None:
    """
    Return of which kind all subnets are that lead nowhere; ``None`` if some may.
    """
    vpc = network.vpc
    if vpc is None:
        return None
    chosen = set(network.subnet_ids())
    if chosen <= _ids(vpc.isolated_subnets):
        return "isolated"
    return "public" if chosen <= _ids(vpc.public_subnets) else None


def _ids(subnets: list[ec2.ISubnet]) -> set[str]:
    return {subnet.subnet_id for subnet in subnets}


NO_WAY_TO_S3 = Rule(
    "LLM803",
    "model data is on S3, and its isolated subnets have no endpoint of S3",
    "SageMaker developer guide, host-vpc",
)


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
    ways = endpoints_of(vpc, defined)
    if any(is_of(each, "s3") for each in ways):
        return []
    return [
        NO_WAY_TO_S3.finding(
            "its weights or its tarball are on S3, and its subnets are isolated, "
            "without an endpoint of S3: SageMaker fetches them through these subnets",
            "define PrivateAccess(self, 'Private', vpc=vpc), or an endpoint of S3",
        )
    ]


def endpoints_of(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct]
) -> list[ec2.CfnVPCEndpoint]:
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    return [
        each
        for each in constructs
        if isinstance(each, ec2.CfnVPCEndpoint) and each.vpc_id == vpc.vpc_id
    ]


def is_of(endpoint: ec2.CfnVPCEndpoint, service: str) -> bool:
    # The region is in the middle, and S3's name ends in a placeholder of its own.
    name = _TOKEN.sub("", endpoint.service_name or "")
    return name.endswith(f".{service}")


def _below(vpc: ec2.Vpc, constructs: Iterable[IConstruct]) -> list[IConstruct]:
    """
    Return what else is defined at the isolated subnets, such as a way by a gateway.
    """
    paths = tuple(f"{subnet.node.path}/" for subnet in vpc.isolated_subnets)
    return [each for each in constructs if each.node.path.startswith(paths)]


_TOKEN = re.compile(r"\$\{Token\[[^\]]+\]\}")
