"""
One model's requests as an amount that flows.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation import ServiceTimes
from cdk_sagemaker_llm.simulation.fluid import Flow, Fluid, Lot
from tests.unit.simulation.scenarios import of_rate

# 100 tokens take 10 s, however many are written.
_SLOW = ServiceTimes(decode=((1, 0.1),), max_sequences=1000)
_LOT = Lot(
    answers=[100.0], spread=0.0, too_long=0.0, kept_prompts=1.0, kept_answers=1.0
)


def _accounted(flow: Flow) -> float:
    return flow.served + flow.timed_out + sum(flow.refused.values())


def test_requests_of_a_copy_that_goes_are_under_way_until_they_are_told() -> None:
    """
    Ten come in ten seconds to two copies; one goes with half of what is under way.
    """
    fluid = Fluid(of_rate(0, service=_SLOW), _LOT, "LEAST_OUTSTANDING_REQUESTS")
    kind = fluid.equilibrium(1.0, 100.0)
    fluid.add("a")
    fluid.add("b")
    first = fluid.step(10.0, 10.0, kind)
    before = fluid.under_way
    fluid.remove("a", 10.0)

    assert before == pytest.approx(10.0 - _accounted(first))
    assert fluid.under_way == pytest.approx(before)
    second = fluid.step(10.0, 0.0, kind)
    assert second.refused == {"copy gone": pytest.approx(before / 2)}
    assert fluid.under_way == pytest.approx(10 - _accounted(first) - _accounted(second))
