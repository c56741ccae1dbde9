"""
Application Auto Scaling: policies, schedules, and what they do when.

What belongs here decides how much capacity is asked for, and never how long it takes
to come.
"""

from cdk_sagemaker_llm.simulation.scaling.autoscaler import Autoscaler, Scalable
from cdk_sagemaker_llm.simulation.scaling.policies import (
    Activity,
    Bounds,
    Policy,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)

__all__ = [
    "Activity",
    "Autoscaler",
    "Bounds",
    "Policy",
    "Scalable",
    "ScheduledAction",
    "StepAdjustment",
    "StepScaling",
    "TargetTracking",
]
