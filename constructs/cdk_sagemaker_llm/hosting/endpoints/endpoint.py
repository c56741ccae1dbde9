"""
The SageMaker Endpoint: what applications call.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import jsii
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.hosting.common.elsewhere import (
    Used,
    bound_findings,
    elsewhere_findings,
)
from cdk_sagemaker_llm.hosting.common.names import (
    in_arn,
    name_in,
    named,
    own_name_findings,
    take_name,
)
from cdk_sagemaker_llm.hosting.common.reporting import (
    annotate,
    at_synth,
    checked,
    report,
)
from cdk_sagemaker_llm.hosting.common.rules import VARIANT_NAMES
from cdk_sagemaker_llm.hosting.common.scope import Connectable, stack_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint_base import (
    EndpointBase,
    ImportedEndpoint,
)
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    variant_subject,
)
from cdk_sagemaker_llm.hosting.endpoints.events import DeploymentEvents, target_of
from cdk_sagemaker_llm.hosting.endpoints.placements import Placements
from cdk_sagemaker_llm.hosting.models.model import Dialect, Model, common_dialect
from cdk_sagemaker_llm.hosting.models.model_weights import moving_findings
from cdk_sagemaker_llm.hosting.monitoring.spend import Fleet
from cdk_sagemaker_llm.hosting.roles.given_roles import same_role
from cdk_sagemaker_llm.hosting.roles.grants import let_describe
from cdk_sagemaker_llm.hosting.roles.nag import acknowledge_granted
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.scaling.counts import ScalableInstanceCount
from cdk_sagemaker_llm.hosting.scaling.target_base import contents_of
from cdk_sagemaker_llm.hosting.scaling.tracking import backlog_findings
from cdk_sagemaker_llm.hosting.variants.instance_types import changing_type_findings
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_ec2 as ec2

    from cdk_sagemaker_llm.hosting.endpoints.endpoint_config import EndpointConfigBase
    from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
    from cdk_sagemaker_llm.hosting.updates.rollout import Rollout


@jsii.implements(iam.IGrantable, Connectable)
class Endpoint(EndpointBase, DeploymentEvents):
    """
    A SageMaker Endpoint.

    Args:
        endpoint_config: What it runs, defined here or imported.

        endpoint_name:
            A name of at most 63 letters, digits and inner hyphens, unique in
            account and region whatever its case.
            ``PhysicalName.GENERATE_IF_NEEDED`` makes one where a stack of another
            environment refers to it.
            If omitted, CloudFormation makes one.

        rollout:
            How an update reaches it: ``AllAtOnce``, ``Canary``, ``Linear`` or
            ``Rolling``.
            If omitted, all requests go to a second fleet at once, and nothing is
            watched.

    Raises:
        ValueError: If the name is not of that form, or the service would refuse the
            rollout.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_config: EndpointConfigBase,
        endpoint_name: str | None = None,
        rollout: Rollout | None = None,
    ) -> None:
        rollout_findings, own_alarms = [], []
        if rollout is not None:
            from cdk_sagemaker_llm.hosting.updates.rollback_alarms import (  # noqa: PLC0415 - who has a rollout has it
                alarms_of,
                let_look,
                silent_findings,
                used_alarms,
                watched_variants,
            )
            from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - as above
                endpoint_rollout_findings,
            )

            own_alarms = used_alarms(rollout)
            rollout_findings = endpoint_rollout_findings(
                rollout, endpoint_config.definition.variants, endpoint_name
            )
        far = _config_findings(scope, endpoint_config, own_alarms)
        own = own_name_findings(scope, "endpoint_name", endpoint_name)
        report(scope, id, [*own, *rollout_findings, *far])
        super().__init__(scope, id, physical_name=endpoint_name)
        take_name(self, "endpoint_name", endpoint_name)
        self.endpoint_config = endpoint_config
        self.placements = Placements(endpoint_config.definition)
        """What the inference components reserve, for an endpoint that hosts them."""
        self.chosen_name = endpoint_name
        """The name that the user chose; ``None`` when CloudFormation makes one."""
        self._scaled = {}
        self.cfn_endpoint = sagemaker.CfnEndpoint(
            self,
            "Resource",
            endpoint_config_name=endpoint_config.endpoint_config_name,
            # A name that the CDK makes where another environment needs it is a token.
            endpoint_name=self._physical_name
            if endpoint_name is not None and is_unresolved(endpoint_name)
            else endpoint_name,
        )
        """The resource itself, for what this class does not offer."""
        self.rollout = rollout
        """How an update reaches it; ``None`` for the service's own way."""
        if rollout is not None:
            watched = watched_variants(endpoint_name or "", endpoint_config.variants)
            alarms = alarms_of(self, rollout.rollback_on, watched)
            self.cfn_endpoint.deployment_config = rollout.to_property(alarms.names)
            roles = _roles_of(endpoint_config)
            unseen = let_look(self, roles, alarms, self.cfn_endpoint)
            annotate(self, [*rollout_findings, *unseen])
            if rollout.notify is not None:
                self.on_rollback("Notify", target=target_of(rollout.notify))
            at_synth(self, lambda: silent_findings(self, rollout))
        annotate(self, [*own, *far])
        networks = self.networks
        if networks:
            # Instances pull and download as they start, when a VPC of the same stack
            # may still lack its routes.
            ways = [way for network in networks for way in network.ways_out()]
            self.cfn_endpoint.node.add_dependency(*ways)
            at_synth(self, self._address_findings)

    @property
    def networks(self) -> list[Network]:
        """
        Where in VPCs its instances are: of its models, or of its components.
        """
        config = self.endpoint_config
        found = [*(model.network for model in _models_of(config)), config.network]
        return [each for each in found if each.vpc is not None]

    def _address_findings(self) -> list[Finding]:
        """
        Check the subnets' addresses, now that it is known how far it scales.
        """
        from cdk_sagemaker_llm.hosting.endpoints.subnet_addresses import (  # noqa: PLC0415 - who has a VPC has it
            fleet_findings,
        )

        most = {name: contents_of(one).most for name, one in self._scaled.items()}
        counts = [
            most.get(each.variant_name, each.most_instances)
            for each in self.endpoint_config.variants
        ]
        return fleet_findings(self.networks, counts, self.rollout)

    def _fleets(self) -> list[Fleet]:
        """
        Return how many instances there may be, now that it is known how far it scales.
        """
        highest = {name: contents_of(one).highest for name, one in self._scaled.items()}
        return [
            Fleet(
                [one.name for one in each.types],
                highest.get(each.variant.variant_name, each.variant.most_instances),
            )
            for each in self.endpoint_config.definition.every_variant
        ]

    def _dialect(self) -> Dialect:
        if self.endpoint_config.async_inference is not None:
            raise ValueError(
                f"{self.node.path} has no connection: its requests and answers lie on "
                "S3 (async_inference); call invoke_endpoint_async of boto3"
            )
        models = (m for each in self.endpoint_config.variants for m in each.models)
        return common_dialect(model.definition for model in models)

    @functools.cached_property
    def endpoint_name(self) -> str:  # type: ignore[override] # a call into Node, made when used
        """
        The name that applications call.
        """
        name = self.cfn_endpoint.attr_endpoint_name
        if self.chosen_name is None:
            return name
        return self._get_resource_name_attribute(name)

    @functools.cached_property
    def endpoint_arn(self) -> str:  # type: ignore[override] # a call into Node, made when used
        """
        The ARN.
        """
        arn = self.cfn_endpoint.ref
        if self.chosen_name is None:
            return arn
        # Where another environment refers to it, by the name that it will have.
        return self._get_resource_arn_attribute(
            arn,
            service="sagemaker",
            resource="endpoint",
            resource_name=in_arn(self._physical_name),
        )

    @checked
    def grant_describe(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal see the endpoint's state, instances and configuration.

        It sees no model, whose variables may hold secrets; and a principal of another
        environment sees no configuration, which has no name there.
        """
        grant = super().grant_describe(grantee)
        if _is_elsewhere(grantee, self):
            return grant
        config = self.endpoint_config.endpoint_config_arn
        return grant.combine(let_describe(grantee, "EndpointConfig", config))

    @checked
    def grant_invoke_async(self, grantee: iam.IGrantable) -> iam.Grant:
        """
        Let a principal upload requests, invoke the endpoint, and fetch the answers.

        Raises:
            ValueError: If the endpoint answers at once: the service refuses the call.
        """
        config = self.endpoint_config
        if config.async_inference is None and not config.is_imported:
            report(self, "", backlog_findings(is_async=False))
        grant = super().grant_invoke_async(grantee)
        if config.async_inference is None:
            return grant
        from cdk_sagemaker_llm.hosting.endpoints.asynchronous import (  # noqa: PLC0415 - who answers so has it
            caller_statements,
        )

        statements = caller_statements(config.async_inference)
        for each in statements:
            grant = grant.combine(
                iam.Grant.add_to_principal(
                    grantee=grantee,
                    actions=list(each.actions),
                    resource_arns=list(each.resources),
                    conditions=each.conditions,
                )
            )
        acknowledge_granted(grantee, statements)
        return grant

    @property
    def grant_principal(self) -> iam.IPrincipal:
        """
        The execution role of what it runs, so that other constructs can grant to it.

        Raises:
            ValueError: If its models have several roles, or are not known.
        """
        roles = _roles_of(self.endpoint_config)
        if not roles or not all(same_role(roles[0], role) for role in roles):
            raise ValueError(
                f"{self.node.path} must have one known execution role to be granted "
                f"anything, got {len(roles)}; grant to the models"
            )
        return roles[0].grant_principal

    @property
    def connections(self) -> ec2.Connections:
        """
        The security groups of all that it runs, where that is in a VPC.

        Raises:
            ValueError: If it is in no VPC.
        """
        networks = self.networks or [Network()]
        groups = (group for network in networks for group in network.security_groups)
        # Models may share theirs.
        own = list(dict.fromkeys(groups))
        return replace(networks[0], security_groups=own).connections

    @staticmethod
    @checked
    def from_endpoint_name(
        scope: Construct,
        id: str,
        endpoint_name: str,
        *,
        variant_name: str | None = None,
    ) -> EndpointBase:
        """
        Refer to an existing endpoint in the stack's account and region.

        Args:
            variant_name:
                The variant that its metrics, alarms and dashboards are of.
                If omitted, each call names it, and a dashboard cannot show it.

        Raises:
            ValueError: If the service would refuse a name.
        """
        arn = named(scope, id, "endpoint", endpoint_name)
        return ImportedEndpoint(scope, id, endpoint_name, arn, variant_name)

    @staticmethod
    @checked
    def from_endpoint_arn(
        scope: Construct, id: str, endpoint_arn: str, *, variant_name: str | None = None
    ) -> EndpointBase:
        """
        Refer to an existing endpoint anywhere.

        Args:
            endpoint_arn: The endpoint's ARN.

            variant_name:
                The variant that its metrics, alarms and dashboards are of.
                If omitted, each call names it, and a dashboard cannot show it.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        name = name_in(scope, id, "endpoint", endpoint_arn)
        return ImportedEndpoint(scope, id, name, endpoint_arn, variant_name)

    @checked
    def auto_scale_instance_count(
        self,
        *,
        max_capacity: int,
        min_capacity: int | None = None,
        variant_name: str | None = None,
    ) -> ScalableInstanceCount:
        """
        Let the number of instances of a variant follow its load.

        From then on an update keeps the number that scaling has reached, and
        SageMaker refuses an update that changes the variant's instance type or
        removes it: deploy once without scaling, then with scaling and the change.

        Args:
            max_capacity: Instances that run at most.

            min_capacity:
                Instances that always run; 0 with ``async_inference`` alone.
                If omitted, it is the number that the variant starts with, or 1 where
                the configuration is imported.

            variant_name:
                Which variant; it must have a model.
                If omitted, it is the only one; of an imported configuration it must be
                named.

        Raises:
            ValueError: If the bounds or the variant are wrong, or its instances are
                scaled already.
        """
        if self.endpoint_config.is_imported and variant_name is not None:
            at_least = 1 if min_capacity is None else min_capacity
            return self._scale(variant_name, at_least, max_capacity)
        variant = self._variant(variant_name)
        least = variant.initial_instance_count if min_capacity is None else min_capacity
        scalable = self._scale(
            variant.variant_name, least, max_capacity, is_only=variant_name is None
        )
        annotate(
            scalable,
            [
                *changing_type_findings(variant.instance_types),
                *_moving_findings(variant, max_capacity),
            ],
        )
        return scalable

    def _scale(
        self,
        variant_name: str,
        least: int,
        most: int,
        *,
        is_only: bool = False,
        asynchronous: bool | None = None,
    ) -> ScalableInstanceCount:
        found = []
        if self.rollout is not None:
            from cdk_sagemaker_llm.hosting.updates.rollout_checks import (  # noqa: PLC0415 - who has a rollout has it
                scaled_findings,
            )

            found = scaled_findings(self.rollout, least, most, "instances")
        report(self, "", found)
        config = self.endpoint_config
        if not config.is_imported:
            asynchronous = config.async_inference is not None
        scalable = super()._scale(
            variant_name, least, most, is_only=is_only, asynchronous=asynchronous
        )
        # Updates keep what scaling has reached, and nothing else: a weight that is
        # edited takes effect, and so does data capture.
        self.cfn_endpoint.retain_all_variant_properties = True
        self.cfn_endpoint.exclude_retained_variant_properties = [
            sagemaker.CfnEndpoint.VariantPropertyProperty(variant_property_type=each)
            for each in ("DesiredWeight", "DataCaptureConfig")
        ]
        annotate(scalable, found)
        return scalable

    def _event_endpoint(self) -> Endpoint:
        return self

    def _metric_subject(self, variant_name: str | None) -> Subject:
        definition = self.endpoint_config.definition
        return variant_subject(self, self.endpoint_name, definition, variant_name)

    def _variant(self, variant_name: str | None) -> ProductionVariant:
        if self.endpoint_config.hosts_components:
            raise TypeError(
                "inference components scale by copies: call auto_scale_copy_count on "
                "the component, and bound instances with max_instance_count"
            )
        by_name = {each.variant_name: each for each in self.endpoint_config.variants}
        if variant_name is None and len(by_name) == 1:
            return next(iter(by_name.values()))
        if variant_name in by_name:
            return by_name[variant_name]
        names = "given: the configuration is imported"
        if by_name:
            names = f"one of {', '.join(by_name)}"
        fault = f"variant_name must be {names}, got {variant_name!r}"
        raise ValueError(f"{self.node.path}: {VARIANT_NAMES.finding(fault)}")


def _is_elsewhere(grantee: iam.IGrantable, endpoint: Endpoint) -> bool:
    principal = grantee.grant_principal
    if not isinstance(principal, Construct):
        return False
    return stack_of(principal).environment != stack_of(endpoint).environment


def _roles_of(config: EndpointConfigBase) -> list[iam.IRole]:
    if config.execution_role is not None:
        return [config.execution_role]
    return [model.role for model in _models_of(config)]


def _models_of(config: EndpointConfigBase) -> list[Model]:
    variants = config.definition.every_variant
    models = (model for each in variants for model in each.variant.models)
    return [model for model in models if isinstance(model, Model)]


def _moving_findings(variant: ProductionVariant, most: int) -> list[Finding]:
    own = (one.definition for one in variant.models if isinstance(one, Model))
    found = (finding for each in own for finding in moving_findings(each.model, most))
    return [*dict.fromkeys(found)]


def _config_findings(
    scope: Construct, config: EndpointConfigBase, alarms: Sequence[Used]
) -> list[Finding]:
    """
    Check where a configuration is for an endpoint, and the alarms that turn the
    endpoint back.
    """
    # Each question is a call into Node, and most are defined in one stack.
    if not config.is_imported and stack_of(config) is stack_of(scope):
        return elsewhere_findings(scope, alarms)
    used = [Used("endpoint_config", config, is_of_account=True), *alarms]
    own = [] if config.is_imported else [("endpoint_config", config)]
    return [*elsewhere_findings(scope, used), *bound_findings(scope, own)]
