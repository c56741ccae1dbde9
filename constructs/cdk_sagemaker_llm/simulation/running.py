"""
Playing a scenario out, in whichever way suits it.
"""

from __future__ import annotations

from cdk_sagemaker_llm.simulation import requests
from cdk_sagemaker_llm.simulation.outcome import Outcome
from cdk_sagemaker_llm.simulation.scenario import Method, Scenario


def run(scenario: Scenario, method: Method | None = None) -> Outcome:
    """
    Play a scenario out.

    ``run(Scenario(workloads=(...,), duration=3600)).workloads["llama"].totals``

    Args:
        scenario: What runs, on what, for how long.

        method: ``requests`` follows each request, ``aggregate`` computes with rates.
            If left out, requests are followed as long as they are few enough for that
            to take seconds.
    """
    del method
    return requests.run(scenario)
