"""
Endpoints of a VPC that has no way to the internet, for what hosting calls there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import jsii
from aws_cdk import Aspects, CfnResource, IAspect, Stack
from constructs import Construct, IConstruct

from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.hosting.common.reporting import at_synth, checked, report
from cdk_sagemaker_llm.hosting.common.scope import Connectable, stack_of, stage_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint import Endpoint
from cdk_sagemaker_llm.hosting.vpc.endpoint_policies import (
    Caller,
    EndpointPolicy,
    Permission,
    callers_in,
    check_clients,
    is_in,
    layer_statement,
    subnets_of,
)
from cdk_sagemaker_llm.hosting.vpc.services import (
    NOBODY_THERE,
    NOT_AWAITED,
    SERVICES,
    Service,
    name_findings,
    names_findings,
    route_findings,
    service_named,
    taken_findings,
)

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

_HTTPS = 443
_RULE = "AWS::EC2::SecurityGroupIngress"
_S3, _RUNTIME = service_named("s3"), service_named("sagemaker.runtime")
_IMAGES = service_named("ecr.dkr")


@jsii.implements(Connectable)
class PrivateAccess(Construct):
    """
    The endpoints that hosting needs in a VPC without a way to the internet.

    ``PrivateAccess(self, "Private", vpc=vpc)``

    It is defined once for a VPC, best in the stack of those who call, and looks at the
    end who is in the VPC: models and endpoints, functions, and whom ``clients`` names.
    Each service that their roles may call gets an endpoint, with private DNS and a
    policy of just these calls; endpoints of models wait for those that instances call
    as they start. What nobody may call gets none: each costs by the hour and zone.

    The names of these services lead to these endpoints in the whole VPC. What else is
    in there and calls them must be among ``clients``.

    SageMaker's network interfaces stay some minutes after their endpoint is deleted,
    and hold on to their subnets and security groups: leave both in a stack that is not
    deleted with the models, or delete again.

    Args:
        vpc: The VPC.

        subnets:
            Where the endpoints have their network interfaces, one in each zone.
            If omitted, it is the VPC's private subnets, or else its isolated ones.

        clients:
            Who else in the VPC asks models, such as a service of ECS or an instance.
            If omitted, it is the app's functions in the VPC alone.

        services:
            Services that get an endpoint though nothing shows that they are called,
            such as ``sagemaker.runtime`` for clients of another app.

        without:
            Services that get none: the VPC has an endpoint already, or another way.

        security_group:
            The endpoints' group, which lets in port 443 of all who call.
            If omitted, one is made.

    Raises:
        ValueError: If a service is not known, or the VPC's DNS is turned off.

        TypeError: If a client is no construct.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        subnets: ec2.SubnetSelection | None = None,
        clients: Sequence[ec2.IConnectable] = (),
        services: Sequence[str] = (),
        without: Sequence[str] = (),
        security_group: ec2.ISecurityGroup | None = None,
    ) -> None:
        found = [
            *name_findings("services", services),
            *name_findings("without", without),
            *names_findings(vpc),
        ]
        report(scope, id, found)
        check_clients(clients)
        super().__init__(scope, id)
        self.vpc = vpc
        """The VPC."""
        self.security_group = security_group or _make_group(self, vpc)
        """The endpoints' security group."""
        self._subnets = subnets
        self._clients = list(clients)
        self._services = frozenset(services)
        self._without = frozenset(without)
        self._findings: list[Finding] = []
        # Roles are complete when all is defined, and so is who is in the VPC.
        Aspects.of(self).add(_AtTheEnd(self))
        at_synth(self, lambda: self._findings)

    @property
    def connections(self) -> ec2.Connections:
        """
        The endpoints' security group, which others may be let in by.
        """
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        return ec2.Connections(security_groups=[self.security_group])

    def needed_services(self) -> dict[str, tuple[str, ...]]:
        """
        Return the services that are called from inside the VPC, as far as the app is
        defined, each with the paths of those who call it.

        It counts those of ``services`` and ``without`` too.
        """
        callers = self._callers()
        return {
            service.name: tuple(
                caller.construct.node.path
                for caller in callers
                if self._calls(caller, service)
            )
            for service in SERVICES
            if service.name in self._services
            or any(self._calls(caller, service) for caller in callers)
        }

    def _callers(self) -> list[Caller]:
        return callers_in(self.vpc, self._defined(), self._clients)

    def _defined(self) -> list[IConstruct]:
        return stage_of(self).node.find_all()

    def _calls(self, caller: Caller, service: Service) -> bool:
        if caller.is_host and not service.is_of_hosts:
            return False
        if not caller.is_host and service is _RUNTIME:
            return True
        if service is _S3 and self._calls(caller, _IMAGES):
            # Where the layers of images are.
            return True
        policy = EndpointPolicy(service, self._may_name)
        for permission in caller.permissions or ():
            policy.allow(permission)
        return not policy.is_empty

    def _make(self) -> None:
        callers = self._callers()
        services = [
            service_named(name)
            for name in self.needed_services()
            if name not in self._without
        ]
        if not callers and not self._services:
            nobody = NOBODY_THERE.finding(
                "nobody of this app calls AWS from inside the VPC, so that no endpoint "
                "is made",
                "give models a network in this VPC, or name clients or services",
            )
            self._findings = [nobody]
            return
        self._findings = taken_findings(self, self.vpc, services, self._defined())
        if _S3 in services:
            self._findings += route_findings(self._routed(callers))
        if errors_of(self._findings):
            return
        self._let_in(callers)
        made = [
            (service, self._make_endpoint(service, callers)) for service in services
        ]
        awaited = [endpoint for service, endpoint in made if service.is_awaited]
        if awaited:
            self._let_wait(awaited)

    def _make_endpoint(self, service: Service, callers: list[Caller]) -> CfnResource:
        policy = self._policy(service, callers)
        layers = []
        if service is _S3 and any(self._calls(caller, _IMAGES) for caller in callers):
            layers = [layer_statement()]
        if policy.is_empty and (not layers or service.name in self._services):
            policy.allow_all()
        self._findings += policy.findings()
        construct = (
            self._make_gateway(callers)
            if service is _S3
            else self._make_interface(service)
        )
        resource = construct.node.default_child
        if not isinstance(resource, CfnResource):
            raise TypeError(f"{service.name} has no resource")
        resource.add_property_override("PolicyDocument", policy.to_json(*layers))
        return resource

    def _policy(self, service: Service, callers: list[Caller]) -> EndpointPolicy:
        policy = EndpointPolicy(service, self._may_name)
        for caller in callers:
            for permission in caller.permissions or ():
                if service.is_of_hosts or not caller.is_host:
                    policy.allow(permission)
        is_unknown = any(caller.permissions is None for caller in callers)
        if service is _RUNTIME and (is_unknown or policy.is_empty):
            # A client of unknown permissions may invoke the app's own endpoints.
            action = ("sagemaker:InvokeEndpoint",)
            for each in self._endpoints():
                policy.allow(Permission(action, (each.endpoint_arn,), stack_of(each)))
        return policy

    def _may_name(self, permission: Permission) -> bool:
        """
        Return whether a policy here may name what a role may do it with: this stack
        depends on no other for it that depends on this one.
        """
        theirs = permission.stack
        return permission.is_known or theirs is stack_of(self) or self._needs(theirs)

    def _endpoints(self) -> list[Endpoint]:
        return [
            each
            for each in self._defined()
            if isinstance(each, Endpoint)
            and any(is_in(network, self.vpc) for network in each.networks)
        ]

    def _make_interface(self, service: Service) -> Construct:
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        return ec2.InterfaceVpcEndpoint(
            self,
            service.id,
            vpc=self.vpc,
            service=service.aws_service,
            subnets=self._subnets,
            security_groups=[self.security_group],
            # The group lets in who calls, and not the whole of the VPC.
            open=False,
            private_dns_enabled=True,
        )

    def _make_gateway(self, callers: list[Caller]) -> Construct:
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        return ec2.GatewayVpcEndpoint(
            self,
            _S3.id,
            vpc=self.vpc,
            service=ec2.GatewayVpcEndpointAwsService.S3,
            subnets=[ec2.SubnetSelection(subnets=self._routed(callers))],
        )

    def _routed(self, callers: Iterable[Caller]) -> list[ec2.ISubnet]:
        """
        Return the subnets whose way to S3 changes: those of the callers alone, or all
        without a way of their own where a client's are not known.
        """
        every = subnets_of(self.vpc)
        ids = [name for caller in callers for name in caller.subnet_ids or ()]
        if any(caller.subnet_ids is None for caller in callers) or not ids:
            ids += [subnet.subnet_id for subnet in self.vpc.isolated_subnets]
        return [every[name] for name in dict.fromkeys(ids) if name in every]

    def _let_in(self, callers: Iterable[Caller]) -> None:
        from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

        groups = {
            group.security_group_id: group
            for caller in callers
            for group in caller.connections.security_groups
        }
        port, description = ec2.Port.tcp(_HTTPS), "calls of AWS by private access"
        for group in groups.values():
            theirs = Stack.of(group)
            # In the stack that depends on the other one anyway, or may.
            is_remote = theirs is not stack_of(self) and not self._needs(theirs)
            self.security_group.add_ingress_rule(group, port, description, is_remote)
            group.add_egress_rule(self.security_group, port, description, not is_remote)

    def _needs(self, theirs: Stack) -> bool:
        """
        Return whether this stack depends on another: for the VPC, or as the user says.
        """
        ours = stack_of(self)
        is_the_vpcs = theirs is Stack.of(self.vpc) and theirs is not ours
        return is_the_vpcs or theirs in ours.dependencies

    def _let_wait(self, awaited: list[CfnResource]) -> None:
        # Those for callers whose group another stack or the user owns.
        rules = [
            each
            for each in self.security_group.node.find_all()
            if isinstance(each, CfnResource) and each.cfn_resource_type == _RULE
        ]
        for each in self._endpoints():
            if self._needs(stack_of(each)):
                early = NOT_AWAITED.finding(
                    f"{each.node.path} is deployed before what its instances need to "
                    "start",
                    "define PrivateAccess in the stack of the VPC, or of the models",
                )
                self._findings.append(early)
            else:
                each.cfn_endpoint.node.add_dependency(*awaited, *rules)


@jsii.implements(IAspect)
class _AtTheEnd:
    def __init__(self, access: PrivateAccess) -> None:
        self._access = access
        self._is_made = False

    def visit(self, node: IConstruct) -> None:  # noqa: ARG002 - the first is its own
        """
        Make the endpoints once; what is made is visited too.
        """
        if not self._is_made:
            self._is_made = True
            self._access._make()


def _make_group(scope: Construct, vpc: ec2.IVpc) -> ec2.ISecurityGroup:
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - half a second to load

    return ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        vpc=vpc,
        description="Endpoints of AWS for language models",
        allow_all_outbound=False,
    )
