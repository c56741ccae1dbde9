"""
The instances behind a variant, and which copies of which component sit on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.catalog import find_instance_type
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.local.errors import validation

NO_ROOM = (
    "There is not enough hardware resources on the instances for this endpoint to "
    "create a copy of the inference component."
)


@dataclass(frozen=True, slots=True)
class Copy:
    """
    One copy of a component and the instance it was placed on.
    """

    component: str
    needs: ResourceRequirements
    instance: int


@dataclass
class Fleet:
    """
    The instances of one variant.

    Args:
        instance_type: The API's name; empty for a serverless variant.

        instances: How many there are now.

        minimum: How far managed instance scaling may shrink the fleet.

        maximum: How far it may grow the fleet; the number now where it is off.

        managed: Whether managed instance scaling is on.
    """

    instance_type: str
    instances: int
    minimum: int
    maximum: int
    managed: bool = False
    copies: list[Copy] = field(default_factory=list)

    @classmethod
    def of(cls, variant: dict[str, Any]) -> Fleet:
        """
        Start the fleet that a production variant asks for.
        """
        scaling = variant.get("ManagedInstanceScaling", {})
        count = variant.get("InitialInstanceCount", 0)
        managed = scaling.get("Status") == "ENABLED"
        return cls(
            instance_type=_instance_type(variant),
            instances=count,
            minimum=scaling.get("MinInstanceCount", count) if managed else count,
            maximum=scaling.get("MaxInstanceCount", count) if managed else count,
            managed=managed,
        )

    def resize(self, instances: int) -> None:
        """
        Set how many instances there are.
        """
        self.instances = instances
        if not self.managed:
            self.minimum = self.maximum = instances

    def place(self, component: str, needs: ResourceRequirements, count: int) -> None:
        """
        Place that many more copies, the first instance with room first.

        Raises:
            AwsError: If they do not all fit; then none is placed.
        """
        before = list(self.copies), self.instances
        for _ in range(count):
            instance = self._room_for(needs)
            if instance is None:
                refusal = validation(f"{NO_ROOM} {self._why_not(needs)}")
                self.copies, self.instances = before
                raise refusal
            self.instances = max(self.instances, instance + 1)
            self.copies.append(Copy(component, needs, instance))

    def remove(self, component: str, count: int | None = None) -> None:
        """
        Take copies away, the newest first, and release instances that are empty.

        Args:
            component: Whose copies.

            count: How many. If left out, it is all of them.
        """
        keep = 0 if count is None else self.count(component) - count
        kept = 0
        copies, self.copies = self.copies, []
        for copy in copies:
            kept += copy.component == component
            if copy.component != component or kept <= keep:
                self.copies.append(copy)
        used = max((copy.instance + 1 for copy in self.copies), default=0)
        if self.minimum < self.maximum:
            self.instances = max(self.minimum, min(used, self.instances))

    def count(self, component: str) -> int:
        """
        Return how many copies of a component are placed.
        """
        return sum(copy.component == component for copy in self.copies)

    def free(self, instance: int) -> Capacity | None:
        """
        Return what an instance has left; ``None`` where its hardware is not known.
        """
        left = _capacity(self.instance_type)
        for copy in self.copies:
            if left is not None and copy.instance == instance:
                left = left.minus(copy.needs)
        return left

    def report(self) -> list[dict[str, Any]]:
        """
        Describe which copies sit on which instance, for people and demos.
        """
        return [
            {
                "Instance": index,
                "Copies": {
                    name: sum(
                        copy.instance == index and copy.component == name
                        for copy in self.copies
                    )
                    for name in sorted(self._components_on(index))
                },
            }
            for index in range(self.instances)
        ]

    def _components_on(self, instance: int) -> set[str]:
        return {copy.component for copy in self.copies if copy.instance == instance}

    def _room_for(self, needs: ResourceRequirements) -> int | None:
        for index in range(max(self.maximum, self.instances)):
            free = self.free(index)
            if free is None or not free.limits_for(needs):
                return index
        return None

    def _why_not(self, needs: ResourceRequirements) -> str:
        frees = [self.free(index) for index in range(max(self.maximum, self.instances))]
        known = [free for free in frees if free is not None]
        fewest = min((free.limits_for(needs) for free in known), key=len, default=[])
        limits = "; ".join(fewest)
        size = f"{self.instances} x {self.instance_type}"
        return f"On {size} (at most {self.maximum}): {limits}."


def _capacity(instance_type: str) -> Capacity | None:
    # The catalogue holds accelerated types; a fleet of others is not measured.
    try:
        return Capacity.of(find_instance_type(instance_type))
    except ValueError:
        return None


def _instance_type(variant: dict[str, Any]) -> str:
    pools = variant.get("InstancePools") or [{}]
    first = min(pools, key=lambda pool: int(pool.get("Priority", 1)))
    return str(variant.get("InstanceType") or first.get("InstanceType", ""))
