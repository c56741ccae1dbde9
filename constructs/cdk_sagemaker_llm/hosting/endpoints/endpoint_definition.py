"""
An endpoint configuration as it will be: its variants, and what they publish and keep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from cdk_sagemaker_llm.arguments import hold_kinds, kind_of
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.common.elsewhere import Used, elsewhere_findings
from cdk_sagemaker_llm.hosting.common.limits import (
    name_findings,
    seconds,
    time_findings,
)
from cdk_sagemaker_llm.hosting.common.reporting import report
from cdk_sagemaker_llm.hosting.common.rules import (
    LOCAL_STORAGE,
    ROLE_OR_MODEL,
    VARIANT_NAMES,
)
from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
from cdk_sagemaker_llm.hosting.roles.network import (
    Network,
    other_vpc_findings,
    used_by_network,
)
from cdk_sagemaker_llm.hosting.variants.variant_definition import (
    VariantDefinition,
)
from cdk_sagemaker_llm.serving.parameters import API, WRONG_KIND
from cdk_sagemaker_llm.text import any_of
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration
    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_kms as kms

    from cdk_sagemaker_llm.hosting.endpoints.asynchronous import AsyncInference
    from cdk_sagemaker_llm.hosting.endpoints.data_capture import DataCapture
    from cdk_sagemaker_llm.hosting.models.model import Model

_GUIDE = "SageMaker developer guide"
_MOST_VARIANTS = 10
# botocore 1.44.5, MetricsConfig; with or without enhanced metrics.
_FREQUENCIES = (10, 30, 60, 120, 180, 240, 300)

NO_SUCH_FREQUENCY = Rule(
    "LLM363", "metrics are to be published at an interval that there is not", API
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observability:
    """
    Which metrics an endpoint publishes, and how often.

    ``Observability(detailed=True)``
    ``Observability(enhanced_metrics=True, publish_frequency=Duration.seconds(10))``

    Args:
        detailed:
            Whether GPU, host and container metrics go to CloudWatch, as OpenTelemetry
            data that it bills by volume.
            If omitted, they do not; the service's own default for new configurations
            is that they do.

        enhanced_metrics:
            Whether metrics also come by instance, container and GPU, each at
            CloudWatch's price of a custom metric.
            If omitted, they do not.

        publish_frequency:
            How often metrics come: every 10, 30, 60, 120, 180, 240 or 300 seconds;
            those of requests follow it with enhanced metrics alone.
            If omitted, they come every minute.
    """

    detailed: bool = False
    enhanced_metrics: bool = False
    publish_frequency: Duration | None = None

    def __post_init__(self) -> None:
        hold_kinds(self)

    def to_property(self) -> sagemaker.CfnEndpointConfig.MetricsConfigProperty:
        """
        Render for the L1 class.
        """
        return sagemaker.CfnEndpointConfig.MetricsConfigProperty(
            enable_detailed_observability=self.detailed,
            enable_enhanced_metrics=self.enhanced_metrics or None,
            metric_publish_frequency_in_seconds=seconds(self.publish_frequency),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointConfigDefinition:
    """
    An endpoint configuration as it will be.

    An ``execution_role`` and a ``network`` are of an endpoint that hosts components.
    The findings are those of the variants, alone, together, and with their models.
    """

    variants: tuple[VariantDefinition, ...]
    shadows: tuple[VariantDefinition, ...] = ()
    execution_role: iam.IRole | None = None
    network: Network | None = None
    kms_key: kms.IKey | None = None
    observability: Observability = field(default_factory=Observability)
    async_inference: AsyncInference | None = None
    data_capture: DataCapture | None = None
    findings: tuple[Finding, ...] = ()

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
        for each in self.variants:
            if each.variant.variant_name == name:
                return each
        return None

    def filled_by(self, model: Model, *further: Model) -> EndpointConfigDefinition:
        """
        Return this definition with the model that was made for its variants, or one
        for each type of their instances.
        """
        filled = (variant.filled_by(model, *further) for variant in self.variants)
        return replace(self, variants=tuple(filled))


def define_endpoint_config(
    config: EndpointConfigDefinition, *, hosts_components: bool
) -> EndpointConfigDefinition:
    """
    Check a configuration: its variants alone and together, and its other settings;
    return it with the findings.

    One that ``hosts_components`` has, or will have, a role, and so no model.
    """
    variants, shadows, every = config.variants, config.shadows, config.every_variant
    is_async = config.async_inference is not None
    found = [finding for variant in every for finding in variant.findings]
    if not 1 <= len(variants) <= _MOST_VARIANTS:
        count = f"variants must be 1 to {_MOST_VARIANTS}, got {len(variants)}"
        found.append(VARIANT_NAMES.finding(count))
    names = [each.variant.variant_name for each in every]
    found += [
        VARIANT_NAMES.finding(f"variant_name {name!r} is used more than once")
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    if config.network is not None and not hosts_components:
        found.append(
            ROLE_OR_MODEL.finding(
                "network is for inference components",
                "define the network of the variant's Model",
            )
        )
    found += _role_findings(variants, hosts_components=hosts_components)
    found += _frequency_findings(config.observability.publish_frequency)
    if config.kms_key is not None:
        found += _key_findings(every)
    if shadows:
        from cdk_sagemaker_llm.hosting.endpoints.shadow import shadow_findings  # noqa: PLC0415 - who has one has it

        found += shadow_findings(
            [each.has_model for each in shadows],
            variants=len(variants),
            hosts_components=hosts_components,
            is_async=is_async,
        )
    if config.async_inference is not None:
        from cdk_sagemaker_llm.hosting.endpoints.asynchronous import async_findings  # noqa: PLC0415 - who answers so has it

        found += async_findings(
            config.async_inference, hosts_components=hosts_components
        )
    if config.data_capture is not None:
        from cdk_sagemaker_llm.hosting.endpoints.data_capture import capture_findings  # noqa: PLC0415 - who captures has it

        found += capture_findings(
            config.data_capture, hosts_components=hosts_components, is_async=is_async
        )
    found += [
        finding
        for each in every
        if each.model is not None
        for finding in each.model_findings(
            [one.model for one in each.types],
            each.variant.container_startup_health_check_timeout,
        )
    ]
    return replace(config, findings=tuple(found))


def config_place_findings(
    scope: Construct, config: EndpointConfigDefinition
) -> list[Finding]:
    """
    Check that what a configuration uses is where its endpoint is.
    """
    used = [Used("kms_key", config.kms_key), *used_by_network(config.network)]
    if (one := config.async_inference) is not None:
        used += [
            Used("async_inference.output", one.output),
            Used("async_inference.failure", one.failure),
            Used("async_inference.inputs", one.inputs),
            Used("async_inference.kms_key", one.kms_key),
            Used("async_inference.success_topic", one.success_topic),
            Used("async_inference.error_topic", one.error_topic),
        ]
    if config.data_capture is not None:
        used += [
            Used("data_capture.bucket", config.data_capture.bucket),
            Used("data_capture.kms_key", config.data_capture.kms_key),
        ]
    used += [
        Used("the variant's model", model, is_of_account=True)
        for each in config.every_variant
        for model in each.variant.models
    ]
    return [*elsewhere_findings(scope, used), *other_vpc_findings(config.network)]


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


def _frequency_findings(frequency: Duration | None) -> list[Finding]:
    interval = seconds(frequency)
    found = time_findings("observability.publish_frequency", frequency)
    if found or interval is None or is_unresolved(interval) or interval in _FREQUENCIES:
        return found
    intervals = any_of(str(each) for each in _FREQUENCIES)
    return [
        NO_SUCH_FREQUENCY.finding(
            f"observability.publish_frequency must be {intervals} seconds, got "
            f"{interval:g}"
        )
    ]


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
    variant_name: str | None,
) -> Subject:
    """
    Return the subject of a variant's metrics; raise where there is no such variant.

    ``definition`` is ``None`` where the endpoint was made elsewhere; without a name it
    is the only variant that answers.
    """
    faults = kind_of("str | None").faults("variant_name", variant_name)
    found = [WRONG_KIND.finding(each.message, each.remedy) for each in faults]
    report(endpoint, "", found or name_findings("variant_name", variant_name))
    every = () if definition is None else definition.every_variant
    answering = () if definition is None else definition.variants
    by_name = {each.variant.variant_name: each for each in every}
    name = variant_name
    if name is None and len(answering) == 1:
        name = next(iter(by_name))
    if name is None or (by_name and name not in by_name):
        names = (
            f"one of {', '.join(by_name)}" if by_name else "given: it is not known here"
        )
        fault = f"variant_name must be {names}, got {variant_name!r}"
        # A dashboard has no place for it; the import has one for all that asks.
        at_import = "give it to from_endpoint_name or from_endpoint_arn"
        remedy = at_import if definition is None else ""
        report(endpoint, "", [VARIANT_NAMES.finding(fault, remedy)])
    variant = by_name.get(name or "")
    return Subject(
        construct=endpoint,
        dimensions={"EndpointName": endpoint_name, "VariantName": name or ""},
        hardware=() if variant is None else variant.hardware_of_types,
        types=() if variant is None else tuple(one.name for one in variant.types),
        has_model=None if variant is None else variant.has_model,
        is_async=definition.async_inference is not None
        if definition and every
        else None,
    )
