"""
Components in fleets: what is placed, and whether it fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.hosting.fleet import trial_fleet
from cdk_sagemaker_llm.local.hosting.specifications import needs_of
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.simulation.api_values import specification_on
from cdk_sagemaker_llm.simulation.fleet import Fleet


def host(
    world: World | None, fleet: Fleet, key: str, request: dict[str, Any], copies: int
) -> None:
    """
    Place a component's copies; an adapter has none of its own.

    Args:
        world: Where its model's image is looked up; ``None`` for a trial.

        fleet: Where to place them.

        key: What they are called there.

        request: What was asked for.

        copies: How many.
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
    Refuse more copies than the fleet can hold at its largest.

    Raises:
        AwsError: With what is short.
    """
    needs = needs_of(request, fleet.instance_types)
    short = needs and copies > 0 and fleet.shortfall(needs, copies)
    if short:
        raise validation(short)


def refuse_overflow_of_all(
    variant: dict[str, Any],
    wanted: Iterable[tuple[str, dict[str, Any], int]],
    instances: int | None = None,
) -> None:
    """
    Refuse components that do not fit on a variant together.

    Args:
        variant: The variant as it is configured.

        wanted: The name, request and copies of each.

        instances: How many there are. If left out, as many as it starts with.

    Raises:
        AwsError: With what is short.
    """
    trial = trial_fleet(variant, instances)
    for name, request, copies in wanted:
        refuse_overflow(trial, request, copies)
        host(None, trial, name, request, copies)
