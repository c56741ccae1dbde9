"""
Goodput, by hand: of the run of ten seconds whose requests are written down.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.load import Goodput, Objective, Record
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from tests.unit.load.examples import BEGIN, RECORDS


def goodput(**bounds: Untyped) -> Goodput:
    """
    Compute that of the run.
    """
    return Goodput.of(RECORDS, Objective(**bounds), BEGIN, BEGIN + 10)


@pytest.mark.parametrize(
    ("bounds", "rate", "share"),
    [
        # Of the ten that began, six took 2 s, 0.5 s to the first token and 1.5 s for
        # nine more; one took 4 s, 1 s and 3 s for 19, and ended as the time did; one
        # took 1 s, and ended after it. One failed, and one was never answered. One
        # more began before and ended within.
        ({"latency": 4.0}, 0.7, 0.8),
        ({"latency": 2.0}, 0.7, 0.7),
        ({"latency": 1.99}, 0.1, 0.1),
        ({"first_token": 0.5}, 0.7, 0.7),
        ({"first_token": 0.49}, 0.1, 0.0),
        ({"output_token": 0.17}, 0.7, 0.8),
        ({"output_token": 0.16}, 0.1, 0.2),
        ({"output_token": 0.13}, 0.1, 0.1),
        ({"latency": 4.0, "first_token": 0.5, "output_token": 0.16}, 0.1, 0.1),
    ],
)
def test_goodput_counts_what_keeps_every_bound(
    bounds: dict[str, float], rate: float, share: float
) -> None:
    """
    By when it ended a second, and as a share of what began; on both sides of each.
    """
    found = goodput(**bounds)

    assert found.requests_per_second == pytest.approx(rate)
    assert found.share == pytest.approx(share)
    assert found.bounds == bounds


def test_without_a_request_there_is_no_share() -> None:
    """
    None began.
    """
    found = Goodput.of([], Objective(latency=1.0), BEGIN, BEGIN + 10)

    assert (found.requests_per_second, found.share) == (0.0, None)


@pytest.mark.parametrize(
    ("first_token", "tokens", "seconds"),
    [(None, 10, None), (0.5, 0, 0.0), (0.5, 1, 0.0), (0.5, 2, 1.5), (0.5, 4, 0.5)],
)
def test_a_token_after_the_first_takes_its_part_of_the_rest(
    first_token: float | None, tokens: int, seconds: float | None
) -> None:
    """
    Where there is one; without a stream nobody knows.
    """
    record = Record(BEGIN, 2.0, first_token, tokens)

    assert record.output_token == seconds


def test_what_was_not_streamed_keeps_no_bound_of_tokens() -> None:
    """
    It is not taken for the best.
    """
    whole = Record(BEGIN, 2.0, None, 10)

    assert Objective(latency=2.0).is_kept_by(whole)
    assert not Objective(output_token=9.0).is_kept_by(whole)
    assert not Objective(first_token=9.0).is_kept_by(whole)


def test_bounds_are_more_than_nothing() -> None:
    """
    Each by its name.
    """
    assert Objective(output_token=0.001).bounds == {"output_token": 0.001}
    with pytest.raises(ValueError, match="output_token must be more than 0, got 0"):
        Objective(output_token=0.0)
