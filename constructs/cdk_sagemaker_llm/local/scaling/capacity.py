"""
Capacity as Application Auto Scaling sees and sets it: through SageMaker's own API.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.hosting.components import serving_copies
from cdk_sagemaker_llm.local.hosting.service import SageMaker
from cdk_sagemaker_llm.local.hosting.traffic import Where
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.scaling.meter import Subject
from cdk_sagemaker_llm.simulation.fleet.parts import nameplate

_COMPONENT = "inference-component"


class Counts(NamedTuple):
    """
    How many instances or copies were asked for, and how many serve.
    """

    desired: int
    current: int
    is_settled: bool


_NOTHING = Counts(0, 0, is_settled=False)


class HostedCapacity(abc.ABC):
    """
    What one scalable target scales; an ``Autoscaler`` works on it.

    Its states and refusals are the service's, since it is asked as by any client.
    """

    # What the service calls it in what it tells of its activities.
    noun = ""

    def __init__(self, hosting: SageMaker) -> None:
        self._hosting = hosting
        # Why the last change was refused; empty if it was not.
        self.refusal = ""

    @property
    def desired(self) -> int:
        return self._counts().desired

    @property
    def running(self) -> int:
        return self._counts().current

    @property
    def is_settled(self) -> bool:
        return self._counts().is_settled

    def set_desired(self, count: int, cause: str) -> None:  # noqa: ARG002 - the engine tells why
        """
        Ask the service for a capacity, which may refuse.
        """
        self.refusal = ""
        try:
            self._ask(count)
        except AwsError as error:
            self.refusal = error.message

    def _counts(self) -> Counts:
        try:
            return self._read()
        except AwsError:  # It is gone.
            return _NOTHING

    @abc.abstractmethod
    def _read(self) -> Counts: ...

    @abc.abstractmethod
    def _ask(self, count: int) -> None: ...


class VariantCapacity(HostedCapacity):
    noun = "instance"

    def __init__(self, hosting: SageMaker, endpoint: str, variant: str) -> None:
        super().__init__(hosting)
        self._endpoint = endpoint
        self._variant = variant

    def _read(self) -> Counts:
        request = {"EndpointName": self._endpoint}
        description = self._hosting.call("DescribeEndpoint", request)
        for variant in description["ProductionVariants"]:
            if variant["VariantName"] == self._variant:
                return Counts(
                    variant["DesiredInstanceCount"],
                    variant["CurrentInstanceCount"],
                    description["EndpointStatus"] == "InService",
                )
        return _NOTHING

    def _ask(self, count: int) -> None:
        capacity = {"VariantName": self._variant, "DesiredInstanceCount": count}
        self._hosting.call(
            "UpdateEndpointWeightsAndCapacities",
            {"EndpointName": self._endpoint, "DesiredWeightsAndCapacities": [capacity]},
        )


class ComponentCapacity(HostedCapacity):
    noun = "copy"

    def __init__(self, hosting: SageMaker, component: str) -> None:
        super().__init__(hosting)
        self._named = {"InferenceComponentName": component}

    def _read(self) -> Counts:
        description = self._hosting.call("DescribeInferenceComponent", self._named)
        copies = description["RuntimeConfig"]
        return Counts(
            copies["DesiredCopyCount"],
            copies["CurrentCopyCount"],
            description["InferenceComponentStatus"] == "InService",
        )

    def _ask(self, count: int) -> None:
        self._hosting.call(
            "UpdateInferenceComponentRuntimeConfig",
            {**self._named, "DesiredRuntimeConfig": {"CopyCount": count}},
        )


def capacity_of(hosting: SageMaker, resource_id: str) -> HostedCapacity:
    """
    Return the capacity behind a resource id of Application Auto Scaling's.
    """
    kind, _, rest = resource_id.partition("/")
    if kind == _COMPONENT:
        return ComponentCapacity(hosting, rest)
    endpoint, _, variant = rest.split("/")
    return VariantCapacity(hosting, endpoint, variant)


def serving(world: World, where: Where) -> int:
    """
    Return how many instances or copies serve where a request goes.
    """
    name, variant, component = where
    if component:
        found = world.components.find(component)
        return serving_copies(world, found) if found else 0
    endpoint = world.endpoints.find(name)
    fleet = endpoint.fleets.get(variant) if endpoint else None
    # What is being deleted is in no fleet any more.
    return fleet.serving(variant) if fleet and variant in fleet.names else 0


def live(world: World) -> Iterator[tuple[Subject, int]]:
    """
    Tell which variants and components serve now, and with how much.
    """
    places: list[Where] = [
        (endpoint.name, variant, None)
        for endpoint in world.endpoints
        # What requests wait for publishes neither invocations nor concurrency.
        if not (endpoint.takes_components or endpoint.is_asynchronous)
        for variant in endpoint.fleets
    ]
    places += [(c.endpoint_name, c.variant_name, c.name) for c in world.components]
    for place in places:
        if count := serving(world, place):
            yield Subject.of(place), count


def devices(world: World, subject: Subject) -> float:
    """
    Return how many accelerators an instance has that a subject runs on.
    """
    endpoint = world.endpoints.find(subject.endpoint)
    fleet = endpoint.fleets.get(subject.variant) if endpoint else None
    running = fleet.running_instances if fleet else ()
    whole = nameplate(running[0].instance_type) if running else None
    return whole.accelerators if whole else 0
