"""
Playing a scenario out, in whichever way suits it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import get_args

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.simulation import aggregate, requests
from cdk_sagemaker_llm.simulation.outcome import Outcome
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario
from cdk_sagemaker_llm.simulation.traffic.base import Users

# A million take some seconds.
_MOST_FOLLOWED = 2e6


def run(scenario: Scenario, method: Method | None = None) -> Outcome:
    """
    Play a scenario out.

    ``run(Scenario(workloads=(...,), duration=3600)).workloads["llama"].totals``

    Args:
        scenario: What runs, on what, for how long.

        method: ``requests`` follows each request, ``aggregate`` computes with rates.
            If omitted, requests are followed as long as they are few enough for that
            to take seconds.

    Raises:
        ValueError: If there is no such method, or none such for what waits in a queue,
            or NumPy is missing.
    """
    raise_faults(kind_of("Scenario").faults("scenario", scenario))
    if find_spec("numpy") is None:
        raise ValueError(
            "simulations need NumPy; install it with: "
            "pip install 'cdk-sagemaker-llm[simulate]'"
        )
    is_queued = any(each.at_once is not None for each in scenario.workloads)
    if is_queued and method == "aggregate":
        raise ValueError(
            "method must be 'requests' where requests wait in a queue, got 'aggregate'"
        )
    if is_queued:
        method = "requests"
    if method is None:
        method = suited_method(scenario)
    if method not in get_args(Method):
        raise ValueError(f"method must be 'requests' or 'aggregate', got {method!r}")
    way = requests.run if method == "requests" else aggregate.run
    return way(scenario)


def suited_method(scenario: Scenario) -> Method:
    """
    Return how a scenario is computed where nothing is said: request by request as long
    as they are few enough for that to take seconds.
    """
    are_few = _expected_requests(scenario) <= _MOST_FOLLOWED
    return "requests" if are_few else "aggregate"


def _expected_requests(scenario: Scenario) -> float:
    import numpy as np  # noqa: PLC0415 - what plays nothing out starts without it

    duration, total = scenario.duration, 0.0
    for workload in scenario.workloads:
        traffic = workload.traffic
        if isinstance(traffic, Users):
            total += traffic.count * duration / max(traffic.think, 1.0)
        else:
            whole = traffic.starting(scenario.start).expected(np.array([0, duration]))
            total += float(whole.requests[0])
    return total
