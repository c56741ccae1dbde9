"""
The instances behind a variant, from its configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from cdk_sagemaker_llm.local.hosting.container_starts import plan_restart, trouble_of
from cdk_sagemaker_llm.local.hosting.world import World, plain_name
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import (
    Available,
    Copy,
    Fleet,
    FleetTimes,
    Listener,
    Pool,
    Trouble,
    unlimited,
)
from cdk_sagemaker_llm.simulation.from_api import (
    fleet_pools,
    managed_scaling,
    provision_timeout,
    scale_in_policy,
)


class Watch(Listener):
    """
    Calls back when a fleet has changed.
    """

    def __init__(self) -> None:
        self.look: Callable[[], None] = lambda: None
        self.serves: Callable[[Copy], None] = lambda _: None

    def copy_serving(self, copy: Copy) -> None:
        """
        Call back.
        """
        self.serves(copy)

    def changed(self) -> None:
        """
        Call back.
        """
        self.look()


def new_fleet(
    world: World,
    variant: dict[str, Any],
    *,
    endpoint: str,
    watch: Watch,
    instances: int | None = None,
) -> Fleet:
    """
    Ask for the instances of a production variant: as many as it starts with, unless a
    number is named.
    """
    name = str(variant["VariantName"])

    def trouble(copy: Copy) -> Trouble | None:
        return trouble_of(world, endpoint, variant, copy)

    watch.serves = partial(plan_restart, world, endpoint)
    fleet = _fleet(
        variant,
        instances,
        timeline=world.clock.timeline,
        times=world.times,
        capacity=world.available,
        trouble=trouble,
        watch=watch,
    )
    if "ModelName" in variant and fleet.instance_type:
        fleet.add(name, None, image=world.image_of(str(variant["ModelName"])))
    return fleet


def trial_fleet(variant: dict[str, Any], instances: int | None = None) -> Fleet:
    """
    Lay out a variant where nothing takes time nor fails, to see what fits on it.
    """
    return _fleet(variant, instances, timeline=Timeline(), times=FleetTimes.instant())


def _fleet(
    variant: dict[str, Any],
    instances: int | None,
    *,
    timeline: Timeline,
    times: FleetTimes,
    capacity: Available = unlimited,
    trouble: Callable[[Copy], Trouble | None] | None = None,
    watch: Watch | None = None,
) -> Fleet:
    scaling = managed_scaling(variant)
    count = variant.get("InitialInstanceCount", 0) if instances is None else instances
    return Fleet(
        timeline,
        pools=fleet_pools(variant) or [Pool("")],
        instances=count,
        minimum=count if scaling.minimum is None else scaling.minimum,
        maximum=count if scaling.maximum is None else scaling.maximum,
        managed=scaling.is_enabled,
        times=times,
        scale_in=scale_in_policy(variant),
        provision_timeout=provision_timeout(variant),
        trouble=trouble,
        listener=watch,
        capacity=capacity,
    )


def holds(fleet: Fleet, name: str) -> bool:
    """
    Tell whether any copy of a model is there, on its way in or out.
    """
    return any(c.name == name for i in fleet.instances for c in i.copies)


def report(fleet: Fleet) -> list[dict[str, Any]]:
    """
    Describe which copies sit on which instance, for people and demos.
    """
    counts = [
        Counter(plain_name(copy.name) for copy in instance.copies if copy.needs)
        for instance in fleet.instances
    ]
    return [
        {"Instance": index, "Copies": dict(sorted(count.items()))}
        for index, count in enumerate(counts)
    ]
