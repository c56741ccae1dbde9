"""
Which variant of an endpoint a metric is of.
"""

from __future__ import annotations

from constructs import Construct

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.hosting.host_types import VariantDefinition
from cdk_sagemaker_llm.hosting.hosts import VARIANT_NAMES, EndpointConfigDefinition
from cdk_sagemaker_llm.hosting.monitoring.metrics import Subject
from cdk_sagemaker_llm.hosting.reporting import report


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
