"""
Where a copy can run: both sides of what leaves a type out.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.choosing import Objective, Question, choose
from cdk_sagemaker_llm.simulation import Constant, Fixed, Lengths


@pytest.mark.parametrize(
    ("region", "types"),
    [
        ("eu-west-1", {"ml.g6.xlarge"}),
        ("eu-central-1", {"ml.g6.xlarge", "ml.g6e.xlarge", "ml.g7e.2xlarge"}),
    ],
)
def test_a_type_is_looked_at_where_its_region_has_it(
    region: str, types: set[str]
) -> None:
    """
    By AWS's price list, which has ml.g6e and ml.g7e for eu-central-1 alone of both.
    """
    lengths = Lengths(prompt=Fixed(200), answer=Fixed(100))
    question = Question(
        model="Qwen/Qwen3-1.7B",
        traffic=Constant(rate=0.5, lengths=lengths),
        objective=Objective(ttft=2, tpot=0.2),
        region=region,
        instance_types=("ml.g6.xlarge", "ml.g6e.xlarge", "ml.g7e.2xlarge"),
        engines=("vllm",),
        quantized=False,
        duration=3600,
    )

    answer = choose(question)

    found = (*answer.choices, *answer.unpriced)
    assert {one.candidate.setup.instance_type for one in found} == types
    why = f"AWS's price list has it for no endpoint in {region}"
    left = [one.what for one in answer.refusals if one.why == why]
    assert len(left) == 3 - len(types)
