"""
Comparing the instance types that could host a model.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.cli.output.plans import Choice
from cdk_sagemaker_llm.fit import plan

LLAMA_13B = "meta-llama/Llama-2-13b-hf"
MISTRAL = "mistralai/Mistral-7B-v0.1"
P4D = "ml.p4d.24xlarge"


@pytest.mark.parametrize(
    ("degree", "copies", "instances", "accelerators"),
    [
        (1, 1, 1, 1),
        (1, 8, 1, 8),
        (1, 9, 2, 9),
        (2, 5, 2, 10),
        # One copy of five an instance: three of its accelerators stay idle.
        (5, 2, 2, 10),
        (8, 3, 3, 24),
        # Three do not divide the heads: nothing hosts it.
        (3, 2, 0, 6),
    ],
)
def test_copies_take_instances_and_accelerators(
    degree: int, copies: int, instances: int, accelerators: int
) -> None:
    """
    As many instances as hold the copies, eight accelerators each.
    """
    choice = Choice(plan(LLAMA_13B, P4D, tensor_parallel_degree=degree), copies, 30.0)

    assert (choice.instances, choice.accelerators) == (instances, accelerators)
    assert choice.cost == instances * 30.0


def test_without_a_price_there_is_no_cost() -> None:
    """
    It is not nothing.
    """
    assert Choice(plan(LLAMA_13B, P4D), 9, None).cost is None


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        # Fewer accelerators come before a lower price.
        (
            ("ml.g5.12xlarge", 1, 1, 9.0),
            ("ml.g5.12xlarge", 2, 1, 1.0),
        ),
        # Of as many accelerators the cheaper, however much is left idle.
        (("ml.p4d.24xlarge", 1, 1, 1.0), ("ml.g5.xlarge", 1, 1, 2.0)),
        # The cost is that of all instances: two of 3 $ are more than one of 5 $.
        (("ml.g5.12xlarge", 1, 2, 5.0), ("ml.g5.xlarge", 1, 2, 3.0)),
        # A price is better than none.
        (("ml.p4d.24xlarge", 1, 1, 99.0), ("ml.g5.xlarge", 1, 1, None)),
        # Without prices, less memory of accelerators: 2 x 22.35 before 4 x 22.35 GiB.
        (("ml.g5.xlarge", 1, 2, None), ("ml.g5.12xlarge", 1, 2, None)),
        # And of the same memory, fewer cores.
        (("ml.g5.xlarge", 1, 1, None), ("ml.g5.2xlarge", 1, 1, None)),
    ],
)
def test_the_better_choice_ranks_first(
    better: tuple[str, int, int, float | None],
    worse: tuple[str, int, int, float | None],
) -> None:
    """
    By accelerators, then by cost, then by what is left idle.
    """
    first, second = (
        Choice(plan(MISTRAL, name, tensor_parallel_degree=degree), copies, price)
        for name, degree, copies, price in (better, worse)
    )

    assert first.rank() < second.rank()


def test_the_rank_is_in_that_order() -> None:
    """
    Two copies on one p4d: 8 x 40 GiB and 96 cores.
    """
    priced, unknown = (Choice(plan(LLAMA_13B, P4D), 2, price) for price in (30.0, None))

    assert priced.rank() == (2, 30.0, 320.0, 96)
    assert unknown.rank() == (2, float("inf"), 320.0, 96)
