"""
Where a model runs: subnets and security groups, whether it may reach out at all, and
whether it reaches the Hugging Face Hub and S3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from constructs import Construct, IConstruct, IDependable
from jsii.errors import JSIIError

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.elsewhere import Used, far_finding
from cdk_sagemaker_llm.hosting.common.rules import IMPOSSIBLE_NETWORK
from cdk_sagemaker_llm.hosting.common.scope import stage_of
from cdk_sagemaker_llm.hosting.roles.statements import TOKEN, Statement
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

# botocore 1.44.5: VpcConfig.
_MOST_GROUPS = 5
_MOST_SUBNETS = 16
# The variables by which the Hub's client is told of a mirror, and of a proxy.
_WAYS_AROUND = ("HF_ENDPOINT", "HTTPS_PROXY", "https_proxy")

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

NO_WAY_TO_S3 = Rule(
    "LLM803",
    "model data is on S3, and its isolated subnets have no endpoint of S3",
    "SageMaker developer guide, host-vpc",
)


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
        vpc: The VPC. If omitted, SageMaker's own network is used.

        subnets:
            Which of its subnets, in two or more zones.
            If omitted, the private ones with a way out are taken.

        security_groups:
            Up to five groups. SageMaker's network interfaces hold on to them, and to
            the subnets, some minutes after the endpoint is deleted: what is made in
            another stack does not fail to be deleted with it.
            If omitted, the construct makes one that allows all outbound traffic.

        isolated:
            Whether containers are cut off from all networks, S3 and the Hugging
            Face Hub included; SageMaker itself still puts the tarball in place.
    """

    vpc: ec2.IVpc | None = None
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    isolated: bool = False

    def __post_init__(self) -> None:
        hold_kinds(self)
        if self.vpc is None and (self.subnets is not None or self.security_groups):
            raise TypeError("subnets and security_groups need a vpc")

    def with_security_group(self, scope: Construct) -> Network:
        """
        Return this network with a security group; one is made where the network has
        none.
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

    def hold_access(self, given: Network, policies: Sequence[IDependable]) -> None:
        """
        Let policies outlive the group that was made for a given network.

        EC2 deletes no group that SageMaker's interfaces are in, and SageMaker removes
        them by the role: so the role stays until they are gone, a first creation that
        is rolled back included, and nothing of it is left afterwards.

        Args:
            given: The network as it was given, before a group was made for it.

            policies: The policies by which SageMaker removes its interfaces.
        """
        if self is not given and policies:
            for group in self.security_groups:
                group.node.add_dependency(*policies)

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

    @property
    def is_pending_lookup(self) -> bool:
        """
        Whether the VPC is a stand-in, until the CDK's command has looked it up.

        Its subnets are none of the real VPC's, and a group, zones or a filter select
        none of them: the command looks up after a synthesis, which must not end in an
        error for that.
        """
        if self.vpc is None:
            return False
        chosen = self.subnets
        try:
            if chosen is None or chosen.subnets is not None:
                return bool(self.vpc.select_subnets().is_pending_lookup)
            return bool(self._select(chosen).is_pending_lookup)
        except (RuntimeError, JSIIError):
            # A VPC without such subnets is no stand-in.
            return False

    def subnet_ids(self) -> list[str]:
        """
        Return the ids of the chosen subnets.
        """
        return [subnet.subnet_id for subnet in self.chosen_subnets()]

    def chosen_subnets(self) -> list[ec2.ISubnet]:
        """
        Return the chosen subnets.
        """
        if self.vpc is None:
            return []
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        chosen = self.subnets or ec2.SubnetSelection()
        if chosen.subnets is not None:
            # Selecting them would ask for their zones, which need not be known.
            return list(chosen.subnets)
        found: list[ec2.ISubnet] = self._select(chosen).subnets
        return found

    def ways_out(self) -> list[IDependable]:
        """
        Return what leads out of the chosen subnets, such as the route to a NAT gateway:
        what calls the internet as it starts waits for it.
        """
        if self.is_pending_lookup:
            return []
        return [
            each.internet_connectivity_established for each in self.chosen_subnets()
        ]

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
    if network.is_pending_lookup:
        return found
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


def used_by_network(network: Network | None) -> list[Used]:
    """
    Return what a network consists of that is somewhere.

    Subnets may be shared by another account; those of the app's own cannot.
    """
    if network is None or network.vpc is None:
        return []
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    chosen = (network.subnets and network.subnets.subnets) or []
    return [
        Used("vpc", network.vpc, isinstance(network.vpc, ec2.Vpc)),
        *(
            Used("security_groups", each, isinstance(each, ec2.SecurityGroup))
            for each in network.security_groups
        ),
        *(Used("subnets", each, isinstance(each, ec2.Subnet)) for each in chosen),
    ]


def other_vpc_findings(network: Network | None) -> list[Finding]:
    """
    Check that subnets and groups are the VPC's own, as far as the app says whose they
    are.
    """
    if network is None or network.vpc is None:
        return []
    ours = _vpc_named(network.vpc.vpc_id)
    chosen = (network.subnets and network.subnets.subnets) or []
    parts = [
        *(("security_groups", each) for each in network.security_groups),
        *(("subnets", each) for each in chosen),
    ]
    found = []
    for name, each in parts:
        theirs = _vpc_named(getattr(each.node.default_child, "vpc_id", None))
        if None not in (ours, theirs) and ours != theirs:
            found.append(far_finding(name, f"VPC {ours}", theirs))
    return list(dict.fromkeys(found))


def _vpc_named(vpc_id: str | None) -> str | None:
    """
    Return a VPC's id, or the path of the app's own; ``None`` if neither is known.
    """
    if vpc_id is None or not is_unresolved(vpc_id):
        return vpc_id
    from aws_cdk import Reference, Tokenization  # noqa: PLC0415 - few know it by a token
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    token = Tokenization.reverse_string(vpc_id).first_token
    target = token.target if isinstance(token, Reference) else None
    return str(target.node.path) if isinstance(target, ec2.CfnVPC) else None


def zone_findings(network: Network) -> list[Finding]:
    """
    Warn of a usable network's only subnet; of several the zones are not asked for.
    """
    if network.vpc is None or network.is_pending_lookup:
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
    Return the kind of subnets that lead nowhere; ``None`` if some may have a way out.
    """
    vpc = network.vpc
    if vpc is None or network.is_pending_lookup:
        return None
    chosen = set(network.subnet_ids())
    if chosen <= _ids(vpc.isolated_subnets):
        return "isolated"
    return "public" if chosen <= _ids(vpc.public_subnets) else None


def s3_findings(construct: Construct, network: Network) -> list[Finding]:
    """
    Warn of subnets from which model data cannot be fetched, as far as the app shows
    it: of a VPC that was made elsewhere nothing is known.
    """
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    vpc = network.vpc
    if not isinstance(vpc, ec2.Vpc):
        return []
    chosen = network.subnet_ids()
    if not chosen or not set(chosen) <= _ids(vpc.isolated_subnets):
        return []
    defined = stage_of(construct).node.find_all()
    if any(is_of(each, "s3") for each in endpoints_of(vpc, defined)):
        return []
    # A route at the subnets may be a way by a gateway.
    paths = tuple(f"{subnet.node.path}/" for subnet in vpc.isolated_subnets)
    routes = (each for each in defined if isinstance(each, ec2.CfnRoute))
    if any(route.node.path.startswith(paths) for route in routes):
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
    name = TOKEN.sub("", endpoint.service_name or "")
    return name.endswith(f".{service}")


def _ids(subnets: list[ec2.ISubnet]) -> set[str]:
    return {subnet.subnet_id for subnet in subnets}
