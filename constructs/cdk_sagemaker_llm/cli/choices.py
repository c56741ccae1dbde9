"""
An instance type that could host a model, and how it compares with others.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.fit.plans import Plan


@dataclass(frozen=True, slots=True)
class Choice:
    """
    An instance type that can host the copies, and what that takes.
    """

    plan: Plan
    copies: int
    price: float | None

    @property
    def instances(self) -> int:
        """
        How many instances hold the copies.
        """
        return -(-self.copies // self.plan.replicas) if self.plan.replicas else 0

    @property
    def accelerators(self) -> int:
        """
        How many accelerators the copies reserve.
        """
        if self.plan.is_on_host:
            return 0
        return self.copies * self.plan.tensor_parallel_degree

    @property
    def cost(self) -> float | None:
        """
        US dollars an hour; ``None`` without a price.
        """
        return None if self.price is None else self.price * self.instances

    def rank(self) -> tuple[float, ...]:
        """
        Order by accelerators used, then by price, then by what is left idle.
        """
        hardware = self.plan.instance_type
        unknown = float("inf")
        return (
            self.accelerators,
            unknown if self.cost is None else self.cost,
            self.instances * hardware.accelerators * hardware.accelerator_memory_gib,
            hardware.vcpus,
        )
