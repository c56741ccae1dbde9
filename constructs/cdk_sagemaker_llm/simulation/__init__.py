"""
A simulation of what scaling, start-up, load and failure do to a fleet over time.

What belongs here computes in simulated time alone: no clock of the machine, no AWS,
no CDK. The command predicts with it, and the embedded AWS plays it out.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.simulation.alarms import AlarmRule
    from cdk_sagemaker_llm.simulation.fleet import (
        ByType,
        FleetTimes,
        Pool,
        ScaleIn,
        Step,
    )
    from cdk_sagemaker_llm.simulation.metrics import (
        MathQuery,
        Metric,
        MetricDelays,
        MetricQuery,
    )
    from cdk_sagemaker_llm.simulation.outcome import Outcome, Series, Totals
    from cdk_sagemaker_llm.simulation.running import run
    from cdk_sagemaker_llm.simulation.scaling import (
        Activity,
        Bounds,
        ScheduledAction,
        StepAdjustment,
        StepScaling,
        TargetTracking,
    )
    from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
    from cdk_sagemaker_llm.simulation.service.estimate import estimate_service_times
    from cdk_sagemaker_llm.simulation.service.measurement import (
        Measurement,
        read_service_times,
        write_service_times,
    )
    from cdk_sagemaker_llm.simulation.service.performance import (
        Figure,
        Performance,
        estimate_performance,
    )
    from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
    from cdk_sagemaker_llm.simulation.traffic.base import Together, Traffic, Users
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

__all__ = [
    "Activity",
    "AlarmRule",
    "Bounds",
    "ByType",
    "Constant",
    "DayCurve",
    "Empirical",
    "Figure",
    "Fixed",
    "FleetTimes",
    "Lengths",
    "LogNormal",
    "MathQuery",
    "Measurement",
    "Metric",
    "MetricDelays",
    "MetricQuery",
    "Outcome",
    "Performance",
    "Pool",
    "Ramp",
    "Replay",
    "ScaleIn",
    "Scenario",
    "ScheduledAction",
    "Series",
    "ServiceTimes",
    "Spike",
    "Step",
    "StepAdjustment",
    "StepScaling",
    "TargetTracking",
    "Together",
    "Totals",
    "Traffic",
    "Users",
    "Workload",
    "estimate_performance",
    "estimate_service_times",
    "read_service_times",
    "run",
    "write_service_times",
]

# What needs NumPy loads it when it samples; the parts load when they are named.
_HOMES = {
    "Activity": "simulation.scaling",
    "AlarmRule": "simulation.alarms",
    "Bounds": "simulation.scaling",
    "ByType": "simulation.fleet",
    "Constant": "simulation.traffic.rates",
    "DayCurve": "simulation.traffic.rates",
    "Empirical": "simulation.traffic.lengths",
    "Figure": "simulation.service.performance",
    "Fixed": "simulation.traffic.lengths",
    "FleetTimes": "simulation.fleet",
    "Lengths": "simulation.traffic.lengths",
    "LogNormal": "simulation.traffic.lengths",
    "MathQuery": "simulation.metrics",
    "Measurement": "simulation.service.measurement",
    "Metric": "simulation.metrics",
    "MetricDelays": "simulation.metrics",
    "MetricQuery": "simulation.metrics",
    "Outcome": "simulation.outcome",
    "Performance": "simulation.service.performance",
    "Pool": "simulation.fleet",
    "Ramp": "simulation.traffic.rates",
    "Replay": "simulation.traffic.replay",
    "ScaleIn": "simulation.fleet",
    "Scenario": "simulation.scenario",
    "ScheduledAction": "simulation.scaling",
    "Series": "simulation.outcome",
    "ServiceTimes": "simulation.service.times",
    "Spike": "simulation.traffic.rates",
    "Step": "simulation.fleet",
    "StepAdjustment": "simulation.scaling",
    "StepScaling": "simulation.scaling",
    "TargetTracking": "simulation.scaling",
    "Together": "simulation.traffic.base",
    "Totals": "simulation.outcome",
    "Traffic": "simulation.traffic.base",
    "Users": "simulation.traffic.base",
    "Workload": "simulation.scenario",
    "estimate_performance": "simulation.service.performance",
    "estimate_service_times": "simulation.service.estimate",
    "read_service_times": "simulation.service.measurement",
    "run": "simulation.running",
    "write_service_times": "simulation.service.measurement",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
