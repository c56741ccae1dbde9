"""
A variant as it will be, and what its instances are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aws_cdk import Size

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.capacity_checks import (
    pool_findings,
    reservation_findings,
    routing_findings,
    scale_in_findings,
)
from cdk_sagemaker_llm.hosting.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.host_image import (
    choose_host_image,
    listed_findings,
    mixed_findings,
    purpose_findings,
)
from cdk_sagemaker_llm.hosting.host_types import HostType, VariantDefinition
from cdk_sagemaker_llm.hosting.limits import (
    bounds_findings,
    count_findings,
    gibibytes,
    host_image_findings,
    least_findings,
    name_findings,
    range_findings,
    size_findings,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.storage import (
    LARGEST_VOLUME_GIB,
    volume_gib,
)
from cdk_sagemaker_llm.hosting.variant import (
    ManagedInstanceScaling,
    ProductionVariant,
    in_order,
)

_GUIDE = "SageMaker developer guide"


IMPOSSIBLE_TYPE = Rule(
    "LLM101", "an instance type does not exist or cannot host endpoints", "botocore"
)
LOCAL_STORAGE = Rule(
    "LLM121",
    "a volume's size or key is set where storage is local NVMe",
    "SageMaker Python SDK",
)
MANAGED_WITH_MODEL = Rule(
    "LLM122", "managed instance scaling is set on a variant with a model", _GUIDE
)


def known_hardware(
    instance_type: str | InstanceType | None,
) -> InstanceType | None:
    """
    Look an instance type up; ``None`` for a placeholder, and for one that there is
    not: the variant's own check says so.
    """
    return hardware_findings(instance_type)[0]


def define_variant(
    variant: ProductionVariant,
    *,
    model: ModelDefinition | None = None,
    further: Sequence[ModelDefinition] = (),
) -> VariantDefinition:
    """
    Check a variant against what the API accepts, and look its hardware up.

    Args:
        variant: What was asked for.

        model: The model that is to fill it, before it is made.
            If left out, it is the variant's own.

        further: The model as it is on the further types of pools.
            If left out, it is the same on all.
    """
    models = () if model is None else _for_each(variant, (model, *further))
    found = pool_findings(variant)
    types = []
    for index, wanted in enumerate(variant.instance_types):
        hardware, unknown = hardware_findings(wanted)
        filled_by = models[index] if models else _own_model(variant, index)
        types.append(HostType(str(wanted), hardware, filled_by))
        found += unknown
    variant = _fitted(variant, types)
    return VariantDefinition(
        variant=variant,
        types=tuple(types),
        host_image=choose_host_image(variant, _hardware(types), types[0].model),
        findings=(
            *name_findings("variant_name", variant.variant_name),
            *found,
            *_findings_of(variant, types),
        ),
    )


def _for_each(
    variant: ProductionVariant, models: Sequence[ModelDefinition]
) -> Sequence[ModelDefinition]:
    return models if len(models) > 1 else [*models] * len(variant.instance_types)


def _hardware(types: Sequence[HostType]) -> list[InstanceType | None]:
    return [one.hardware for one in types]


def _own_model(variant: ProductionVariant, index: int) -> ModelDefinition | None:
    pools = in_order(variant.instance_pools or ())
    model = (pools[index].model if pools else None) or variant.model
    return None if model is None else model.definition


def _findings_of(
    variant: ProductionVariant, types: Sequence[HostType]
) -> list[Finding]:
    model, hardware = types[0].model, _hardware(types)
    has_model = model is not None or variant.model is not None
    return [
        *_volume_findings(variant, hardware),
        *_scaling_findings(variant, has_model=has_model),
        *_timeout_findings(variant),
        *dict.fromkeys(
            finding
            for one in hardware
            for finding in purpose_findings(variant, one, has_model=has_model)
        ),
        *host_image_findings("inference_ami_version", variant.inference_ami_version),
        *least_findings("initial_variant_weight", variant.initial_variant_weight, 0),
        *listed_findings(variant, hardware),
        *mixed_findings(variant, hardware, model),
        *reservation_findings(variant.capacity_reservation, hardware),
        # Instances of a model may be scaled by a policy, of which nothing is known yet.
        *routing_findings(
            variant.routing_strategy, None if has_model else variant.most_instances
        ),
    ]


def _fitted(variant: ProductionVariant, types: Sequence[HostType]) -> ProductionVariant:
    """
    Complete a variant by what its model asks for, where nothing was chosen.
    """
    models = [one.model for one in types if one.model is not None]
    if not models:
        return variant
    if variant.model_data_download_timeout is None:
        wanted = models[0].download_timeout
        variant = replace(variant, model_data_download_timeout=wanted)
    sizes = [
        volume_gib(one.hardware, one.model.weight_bytes)
        for one in types
        if one.model is not None
    ]
    asked = [size for size in sizes if size is not None]
    # A type with local storage refuses a size.
    if variant.volume_size is None and len(asked) == len(types):
        variant = replace(variant, volume_size=Size.gibibytes(max(asked)))
    return variant


def hardware_findings(
    instance_type: str | InstanceType | None,
) -> tuple[InstanceType | None, list[Finding]]:
    """
    Look an instance type up; say why where there is none of that name.
    """
    if isinstance(instance_type, InstanceType):
        return instance_type, []
    if instance_type is None or is_unresolved(instance_type):
        return None, []
    try:
        return find_instance_type(instance_type), []
    except ValueError as fault:
        return None, [IMPOSSIBLE_TYPE.finding(str(fault))]


def _volume_findings(
    variant: ProductionVariant, types: Sequence[InstanceType | None]
) -> list[Finding]:
    size = variant.volume_size
    if size is None:
        return []
    refuse = [one for one in types if one and not one.volume_size_supported]
    if refuse:
        return [
            LOCAL_STORAGE.finding(
                f"{hardware} refuses volume_size: it has local NVMe storage",
                "leave it out; /opt/ml and /tmp are on the NVMe disks",
            )
            for hardware in refuse
        ]
    uncountable = size_findings("volume_size", size)
    if uncountable or None in types:
        return uncountable
    return range_findings("volume_size", gibibytes(size), 1, LARGEST_VOLUME_GIB, " GiB")


def _scaling_findings(variant: ProductionVariant, *, has_model: bool) -> list[Finding]:
    found = count_findings("initial_instance_count", variant.initial_instance_count, 1)
    bounds = variant.managed_instance_scaling
    if bounds is None:
        return found
    if has_model:
        # CreateEndpointConfig refuses this since 2026-04.
        found.append(
            MANAGED_WITH_MODEL.finding(
                "managed_instance_scaling goes with inference components only",
                "scale a model's instances with auto_scale_instance_count",
            )
        )
    return found + _bounds_findings(variant, bounds) + scale_in_findings(bounds)


def _bounds_findings(
    variant: ProductionVariant, bounds: ManagedInstanceScaling
) -> list[Finding]:
    least, most = bounds.min_instance_count, bounds.max_instance_count
    below = count_findings("max_instance_count", most, 1)
    # A pattern's one number is both, and is told of as what instances start with.
    if least != variant.initial_instance_count:
        below += count_findings("min_instance_count", least, 0)
    return below or bounds_findings(
        "min_instance_count", least, "max_instance_count", most
    )


def _timeout_findings(variant: ProductionVariant) -> list[Finding]:
    return [
        *timeout_findings(
            "container_startup_health_check_timeout",
            variant.container_startup_health_check_timeout,
        ),
        *timeout_findings(
            "model_data_download_timeout", variant.model_data_download_timeout
        ),
        *timeout_findings(
            "instance_provision_timeout", variant.instance_provision_timeout, least=300
        ),
    ]
