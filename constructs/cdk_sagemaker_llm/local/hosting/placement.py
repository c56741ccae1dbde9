"""
The specification of a component: what it may say, what a copy of it reserves, and
where the copies fit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.hosting.fleet import trial_fleet
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.simulation.api_values import Shape, specification_on
from cdk_sagemaker_llm.simulation.fleet import Fleet, Needs

_SERVED = ("ModelName", "Container", "BaseInferenceComponentName")


def host(
    world: World | None, fleet: Fleet, key: str, request: dict[str, Any], copies: int
) -> None:
    """
    Place a component's copies under a key; an adapter has none of its own.

    The world knows the model's image; a trial has none.
    """
    needs = needs_of(request, fleet.instance_types)
    if needs is None:
        return
    specification = specification_on(request, fleet.instance_type)
    scheduling = specification.get("SchedulingConfig", {})
    image = specification.get("Container", {}).get("Image", "")
    model = specification.get("ModelName", "")
    fleet.add(
        key,
        needs,
        copies,
        image=str(image) or (world.image_of(model) if world else ""),
        placement=scheduling.get("PlacementStrategy", "BINPACK"),
    )


def refuse_overflow(fleet: Fleet, request: dict[str, Any], copies: int) -> None:
    """
    Refuse more copies than the fleet can hold at its largest, and say what is short.
    """
    needs = needs_of(request, fleet.instance_types)
    short = needs and copies > 0 and fleet.shortfall(needs, copies)
    if short:
        raise validation(short)


def refuse_overflow_of_all(
    variant: dict[str, Any],
    demands: Iterable[tuple[str, dict[str, Any], int]],
    instances: int | None = None,
) -> None:
    """
    Refuse components, by name, request and copies, that do not fit on a variant
    together, and say what is short; without a number, it has the instances that it
    starts with.
    """
    trial = trial_fleet(variant, instances)
    for name, request, copies in demands:
        refuse_overflow(trial, request, copies)
        host(None, trial, name, request, copies)


def refuse_contents(specification: Shape) -> None:
    """
    Refuse a specification that says too little to run, or too much, in this package's
    words; the service's are not known.
    """
    container = specification.get("Container", {})
    if "BaseInferenceComponentName" in specification:
        if "ArtifactUrl" not in container:
            raise validation("An adapter needs the ArtifactUrl of a Container.")
        return
    if ("ModelName" in specification) == bool(container):
        raise validation("Specify either ModelName or Container.")
    needs = specification.get("ComputeResourceRequirements", {})
    least = needs.get("MinMemoryRequiredInMb", 0)
    most = needs.get("MaxMemoryRequiredInMb", least)
    if most < least:
        raise validation(
            "MaxMemoryRequiredInMb must be at least MinMemoryRequiredInMb, got "
            f"{most} and {least}."
        )


def needs_of(request: dict[str, Any], instance_types: Iterable[str]) -> Needs:
    """
    Return what each copy reserves on each type; ``None`` for an adapter, which reserves
    nothing.
    """
    found = {
        kind: _requirements(specification_on(request, kind)) for kind in instance_types
    }
    needs_by_type = {kind: needs for kind, needs in found.items() if needs is not None}
    return needs_by_type or None


def _requirements(specification: Shape) -> ResourceRequirements | None:
    requirements = specification.get("ComputeResourceRequirements")
    if requirements is None:
        return None
    accelerators = requirements.get("NumberOfAcceleratorDevicesRequired")
    return ResourceRequirements(
        accelerators=None if accelerators is None else int(accelerators),
        cpus=requirements.get("NumberOfCpuCoresRequired"),
        memory_mib=requirements["MinMemoryRequiredInMb"],
    )


def request_after(before: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """
    Return a component's request after an update.

    An update that does not say what to serve keeps it: the SageMaker Python SDK sends
    no more than the resources where nothing else changes.
    """
    after = {**before, **update}
    specification = update.get("Specification")
    old = before.get("Specification", {})
    # An adapter stays that of its base when it moves to other files.
    stays = (
        () if "ModelName" in (specification or ()) else ("BaseInferenceComponentName",)
    )
    if specification:
        silent = not any(key in specification for key in _SERVED)
        old_members = {
            key: old[key] for key in (_SERVED if silent else stays) if key in old
        }
        after["Specification"] = {**old_members, **specification}
    return after
