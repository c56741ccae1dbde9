"""
Qwen3-Next, counted by hand for a model of four small blocks, of which the last has
attention.

Its width is 8; four heads of width 2, two key and value heads. Attention has queries of
8*8 with gates as large, keys and values of 8*4 each and an output of 8*8: 256, and
norms of 2 + 2. A delta net has two heads of 3 for keys and for queries, and four
of 5 for values: 6 + 6 + 20 numbers are mixed.

- in 8*(32 + 20), of which 20 are gates, and 8*(4 + 4); out 20*8: 640
- a convolution of 32*3, 4 + 4 for the heads' pace, a norm of 5: 109
- its state is 32*2 inputs of the convolution, and a matrix of 3*5 for each head: 124

Five experts of 3*8*6, a shared one of 3*8*7 and its gate, and a router come to 936, two
norms to 16; 328 stand beside the blocks.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, count, differences

NEXT = {
    "model_type": "qwen3_next",
    "hidden_size": 8,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 2,
    "vocab_size": 20,
    "max_position_embeddings": 64,
    "moe_intermediate_size": 6,
    "num_experts": 5,
    "num_experts_per_tok": 2,
    "shared_expert_intermediate_size": 7,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 3,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 5,
    "linear_conv_kernel_dim": 3,
}


def test_it_is_counted() -> None:
    """
    Everything that is said of it: one block with attention, three with a delta net.
    """
    assert count(NEXT) == ModelArchitecture(
        architecture="Qwen3NextForCausalLM",
        model_type="qwen3_next",
        parameter_count=4 * 952 + 260 + 3 * 749 + 328,
        active_parameter_count=4 * (952 - 3 * 144) + 260 + 3 * 749 + 328,
        quantizable_parameter_count=4 * 888 + 256 + 3 * 640,
        kv_elements_per_token=8,
        kv_cache_shards=2,
        num_hidden_layers=4,
        hidden_size=8,
        active_intermediate_size=19,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=2,
        vocab_size=20,
        context_length=64,
        state_elements_per_sequence=3 * 124,
    )


ALL_FULL = {
    "parameter_count": 4 * (952 + 260) + 328,
    "active_parameter_count": 4 * (520 + 260) + 328,
    "quantizable_parameter_count": 4 * (888 + 256),
    "kv_elements_per_token": 32,
    "state_elements_per_sequence": 0,
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"full_attention_interval": 4}, {}),
        ({"full_attention_interval": 1}, ALL_FULL),
        ({"layer_types": ["full_attention"] * 4}, ALL_FULL),
        ({"layer_types": ["full_attention"] * 9}, ALL_FULL),
        # The list goes before the interval.
        (
            {
                "full_attention_interval": 1,
                "layer_types": ["full_attention", *["linear_attention"] * 3],
            },
            {},
        ),
        # Biases of 16 + 4 + 4 and 8 where there is attention.
        (
            {"attention_bias": True},
            {"parameter_count": 6643 + 32, "active_parameter_count": 4915 + 32},
        ),
        # A longer convolution keeps more inputs.
        (
            {"linear_conv_kernel_dim": 4},
            {
                "parameter_count": 6643 + 96,
                "active_parameter_count": 4915 + 96,
                "state_elements_per_sequence": 372 + 96,
            },
        ),
        ({"max_position_embeddings": LEFT_OUT}, {"context_length": 32768}),
    ],
)
def test_a_key_changes_what_it_changes_and_nothing_else(
    changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Where attention stands, its biases, and the state.
    """
    assert differences(count(NEXT), count(NEXT, **changed)) == expected


def test_a_state_is_kept_however_long_the_sequence_is() -> None:
    """
    12 288 numbers a token in 12 layers, and 19 759 104 for 36 states.
    """
    found = ModelArchitecture.of("Qwen/Qwen3-Next-80B-A3B-Instruct")

    assert found.kv_cache_bytes_per_token() == 12 * 2 * 2 * 256 * 2
    assert found.state_bytes() == 36 * (3 * 8192 + 32 * 128 * 128) * 2
    assert found.state_bytes(4) == 2 * found.state_bytes()
    assert found.kv_cache_bytes(1000) == 1000 * 24576 + found.state_bytes()
