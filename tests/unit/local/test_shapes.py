"""
Numbers and values that stand-ins make up: the same each time, and of the right shape.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from cdk_sagemaker_llm.local.engines.bodies import log_probs, relevance, vector
from cdk_sagemaker_llm.local.engines.story import Token, sample


def test_a_vector_has_length_one() -> None:
    """
    In six digits; another text has another.
    """
    found = vector("one", 4)

    assert len(found) == 4
    assert found == [round(value, 6) for value in found]
    assert math.hypot(*found) == pytest.approx(1, abs=1e-5)
    assert min(vector("one", 64)) < 0 < max(vector("one", 64))
    assert abs(sum(vector("one", 1024))) < 4
    assert vector("one", 4) == found != vector("two", 4)


@pytest.mark.parametrize(
    ("query", "document", "share"),
    [
        ("", "anything", 0.0),
        ("a b", "c", 0.01),
        ("A b", "a c", 0.5),
        ("a b c", "c", 0.336667),
        ("a", "A b", 0.99),
    ],
)
def test_relevance_is_the_words_that_both_have(
    query: str, document: str, share: float
) -> None:
    """
    Of those that are asked for, whatever their case.
    """
    assert relevance(query, document) == share


def test_the_stand_in_knows_of_no_other_token() -> None:
    """
    Where alternatives are asked for, the token is its own.
    """
    token = Token(1, "\u00e9", -0.5)
    one = {"token": "\u00e9", "logprob": -0.5, "bytes": [195, 169]}

    assert log_probs((token,)) == {"content": [{**one, "top_logprobs": []}]}
    assert log_probs((token,), 5) == {"content": [{**one, "top_logprobs": [one]}]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"const": "c", "default": "d", "enum": ["e"]}, "c"),
        ({"default": "d", "enum": ["e"]}, "d"),
        ({"enum": [None, "e"]}, "e"),
        ({"type": ["null", "string"]}, "text"),
        ({"type": ["integer", "null"]}, 1),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "string"}}, ["text"]),
        ({"type": "object"}, {}),
        ({"properties": {"a": {"type": "integer"}}}, {"a": 1}),
        ("no schema", {}),
    ],
    ids=str,
)
def test_a_value_fits_its_schema(schema: Any, value: object) -> None:  # noqa: ANN401 - as a request has it
    """
    What the schema itself names goes first.
    """
    assert sample(schema) == value


@pytest.mark.parametrize(("depth", "inner"), [(8, 1), (9, {})])
def test_a_schema_is_followed_eight_deep(depth: int, inner: object) -> None:
    """
    It may go round in circles.
    """
    schema: dict[str, Any] = {"const": 1}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}

    found = sample(schema)
    for _ in range(depth):
        (found,) = found
    assert found == inner
