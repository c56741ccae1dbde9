"""
Instances and the copies of models on them: how they come, move and go.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation.fleet.fleet import Fleet
from cdk_sagemaker_llm.simulation.fleet.parts import (
    Available,
    Copy,
    Instance,
    Listener,
    Needs,
    Pool,
    ScaleIn,
    Step,
    Trouble,
    unlimited,
)
from cdk_sagemaker_llm.simulation.fleet.racks import NO_CAPACITY
from cdk_sagemaker_llm.simulation.fleet.times import (
    ByType,
    FleetTimes,
    Seconds,
    seconds,
    start_seconds,
)

__all__ = [
    "NO_CAPACITY",
    "Available",
    "ByType",
    "Copy",
    "Fleet",
    "FleetTimes",
    "Instance",
    "Listener",
    "Needs",
    "Pool",
    "ScaleIn",
    "Seconds",
    "Step",
    "Trouble",
    "seconds",
    "start_seconds",
    "unlimited",
]
