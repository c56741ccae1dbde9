"""
The SageMaker EndpointConfig: what an endpoint runs, replaced at every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aws_cdk import Resource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct, IDependable

from cdk_sagemaker_llm.hosting.common.elsewhere import (
    bound_findings,
)
from cdk_sagemaker_llm.hosting.common.names import name_in, named
from cdk_sagemaker_llm.hosting.common.reporting import annotate, checked, report
from cdk_sagemaker_llm.hosting.common.scope import belongs, region_of
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
    Observability,
    config_place_findings,
    define_endpoint_config,
)
from cdk_sagemaker_llm.hosting.models.model import Model
from cdk_sagemaker_llm.hosting.roles.access import RoleAccess, access_of
from cdk_sagemaker_llm.hosting.roles.given_roles import role_findings
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.roles.statements import (
    Statement,
    hosting_statements,
    volume_statements,
)
from cdk_sagemaker_llm.hosting.variants.instance_types import offer_findings
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    define_variant,
    device_fit_findings,
)

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3

    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import AsyncInference
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import DataCapture

_KIND = "endpoint-config"


class EndpointConfigBase(Resource):
    """
    What endpoint configurations defined here and imported ones have in common.
    """

    endpoint_config_name: str
    """The name that an endpoint is defined with."""
    definition: EndpointConfigDefinition
    """What was checked; without variants for an imported one, as none are known."""
    execution_role: iam.IRole | None
    """The role of an endpoint that hosts components; ``None`` for others."""
    network: Network
    """Where components run."""
    async_inference: AsyncInference | None = None
    """Where requests and answers lie; ``None`` if they are answered at once."""
    async_bucket: s3.IBucket | None = None
    """The bucket that was made for them; ``None`` if the user chose another."""
    is_imported: bool = False
    """Whether it was made elsewhere, so that nothing is known of it."""

    @staticmethod
    @checked
    def from_endpoint_config_name(
        scope: Construct, id: str, endpoint_config_name: str
    ) -> EndpointConfigBase:
        """
        Refer to an existing configuration in the stack's account and region.

        Args:
            endpoint_config_name: The configuration's name.

        Raises:
            ValueError: If the service would refuse the name.
        """
        arn = named(scope, id, _KIND, endpoint_config_name)
        return _ImportedEndpointConfig(scope, id, endpoint_config_name, arn)

    @staticmethod
    @checked
    def from_endpoint_config_arn(
        scope: Construct, id: str, endpoint_config_arn: str
    ) -> EndpointConfigBase:
        """
        Refer to an existing configuration by its ARN.

        Args:
            endpoint_config_arn: The configuration's ARN.

        Raises:
            ValueError: If it is an ARN of something else.
        """
        name = name_in(scope, id, _KIND, endpoint_config_arn)
        return _ImportedEndpointConfig(scope, id, name, endpoint_config_arn)

    @property
    def endpoint_config_arn(self) -> str:
        """
        The ARN.
        """
        raise NotImplementedError

    @property
    def variants(self) -> tuple[ProductionVariant, ...]:
        """
        What endpoints of this configuration run on.
        """
        return tuple(each.variant for each in self.definition.variants)

    @property
    def hosts_components(self) -> bool:
        """
        Whether endpoints of this configuration take inference components.
        """
        return self.execution_role is not None


class EndpointConfig(EndpointConfigBase):
    """
    A SageMaker EndpointConfig.

    It has no name of its own, for the reason a Model has none.

    Args:
        variants: One to ten variants, each with a name of its own.

        execution_role:
            The role of an endpoint that hosts inference components; it must be the
            role of their models too.
            If omitted, the variants' models bring theirs.

        network:
            Where inference components run; it must be their models' network too.
            If omitted, it is SageMaker's own network; a variant's model brings its
            own.

        kms_key:
            The key for the instances' EBS volumes, which the role may then use; the
            key's policy must let the account's IAM policies decide.
            If omitted, it is SageMaker's own; types with NVMe storage encrypt in
            hardware.

        observability:
            Which metrics the endpoint publishes, such as
            ``Observability(detailed=True)``, and how often.
            If omitted, those that cost nothing come every minute.

        shadow_variants:
            One variant that gets copies of the requests, beside one other; its answers
            are dropped. Its share of them is its weight, divided by the other's.
            If omitted, there is none.

        async_inference:
            Where requests and answers lie, so that requests wait in a queue.
            If omitted, requests are answered at once.

        data_capture:
            Where requests and answers are kept.
            If omitted, they are not.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

    @checked
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        variants: Sequence[ProductionVariant],
        execution_role: iam.IRole | None = None,
        network: Network | None = None,
        kms_key: kms.IKey | None = None,
        observability: Observability | None = None,
        shadow_variants: Sequence[ProductionVariant] = (),
        async_inference: AsyncInference | None = None,
        data_capture: DataCapture | None = None,
    ) -> None:
        definition = define_endpoint_config(
            EndpointConfigDefinition(
                variants=tuple(define_variant(each) for each in variants),
                shadows=tuple(define_variant(each) for each in shadow_variants),
                execution_role=execution_role,
                network=network,
                kms_key=kms_key,
                observability=observability or Observability(),
                async_inference=async_inference,
                data_capture=data_capture,
            ),
            hosts_components=execution_role is not None,
        )
        # Models that were defined by themselves, on the hosts that they fill.
        fit = [
            finding
            for each in definition.every_variant
            for one in each.types
            if one.model is not None and one.hardware is not None
            for finding in device_fit_findings(
                one.hardware, one.model, one.hardware.accelerators
            )
        ]
        unusable = role_findings(scope, execution_role)
        far = config_place_findings(scope, definition)
        report(scope, id, [*unusable, *definition.findings, *fit, *far])
        models = (m for each in definition.every_variant for m in each.variant.models)
        own = [("model", each) for each in models if isinstance(each, Model)]
        super().__init__(scope, id)
        belongs(self, scope)
        self._write(definition)
        annotate(self, [*fit, *bound_findings(self, own)])

    def _write(self, definition: EndpointConfigDefinition) -> None:
        self.definition = definition
        """What was checked, and is written here."""
        self.execution_role = role = definition.execution_role
        """The role of an endpoint that hosts components; ``None`` for others."""
        network = definition.network or Network()
        self.network = network.with_security_group(self)
        """Where components run, with the security groups that were made for it."""
        capture = definition.data_capture
        self.async_inference = definition.async_inference
        answers = None
        if self.async_inference is not None:
            from cdk_sagemaker_llm.hosting.endpoints.asynchronous import (  # noqa: PLC0415 - who answers so has it
                async_property,
                make_bucket,
            )

            if self.async_inference.output is None:
                self.async_bucket = make_bucket(self, self.async_inference.kms_key)
                self.async_inference = self.async_inference.within(self.async_bucket)
            answers = async_property(self.async_inference)
        access = access_of(self, role) if role else None
        key = definition.kms_key
        self.cfn_endpoint_config = sagemaker.CfnEndpointConfig(
            self,
            "Resource",
            production_variants=[
                each.variant.to_property(host_image=each.host_image)
                for each in definition.variants
            ],
            execution_role_arn=access.role_arn if access else None,
            vpc_config=_vpc_config(self.network),
            enable_network_isolation=self.network.isolated or None,
            kms_key_id=key.key_arn if key else None,
            metrics_config=definition.observability.to_property(),
            shadow_production_variants=[
                each.variant.to_property(host_image=each.host_image)
                for each in definition.shadows
            ]
            or None,
            async_inference_config=answers,
            data_capture_config=capture.to_property() if capture else None,
        )
        """The resource itself, for what this class does not offer."""
        self.network.hold_access(network, self._wait_for_access(access))
        self.endpoint_config_name: str = (
            self.cfn_endpoint_config.attr_endpoint_config_name
        )
        types = [
            hardware
            for each in definition.every_variant
            for hardware in each.hardware_of_types
        ]
        annotate(self, [*definition.findings, *offer_findings(region_of(self), types)])

    def _wait_for_access(self, access: RoleAccess | None) -> list[IDependable]:
        """
        Grant the roles what the endpoint itself needs, and depend on these policies.

        The endpoint needs them whatever components come and go: a role is used when it
        is created, and again while its network interfaces are removed.
        """
        key, capture = self.definition.kms_key, self.definition.data_capture
        needed: list[Statement] = []
        if key is not None:
            needed += volume_statements(key)
        if self.async_inference is not None:
            from cdk_sagemaker_llm.hosting.endpoints.asynchronous import (  # noqa: PLC0415 - as above
                async_statements,
            )

            needed += async_statements(self.async_inference)
        if capture is not None:
            from cdk_sagemaker_llm.hosting.endpoints.data_capture import (  # noqa: PLC0415 - who captures has it
                capture_statements,
            )

            needed += capture_statements(capture)
        policies: list[IDependable] = []
        if access is not None:
            access.keep(where=key is not None or self.network.vpc is not None)
            network = self.network.access_statements()
            policies = access.allow([*hosting_statements(), *network, *needed])
        elif needed:
            variants = (each.variant for each in self.definition.every_variant)
            for model in dict.fromkeys(m for v in variants for m in v.models):
                if isinstance(model, Model):
                    own = access_of(self, model.role)
                    own.keep(where=key is not None)
                    policies += own.allow(needed)
        if policies:
            self.cfn_endpoint_config.node.add_dependency(*policies)
        return policies

    @property
    def endpoint_config_arn(self) -> str:
        """
        The ARN.
        """
        return self.cfn_endpoint_config.ref


class DefinedEndpointConfig(EndpointConfig):
    """
    A configuration whose definition was made and reported by a pattern.
    """

    def __init__(
        self, scope: Construct, id: str, definition: EndpointConfigDefinition
    ) -> None:
        Resource.__init__(self, scope, id)
        belongs(self, scope)
        self._write(definition)


class _ImportedEndpointConfig(EndpointConfigBase):
    is_imported = True

    def __init__(self, scope: Construct, id: str, name: str, arn: str) -> None:
        super().__init__(scope, id, environment_from_arn=arn)
        self.endpoint_config_name = name
        self.execution_role = None
        self.network = Network()
        self.definition = EndpointConfigDefinition(variants=())
        self._arn = arn

    @property
    def endpoint_config_arn(self) -> str:
        return self._arn


def _vpc_config(
    network: Network,
) -> sagemaker.CfnEndpointConfig.VpcConfigProperty | None:
    if network.vpc is None:
        return None
    return sagemaker.CfnEndpointConfig.VpcConfigProperty(
        subnets=network.subnet_ids(),
        security_group_ids=network.security_group_ids(),
    )
