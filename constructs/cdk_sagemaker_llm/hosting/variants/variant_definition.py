"""
A variant as it will be: the types that its instances may be of, and what each can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aws_cdk import Size

from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.checking import fit_findings, plan_of
from cdk_sagemaker_llm.fit.packing import Fleet
from cdk_sagemaker_llm.hosting.common.limits import (
    bounds_findings,
    count_findings,
    gibibytes,
    host_image_findings,
    least_findings,
    name_findings,
    range_findings,
    seconds,
    size_findings,
    timeout_findings,
)
from cdk_sagemaker_llm.hosting.common.rules import LOCAL_STORAGE, MANAGED_WITH_MODEL
from cdk_sagemaker_llm.hosting.models.definitions import ModelDefinition
from cdk_sagemaker_llm.hosting.models.model_weights import (
    LARGEST_VOLUME_GIB,
    volume_findings,
    volume_gib,
)
from cdk_sagemaker_llm.hosting.variants.capacity import (
    InstanceCapacity,
    pool_findings,
    reservation_findings,
    routing_findings,
)
from cdk_sagemaker_llm.hosting.variants.host_image import (
    choose_host_image,
    follows_type,
    listed_findings,
    mixed_findings,
    purpose_findings,
)
from cdk_sagemaker_llm.hosting.variants.instance_types import (
    decided_later_findings,
    hardware_findings,
)
from cdk_sagemaker_llm.hosting.variants.variant import (
    START_UP_SECONDS,
    ProductionVariant,
    scale_in_findings,
)
from cdk_sagemaker_llm.models import ModelSource, kind_of
from cdk_sagemaker_llm.serving.images import host_findings
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import Duration

    from cdk_sagemaker_llm.hosting.models.model import Model
    from cdk_sagemaker_llm.serving.base import Container

_GUIDE = "SageMaker developer guide"
# These are told no number of devices.
_UNSPLIT = ("llama.cpp", "tei")

SPLIT_TOO_FAR = Rule(
    "LLM172", "a model is split over more devices than its hosts give it"
)
CONTRADICTING_TIMEOUTS = Rule(
    "LLM213", "the container's and SageMaker's time-outs contradict each other"
)
OTHER_ACCELERATOR = Rule(
    "LLM777",
    "engines are served on other devices than they were compiled for",
    "LMI documentation, TensorRT-LLM ahead-of-time compilation",
)


@dataclass(frozen=True, slots=True)
class HostType:
    """
    One type that a variant's instances may be of; no model where they host components.
    """

    name: str
    hardware: InstanceType | None
    model: ModelDefinition | None


@dataclass(frozen=True, kw_only=True, slots=True)
class VariantDefinition:
    """
    A production variant, with what is known of its hardware.

    The first of its types is the first choice. The host image is ``None`` for the
    types' defaults; the findings are of the variant alone.
    """

    variant: ProductionVariant
    types: tuple[HostType, ...]
    host_image: str | None
    findings: tuple[Finding, ...]

    @property
    def hardware(self) -> InstanceType | None:
        """
        The type of the instances, the first choice of pools; ``None`` if not known.
        """
        return self.types[0].hardware

    @property
    def model(self) -> ModelDefinition | None:
        """
        The model that fills the instances; ``None`` if they host components.
        """
        return self.types[0].model

    @property
    def hardware_of_types(self) -> tuple[InstanceType | None, ...]:
        """
        Each type that the instances may be of; ``None`` where one is not known.
        """
        return tuple(one.hardware for one in self.types)

    @property
    def fleets(self) -> tuple[Fleet, ...]:
        """
        The most instances there may be for components, once for each type that all
        may be of; none if not known.
        """
        instances = self.variant.most_instances
        hardware = [one for one in self.hardware_of_types if one is not None]
        if len(hardware) < len(self.types) or is_unresolved(instances):
            return ()
        return tuple(Fleet(instance_type=one, instances=instances) for one in hardware)

    @property
    def has_model(self) -> bool:
        """
        Whether a model fills the instances, an imported one included.
        """
        return self.model is not None or self.variant.model is not None

    def filled_by(self, model: Model, *further: Model) -> VariantDefinition:
        """
        Return this definition with the model that was made for it, or one for each of
        its types.
        """
        return replace(self, variant=self.variant.with_model(model, *further))

    def model_findings(
        self, models: Sequence[ModelDefinition | None], start_up: Duration | None
    ) -> list[Finding]:
        """
        Check a model against these hosts: the variant's own, or that of a component.

        There is one for each type, or one for all, and ``None`` for one that was made
        elsewhere.
        """
        if len(models) == 1:
            models = [*models] * len(self.types)
        found = [
            finding
            for one, own in zip(self.types, models, strict=True)
            if own is not None
            for finding in self._host_findings(one.hardware, own, start_up)
        ]
        return list(dict.fromkeys(found))

    def _host_findings(
        self,
        hardware: InstanceType | None,
        model: ModelDefinition,
        start_up: Duration | None,
    ) -> list[Finding]:
        container = model.prepared.container
        if container is None:
            return []
        return [
            *host_findings(
                hardware,
                container.image,
                self.host_image,
                hosts_components=self.model is None,
            ),
            *compiled_engine_findings(hardware, model.model),
            *_support_findings(hardware, model, container),
            *volume_findings(hardware, self.variant.volume_size, model.weight_bytes),
            *loading_timeout_findings(
                container.loading_seconds,
                seconds(start_up) or START_UP_SECONDS,
                was_chosen=bool(start_up),
            ),
        ]


def _support_findings(
    hardware: InstanceType | None, model: ModelDefinition, container: Container
) -> list[Finding]:
    """
    Find what the GPU has against the model, its number formats, and what is asked for.
    """
    kind = kind_of(model.model) or model.prepared.architecture
    if hardware is None or kind is None:
        return []
    # The checks of all engines, which models that nothing is known of do not need.
    from cdk_sagemaker_llm.serving.families import host_support_findings  # noqa: PLC0415

    return host_support_findings(
        container,
        {**container.environment, **model.variables},
        architecture=kind,
        instance_type=hardware.name,
    )


def define_variant(
    variant: ProductionVariant,
    *,
    model: ModelDefinition | None = None,
    further: Sequence[ModelDefinition] = (),
) -> VariantDefinition:
    """
    Check a variant against what the API accepts, and look its hardware up.

    The model is to fill it, before it is made, and the ``further`` ones the further
    types of its pools. If omitted, the variant has its own.
    """
    names = variant.instance_types
    models = (model, *further) if further else (model,) * len(names)
    types, type_findings = [], []
    for index, (name, own) in enumerate(zip(names, models, strict=True)):
        hardware, faults = hardware_findings(name)
        type_findings += faults
        made = (variant.pools[index].model if variant.pools else None) or variant.model
        made_of = None if made is None else made.definition
        types.append(HostType(str(name), hardware, own or made_of))
    for name, own in zip(names, models, strict=True):
        left_out = _left_out(variant, own, names)
        type_findings += decided_later_findings(name, left_out)
    variant = _with_sizes_of_models(variant, types)
    hardware_of_types = [one.hardware for one in types]
    first_model = types[0].model
    has_model = first_model is not None or variant.model is not None
    capacity = variant.capacity or InstanceCapacity()
    findings = [
        *name_findings("variant_name", variant.variant_name),
        *pool_findings(
            variant.instance_type,
            capacity.pools,
            variant.routing_strategy,
            has_model=variant.model is not None,
        ),
        *type_findings,
        *_volume_findings(variant, hardware_of_types),
        *_count_findings(variant, has_model=has_model),
        *timeout_findings(
            "container_startup_health_check_timeout",
            variant.container_startup_health_check_timeout,
        ),
        *timeout_findings(
            "model_data_download_timeout", variant.model_data_download_timeout
        ),
        *timeout_findings(
            "capacity.provision_timeout", capacity.provision_timeout, least=300
        ),
        *dict.fromkeys(
            finding
            for one in hardware_of_types
            for finding in purpose_findings(variant, one, has_model=has_model)
        ),
        *host_image_findings("inference_ami_version", variant.inference_ami_version),
        *least_findings("initial_variant_weight", variant.initial_variant_weight, 0),
        *listed_findings(variant, hardware_of_types),
        *mixed_findings(variant, hardware_of_types, first_model),
        *reservation_findings(capacity.reservation, hardware_of_types),
        # Instances of a model may be scaled by a policy, of which nothing is known yet.
        *routing_findings(
            variant.routing_strategy, None if has_model else variant.most_instances
        ),
    ]
    return VariantDefinition(
        variant=variant,
        types=tuple(types),
        host_image=choose_host_image(variant, hardware_of_types, first_model),
        findings=tuple(findings),
    )


def _left_out(
    variant: ProductionVariant,
    model: ModelDefinition | None,
    names: Sequence[str | InstanceType | None],
) -> list[str]:
    """
    Return what follows from the instance type, and is not said otherwise.
    """
    found = []
    # Of pools, the types that are known decide it for all.
    if all(map(is_unresolved, names)) and follows_type(variant, model):
        found.append("inference_ami_version")
    demand = None if model is None else model.demand
    if demand is None:
        return found
    if demand.tensor_parallel_degree is None and demand.engine not in _UNSPLIT:
        found.append(demand.spoken.degree)
    return [*found, "whether the model fits"]


def _with_sizes_of_models(
    variant: ProductionVariant, types: Sequence[HostType]
) -> ProductionVariant:
    models = [one.model for one in types if one.model is not None]
    if not models:
        return variant
    if variant.model_data_download_timeout is None:
        timeout = models[0].download_timeout
        variant = replace(variant, model_data_download_timeout=timeout)
    sizes = (
        volume_gib(one.hardware, one.model.weight_bytes)
        for one in types
        if one.model is not None
    )
    needed = [size for size in sizes if size is not None]
    # A type with local storage refuses a size.
    if variant.volume_size is None and len(needed) == len(types):
        variant = replace(variant, volume_size=Size.gibibytes(max(needed)))
    return variant


def compiled_engine_findings(
    hardware: InstanceType | None, model: ModelSource | None
) -> list[Finding]:
    """
    Check that a host has the devices that engines were compiled for.
    """
    compilation = None if model is None else model.compiled
    if hardware is None or compilation is None:
        return []
    if compilation.accelerator_model == hardware.accelerator_model:
        return []
    return [
        OTHER_ACCELERATOR.finding(
            f"the engines were compiled for {compilation.accelerator_model}, and "
            f"{hardware} has {hardware.accelerator_model}",
            "compile them on the instance type that serves them",
        )
    ]


def device_fit_findings(
    hardware: InstanceType | None, model: ModelDefinition, devices: int
) -> list[Finding]:
    """
    Check that a model which was defined by itself fits the devices of a copy.
    """
    demand = model.demand
    degree = None if demand is None else demand.tensor_parallel_degree
    if isinstance(degree, int) and degree > devices:
        return [
            SPLIT_TOO_FAR.finding(
                f"the model is split over {degree} devices, and a copy has {devices} "
                f"on {hardware}",
                "give it more devices, or split it over fewer",
            )
        ]
    if hardware is None or hardware.accelerators == 0:
        return []
    plan = plan_of(demand, hardware, devices)
    return fit_findings(plan, demand, model.findings)


def loading_timeout_findings(
    limit: int | None, health_check_seconds: float, *, was_chosen: bool
) -> list[Finding]:
    """
    Compare how long the container and SageMaker wait for a model to load.

    The container's limit is ``None`` if it never gives up; ``was_chosen`` is whether
    SageMaker's is the user's figure rather than the default.
    """
    if limit is None or is_unresolved((limit, health_check_seconds)):
        return []
    if limit > health_check_seconds:
        message = (
            f"the container lets the model load for {limit} s, and SageMaker gives up "
            f"after {health_check_seconds:g} s"
        )
        remedy = "raise container_startup_health_check_timeout, 3600 s at most"
    elif was_chosen and limit < health_check_seconds:
        message = (
            f"SageMaker waits {health_check_seconds:g} s for the model, and the "
            f"container gives up loading after {limit} s"
        )
        remedy = "raise model_loading_timeout"
    else:
        return []
    return [CONTRADICTING_TIMEOUTS.finding(message, remedy)]


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


def _count_findings(variant: ProductionVariant, *, has_model: bool) -> list[Finding]:
    start, bounds = variant.initial_instance_count, variant.managed_instance_scaling
    found = count_findings("initial_instance_count", start, 1)
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
    least, most = bounds.min_instance_count, bounds.max_instance_count
    wrong = count_findings("max_instance_count", most, 1)
    # Where a pattern's one number is both, it is checked as what instances start with.
    if least != start:
        wrong += count_findings("min_instance_count", least, 0)
    found += wrong or bounds_findings(
        "min_instance_count", least, "max_instance_count", most
    )
    if bounds.scale_in_policy is not None:
        found += scale_in_findings(bounds.scale_in_policy)
    return found
