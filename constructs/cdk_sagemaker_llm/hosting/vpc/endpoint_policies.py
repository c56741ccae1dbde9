"""
Who calls AWS from inside a VPC, and what the VPC's endpoints let through: what the
callers' roles may do, and no more.

Callers are the models and endpoints of the app, its functions, and whom the user names;
what their roles may do is read from the app's policies.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from aws_cdk import Aws, Stack
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.scope import stack_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint_config import EndpointConfig
from cdk_sagemaker_llm.hosting.models.model import Model
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.roles.statements import own_names, partition
from cdk_sagemaker_llm.hosting.vpc.services import Service, reached_by
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

WIDER_POLICY = Rule(
    "LLM802",
    "an endpoint of a VPC lets more through than the app uses, since another stack "
    "decides what that is",
)


class EndpointPolicy:
    """
    The policy of one endpoint, as it grows.
    """

    def __init__(
        self, service: Service, may_name: Callable[[Permission], bool]
    ) -> None:
        self._service = service
        self._may_name = may_name
        self._is_wide = False
        self._allowed: dict[tuple[tuple[str, ...], bool], list[Any]] = {}

    def allow(self, permission: Permission) -> None:
        """
        Let through what a role may do with this service.
        """
        name = self._service.name
        actions = tuple(a for a in permission.actions if name in reached_by(a))
        if not actions:
            return
        is_wide = not self._may_name(permission)
        resources = ["*"] if is_wide else permission.resources
        entries = self._allowed.setdefault((actions, is_wide), [])
        entries += [each for each in resources if each not in entries]
        self._is_wide |= is_wide

    def allow_all(self) -> None:
        """
        Let all calls of the account through, where nothing tells which there are.
        """
        self._allowed.setdefault(((self._service.all_actions,), False), ["*"])

    @property
    def is_empty(self) -> bool:
        """
        Whether nothing is let through yet.
        """
        return not self._allowed

    def findings(self) -> list[Finding]:
        """
        Say where another stack's resources could not be named.
        """
        if not self._is_wide:
            return []
        return [
            WIDER_POLICY.finding(
                f"the endpoint of {self._service.name} lets through calls of any "
                "resource of this account: which one is decided in another stack, "
                "that may depend on this one",
                "define PrivateAccess in the stack of those who call",
            )
        ]

    def to_json(self, *further: dict[str, Any]) -> dict[str, Any]:
        """
        Render as IAM writes it, with further statements that no role of the app asks
        for.
        """
        allowed = [
            _statement(actions, resources, is_wide=is_wide)
            for (actions, is_wide), resources in self._allowed.items()
        ]
        return {"Statement": [*allowed, *further], "Version": "2012-10-17"}


def layer_statement() -> dict[str, Any]:
    """
    Return what lets the layers of images through, from the bucket of Amazon ECR's own
    (Amazon ECR user guide, vpc-endpoints).
    """
    bucket = f"prod-{Aws.REGION}-starport-layer-bucket"
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": f"arn:{partition()}:s3:::{bucket}/*",
    }


def callers_in(
    vpc: ec2.IVpc, constructs: Sequence[IConstruct], clients: Iterable[ec2.IConnectable]
) -> list[Caller]:
    """
    Find the callers of AWS inside a VPC, in the order of definition.
    """
    policies = _Policies(constructs)
    found = [*_hosts(vpc, constructs, policies), *_functions(vpc, constructs, policies)]
    ids = {id(each.construct) for each in found}
    named = [
        Caller(
            construct=cast("IConstruct", client),
            is_host=False,
            connections=client.connections,
            subnet_ids=None,
            permissions=_role_permissions(client, policies),
        )
        for client in clients
        if id(client) not in ids
    ]
    return [*found, *named]


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """
    A construct that calls AWS from inside a VPC.

    Args:
        is_host: Whether it is a model or an endpoint's configuration.

        subnet_ids: Its subnets; ``None`` if they are not known.

        permissions: What its role may do; ``None`` if that is not known.
    """

    construct: IConstruct
    is_host: bool
    connections: ec2.Connections
    subnet_ids: tuple[str, ...] | None
    permissions: tuple[Permission, ...] | None


@dataclass(frozen=True, slots=True)
class Permission:
    """
    One thing that a role may do.
    """

    actions: tuple[str, ...]
    resources: tuple[Any, ...]
    stack: Stack

    @property
    def is_known(self) -> bool:
        """
        Whether the resources are the same text in every stack.
        """
        return all(map(_is_known, self.resources))


def check_clients(clients: Iterable[ec2.IConnectable]) -> None:
    """
    Refuse a client that has security groups but is no construct.
    """
    for each in clients:
        if not hasattr(each, "node"):
            raise TypeError(
                f"clients must be constructs, got {type(each).__name__}; name what has "
                "these connections"
            )


def is_in(network: Network | None, vpc: ec2.IVpc) -> bool:
    """
    Return whether a network belongs to a VPC; several objects may stand for one.
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


