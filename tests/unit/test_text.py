"""
How messages name things.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.text import counted


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 copies"),
        (1, "1 copy"),
        (2, "2 copies"),
        (1_000_000, "1000000 copies"),
        (1.0, "1 copy"),
        (2.5, "2.5 copies"),
    ],
)
def test_what_is_counted_is_one_or_many(count: float, words: str) -> None:
    """
    Whole numbers are written whole.
    """
    assert counted(count, "copy", "copies") == words


def test_most_words_take_an_s() -> None:
    """
    Of others the plural is given.
    """
    assert counted(2, "user") == "2 users"
