"""
A shadow variant as it will be: its model, its instances, and how well they fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.hosting.definitions import ModelDefinition, define_model
from cdk_sagemaker_llm.hosting.host_types import VariantDefinition
from cdk_sagemaker_llm.hosting.limits import range_findings
from cdk_sagemaker_llm.hosting.variant import ProductionVariant
from cdk_sagemaker_llm.hosting.variants_defined import define_variant, known_hardware

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

    from cdk_sagemaker_llm.catalog.instances import InstanceType
    from cdk_sagemaker_llm.findings import Finding
    from cdk_sagemaker_llm.hosting.network import Network
    from cdk_sagemaker_llm.hosting.shadow import ShadowVariant
    from cdk_sagemaker_llm.models import ModelSource
    from cdk_sagemaker_llm.serving.configuration import ServingConfiguration


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowDefinition:
    """
    A shadow variant as it will be.

    Args:
        model: Its model, with its plan.

        variant: Its instances.

        fit: What was found of how the model fits them, and of its share.
    """

    model: ModelDefinition
    variant: VariantDefinition
    fit: tuple[Finding, ...]

    @property
    def findings(self) -> list[Finding]:
        """
        What was found of it, told apart from what was found of the endpoint's model.

        What is wrong with its instances is among the configuration's findings.
        """
        every = (*self.model.findings, *self.fit)
        return [replace(each, message=f"shadow: {each.message}") for each in every]


def define_shadow(
    shadow: ShadowVariant,
    *,
    region: str | None,
    serving: ServingConfiguration,
    model: ModelSource | None,
    network: Network | None,
    role: iam.IRole | None,
    instance_type: str | InstanceType | None,
) -> ShadowDefinition:
    """
    Check all that can be said of a shadow before anything is made of it.

    Args:
        shadow: What was asked for.

        region: The stack's region; ``None`` if it is known at deployment only.

        serving: What serves the endpoint's own model.

        model: Where that one's weights come from.

        network: Where both containers run.

        role: The execution role of both; ``None`` if each gets its own.

        instance_type: What the endpoint's own model runs on.
    """
    own = shadow.instance_type
    wanted = instance_type if own is None else own
    hardware = known_hardware(wanted)
    accelerators = None if hardware is None else hardware.accelerators
    filling = define_model(
        region=region,
        serving=shadow.serving or serving,
        model=shadow.model or model,
        network=network,
        role=role,
        environment=shadow.environment,
        accelerators=accelerators,
    )
    variant = ProductionVariant(
        instance_type=hardware or wanted,
        variant_name=shadow.variant_name,
        initial_instance_count=shadow.instance_count,
        # Of as many requests as the other variant, whose weight is 1.
        initial_variant_weight=shadow.share,
        container_startup_health_check_timeout=filling.start_up_timeout,
    )
    plan = plan_of(filling.demand, hardware, accelerators)
    fit = fit_findings(plan, filling.demand, filling.findings)
    return ShadowDefinition(
        model=replace(filling, plan=plan),
        variant=define_variant(variant, model=filling),
        fit=(*range_findings("share", shadow.share, 0, 1), *fit),
    )
