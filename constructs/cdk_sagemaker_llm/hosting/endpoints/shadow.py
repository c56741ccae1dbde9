"""
Shadow variants: a second model that gets copies of requests, and whose answers nobody
waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.hosting.common.limits import range_findings
from cdk_sagemaker_llm.hosting.common.rules import ONE_SHADOW, SHADOW_WITHOUT_MODEL
from cdk_sagemaker_llm.hosting.models.definitions import (
    ModelDefinition,
    ModelRequest,
    define_model,
)
from cdk_sagemaker_llm.hosting.variants.instance_types import known_hardware
from cdk_sagemaker_llm.hosting.variants.variant import ProductionVariant
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
    define_variant,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.models import ModelSource
    from cdk_sagemaker_llm.serving.base import ServingConfiguration

UNSURE_SHADOW = Rule(
    "LLM439",
    "a shadow variant is set where the guide does not say that it works",
    "SageMaker developer guide, model-shadow-deployment",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowVariant:
    """
    A model on trial: it gets copies of an endpoint's requests, its answers are dropped.

    ``ShadowVariant(serving=LmiVllm(max_rolling_batch_size=64), share=0.5)``

    Args:
        model:
            Where its weights come from.
            If omitted, it is the endpoint's model.

        serving:
            Which backend serves it, and how.
            If omitted, it is the endpoint's.

        instance_type:
            The type of its instances.
            If omitted, it is the endpoint's type.

        instance_count: Instances that it runs on.

        share: How much of the endpoint's requests it gets a copy of, 0 to 1.

        variant_name: The name in its metrics.

        environment:
            Further environment variables of its container.
            If omitted, it has none.
    """

    model: ModelSource | None = None
    serving: ServingConfiguration | None = None
    instance_type: str | InstanceType | None = None
    instance_count: int = 1
    share: float = 1.0
    variant_name: str = "Shadow"
    environment: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)


def shadow_findings(
    have_models: Sequence[bool],
    *,
    variants: int,
    hosts_components: bool,
    is_async: bool,
) -> list[Finding]:
    """
    Check that an endpoint may have its shadows, of which each has a model or not.
    """
    found = []
    if (variants, len(have_models)) != (1, 1):
        found.append(
            ONE_SHADOW.finding(
                "shadow_variants must be one beside one of variants, got "
                f"{len(have_models)} beside {variants}"
            )
        )
    if hosts_components:
        found.append(
            SHADOW_WITHOUT_MODEL.finding(
                "a shadow variant gets copies of the requests to a variant's model, "
                "and this endpoint is for inference components",
                "use an LlmEndpoint",
            )
        )
    elif not all(have_models):
        found.append(SHADOW_WITHOUT_MODEL.finding("a shadow variant needs a model"))
    if is_async:
        found.append(
            UNSURE_SHADOW.finding(
                "shadow variants are documented for endpoints that answer at once, and "
                "not for asynchronous inference",
                "see that it deploys, and that the shadow gets requests",
            )
        )
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class ShadowDefinition:
    """
    A shadow variant as it will be, with how its model fits its instances.
    """

    model: ModelDefinition
    variant: VariantDefinition
    fit: tuple[Finding, ...]

    @property
    def findings(self) -> list[Finding]:
        """
        The findings, each marked as the shadow's and not the endpoint's model's.

        What is wrong with its instances is among the configuration's findings.
        """
        every = (*self.model.findings, *self.fit)
        return [replace(each, message=f"shadow: {each.message}") for each in every]


def define_shadow(
    shadow: ShadowVariant,
    request: ModelRequest,
    instance_type: str | InstanceType | None,
) -> ShadowDefinition:
    """
    Check a shadow completely before anything is made of it.

    It runs in the network and role of the endpoint's own model, whose request and
    instance type stand in for what the shadow leaves out.
    """
    if shadow.instance_type is not None:
        instance_type = shadow.instance_type
    hardware = known_hardware(instance_type)
    accelerators = None if hardware is None else hardware.accelerators
    own = replace(
        request,
        serving=shadow.serving or request.serving,
        model=shadow.model or request.model,
        environment=shadow.environment,
        # The shadow's time-out follows its own backend and size.
        start_up=None,
    )
    model = define_model(own, accelerators)
    variant = ProductionVariant(
        instance_type=hardware or instance_type,
        variant_name=shadow.variant_name,
        initial_instance_count=shadow.instance_count,
        # Of as many requests as the other variant, whose weight is 1.
        initial_variant_weight=shadow.share,
        container_startup_health_check_timeout=model.start_up_timeout,
    )
    plan = plan_of(model.demand, hardware, accelerators)
    fit = fit_findings(plan, model.demand, model.findings)
    return ShadowDefinition(
        model=replace(model, plan=plan),
        variant=define_variant(variant, model=model),
        fit=(*range_findings("share", shadow.share, 0, 1), *fit),
    )
