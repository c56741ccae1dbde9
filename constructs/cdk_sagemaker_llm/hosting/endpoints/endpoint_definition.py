"""
The hosts of an endpoint as they will be: variants, and what is known of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.limits import frequency_findings
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.hosting.endpoints.asynchronous import async_findings
from cdk_sagemaker_llm.hosting.endpoints.data_capture import capture_findings
from cdk_sagemaker_llm.hosting.endpoints.shadow import shadow_findings
from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
from cdk_sagemaker_llm.hosting.roles.network import Network
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    LOCAL_STORAGE,
    VariantDefinition,
)
from cdk_sagemaker_llm.serving.rules import API

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms

    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import AsyncInference
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import DataCapture
    from cdk_sagemaker_llm.hosting.models.model import Model

_GUIDE = "SageMaker developer guide"
_MOST_VARIANTS = 10

VARIANT_NAMES = Rule("LLM123", "variants have no, or the same, names", API)
ROLE_OR_MODEL = Rule(
    "LLM124", "an execution role and a model exclude each other", _GUIDE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointConfigDefinition:
    """
    An endpoint configuration as it will be.

    Args:
        variants: Its variants.

        execution_role: The role of an endpoint that hosts components.

        network: Where these run; ``None`` for SageMaker's own network.

        kms_key: The key for the instances' EBS volumes; ``None`` for SageMaker's own.

        detailed_observability: Whether GPU, host and container metrics are published.

        enhanced_metrics: Whether metrics also come by instance and container.

        metric_publish_frequency: How often metrics come; ``None`` for each minute.

        findings: What was found of the variants, alone, together, and with their
            models.

        shadows: Its shadow variants.

        async_inference: Where requests and answers lie; ``None`` if it answers at once.

        data_capture: What is kept of requests; ``None`` for nothing.
    """

    variants: tuple[VariantDefinition, ...]
    execution_role: iam.IRole | None
    network: Network | None
    kms_key: kms.IKey | None
    detailed_observability: bool
    enhanced_metrics: bool
    metric_publish_frequency: Duration | None
    findings: tuple[Finding, ...]
    shadows: tuple[VariantDefinition, ...] = ()
    async_inference: AsyncInference | None = None
    data_capture: DataCapture | None = None

    @property
    def every_variant(self) -> tuple[VariantDefinition, ...]:
        """
        Its variants, and then their shadows.
        """
        return (*self.variants, *self.shadows)

    def variant(self, name: str) -> VariantDefinition | None:
        """
        Return a variant by its name; ``None`` if there is none.
        """
        named = (each for each in self.variants if each.variant.variant_name == name)
        return next(named, None)

    def filled_by(self, model: Model, *further: Model) -> EndpointConfigDefinition:
        """
        Return this definition with the model that was made for its variants, or one
        for each type of their instances.
        """
        filled = (variant.filled_by(model, *further) for variant in self.variants)
        return replace(self, variants=tuple(filled))

    def shadowed_by(self, model: Model) -> EndpointConfigDefinition:
        """
        Return this definition with the model that was made for its shadows.
        """
        return replace(self, shadows=tuple(v.filled_by(model) for v in self.shadows))


def define_endpoint_config(
    variants: Sequence[VariantDefinition],
    *,
    hosts_components: bool,
    execution_role: iam.IRole | None = None,
    network: Network | None = None,
    kms_key: kms.IKey | None = None,
    detailed_observability: bool = False,
    enhanced_metrics: bool = False,
    metric_publish_frequency: Duration | None = None,
    shadows: Sequence[VariantDefinition] = (),
    async_inference: AsyncInference | None = None,
    data_capture: DataCapture | None = None,
) -> EndpointConfigDefinition:
    """
    Check the variants, alone and together.

    Args:
        variants: What the endpoint is to run.

        hosts_components: Whether it has, or is given, a role, and so no model.

        execution_role: The role of an endpoint that hosts components.

        network: Where these run; ``None`` for SageMaker's own network.

        kms_key: The key for the instances' EBS volumes; ``None`` for SageMaker's own.

        detailed_observability: Whether GPU, host and container metrics are published.

        enhanced_metrics: Whether metrics also come by instance and container.

        metric_publish_frequency: How often metrics come; ``None`` for each minute.

        shadows: What is to get copies of the requests.

        async_inference: Where requests and answers lie; ``None`` if it answers at once.

        data_capture: What is kept of requests; ``None`` for nothing.
    """
    every = (*variants, *shadows)
    found = [finding for variant in every for finding in variant.findings]
    found += _count_findings(len(variants))
    found += _name_findings([each.variant.variant_name for each in every])
    if network is not None and not hosts_components:
        found.append(
            ROLE_OR_MODEL.finding(
                "network is for inference components",
                "define the network of the variant's Model",
            )
        )
    found += _role_findings(variants, hosts_components=hosts_components)
    if metric_publish_frequency is not None:
        found += frequency_findings(metric_publish_frequency)
    found += _key_findings(every) if kms_key is not None else []
    is_async = async_inference is not None
    if shadows:
        found += shadow_findings(
            [each.has_model for each in shadows],
            variants=len(variants),
            hosts_components=hosts_components,
            is_async=is_async,
        )
    if async_inference is not None:
        found += async_findings(async_inference, hosts_components=hosts_components)
    if data_capture is not None:
        found += capture_findings(
            data_capture, hosts_components=hosts_components, is_async=is_async
        )
    found += [
        finding
        for each in every
        if each.model is not None
        for finding in each.model_findings(
            each.model,
            each.variant.container_startup_health_check_timeout,
            *(one.model for one in each.types[1:]),
        )
    ]
    return EndpointConfigDefinition(
        variants=tuple(variants),
        execution_role=execution_role,
        network=network,
        kms_key=kms_key,
        detailed_observability=detailed_observability,
        enhanced_metrics=enhanced_metrics,
        metric_publish_frequency=metric_publish_frequency,
        findings=tuple(found),
        shadows=tuple(shadows),
        async_inference=async_inference,
        data_capture=data_capture,
    )


def _count_findings(count: int) -> list[Finding]:
    if 1 <= count <= _MOST_VARIANTS:
        return []
    return [
        VARIANT_NAMES.finding(f"variants must be 1 to {_MOST_VARIANTS}, got {count}")
    ]


def _name_findings(names: Sequence[str]) -> list[Finding]:
    return [
        VARIANT_NAMES.finding(f"variant_name {name!r} is used more than once")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]


def _role_findings(
    variants: Sequence[VariantDefinition], *, hosts_components: bool
) -> list[Finding]:
    # An endpoint takes components if, and only if, its configuration has a role and
    # no variant has a model (SageMaker guide, realtime-endpoints-deploy-models).
    found = []
    for each in variants:
        name = each.variant.variant_name
        if hosts_components and each.has_model:
            found.append(
                ROLE_OR_MODEL.finding(
                    f"variant {name!r} has a model, and execution_role is for "
                    "inference components, which exclude each other",
                )
            )
        if not hosts_components and not each.has_model:
            found.append(
                ROLE_OR_MODEL.finding(
                    f"variant {name!r} has neither a model nor, for inference "
                    "components, an execution_role",
                )
            )
    return found


def _key_findings(variants: Sequence[VariantDefinition]) -> list[Finding]:
    return [
        LOCAL_STORAGE.finding(
            f"{one.hardware} refuses kms_key: its NVMe storage is encrypted in "
            "hardware",
            "leave it out",
        )
        for each in variants
        for one in each.types
        if one.hardware is not None and not one.hardware.volume_size_supported
    ]


def variant_subject(
    endpoint: Construct,
    endpoint_name: str,
    definition: EndpointConfigDefinition | None,
    wanted: str | None,
) -> Subject:
    """
    Return what the metrics of a variant are of.

    Args:
        endpoint: The endpoint.

        endpoint_name: Its name.

        definition: What it runs; ``None`` if it was made elsewhere.

        wanted: The variant's name, or its shadow's; ``None`` for the only one.

    Raises:
        ValueError: If there is no such variant, or several and none was named.
    """
    known = () if definition is None else definition.every_variant
    answering = () if definition is None else definition.variants
    named = {each.variant.variant_name: each for each in known}
    name = next(iter(named)) if wanted is None and len(answering) == 1 else wanted
    if name is None or (named and name not in named):
        some = f"one of {', '.join(named)}" if named else "given: it is not known here"
        fault = VARIANT_NAMES.finding(f"variant_name must be {some}, got {wanted!r}")
        report(endpoint, "", [fault])
    variant = named.get(name or "")
    return Subject(
        construct=endpoint,
        dimensions={"EndpointName": endpoint_name, "VariantName": name or ""},
        hardware=() if variant is None else types_of(variant),
        has_model=_has_model(variant),
        is_async=definition.async_inference is not None
        if definition and known
        else None,
    )


def types_of(variant: VariantDefinition) -> tuple[InstanceType | None, ...]:
    """
    Return the hardware of each type that a variant's instances may be of.
    """
    return tuple(each.hardware for each in variant.types)


def _has_model(variant: VariantDefinition | None) -> bool | None:
    return None if variant is None else variant.has_model
