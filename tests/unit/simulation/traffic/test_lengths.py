"""
How long prompts and answers are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cdk_sagemaker_llm.simulation import Empirical, Fixed, Lengths, LogNormal

MANY = 200_000


@pytest.mark.parametrize(
    "length",
    [
        Fixed(70),
        Empirical((5, 10, 10, 75)),
        LogNormal(median=200, spread=0.8),
        LogNormal(median=200, spread=0.8, most=300),
    ],
)
def test_what_is_drawn_has_the_mean_and_the_quantiles(length: Fixed) -> None:
    """
    Within a hundredth, of many.
    """
    drawn = length.sample(np.random.default_rng(1), MANY)

    assert drawn.mean() == pytest.approx(length.mean, rel=0.01)
    for share in (0.1, 0.5, 0.9, 0.99):
        below = (drawn <= length.quantile(share)).mean()
        assert below >= share - 0.01
        assert (drawn < length.quantile(share)).mean() <= share + 0.01
    assert drawn.min() >= 1


def test_a_plain_number_is_a_fixed_length() -> None:
    """
    As most sizings have it.
    """
    lengths = Lengths(prompt=500, answer=LogNormal(median=100, spread=1))

    assert lengths.prompts == Fixed(500)
    assert lengths.answers == LogNormal(median=100, spread=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fixed(0), "tokens must be at least 1, got 0"),
        (lambda: Empirical(()), "tokens must have at least one number, got none"),
        (lambda: Empirical((3, 0)), "tokens[1] must be at least 1, got 0"),
        (
            lambda: LogNormal(median=0, spread=1),
            "median must be at least 1, got 0",
        ),
        (
            lambda: LogNormal(median=9, spread=-1),
            "spread must be at least 0, got -1",
        ),
        (
            lambda: LogNormal(median=9, spread=1, most=0),
            "most must be at least 1, got 0",
        ),
        (
            lambda: Lengths(prompt="5", answer=1),  # type: ignore[arg-type] # the mistake
            (
                "prompt must be a whole number, a Fixed, a LogNormal or an Empirical, "
                "got a value of type str"
            ),
        ),
    ],
)
def test_fails_if_there_are_no_tokens(make: Any, message: str) -> None:  # noqa: ANN401 - builds anything
    """
    The field, the rule and the value.
    """
    with pytest.raises(ValueError, match="must") as caught:
        make()

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("most", "quantiles"),
    [
        (None, [1.0, 1.0, 100.0, 197.0, math.inf]),
        (150, [1.0, 1.0, 100.0, 150.0, 150.0]),
    ],
)
def test_a_share_of_requests_has_no_more_tokens(
    most: int | None, quantiles: list[float]
) -> None:
    """
    None has less than one, and none more than the most.
    """
    length = LogNormal(median=100.0, spread=1.0, most=most)

    found = [length.quantile(share) for share in (0.0, 1e-9, 0.5, 0.751, 1.0)]
    assert found == quantiles
