"""
The state of SageMaker hosting in one region.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cdk_sagemaker_llm.local.sagemaker.artifacts import Artifacts
from cdk_sagemaker_llm.local.sagemaker.fleet import Fleet
from cdk_sagemaker_llm.local.sagemaker.store import Record, Shelf
from cdk_sagemaker_llm.local.sagemaker.surroundings import Surroundings

Operation = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(kw_only=True)
class Endpoint(Record):
    """
    An endpoint, the configuration it runs on, and a fleet for each variant.
    """

    config_name: str
    config: dict[str, Any]
    fleets: dict[str, Fleet]
    weights: dict[str, float]
    status: str = "InService"
    # How far each variant is ahead of its turn, or behind it.
    turns: dict[str, int] = field(default_factory=dict)

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
    status: str = "InService"


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
    # An endpoint goes on serving a model that has been deleted.
    deployed_models: dict[str, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """
        Lay out one shelf for each kind.
        """
        self.artifacts = Artifacts(self.surroundings)
        self.models = Shelf("model", self._arn("model"))
        self.configs = Shelf("endpoint configuration", self._arn("endpoint-config"))
        # The API reference of CreateEndpoint: the name is case-insensitive there.
        self.endpoints = Shelf("endpoint", self._arn("endpoint"), str.lower)
        self.components = Shelf(
            "inference component",
            self._arn("inference-component"),
        )

    def shelves(self) -> tuple[Shelf[Any], ...]:
        """
        Return every kind there is.
        """
        return (self.models, self.configs, self.endpoints, self.components)

    def components_on(self, endpoint: Endpoint) -> list[Component]:
        """
        Return the components of an endpoint, the oldest first.
        """
        return [
            component
            for component in self.components
            if component.endpoint_name == endpoint.name
        ]

    def _arn(self, resource: str) -> str:
        place = f"{self.region}:{self.account}"
        return f"arn:{self.partition}:sagemaker:{place}:{resource}/"
