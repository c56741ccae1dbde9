"""
What Application Auto Scaling scales: a variant's instances, a component's copies.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.sagemaker.components import scale_copies, serving_copies
from cdk_sagemaker_llm.local.sagemaker.endpoints import scale_instances
from cdk_sagemaker_llm.local.sagemaker.world import Component, Endpoint, World
from cdk_sagemaker_llm.simulation.scaling import Scalable


def scalable(world: World, resource_id: str) -> Scalable | None:
    """
    Return what a resource id names; ``None`` if it is not there.

    Args:
        world: Where.

        resource_id: Such as ``endpoint/e/variant/v`` or ``inference-component/c``.
    """
    kind, _, rest = resource_id.partition("/")
    if kind == "inference-component":
        component = world.components.find(rest)
        return None if component is None else ScalableComponent(world, component)
    name, _, variant = rest.partition("/variant/")
    endpoint = world.endpoints.find(name)
    if kind != "endpoint" or endpoint is None or variant not in endpoint.fleets:
        return None
    return ScalableVariant(world, endpoint, variant)


class ScalableVariant:
    """
    The instances of a variant.
    """

    def __init__(self, world: World, endpoint: Endpoint, variant: str) -> None:
        self._world = world
        self._endpoint = endpoint
        self._variant = variant

    @property
    def desired(self) -> int:
        """
        The capacity that was asked for last.
        """
        return self._endpoint.fleets[self._variant].wanted_instances

    @property
    def running(self) -> int:
        """
        The capacity that serves now.
        """
        return self._endpoint.fleets[self._variant].scalable_instances().running

    @property
    def is_settled(self) -> bool:
        """
        Whether the service takes another change: none is under way.
        """
        return self._endpoint.status == "InService"

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for a capacity.

        Raises:
            AwsError: If the service refuses it.
        """
        scale_instances(self._world, self._endpoint, {self._variant: count}, cause)


class ScalableComponent:
    """
    The copies of a component.
    """

    def __init__(self, world: World, component: Component) -> None:
        self._world = world
        self._component = component

    @property
    def desired(self) -> int:
        """
        The capacity that was asked for last.
        """
        return self._component.copies

    @property
    def running(self) -> int:
        """
        The capacity that serves now.
        """
        return serving_copies(self._world, self._component)

    @property
    def is_settled(self) -> bool:
        """
        Whether the service takes another change: none is under way.
        """
        endpoint = self._world.endpoints.get(self._component.endpoint_name)
        return self._component.status == "InService" and endpoint.deployment is None

    def set_desired(self, count: int, cause: str) -> None:
        """
        Ask for a capacity.

        Raises:
            AwsError: If the service refuses it.
        """
        scale_copies(self._world, self._component, count, cause)
