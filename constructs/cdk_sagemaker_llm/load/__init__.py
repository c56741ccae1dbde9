"""
Load tests of an endpoint: who asks what, what is measured, and what it says.

What belongs here describes a load, runs it on Locust in processes of its own, and
turns what was measured into figures. Locust is loaded in those processes alone.
"""

from typing import TYPE_CHECKING

from cdk_sagemaker_llm._lazily import lazily

if TYPE_CHECKING:
    from cdk_sagemaker_llm.load.benchmark import Benchmark, Row, run_benchmark
    from cdk_sagemaker_llm.load.figures import Distribution, Estimate, Figures
    from cdk_sagemaker_llm.load.fitting import Fitted, fit_service_times
    from cdk_sagemaker_llm.load.measured import GeneratorDelay, Measured, Record
    from cdk_sagemaker_llm.load.objective import Goodput, Objective
    from cdk_sagemaker_llm.load.reading import Knee, Reading, reading_of
    from cdk_sagemaker_llm.load.result import LoadResult
    from cdk_sagemaker_llm.load.running import LoadError, Progress, join_load, run_load
    from cdk_sagemaker_llm.load.scaling_target import (
        HeadRoom,
        Saturation,
        ScalingTarget,
    )
    from cdk_sagemaker_llm.load.settings import LoadSettings, SettingsError
    from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest, read_trace

__all__ = [
    "Benchmark",
    "Distribution",
    "Estimate",
    "Figures",
    "Fitted",
    "GeneratorDelay",
    "Goodput",
    "HeadRoom",
    "Knee",
    "LoadError",
    "LoadResult",
    "LoadSettings",
    "Measured",
    "Objective",
    "Progress",
    "Reading",
    "Record",
    "Row",
    "Saturation",
    "ScalingTarget",
    "SettingsError",
    "TracedRequest",
    "fit_service_times",
    "join_load",
    "read_trace",
    "reading_of",
    "run_benchmark",
    "run_load",
]

# Where each name is, below the library's own package.
_HOMES = {
    "Benchmark": "load.benchmark",
    "Distribution": "load.figures",
    "Estimate": "load.figures",
    "Figures": "load.figures",
    "Fitted": "load.fitting",
    "GeneratorDelay": "load.measured",
    "Goodput": "load.objective",
    "HeadRoom": "load.scaling_target",
    "Knee": "load.reading",
    "LoadError": "load.running",
    "LoadResult": "load.result",
    "LoadSettings": "load.settings",
    "Measured": "load.measured",
    "Objective": "load.objective",
    "Progress": "load.running",
    "Reading": "load.reading",
    "Record": "load.measured",
    "Row": "load.benchmark",
    "join_load": "load.running",
    "Saturation": "load.scaling_target",
    "ScalingTarget": "load.scaling_target",
    "SettingsError": "load.settings",
    "TracedRequest": "simulation.traffic.trace",
    "fit_service_times": "load.fitting",
    "read_trace": "simulation.traffic.trace",
    "reading_of": "load.reading",
    "run_benchmark": "load.benchmark",
    "run_load": "load.running",
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
