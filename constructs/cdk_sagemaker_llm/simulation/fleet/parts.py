"""
What a fleet is made of: pools, instances and copies, and the log of its steps with the
clock that it is kept by.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.simulation.clock import Action, Planned, Timeline

Needs = ResourceRequirements | Mapping[str, ResourceRequirements] | None
"""What a copy reserves: everywhere the same, by instance type, or a whole instance."""

Available = Callable[[str, float], float]
"""How many instances of a type a fleet can have in all at a moment."""

# API reference, ProductionVariantManagedInstanceScalingScaleInPolicy.
_COOLDOWN = (5 * 60.0, 1440 * 60.0)
_MOST_AT_A_TIME = 100


@dataclass(frozen=True, slots=True)
class Pool:
    """
    An instance type that a fleet may use.

    Args:
        instance_type: The API's name.

        priority: Lower comes first. If omitted, it is 1.
    """

    instance_type: str
    priority: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class ScaleIn:
    """
    How managed instance scaling lets instances go.

    Args:
        strategy: ``IDLE_RELEASE`` lets those without copies go; ``CONSOLIDATION`` also
            moves copies together to have more of those.

        maximum_step: How many instances one consolidation frees at most.
            If omitted, it is 1.

        cooldown: Seconds after the last change before consolidation is looked at.
            If omitted, it is 1200.

    Raises:
        ValueError: If the service would not take it.
    """

    strategy: Literal["IDLE_RELEASE", "CONSOLIDATION"]
    maximum_step: int = 1
    cooldown: float = 1200.0

    def __post_init__(self) -> None:
        least, most = _COOLDOWN
        if not least <= self.cooldown <= most:
            raise ValueError(f"cooldown must be 300 to 86400, got {self.cooldown}")
        if not 1 <= self.maximum_step <= _MOST_AT_A_TIME:
            raise ValueError(f"maximum_step must be 1 to 100, got {self.maximum_step}")


@dataclass(frozen=True, slots=True)
class Trouble:
    """
    What keeps a copy from ever serving, and when that shows.

    Args:
        after: Seconds after its container began to start.

        why: The service's words.
    """

    after: float
    why: str


def unlimited(instance_type: str, time: float) -> float:  # noqa: ARG001 - an Available
    """
    Have as many instances of any type as one asks for.
    """
    return math.inf


def needs_on(needs: Needs, instance_type: str) -> ResourceRequirements | None:
    """
    Return the resources that a copy reserves on a type, by the first specification
    where none is for it; ``None`` for a whole instance.
    """
    if not isinstance(needs, Mapping):
        return needs
    return needs.get(instance_type) or next(iter(needs.values()))


def has_room(free: Capacity | None, needs: ResourceRequirements | None) -> bool:
    """
    Tell whether one more copy fits.
    """
    return free is None or needs is None or not free.limits_for(needs)


class Journal:
    """
    Where the parts of a fleet note what they do and plan what comes.
    """

    def __init__(self, timeline: Timeline, listener: Listener) -> None:
        self.timeline = timeline
        self.listener = listener
        self.log: list[Step] = []

    @property
    def now(self) -> float:
        """
        The time.
        """
        return self.timeline.now

    def note(self, what: str, before: int, after: int, why: str) -> None:
        """
        Add a line to the log.
        """
        self.log.append(Step(self.timeline.now, what, before, after, why))

    def later(self, delay: float, action: Action) -> Planned | None:
        """
        Plan an action; what takes no time is done before this returns.
        """
        if delay > 0:
            return self.timeline.after(delay, action)
        action()
        return None


@dataclass(frozen=True, slots=True)
class Step:
    """
    One line of a fleet's log: at this time, what, from how many to how many, and why.

    Args:
        time: When it happened, in seconds from the start on.

        what: What changed.

        before: How many there were.

        after: How many there are.

        why: What made it change.
    """

    time: float
    what: str
    before: int
    after: int
    why: str


class Listener:
    """
    What a fleet tells as it happens; each does nothing unless it is overridden.
    """

    def copy_serving(self, copy: Copy) -> None:
        """
        A copy takes requests from now on.
        """

    def copy_leaving(self, copy: Copy) -> None:
        """
        A copy takes no more requests, and finishes those it has.
        """

    def copy_gone(self, copy: Copy) -> None:
        """
        A copy has ended.
        """

    def copy_failed(self, copy: Copy, why: str) -> None:
        """
        A copy never came to serve.
        """

    def instance_running(self, instance: Instance) -> None:
        """
        An instance is there, and paid for.
        """

    def instance_gone(self, instance: Instance) -> None:
        """
        An instance was let go.
        """

    def changed(self) -> None:
        """
        Something of the above, or of what is wanted, is different now.
        """


@dataclass(eq=False, slots=True)
class Instance:
    """
    One instance: asked for, running, leaving, gone.
    """

    instance_type: str
    asked: float
    state: Literal["asked", "running", "leaving", "gone"] = "asked"
    copies: list[Copy] = field(default_factory=list)
    # When each image is, or will be, on it.
    images: dict[str, float] = field(default_factory=dict)
    idle_since: float | None = None
    is_refused: bool = False
    planned: Planned | None = None

    @property
    def takes_copies(self) -> bool:
        """
        Whether copies may be placed on it.
        """
        return self.state in {"asked", "running"}

    @property
    def free(self) -> Capacity | None:
        """
        What it has left; ``None`` where its hardware is not known.
        """
        left = nameplate(self.instance_type)
        if left is not None:
            # Copies of one model are alike, and there may be many.
            alike = Counter(copy.needs for copy in self.copies if copy.needs)
            for needs, count in alike.items():
                left = left.minus(needs, count)
        return left


@dataclass(eq=False, slots=True)
class Copy:
    """
    One copy of a model: waiting for its instance, starting, serving, leaving, gone.
    """

    name: str
    instance: Instance
    needs: ResourceRequirements | None
    asked: float
    state: Literal["waiting", "starting", "serving", "leaving", "gone"] = "waiting"
    # The copy that this one takes the place of, on its way to another instance.
    replaces: Copy | None = None
    planned: Planned | None = None


@functools.cache
def nameplate(instance_type: str) -> Capacity | None:
    """
    Return the resources of a new instance; ``None`` for types outside the catalogue.
    """
    # The catalogue holds accelerated types; a fleet of others is not measured.
    try:
        return Capacity.of(find_instance_type(instance_type))
    except ValueError:
        return None
