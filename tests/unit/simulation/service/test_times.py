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
    with pytest.raises(ValueError, match="decode|least") as caught:
        ServiceTimes(**{"decode": ROWS, "max_sequences": 32, **given})

    assert str(caught.value) == message
