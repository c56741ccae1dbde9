"""
What of scaling is switched off stays as it is, and nothing else does.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation.fleet import Pool
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scaling import Bounds, ScheduledAction
from cdk_sagemaker_llm.simulation.scenario import Scenario, Workload
from cdk_sagemaker_llm.simulation.service.times import ServiceTimes
from cdk_sagemaker_llm.simulation.traffic.lengths import Lengths
from cdk_sagemaker_llm.simulation.traffic.rates import Constant


def workload(*suspended: str) -> Workload:
    """
    Make one that a schedule scales out.
    """
    return Workload(
        name="blue",
        traffic=Constant(rate=0.1, lengths=Lengths(prompt=1, answer=10)),
        service=ServiceTimes(decode=((1, 0.1),), max_sequences=2),
        bounds=Bounds(minimum=1, maximum=4),
        schedules=(
            ScheduledAction(name="Up", schedule="cron(2 0 * * ? *)", minimum=3),
        ),
        suspended=suspended,
    )


@pytest.mark.parametrize(
    ("suspended", "desired"),
    [((), 3), (("ScheduledScaling",), 1), (("DynamicScalingOut",), 3)],
    ids=["nothing", "schedules", "policies"],
)
def test_schedules_go_by_a_switch_of_their_own(
    suspended: tuple[str, ...], desired: int
) -> None:
    """
    Policies have others.
    """
    outcome = run(
        Scenario(
            workloads=(workload(*suspended),),
            duration=300.0,
            pools=(Pool("ml.g5.xlarge"),),
        )
    )

    assert outcome.workloads["blue"].desired[-1] == desired


def test_fails_if_the_service_has_no_such_switch() -> None:
    """
    With those that it has.
    """
    with pytest.raises(ValueError, match="suspended must be of DynamicScalingIn, "):
        workload("DynamicScaling")
