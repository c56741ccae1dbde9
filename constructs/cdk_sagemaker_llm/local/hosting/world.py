"""
The state of SageMaker hosting in one region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.local.aws.artifacts import Artifacts
from cdk_sagemaker_llm.local.aws.clock import CLOCK, Clock
from cdk_sagemaker_llm.local.aws.faults import Faults
from cdk_sagemaker_llm.local.aws.forwards import Forwards
from cdk_sagemaker_llm.local.aws.settings import Latency
from cdk_sagemaker_llm.local.aws.surroundings import Surroundings
from cdk_sagemaker_llm.local.hosting.records import Record, Shelf
from cdk_sagemaker_llm.local.hosting.traffic import Backlog, Traffic
from cdk_sagemaker_llm.simulation.fleet import Fleet, FleetTimes
from cdk_sagemaker_llm.simulation.rollout import Rollout

Operation = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(kw_only=True)
class Deployment:
    """
    What an endpoint is moving to: its fleets, and how much of the traffic they get.
    """

    config_name: str
    config: dict[str, Any]
    fleets: dict[str, Fleet]
    started: float
    share: float = 0.0
    # How far the new fleets are ahead of their turn.
    turn: float = 0.0
    rollout: Rollout | None = None


@dataclass(kw_only=True)
class Endpoint(Record):
    """
    An endpoint, the configuration it runs on, and a fleet for each variant.
    """

    config_name: str
    config: dict[str, Any]
    fleets: dict[str, Fleet]
    weights: dict[str, float]
    status: str = "Creating"
    failure: str | None = None
    # A deployment that is under way, and the part of the traffic it has got.
    deployment: Deployment | None = None
    # How far each variant is ahead of its turn, or behind it.
    turns: dict[str, int] = field(default_factory=dict)
    # How much of a request is due to each shadow, and to data capture.
    due: dict[str, float] = field(default_factory=dict)
    # What waits for it, if requests do.
    backlog: Backlog = field(default_factory=Backlog)
    # Tells EventBridge of its state.
    tell: Callable[[], None] = lambda: None

    def is_due(self, what: str, share: float) -> bool:
        """
        Tell whether the next request is one of a share, from 0 to 1, evenly spread.
        """
        due = self.due.get(what, 0.0) + share
        is_now = round(due, 6) >= 1
        self.due[what] = due - 1 if is_now else due
        return is_now

    @property
    def is_asynchronous(self) -> bool:
        """
        Whether its requests wait in a queue.
        """
        return "AsyncInferenceConfig" in self.config

    @property
    def takes_components(self) -> bool:
        """
        Whether it was configured for inference components.
        """
        variants = self.config["ProductionVariants"]
        return "ExecutionRoleArn" in self.config and not any(
            "ModelName" in variant for variant in variants
        )


@dataclass(kw_only=True)
class Component(Record):
    """
    An inference component and the variant it is placed on.
    """

    endpoint_name: str
    variant_name: str
    copies: int
    status: str = "Creating"
    failure: str | None = None
    # Each version is hosted under a name of its own, and two of them during an update.
    version: int = 0
    update: ComponentUpdate | None = None
    # Of the last update that had one, be it turned back.
    deployment_config: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """
        What the version that serves is called in its fleet.
        """
        return key_of(self.name, self.version)

    def request_of(self, key: str) -> dict[str, Any]:
        """
        Return what the version says that is called so in its fleet.
        """
        update = self.update
        is_new = update and key == key_of(self.name, update.version)
        return update.request if update and is_new else self.request


@dataclass(kw_only=True)
class ComponentUpdate:
    """
    What a component is moving to.
    """

    request: dict[str, Any]
    copies: int
    version: int
    rollout: Rollout | None = None
    # How much of a request is due to the new version.
    turn: float = 0.0


def key_of(name: str, version: int) -> str:
    """
    Return what a version of a component is called in its fleet.
    """
    return f"{name}#{version}" if version else name


def plain_name(key: str) -> str:
    """
    Return the component's name; each version of it is hosted under one of its own.
    """
    return key.partition("#")[0]


@dataclass
class World:
    """
    Everything that is hosted in one account and region.
    """

    region: str
    account: str
    partition: str
    surroundings: Surroundings
    artifacts: Artifacts = field(init=False)
    models: Shelf[Record] = field(init=False)
    configs: Shelf[Record] = field(init=False)
    endpoints: Shelf[Endpoint] = field(init=False)
    components: Shelf[Component] = field(init=False)
    clock: Clock = CLOCK
    times: FleetTimes = field(default_factory=FleetTimes.instant)
    faults: Faults = field(default_factory=Faults)
    latency: Latency = field(default_factory=Latency)
    forwards: Forwards = field(default_factory=Forwards)
    traffic: Traffic = field(init=False)
    # An endpoint goes on serving a model that has been deleted.
    deployed_models: dict[str, Record] = field(default_factory=dict)
    # Beside hosting: of each kind of job.
    jobs: list[Shelf[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.artifacts = Artifacts(self.surroundings)
        self.traffic = Traffic(self.clock)
        self.models = Shelf("model", self.arn("model"))
        self.configs = Shelf("endpoint configuration", self.arn("endpoint-config"))
        # The API reference of CreateEndpoint: the name is case-insensitive there.
        self.endpoints = Shelf("endpoint", self.arn("endpoint"), str.lower)
        self.components = Shelf(
            "inference component",
            self.arn("inference-component"),
        )

    def shelves(self) -> tuple[Shelf[Any], ...]:
        """
        Return every kind there is.
        """
        hosting = (self.models, self.configs, self.endpoints, self.components)
        return (*hosting, *self.jobs)

    def components_on(self, endpoint: Endpoint) -> list[Component]:
        """
        Return the components of an endpoint, the oldest first.
        """
        return [
            component
            for component in self.components
            if component.endpoint_name == endpoint.name
        ]

    def available(self, instance_type: str, _: float) -> float:
        """
        Return how many instances of a type a variant can have.
        """
        return self.faults.available(instance_type)

    def image_of(self, model: str) -> str:
        """
        Return the image of a model's first container; empty if there is none.
        """
        found = self.deployed_models.get(model)
        if found is None:
            return ""
        every = found.request.get("Containers") or [{}]
        container = found.request.get("PrimaryContainer") or every[0]
        return str(container.get("Image", ""))

    def arn(self, resource: str) -> str:
        """
        Return the ARN of a kind of resource, up to the name.
        """
        place = f"{self.region}:{self.account}"
        return f"arn:{self.partition}:sagemaker:{place}:{resource}/"
