"""
Which candidates are simulated, until one is found that keeps the objective.
"""

from __future__ import annotations

from cdk_sagemaker_llm.choosing import Objective, Question, choose
from cdk_sagemaker_llm.cli.app.traffic import TrafficSettings, written_traffic

DAY = 86400.0


def test_looks_on_where_the_cheapest_lose_requests_as_they_wake() -> None:
    """
    Of a load that is none at night; by estimate those that may sleep come first.
    """
    settings = TrafficSettings(shape="day", rate=0.0, peak=4.0)
    question = Question(
        model="mistralai/Mistral-7B-v0.1",
        traffic=written_traffic(settings, DAY).traffic,
        objective=Objective(ttft=1, tpot=0.05),
        instance_types=("ml.g5.xlarge",),
        engines=("vllm",),
        quantized=False,
        scale_to_zero=True,
        duration=DAY,
    )

    answer = choose(question)

    assert answer.best is not None
    assert answer.best.result.kept >= 0.99
    assert answer.best.candidate.scaling.least == 1
