"""
What is scaled, and how.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.simulation.scaling import Bounds, Policy, ScheduledAction


@dataclass(frozen=True, slots=True)
class Target:
    """
    What is scaled: the instances of a variant, or the copies of a component.

    Args:
        name: The endpoint, or the component.

        variant: The variant; empty for a component.
    """

    name: str
    variant: str = ""

    @property
    def dimensions(self) -> dict[str, str]:
        """
        The dimensions of its metrics.
        """
        if not self.variant:
            return {"InferenceComponentName": self.name}
        return {"EndpointName": self.name, "VariantName": self.variant}

    def __str__(self) -> str:
        """
        Name it as a reader of the app would.
        """
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """
    How one target is scaled.

    Args:
        bounds: Between which numbers.

        policies: Its policies.

        schedules: Its scheduled actions.

        suspended: What of its scaling is switched off, by the service's names.
    """

    bounds: Bounds
    policies: tuple[Policy, ...] = ()
    schedules: tuple[ScheduledAction, ...] = ()
    suspended: tuple[str, ...] = ()
