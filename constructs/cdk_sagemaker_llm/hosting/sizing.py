"""
What follows from a model's size: its resources, its copies, and how long it loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from aws_cdk import Duration

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Assumptions
from cdk_sagemaker_llm.findings import Finding, error
from cdk_sagemaker_llm.fit.checking import architecture_of, plan_of
from cdk_sagemaker_llm.fit.engines import demand_of
from cdk_sagemaker_llm.fit.packing import most_copies
from cdk_sagemaker_llm.fit.placement import Capacity, ResourceRequirements
from cdk_sagemaker_llm.hosting.variant import START_UP_SECONDS
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.configuration import ServingConfiguration
from cdk_sagemaker_llm.serving.lmi.folder import ServingFolder
from cdk_sagemaker_llm.serving.loading import loading_seconds

Copies = int | Literal["fill"]


def start_up_timeout(
    serving: ServingConfiguration, model: ModelSource | None
) -> Duration | None:
    """
    Return how long to wait for a model that takes longer than the default.

    ``None`` where the default of 30 minutes will do, or the size is not known.
    """
    if isinstance(serving, ServingFolder):
        # Its file says how long the container waits, which is held against this.
        return None
    architecture, demand = architecture_of(serving, model), demand_of(serving)
    if architecture is None or demand is None:
        return None
    seconds = loading_seconds(architecture.weight_bytes(demand.weight_bits))
    return Duration.seconds(seconds) if seconds > START_UP_SECONDS else None


def resources_of(
    serving: ServingConfiguration,
    model: ModelSource | None,
    hardware: InstanceType | None,
    given: ResourceRequirements | None,
    *,
    assumptions: Assumptions | None = None,
) -> tuple[ResourceRequirements, list[Finding]]:
    """
    Return what each copy reserves: what was given, or what the plan asks for.

    Where neither is known, the finding LLM192 says what to do.
    """
    if given is not None:
        return given, []
    found = plan_of(serving, model, hardware, assumptions=assumptions)
    if found is not None:
        return replace(found.resources, copies=1), []
    missing = error(
        "LLM192",
        "resources are left out, and the size of the model is not known",
        "pass resources=ResourceRequirements(...), or a serving configuration with "
        "architecture=ModelArchitecture.from_config(...)",
    )
    return ResourceRequirements(), [missing]


def with_copies(
    needs: ResourceRequirements,
    copies: Copies | None,
    *,
    capacity: Capacity | None,
    instances: int,
    others: Mapping[str, ResourceRequirements],
) -> ResourceRequirements:
    """
    Set how many copies start.

    Args:
        needs: What each copy reserves.

        copies: How many, or ``"fill"`` for all that fit beside the others.
            ``None`` leaves it as it is.

        capacity: What each instance has; ``None`` if it is not known.

        instances: How many instances there may be.

        others: What is placed there already.

    Raises:
        ValueError: If the instances are to be filled, and are not known.
    """
    if copies is None:
        return needs
    if copies != "fill":
        return replace(needs, copies=copies)
    known = all(each.is_known for each in (needs, *others.values()))
    if capacity is None or is_unresolved(instances) or not known:
        raise ValueError(
            "copies='fill' needs an instance type, a number of instances and the "
            "resources of all models to be known at synth; pass a number"
        )
    most = most_copies(needs, capacity, instances, beside=others)
    # One that does not fit is refused where the others are named.
    return replace(needs, copies=most or 1)
