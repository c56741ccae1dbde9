"""
What one copy reserves, what an instance has, and how many copies fit on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from cdk_sagemaker_llm.arguments import hold_kinds
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.text import counted
from cdk_sagemaker_llm.tokens import is_unresolved

# Host memory that the service keeps. AWS publishes no figure. The one measurement at
# hand: of the 16 GiB of an ml.g5.xlarge, a reservation of 1024 MiB was accepted and one
# of 4096 refused (July 2026), so that it keeps more than 12 GiB. One type and one
# refusal are reason for advice, never for an error.
MEASURED_RESERVE_MIB = 13 * 1024
# What was accepted on the smallest host that was measured.
_LEAST_SCHEDULABLE_MIB = 1024
_BILLION = 10**9
# How many models a message names, and how many where there are more.
_MOST_LISTED, _FEW_LISTED = 8, 5

Units = tuple[int, int, int]
"""
Billionths of accelerators, of CPU cores and of MiB of memory.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResourceRequirements:
    """
    What each copy of a model reserves on its instance, and how many copies start.

    ``ResourceRequirements(copies=8, accelerators=1, cpus=10, memory_mib=100 * 1024)``

    Args:
        copies: Copies to start with. If omitted, one starts.

        accelerators: Whole devices per copy. If omitted, the copy reserves none.

        cpus: CPU cores per copy, at least 0.25.
            If omitted, the copy reserves none.

        memory_mib:
            Host memory per copy in MiB, at least 128; a reservation, not a cap.
            If omitted, it is 1024: the scheduler has far less than the host's memory
            to give, so that a small reservation is the safe one.

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

    @property
    def units(self) -> Units:
        """
        What a copy reserves in billionths: whole numbers add up without rounding.
        """
        return (
            _billionths(self.accelerators or 0),
            _billionths(self.cpus or 0),
            _billionths(self.memory_mib),
        )

    def __post_init__(self) -> None:
        hold_kinds(self)
        # The API's lower bounds (botocore 1.44.5, InferenceComponent shapes).
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

    Args:
        accelerators: GPUs or Neuron devices.

        cpus: CPU cores.

        memory_mib: Host memory in MiB.
    """

    accelerators: float
    cpus: float
    memory_mib: float

    @classmethod
    def of(cls, instance_type: InstanceType) -> Capacity:
        """
        Take the nameplate figures of an instance type.

        The scheduler keeps some host memory for itself, so that what does not fit here
        certainly does not fit; see ``schedulable`` for what likely does.

        Args:
            instance_type: The instance type.
        """
        return cls(
            accelerators=instance_type.accelerators,
            cpus=instance_type.vcpus,
            memory_mib=instance_type.memory_gib * 1024,
        )

    @classmethod
    def schedulable(
        cls,
        instance_type: InstanceType,
        *,
        memory_reserve_mib: float = MEASURED_RESERVE_MIB,
    ) -> Capacity:
        """
        Take the nameplate figures, less the memory that the service likely keeps.

        Args:
            instance_type: The instance type.

            memory_reserve_mib:
                Host memory that no copy can reserve.
                If omitted, it is 13 GiB: extrapolated from one measurement, for advice
                only.
        """
        nameplate = cls.of(instance_type)
        left = nameplate.memory_mib - memory_reserve_mib
        least = min(_LEAST_SCHEDULABLE_MIB, nameplate.memory_mib)
        return replace(nameplate, memory_mib=max(left, least))

    @property
    def units(self) -> Units:
        """
        The same in billionths: whole numbers add up without rounding.
        """
        return (
            _billionths(self.accelerators),
            _billionths(self.cpus),
            _billionths(self.memory_mib),
        )

    def copies_of(self, needs: ResourceRequirements) -> int:
        """
        Return how many copies fit side by side.

        Args:
            needs: What a copy reserves.
        """
        return max(0, min(h // n for h, n in _pairs(self.units, needs.units) if n))

    def limits_for(self, needs: ResourceRequirements) -> list[str]:
        """
        Name the resources that one more copy does not find enough of.

        Args:
            needs: What a copy reserves.
        """
        names = ("accelerators", "CPU cores", "memory (MiB)")
        return [
            f"{name}: needs {plain(need)}, free {plain(have)}"
            for name, (have, need) in zip(
                names, _pairs(self.units, needs.units), strict=True
            )
            if need > have
        ]

    def minus(self, needs: ResourceRequirements, copies: int = 1) -> Capacity:
        """
        Return the resources that are left beside that many copies.

        Args:
            needs: What a copy reserves.

            copies: How many copies. If omitted, one.
        """
        left = [h - copies * n for h, n in _pairs(self.units, needs.units)]
        return Capacity(
            accelerators=left[0] / _BILLION,
            cpus=left[1] / _BILLION,
            memory_mib=left[2] / _BILLION,
        )


def overflow(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> list[str]:
    """
    Say why models certainly cannot all be placed, where it needs no search.

    Proofs are: a copy that is larger than an instance, one model with more copies
    than fit if it were alone, and a sum that exceeds what all instances have.
    """
    alone = [
        reason
        for name, needs in models.items()
        for reason in _overflow_alone(name, needs, capacity, instances)
    ]
    return alone or _overflow_together(models, capacity, instances)


def listed(copies: Mapping[str, int]) -> str:
    """
    Say how many copies of which models, such as ``4 x Llama13B, 2 x Mistral7B``.
    """
    return ", ".join(f"{count} x {name}" for name, count in copies.items() if count)


def shortened(models: Mapping[str, ResourceRequirements]) -> str:
    """
    Say how many copies of which models; of many, the largest few and a count.
    """
    copies = {name: needs.copies for name, needs in models.items() if needs.copies}
    if len(copies) <= _MOST_LISTED:
        return listed(copies)
    largest = sorted(copies, key=lambda name: models[name].units, reverse=True)
    few = listed({name: copies[name] for name in largest[:_FEW_LISTED]})
    return f"{few} and {len(copies) - _FEW_LISTED} more models"


def plain(units: int) -> str:
    """
    Write billionths as a number that people read: no exponent, no trailing zeros.
    """
    return f"{units / _BILLION:.12g}"


def _overflow_alone(
    name: str, needs: ResourceRequirements, capacity: Capacity, instances: int
) -> list[str]:
    most = capacity.copies_of(needs) * instances
    if most >= needs.copies:
        return []
    limits = capacity.limits_for(needs)
    if limits:
        return [f"a copy of {name} is larger than an instance ({'; '.join(limits)})"]
    copies = counted(needs.copies, "copy", "copies")
    verb = "does" if needs.copies == 1 else "do"
    return [f"{copies} of {name} {verb} not fit, {_fleet(instances)} {most}"]


def _overflow_together(
    models: Mapping[str, ResourceRequirements], capacity: Capacity, instances: int
) -> list[str]:
    names = shortened(models)
    found = []
    for axis, unit in enumerate(("accelerators", "CPU cores", "MiB of memory")):
        need = sum(needs.copies * needs.units[axis] for needs in models.values())
        have = capacity.units[axis] * instances
        if need > have:
            held = f"{_fleet(instances)} {plain(have)}"
            found.append(f"{names} need {plain(need)} {unit}, {held}")
    return found


def _fleet(instances: int) -> str:
    return "one instance holds" if instances == 1 else f"{instances} instances hold"


def _pairs(have: Units, need: Units) -> Iterator[tuple[int, int]]:
    return zip(have, need, strict=True)


def _billionths(value: float) -> int:
    return round(value * _BILLION)
