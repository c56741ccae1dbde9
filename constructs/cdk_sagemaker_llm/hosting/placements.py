"""
Every component on an endpoint's hosts counted once, whoever defined it.

What belongs here answers whether one more finds a place, and whether the hosts can
still roll: a new version of a model starts beside the old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.fit.fleet import Fleet
from cdk_sagemaker_llm.fit.packing import Packing
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.hosting.hosts import EndpointConfigDefinition
from cdk_sagemaker_llm.serving.rules import API

NO_PLACE = Rule(
    "LLM104", "copies do not fit the most instances the endpoint may have", API
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

    Args:
        name: What the component is called among the others.

        fleet: The instances with all components, this one included.

        packing: Which copies run where, or why not all have a place.
    """

    name: str
    fleet: Fleet
    packing: Packing

    def findings(self) -> list[Finding]:
        """
        Check that every copy has a place.
        """
        return [
            NO_PLACE.finding(f"{reason} ({self.fleet.instance_type})")
            for reason in self.packing.reasons
        ]


class Placements:
    """
    What runs on the hosts of one endpoint, by variant.

    Args:
        config: The configuration that the endpoint starts with.
    """

    def __init__(self, config: EndpointConfigDefinition) -> None:
        self._fleets = {
            each.variant.variant_name: each.fleet for each in config.variants
        }
        self._stuck: set[tuple[str, str]] = set()

    def fleet(self, variant_name: str) -> Fleet | None:
        """
        Return a variant's instances with what runs there; ``None`` if they are not
        known.
        """
        return self._fleets.get(variant_name)

    def beside(
        self, variant_name: str, name: str, needs: ResourceRequirements
    ) -> Placement | None:
        """
        Try to place one more component beside the others; ``None`` if the instances
        are not known.
        """
        fleet = self.fleet(variant_name)
        if fleet is None:
            return None
        own_name = _unused(name, fleet)
        tried = fleet.with_model(own_name, needs)
        return Placement(name=own_name, fleet=tried, packing=tried.pack())

    def keep(self, variant_name: str, placement: Placement | None) -> list[Finding]:
        """
        Count a component that was made, and warn of models that from now on cannot be
        updated for want of room.
        """
        if placement is None:
            return []
        self._fleets[variant_name] = placement.fleet
        stuck = [
            name
            for name in _without_room(placement)
            if (variant_name, name) not in self._stuck
        ]
        self._stuck.update((variant_name, name) for name in stuck)
        return [_no_room(placement.fleet, stuck)] if stuck else []


def _unused(name: str, fleet: Fleet) -> str:
    taken, number = name, 1
    while taken in fleet.models:
        number += 1
        taken = f"{name} ({number})"
    return taken


def _without_room(placement: Placement) -> Iterator[str]:
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


def _no_room(fleet: Fleet, names: list[str]) -> Finding:
    some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
    count = fleet.instances
    return NO_ROOM_TO_ROLL.finding(
        f"an update starts new copies beside the old ones, and {count} x "
        f"{fleet.instance_type} {'has' if count == 1 else 'have'} no room for one of "
        f"{some}",
        "set max_instance_count above what the copies need, at least while updating",
    )