def _statement(
    actions: Sequence[str], resources: Sequence[Any], *, is_wide: bool
) -> dict[str, Any]:
    account = {"aws:PrincipalAccount": Aws.ACCOUNT_ID}
    if is_wide:
        account["aws:ResourceAccount"] = Aws.ACCOUNT_ID
    return {
        "Effect": "Allow",
        "Principal": "*",
        "Action": _one_or_more(actions),
        "Resource": _one_or_more(resources),
        # Nobody else's credentials carry anything out of the VPC.
        "Condition": {"StringEquals": account},
    }


class _Policies:
    """
    The policies of an app, or of a stage of it.
    """

    def __init__(self, constructs: Iterable[IConstruct]) -> None:
        self._policies = [
            (stack, stack.resolve(each.roles) or [], each.policy_document)
            for each in constructs
            if isinstance(each, iam.CfnPolicy | iam.CfnManagedPolicy)
            for stack in [each.stack]
        ]

    def of(self, role: iam.IRole) -> Iterator[Permission]:
        """
        Yield what a role is allowed in policies of its own, managed by AWS not.
        """
        name, home = role.role_name, role.stack.environment
        for stack, roles, document in self._policies:
            # A name that the CDK makes up is unknown in other environments.
            if is_unresolved(name) and stack.environment != home:
                continue
            if stack.resolve(name) in roles:
                yield from _permissions(document, stack)
        resource = role.node.default_child
        if isinstance(resource, iam.CfnRole) and isinstance(resource.policies, list):
            for inline in resource.policies:
                document = getattr(inline, "policy_document", None)
                yield from _permissions(document, resource.stack)


def _hosts(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct], policies: _Policies
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


def _functions(
    vpc: ec2.IVpc, constructs: Iterable[IConstruct], policies: _Policies
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
                permissions=_without_own_lines(each, _role_permissions(each, policies)),
            )


def _without_own_lines(
    function: IConstruct, permissions: tuple[Permission, ...] | None
) -> tuple[Permission, ...] | None:
    """
    Leave out a function's own log group: Lambda writes its lines there by itself, from
    outside the VPC.
    """
    config = getattr(function.node.default_child, "logging_config", None)
    group = Stack.of(function).resolve(getattr(config, "log_group", None))
    if permissions is None or not isinstance(group, Mapping) or "Ref" not in group:
        return permissions
    own = repr(group["Ref"])
    kept = [
        (
            one,
            [each for each in one.resources if own not in str(one.stack.resolve(each))],
        )
        for one in permissions
    ]
    return tuple(
        replace(one, resources=tuple(resources)) for one, resources in kept if resources
    )


def _is_known(resource: object) -> bool:
    if not isinstance(resource, str):
        return False
    own = "|".join(map(re.escape, own_names()))
    return not is_unresolved(re.sub(own, "", resource))


def _one_or_more(values: Sequence[Any]) -> object:
    return values[0] if len(values) == 1 else list(values)


def _permissions(document: object, stack: Stack) -> Iterator[Permission]:
    rendered = document
    if isinstance(document, iam.PolicyDocument):
        rendered = document.to_json()
    if not isinstance(rendered, Mapping):
        # Empty, or made by what only CloudFormation can read.
        return
    for each in _several(rendered.get("Statement", [])):
        if each.get("Effect") == "Allow" and "Action" in each and "Resource" in each:
            actions, resources = _several(each["Action"]), _several(each["Resource"])
            yield Permission(tuple(actions), tuple(resources), stack)


def _asked_for(host: Model | EndpointConfig) -> list[Permission]:
    """
    Return what a host needs; a role that stays as it is has its permissions elsewhere.
    """
    if isinstance(host, EndpointConfig):
        return []
    needed = host._statements(host.definition.model)  # noqa: SLF001 - what its role is given
    stack = stack_of(host)
    return [
        Permission(tuple(each.actions), tuple(each.resources), stack) for each in needed
    ]


def _role_permissions(
    client: object, policies: _Policies
) -> tuple[Permission, ...] | None:
    role = getattr(client, "grant_principal", None)
    if role is None or not hasattr(role, "role_name"):
        return None
    return tuple(policies.of(role))


def _several(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
