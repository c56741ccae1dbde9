"""
What is hosted, without an API: a world, endpoints in it, and their fleets.
"""

from __future__ import annotations

from typing import Any, cast

from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.aws.surroundings import Surroundings
from cdk_sagemaker_llm.local.hosting.world import Component, Endpoint, World
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import Fleet, FleetTimes, Pool


def world_of(clock: Clock) -> World:
    """
    Make a world that nothing is around.
    """
    around = cast("Surroundings", None)
    return World("us-east-1", "123456789012", "aws", around, clock=clock)


def fleet_of(name: str, count: int) -> Fleet:
    """
    Make the fleet of a variant with a model.
    """
    made = Fleet(
        Timeline(),
        pools=[Pool("ml.g5.xlarge")],
        instances=count,
        times=FleetTimes.instant(),
    )
    made.add(name, None, count)
    return made


def endpoint_of(name: str, fleets: dict[str, Fleet], **config: object) -> Endpoint:
    """
    Make an endpoint with a variant for each fleet.
    """
    variants = [{"VariantName": variant} for variant in fleets]
    return Endpoint(
        name=name,
        arn=f"arn:{name}",
        request={},
        config_name="config",
        config={"ProductionVariants": variants, **config},
        fleets=fleets,
        weights={},
    )


def component_of(
    name: str, request: dict[str, Any] | None = None, endpoint: str = "host"
) -> Component:
    """
    Make a component of one copy.
    """
    return Component(
        name=name,
        arn=f"arn:{name}",
        request=request or {},
        endpoint_name=endpoint,
        variant_name="A",
        copies=1,
    )
