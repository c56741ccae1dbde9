"""
What an app hosts, as far as it can be played out in time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cdk_sagemaker_llm.cli.simulating.containers import Served
from cdk_sagemaker_llm.cli.simulating.targets import Scaling
from cdk_sagemaker_llm.fit.placement import ResourceRequirements
from cdk_sagemaker_llm.simulation.fleet import Pool, ScaleIn
from cdk_sagemaker_llm.simulation.scenario import Routing

Needs = ResourceRequirements | Mapping[str, ResourceRequirements]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostedModel:
    """
    A model on a variant: a component, or what the variant itself serves.

    Args:
        name: The component's stack and logical id, or the variant's name.

        needs: What a copy reserves; ``None`` for a whole instance.

        copies: How many there are at the start.

        served: What the app says of the model.

        scaling: How it is scaled; ``None`` if it is not.

        at_once: How many requests each instance is sent at once, where the others wait
            in a queue; ``None`` where they do not.
    """

    name: str
    needs: Needs | None
    copies: int
    served: Served = field(default_factory=Served)
    scaling: Scaling | None = None
    at_once: int | None = None

    @property
    def accelerators(self) -> int | None:
        """
        How many accelerators a copy reserves; ``None`` for all of an instance.
        """
        needs = self.needs
        if isinstance(needs, Mapping):
            needs = next(iter(needs.values()))
        return None if needs is None else needs.accelerators

    @property
    def image(self) -> str:
        """
        What is pulled once for each instance.
        """
        return self.served.image


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosted:
    """
    One variant of an endpoint: its instances, and the models on them.

    Args:
        endpoint: Stack and logical id of the endpoint.

        variant: The variant's name.

        pools: The instance types.

        instances: How many there are at the start.

        minimum: How many there are at least.

        maximum: How many there are at most.

        managed: Whether SageMaker adds and removes them as copies need it.

        scale_in: How it removes them; ``None`` where the app does not say.

        provision_timeout: Seconds to wait for capacity; ``None`` where it does not say.

        routing: To which copy requests go.

        share: Which part of the endpoint's requests it gets, by weight.

        models: What runs on it.
    """

    endpoint: str
    variant: str
    pools: tuple[Pool, ...]
    instances: int
    minimum: int
    maximum: int
    managed: bool = False
    scale_in: ScaleIn | None = None
    provision_timeout: float | None = None
    routing: Routing = "LEAST_OUTSTANDING_REQUESTS"
    share: float = 1.0
    models: tuple[HostedModel, ...] = ()


@dataclass(frozen=True, slots=True)
class HostedApp:
    """
    All that can be played out of an app.

    Args:
        variants: The endpoints' variants.

        left_out: What is not simulated, and why, one sentence each.

        assumed: What the app leaves open and AWS does not document.
    """

    variants: tuple[Hosted, ...]
    left_out: tuple[str, ...]
    assumed: tuple[str, ...] = ()
