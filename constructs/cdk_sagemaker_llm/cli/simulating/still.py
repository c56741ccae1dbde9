"""
Metrics that policies follow although they have no values, or never move.
"""

from __future__ import annotations

from collections.abc import Iterator

from cdk_sagemaker_llm.simulation.publishing import ENDPOINTS, OF_VARIANTS
from cdk_sagemaker_llm.simulation.scenario import Scenario

_MEMORY = "GPUMemoryUtilization"


def still(scenario: Scenario) -> Iterator[str]:
    """
    Say which they are, and why.
    """
    metrics = {query.metric for query in scenario.queries}
    if any(workload.needs is None for workload in scenario.workloads):
        of_hosts = {m.name for m in metrics if m.namespace == ENDPOINTS} - OF_VARIANTS
        if of_hosts:
            yield (
                f"{', '.join(sorted(of_hosts))} has no values: SageMaker publishes it "
                "for endpoints of components alone"
            )
    names = sorted({m.name for m in metrics if m.name.startswith(_MEMORY)})
    if not names:
        return
    words = ", ".join(names)
    unknown = [one.name for one in scenario.workloads if one.memory_share is None]
    if unknown:
        yield f"{words} has no values, as what {', '.join(unknown)} holds is not known"
    else:
        yield (
            f"{words} is what engines hold from their start on, by the plan: they take "
            "the KV cache then, so that it does not follow the load"
        )
