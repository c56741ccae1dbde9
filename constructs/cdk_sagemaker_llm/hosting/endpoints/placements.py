"""
Whether the instances of an endpoint have room for all copies of its components.

It answers whether one more finds a place, and whether the hosts can still roll out an
update: a new version of a model starts beside the old one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from constructs import Construct

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.packing import Fleet, Packing, pack
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.hosting.common.rules import NO_ROOM_FOR_COPIES
from cdk_sagemaker_llm.hosting.common.scope import is_defined
from cdk_sagemaker_llm.hosting.endpoints.endpoint_definition import (
    EndpointConfigDefinition,
)

MAY_LACK_ROOM = Rule(
    "LLM416", "copies do not all fit where the instances come from another pool"
)
NO_ROOM_TO_ROLL = Rule(
    "LLM245",
    "full hosts have no room for a model's new version",
    "API reference, UpdateInferenceComponent",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placement:
    """
    One more component on the hosts, with all that are there already.

    ``others`` is the same where all instances are of another type of the pools.
    """

    name: str
    fleet: Fleet
    packing: Packing
    others: tuple[Placement, ...] = ()

    @property
    def by_type(self) -> tuple[Placement, ...]:
        """
        The placement on each type that all instances may be of.
        """
        return (self, *self.others)

    def findings(self) -> list[Finding]:
        """
        Check that every copy has a place, whatever the type of the instances.

        Pools may mix types: that all have a place is certain to fail only where they
        find none on instances that have the most of each type.
        """
        hosts = self.by_type
        may_fit = any(each.packing.is_complete for each in hosts) or (
            bool(self.others)
            and self.fleet.instances != 1
            and _best_case([each.fleet for each in hosts]).is_complete
        )
        found = []
        for each in hosts:
            needs = each.fleet.models[each.name]
            # No instance of the type holds a copy.
            is_too_large = needs.is_known and each.fleet.capacity.limits_for(needs)
            is_certain = is_too_large or not may_fit
            rule = NO_ROOM_FOR_COPIES if is_certain else MAY_LACK_ROOM
            found += [
                rule.finding(f"{reason} ({each.fleet.instance_type})")
                for reason in each.packing.reasons
            ]
        return found


def _best_case(fleets: Sequence[Fleet]) -> Packing:
    """
    Place what each copy needs at least on instances with the most of each type.
    """
    countable = [
        name
        for name in fleets[0].models
        if all(fleet.models[name].is_known for fleet in fleets)
    ]
    models = {
        name: _least([fleet.models[name] for fleet in fleets]) for name in countable
    }
    capacities = [fleet.capacity for fleet in fleets]
    best = Capacity(
        accelerators=max(one.accelerators for one in capacities),
        cpus=max(one.cpus for one in capacities),
        memory_mib=max(one.memory_mib for one in capacities),
    )
    return pack(models, best, fleets[0].instances)


def _least(needs: Sequence[ResourceRequirements]) -> ResourceRequirements:
    return ResourceRequirements(
        copies=min(one.copies for one in needs),
        accelerators=min(one.accelerators or 0 for one in needs) or None,
        cpus=min(one.cpus or 0 for one in needs) or None,
        memory_mib=min(one.memory_mib for one in needs),
    )


class Placements:
    """
    What runs on the hosts of one endpoint, by variant.
    """

    def __init__(self, config: EndpointConfigDefinition) -> None:
        self._fleets = {
            each.variant.variant_name: each.fleets for each in config.variants
        }
        self._stuck: set[tuple[str, str]] = set()
        self._made: dict[tuple[str, str], Construct] = {}

    def fleets(self, variant_name: str) -> tuple[Fleet, ...]:
        """
        Return a variant's instances with what runs there, once for each type that all
        may be of; none if they are not known.
        """
        return self._fleets.get(variant_name, ())

    def beside(
        self,
        variant_name: str,
        name: str,
        needs: ResourceRequirements,
        *further: ResourceRequirements,
    ) -> Placement | None:
        """
        Try to place one more component beside the others; ``None`` if the instances
        are not known.

        ``further`` is what each copy reserves on further types; none if it is the same
        on all.
        """
        placement = self._beside(variant_name, name, needs, *further)
        is_tight = placement is not None and (
            placement.findings()
            or any(any(_stuck_on(one)) for one in placement.by_type)
        )
        if is_tight and self.forget_removed(variant_name):
            return self._beside(variant_name, name, needs, *further)
        return placement

    def _beside(
        self, variant_name: str, name: str, *needs: ResourceRequirements
    ) -> Placement | None:
        fleets = self.fleets(variant_name)
        each = needs if len(needs) > 1 else needs * len(fleets)
        if not fleets or len(each) != len(fleets):
            return None
        own_name = _free_name(name, fleets[0])
        first, *others = (
            _place(fleet, own_name, own)
            for fleet, own in zip(fleets, each, strict=True)
        )
        return replace(first, others=tuple(others))

    def forget_removed(self, variant_name: str) -> bool:
        """
        Free the places of components that ``try_remove_child`` took out, of which it
        tells nobody.
        """
        gone = {
            name
            for (variant, name), component in self._made.items()
            if variant == variant_name and not is_defined(component)
        }
        self._fleets[variant_name] = tuple(
            replace(
                fleet,
                models={
                    name: needs
                    for name, needs in fleet.models.items()
                    if name not in gone
                },
            )
            for fleet in self._fleets[variant_name]
        )
        for name in gone:
            del self._made[variant_name, name]
        return bool(gone)

    def keep(
        self,
        variant_name: str,
        placement: Placement | None,
        component: Construct | None = None,
    ) -> list[Finding]:
        """
        Count a component that was made, and warn of models that from now on cannot be
        updated for want of room.
        """
        if placement is None:
            return []
        self._fleets[variant_name] = tuple(each.fleet for each in placement.by_type)
        if component is not None:
            self._made[variant_name, placement.name] = component
        found = []
        for each in placement.by_type:
            stuck = [
                name
                for name in _stuck_on(each)
                if (variant_name, name) not in self._stuck
            ]
            self._stuck.update((variant_name, name) for name in stuck)
            found += [_no_room_finding(each.fleet, stuck)] if stuck else []
        return found


def _place(fleet: Fleet, name: str, needs: ResourceRequirements) -> Placement:
    with_model = fleet.with_model(name, needs)
    return Placement(name=name, fleet=with_model, packing=with_model.pack())


def _free_name(name: str, fleet: Fleet) -> str:
    free_name, number = name, 1
    while free_name in fleet.models:
        number += 1
        free_name = f"{name} ({number})"
    return free_name


def _stuck_on(placement: Placement) -> Iterator[str]:
    packing, fleet = placement.packing, placement.fleet
    if not packing.is_complete:
        return
    free = [packing.free(index) for index in range(len(packing.instances))]
    for name, needs in packing.needs.items():
        if needs.copies == 0 or any(not each.limits_for(needs) for each in free):
            continue
        # Another packing may leave the room in one piece; the newest model alone is
        # worth the search, and older ones were searched when they came.
        if name != placement.name or not fleet.with_one_more(name).is_complete:
            yield name


def _no_room_finding(fleet: Fleet, names: list[str]) -> Finding:
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
    count = fleet.instances
    return NO_ROOM_TO_ROLL.finding(
        f"an update starts new copies beside the old ones, and {count} x "
        f"{fleet.instance_type} {'has' if count == 1 else 'have'} no room for one of "
        f"{some}",
        "set max_instance_count above what the copies need, at least while updating",
    )
