"""
How long a model takes to load.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving.loading import loading_seconds, start_up_seconds


@pytest.mark.parametrize(
    ("weight_bytes", "seconds"),
    [
        (0, 600),
        (1, 900),
        # 300 s at 50 MB a second.
        (15_000_000_000, 900),
        (15_000_000_001, 1200),
        (60_000_000_000, 1800),
        (60_000_000_001, 2100),
        (149_999_999_999, 3600),
        (150_000_000_001, 3600),
        (10**12, 3600),
    ],
)
def test_loading_takes_ten_minutes_and_what_the_bytes_take(
    weight_bytes: int, seconds: int
) -> None:
    """
    In steps of five minutes, at most the hour that SageMaker waits.
    """
    assert loading_seconds(weight_bytes) == seconds


def demand(billions: int, weight_bits: int = 16) -> Demand:
    """
    Return the demand of a model of a size.
    """
    return Demand(
        architecture=ModelArchitecture.custom(
            parameters=billions * 10**9, kv_bytes_per_token=2
        ),
        assumptions=Assumptions(),
        weight_bits=weight_bits,
    )


@pytest.mark.parametrize(
    ("billions", "weight_bits", "seconds"),
    [
        # 2 bytes a parameter: 60 GB take the 1800 s that SageMaker waits by default.
        (30, 16, None),
        (31, 16, 2100),
        (45, 16, 2400),
        (45, 8, None),
        # Scales of whole rows are next to nothing; those of groups are 20 bits for 128.
        (60, 8, None),
        (61, 8, 2100),
        (115, 4, None),
        (116, 4, 2100),
    ],
)
def test_sagemaker_is_told_to_wait_where_the_default_will_not_do(
    billions: int, weight_bits: int, seconds: int | None
) -> None:
    """
    By the bytes of the weights as they are quantized.
    """
    assert start_up_seconds(demand(billions, weight_bits)) == seconds


def test_nothing_is_told_of_a_model_of_unknown_size() -> None:
    """
    Nor where what it asks of the memory is not modelled.
    """
    unknown = Demand(architecture=None, assumptions=Assumptions())

    assert start_up_seconds(unknown) is None
    assert start_up_seconds(None) is None
