"""
What counting comes to, and what no model can be.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures.config import Shape

SMALL: dict[str, Any] = {
    "layer_weights": 100,
    "other_parameters": 20,
    "kv_elements": 8,
    "kv_heads": 2,
    "layers": 2,
    "hidden": 8,
    "mlp": 16,
    "heads": 4,
    "head_dim": 2,
    "vocabulary": 10,
    "context": 64,
}


def test_parameters_are_those_in_the_blocks_and_the_others() -> None:
    """
    Idle experts are among them; what is not said is none.
    """
    shape = Shape(**SMALL)

    assert shape.parameters == 120
    assert (shape.idle_parameters, shape.window, shape.windowed_layers) == (0, None, 0)
    assert Shape(**SMALL, idle_parameters=7).parameters == 120


@pytest.mark.parametrize(
    "fitting", [{"head_dim": 1}, {"kv_heads": 4}, {"kv_heads": 1}, {"layers": 1}]
)
def test_what_a_model_can_be(fitting: dict[str, int]) -> None:
    """
    Just so.
    """
    assert Shape(**{**SMALL, **fitting}).heads == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"head_dim": 0},
            (
                "hidden_size in config.json must be at least num_attention_heads, got "
                "8 and 4"
            ),
        ),
        (
            {"kv_heads": 3},
            (
                "num_key_value_heads in config.json must divide the 4 attention heads, "
                "got 3"
            ),
        ),
        (
            {"kv_heads": 8},
            (
                "num_key_value_heads in config.json must divide the 4 attention heads, "
                "got 8"
            ),
        ),
        (
            {"idle_parameters": -1},
            "num_experts_per_tok in config.json must be at most the number of experts",
        ),
    ],
)
def test_fails_if_no_model_can_be_it(wrong: dict[str, int], message: str) -> None:
    """
    In the words of the file.
    """
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        Shape(**{**SMALL, **wrong})

    assert str(caught.value) == message
