"""
Placing copies of models on instances: accelerators, CPU cores and memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRequirements:
    """
    What each copy of a model reserves on its instance, and how many copies start.

    ``ResourceRequirements(copies=8, accelerators=1, cpus=10, memory_mib=100 * 1024)``

    Args:
        copies: Copies to start with. Left out, one.

        accelerators: Whole devices per copy. Left out, the copy reserves none.

        cpus: CPU cores per copy, at least 0.25.
            Left out, the copy reserves none.

        memory_mib:
            Host memory per copy in MiB, at least 128; a reservation, not a cap.
            Left out, 1024: the scheduler has far less than the host's memory to
            give, so that a small reservation is the safe one.

    Raises:
        ValueError: If a value is outside what the service's API accepts.
    """

    copies: int = 1
    accelerators: int | None = None
    cpus: float | None = None
    memory_mib: int = 1024

    @property
    def is_known(self) -> bool:
        """
        Whether every number is known at synth.
        """
        numbers = (self.copies, self.accelerators, self.cpus, self.memory_mib)
        return not is_unresolved(numbers)

    def __post_init__(self) -> None:
        """
        Hold the API's lower bounds (botocore 1.44.5, InferenceComponent shapes).
        """
        faults = [
            f"{name} must be at least {least}, got {value}"
            for name, value, least in (
                ("copies", self.copies, 0),
                ("accelerators", self.accelerators, 1),
                ("cpus", self.cpus, 0.25),
                ("memory_mib", self.memory_mib, 128),
            )
            if value is not None and value < least and not is_unresolved(value)
        ]
        if faults:
            raise ValueError("; ".join(faults))


@dataclass(frozen=True, kw_only=True, slots=True)
class Capacity:
    """
    What an instance has to give, or has left.
    """

    accelerators: float
    cpus: float
    memory_mib: float

    @classmethod
    def of(cls, instance_type: InstanceType) -> Capacity:
        """
        Take the nameplate figures of an instance type.

        The scheduler keeps some host memory for itself; how much is not published.
        """
        return cls(
            accelerators=instance_type.accelerators,
            cpus=instance_type.vcpus,
            memory_mib=instance_type.memory_gib * 1024,
        )

    def copies_of(self, needs: ResourceRequirements) -> int:
        """
        Return how many copies fit side by side.
        """
        # Cores come in fractions: thousandths of them divide without rounding.
        return min(
            round(have * 1000) // round(need * 1000)
            for have, need in self._pairs(needs)
            if need
        )

    def limits_for(self, needs: ResourceRequirements) -> list[str]:
        """
        Name the resources that one more copy does not find enough of.
        """
        names = ("accelerators", "CPU cores", "memory (MiB)")
        return [
            f"{name}: needs {need:g}, free {have:g}"
            for name, (have, need) in zip(names, self._pairs(needs), strict=True)
            if need > have
        ]

    def minus(self, needs: ResourceRequirements, copies: int = 1) -> Capacity:
        """
        Return what is left beside that many copies.
        """
        return Capacity(
            accelerators=self.accelerators - copies * (needs.accelerators or 0),
            cpus=self.cpus - copies * (needs.cpus or 0),
            memory_mib=self.memory_mib - copies * needs.memory_mib,
        )

    def _pairs(self, needs: ResourceRequirements) -> tuple[tuple[float, float], ...]:
        return (
            (self.accelerators, needs.accelerators or 0),
            (self.cpus, needs.cpus or 0),
            (self.memory_mib, needs.memory_mib),
        )


def place(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> tuple[list[dict[str, int]], dict[str, int]]:
    """
    Place every model's copies on instances, the largest copies first.

    Returns:
        For each instance the copies it holds by model, and the copies left over.
        First fit: copies can be left over although another order would place them.
    """
    free = [capacity] * instances
    placed: list[dict[str, int]] = [{} for _ in range(instances)]
    left: dict[str, int] = {}
    for name, needs in sorted(models.items(), key=_largest_first):
        remaining = needs.copies
        for index in range(instances):
            count = min(remaining, free[index].copies_of(needs))
            if count:
                free[index] = free[index].minus(needs, count)
                placed[index][name] = count
                remaining -= count
        if remaining:
            left[name] = remaining
    return placed, left


def overflow(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> list[str]:
    """
    Say why models cannot all be placed; empty where no proof of that is at hand.

    Proofs are: a copy that is larger than an instance, one model with more copies
    than fit if it were alone, and a sum that exceeds what all instances have.
    """
    alone = [
        reason
        for name, needs in models.items()
        for reason in _overflow_alone(name, needs, capacity, instances)
    ]
    return alone or _overflow_together(models, capacity, instances)


def _overflow_alone(
    name: str, needs: ResourceRequirements, capacity: Capacity, instances: int
) -> list[str]:
    most = capacity.copies_of(needs) * instances
    if most >= needs.copies:
        return []
    limits = capacity.limits_for(needs)
    if limits:
        return [f"a copy of {name} is larger than an instance ({'; '.join(limits)})"]
    return [f"{needs.copies} copies of {name} do not fit, {_fleet(instances)} {most}"]


def _overflow_together(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> list[str]:
    accelerators = sum(n.copies * (n.accelerators or 0) for n in models.values())
    cpus = sum(n.copies * (n.cpus or 0) for n in models.values())
    memory = sum(n.copies * n.memory_mib for n in models.values())
    placed = ", ".join(f"{n.copies} x {name}" for name, n in models.items())
    return [
        f"{placed} need {need:g} {unit}, {_fleet(instances)} {have * instances:g}"
        for unit, need, have in (
            ("accelerators", accelerators, capacity.accelerators),
            ("CPU cores", cpus, capacity.cpus),
            ("MiB of memory", memory, capacity.memory_mib),
        )
        if need > have * instances
    ]


def _fleet(instances: int) -> str:
    return "one instance holds" if instances == 1 else f"{instances} instances hold"


def _largest_first(
    item: tuple[str, ResourceRequirements],
) -> tuple[float, float, float]:
    needs = item[1]
    return (-(needs.accelerators or 0), -needs.memory_mib, -(needs.cpus or 0))
