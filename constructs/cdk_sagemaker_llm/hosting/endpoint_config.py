"""
The SageMaker EndpointConfig: what an endpoint runs, replaced at every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jsii
from aws_cdk import IStableStringProducer, Lazy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.catalog.host_images import host_image_for
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, error, errors_of
from cdk_sagemaker_llm.hosting.network import Network
from cdk_sagemaker_llm.hosting.reporting import annotate, report
from cdk_sagemaker_llm.hosting.variant import ProductionVariant

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

_MOST_VARIANTS = 10


class EndpointConfig(Construct):
    """
    A SageMaker EndpointConfig.

    It has no name of its own, for the reason a Model has none.

    Args:
        variants: One to ten variants, each with a name of its own.

        execution_role:
            The role of an endpoint that hosts inference components; it must be the
            role of their models too.
            Left out, the variants' models bring theirs.

        network:
            Where inference components run; it must be their models' network too.
            Left out, SageMaker's own network; a variant's model brings its own.

        kms_key:
            The key for the instances' EBS volumes.
            Left out, SageMaker's own; types with NVMe storage encrypt in hardware.

        detailed_observability:
            Whether GPU, host and container metrics go to CloudWatch, at extra cost.
            Left out, no: the service's own default for new configurations is yes.

    Raises:
        ValueError: If the service would refuse it; all reasons at once.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        variants: Sequence[ProductionVariant],
        execution_role: iam.IRole | None = None,
        network: Network | None = None,
        kms_key: kms.IKey | None = None,
        detailed_observability: bool = False,
    ) -> None:
        hosts_components = execution_role is not None
        found = config_findings(
            variants,
            hosts_components=hosts_components,
            has_key=kms_key is not None,
            has_network=network is not None,
        )
        if not errors_of(found):
            found += [f for variant in variants for f in variant.model_findings()]
        warnings = report(scope, id, found)
        super().__init__(scope, id)
        self.variants = tuple(variants)
        self._component_images: list[tuple[str, ImageRelease]] = []
        self.execution_role = execution_role
        self.network = (network or Network()).with_security_group(self)
        """Where components run, with the security groups that were made for it."""
        self.cfn_endpoint_config = sagemaker.CfnEndpointConfig(
            self,
            "Resource",
            production_variants=[
                variant.to_property(host_image=self._late_host_image(variant))
                for variant in variants
            ],
            execution_role_arn=execution_role.role_arn if execution_role else None,
            vpc_config=_vpc_config(self.network),
            enable_network_isolation=self.network.isolated or None,
            kms_key_id=kms_key.key_arn if kms_key else None,
            metrics_config=sagemaker.CfnEndpointConfig.MetricsConfigProperty(
                enable_detailed_observability=detailed_observability
            ),
        )
        """The resource itself, for what this class does not offer."""
        self.endpoint_config_name: str = (
            self.cfn_endpoint_config.attr_endpoint_config_name
        )
        annotate(self, warnings)

    @property
    def hosts_components(self) -> bool:
        """
        Whether endpoints of this configuration take inference components.
        """
        return self.execution_role is not None

    def host_component(self, variant_name: str, image: ImageRelease) -> None:
        """
        Let the hosts of a variant run a component's image, with the driver it needs.

        Args:
            variant_name: The variant whose instances run it.

            image: The component's image.
        """
        self._component_images.append((variant_name, image))

    def _late_host_image(self, variant: ProductionVariant) -> str | None:
        if variant.model is not None or variant.inference_ami_version is not None:
            return None
        return Lazy.string(_HostImage(variant, self._component_images))


@jsii.implements(IStableStringProducer)
class _HostImage:
    """
    The host image for all components, known when the last one is defined.
    """

    def __init__(
        self, variant: ProductionVariant, images: list[tuple[str, ImageRelease]]
    ) -> None:
        self._variant = variant
        self._images = images

    def produce(self) -> str | None:
        """
        Return the newest of the host images that the components need.
        """
        hardware = self._variant.hardware()
        if hardware is None:
            return None
        needed = [
            host_image_for(hardware, image.cuda_version)
            for name, image in self._images
            if name == self._variant.variant_name
        ]
        # The host images' names sort as their drivers do.
        return max(filter(None, needed), default=None)


def config_findings(
    variants: Sequence[ProductionVariant],
    *,
    hosts_components: bool,
    has_key: bool = False,
    has_network: bool = False,
) -> list[Finding]:
    """
    Check the variants, alone and together.

    Args:
        variants: What the endpoint is to run.

        hosts_components: Whether it has an execution role, and so no model.

        has_key: Whether its volumes are to be encrypted with a key.

        has_network: Whether it names a network of its own.
    """
    found = [finding for variant in variants for finding in variant.findings()]
    if not 1 <= len(variants) <= _MOST_VARIANTS:
        count = len(variants)
        found.append(
            error("LLM123", f"variants must be 1 to {_MOST_VARIANTS}, got {count}")
        )
    names = [variant.variant_name for variant in variants]
    found += [
        error("LLM123", f"variant_name {name!r} is used more than once")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if has_network and not hosts_components:
        found.append(
            error(
                "LLM124",
                "network is for inference components",
                "define the network of the variant's Model",
            )
        )
    found += _role_findings(variants, hosts_components=hosts_components)
    return found + (_key_findings(variants) if has_key else [])


def _role_findings(
    variants: Sequence[ProductionVariant], *, hosts_components: bool
) -> list[Finding]:
    # An endpoint takes components if, and only if, its configuration has a role and
    # no variant has a model (SageMaker guide, realtime-endpoints-deploy-models).
    found = []
    for variant in variants:
        name = variant.variant_name
        if hosts_components and variant.model is not None:
            found.append(
                error(
                    "LLM124",
                    f"variant {name!r} has a model, and execution_role is for "
                    "inference components, which exclude each other",
                )
            )
        if not hosts_components and variant.model is None:
            found.append(
                error(
                    "LLM124",
                    f"variant {name!r} has neither a model nor, for inference "
                    "components, an execution_role",
                )
            )
    return found


def _key_findings(variants: Sequence[ProductionVariant]) -> list[Finding]:
    found = []
    for variant in variants:
        try:
            hardware = variant.hardware()
        except ValueError:
            continue  # The variant's own check has said so.
        if hardware is not None and not hardware.volume_size_supported:
            found.append(
                error(
                    "LLM121",
                    f"{hardware} refuses kms_key: its NVMe storage is encrypted in "
                    "hardware",
                    "leave it out",
                )
            )
    return found


def _vpc_config(
    network: Network,
) -> sagemaker.CfnEndpointConfig.VpcConfigProperty | None:
    if network.vpc is None:
        return None
    return sagemaker.CfnEndpointConfig.VpcConfigProperty(
        subnets=network.subnet_ids(),
        security_group_ids=network.security_group_ids(),
    )
