"""
Time: what scaling, start-up, load and failure do to a fleet, minute by minute.

What belongs here computes in simulated time alone: no clock of the machine, no AWS,
no CDK. The command predicts with it, and the embedded AWS plays it out.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.simulation.outcome import Outcome, Series, Totals
    from cdk_sagemaker_llm.simulation.running import run
    from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
    from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
    from cdk_sagemaker_llm.simulation.traffic.base import Together, Traffic
    from cdk_sagemaker_llm.simulation.traffic.lengths import (
        Empirical,
        Fixed,
        Lengths,
        LogNormal,
    )
    from cdk_sagemaker_llm.simulation.traffic.rates import (
        Constant,
        DayCurve,
        Ramp,
        Spike,
    )
    from cdk_sagemaker_llm.simulation.traffic.replay import Replay
    from cdk_sagemaker_llm.simulation.traffic.users import Users

__all__ = [
    "Constant",
    "DayCurve",
    "Empirical",
    "Fixed",
    "Lengths",
    "LogNormal",
    "Outcome",
    "Ramp",
    "Replay",
    "Scenario",
    "Series",
    "ServiceTimes",
    "Spike",
    "Together",
    "Totals",
    "Traffic",
    "Users",
    "Workload",
    "run",
]

# What needs NumPy loads it when it samples; the parts load when they are named.
_HOMES = {
    "Constant": "simulation.traffic.rates",
    "DayCurve": "simulation.traffic.rates",
    "Empirical": "simulation.traffic.lengths",
    "Fixed": "simulation.traffic.lengths",
    "Lengths": "simulation.traffic.lengths",
    "LogNormal": "simulation.traffic.lengths",
    "Outcome": "simulation.outcome",
    "Ramp": "simulation.traffic.rates",
    "Replay": "simulation.traffic.replay",
    "Scenario": "simulation.scenario",
    "Series": "simulation.outcome",
    "ServiceTimes": "simulation.service.times",
    "Spike": "simulation.traffic.rates",
    "Together": "simulation.traffic.base",
    "Totals": "simulation.outcome",
    "Traffic": "simulation.traffic.base",
    "Users": "simulation.traffic.users",
    "Workload": "simulation.scenario",
    "run": "simulation.running",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
