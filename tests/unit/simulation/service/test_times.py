"""
What a copy takes: rows, and straight lines between them.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.simulation import ServiceTimes

ROWS = ((1, 0.02), (8, 0.034), (32, 0.058))


@pytest.mark.parametrize(
    ("sequences", "seconds"),
    [
        (0, 0.02),
        (1, 0.02),
        (4.5, 0.027),
        (8, 0.034),
        (20, 0.046),
        (32, 0.058),
        (42, 0.068),
    ],
)
def test_the_pace_is_linear_between_rows_and_goes_on_beyond(
    sequences: float, seconds: float
) -> None:
    """
    Below the first row it is that row's.
    """
    times = ServiceTimes(decode=ROWS, max_sequences=64)

    assert times.pace(sequences) == pytest.approx(seconds)


def test_one_row_is_the_pace_of_any_number() -> None:
    """
    Nothing is drawn through one point.
    """
    times = ServiceTimes(decode=((4, 0.03),), max_sequences=64)

    assert [times.pace(count) for count in (1, 4, 64)] == [0.03, 0.03, 0.03]
    assert times.paces() == (0.03,) * 65


@pytest.mark.parametrize(
    ("kv_tokens", "most"), [(None, 32), (16_000, 32), (8_000, 16), (100, 0.2)]
)
def test_sequences_are_bounded_by_places_and_by_room(
    kv_tokens: int | None, most: float
) -> None:
    """
    Of 500 tokens each.
    """
    times = ServiceTimes(decode=ROWS, max_sequences=32, kv_tokens=kv_tokens)

    assert times.most_sequences(500) == most


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"max_sequences": 0}, "max_sequences must be at least 1, got 0"),
        ({"overhead_seconds": -1.0}, "overhead_seconds must be at least 0, got -1.0"),
        ({"kv_tokens": 0}, "kv_tokens must be at least 1, got 0"),
        *(
            (
                {"spread": spread},
                (
                    "spread must be two factors above 0, the lower one first, got "
                    f"{spread}; write such as (0.8, 1.3)"
                ),
            )
            for spread in ((0.0, 1.3), (1.3, 0.8), (0.8,))
        ),
        ({"decode": ()}, "decode must be at least one row of sequences and seconds"),
        ({"decode": ((0, 0.1),)}, "decode[0] must be for at least 1 sequence, got 0"),
        ({"decode": ((1, 0.0),)}, "decode[0] must take more than 0 seconds, got 0.0"),
        (
            {"decode": ((1, 0.1), (1, 0.2))},
            "decode[1] must be for more sequences than the row before, got 1 after 1",
        ),
        (
            {"decode": ((1, "0.1"),)},
            (
                "decode[0] must be a whole number of sequences and seconds, got "
                "(1, '0.1')"
            ),
        ),
        (
            {"decode": ((1, 0.2), (2, 0.1))},
            (
                "decode must stay above 0 s up to max_sequences, got -2.9 s at 32; "
                "measure a row there"
            ),
        ),
    ],
)
def test_fails_if_it_cannot_be_computed_with(
    given: dict[str, Any], message: str
) -> None:
    """
    The field, the rule and the value.
    """
    with pytest.raises(ValueError, match="decode|least|spread") as caught:
        ServiceTimes(**{"decode": ROWS, "max_sequences": 32, **given})

    assert str(caught.value) == message


def test_all_times_are_stretched_and_nothing_else() -> None:
    """
    One case of an interval has no interval itself.
    """
    times = ServiceTimes(
        decode=ROWS,
        max_sequences=64,
        overhead_seconds=0.1,
        prompt_seconds_per_token=0.002,
        kv_tokens=1000,
        source="a sweep",
        is_estimate=True,
        spread=(0.5, 2),
    )

    assert times.stretched(1.5) == ServiceTimes(
        decode=((1, 0.03), (8, 0.051000000000000004), (32, 0.08700000000000001)),
        max_sequences=64,
        overhead_seconds=0.15000000000000002,
        prompt_seconds_per_token=0.003,
        kv_tokens=1000,
        source="a sweep, all times 1.5",
        is_estimate=True,
    )


@pytest.mark.parametrize("factor", [0, -1, float("inf"), float("nan")])
def test_fails_if_times_cannot_be_stretched_so(factor: float) -> None:
    """
    No time is nothing, and none without end.
    """
    times = ServiceTimes(decode=ROWS, max_sequences=64)

    with pytest.raises(ValueError, match="factor must be above 0 and finite, got"):
        times.stretched(factor)


def test_an_interval_may_be_a_point() -> None:
    """
    Then all is known.
    """
    times = ServiceTimes(decode=ROWS, max_sequences=64, spread=(1, 1))

    assert times.spread == (1, 1)
