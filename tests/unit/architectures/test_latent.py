"""
DeepSeek, counted by hand for a model of three small blocks.

Its width is 8; four heads of 3 + 2 for keys and 4 for values; queries come of a vector
of 5, keys and values of one of 6, beside 2 for the position. A block's attention has

- queries 8*5 and 5*4*(3+2), 140; keys and values 8*(6+2) and 6*4*(3+4), 232; output
  4*4*8, 128: 500
- norms of 5 and 6, and two of 8: 27

an expert 3*8*6 = 144, a dense MLP 3*8*10 = 240, a router 8*5 = 40; beside the blocks
stand embedding and head of 20*8 each, and a norm of 8: 328.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, count, differences

DEEPSEEK = {
    "model_type": "deepseek_v2",
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 20,
    "max_position_embeddings": 64,
    "q_lora_rank": 5,
    "kv_lora_rank": 6,
    "qk_rope_head_dim": 2,
    "qk_nope_head_dim": 3,
    "v_head_dim": 4,
    "moe_intermediate_size": 6,
    "n_routed_experts": 5,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("deepseek_v2", "DeepseekV2ForCausalLM"),
        ("deepseek_v3", "DeepseekV3ForCausalLM"),
    ],
)
def test_it_is_counted(family: str, name: str) -> None:
    """
    Everything that is said of it: one block dense, two with five experts and one more.
    """
    assert count(DEEPSEEK, model_type=family) == ModelArchitecture(
        architecture=name,
        model_type=family,
        parameter_count=3 * (500 + 27) + 2 * (6 * 144 + 40) + 240 + 328,
        active_parameter_count=3 * (500 + 27) + 2 * (3 * 144 + 40) + 240 + 328,
        quantizable_parameter_count=3 * 500 + 2 * 6 * 144 + 240,
        # A vector of 6 and a position of 2 in each layer, which cannot be split.
        kv_elements_per_token=24,
        kv_cache_shards=1,
        num_hidden_layers=3,
        hidden_size=8,
        # Two experts and the shared one, of 6 each.
        active_intermediate_size=18,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=5,
        vocab_size=20,
        context_length=64,
        sliding_window=None,
        windowed_layers=0,
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        # Queries of the width itself, 8*4*5 = 160, and no norm of 5.
        (
            {"q_lora_rank": None},
            {
                "parameter_count": 3957 + 3 * (160 - 140 - 5),
                "active_parameter_count": 3093 + 3 * (160 - 140 - 5),
                "quantizable_parameter_count": 3468 + 3 * (160 - 140),
            },
        ),
        # Biases of 5 into the queries, 6 + 2 into keys, 8 out.
        (
            {"attention_bias": True},
            {
                "parameter_count": 3957 + 3 * 21,
                "active_parameter_count": 3093 + 3 * 21,
            },
        ),
        (
            {"attention_bias": True, "q_lora_rank": None},
            {
                "parameter_count": 3957 + 3 * (160 - 140 - 5 + 16),
                "active_parameter_count": 3093 + 3 * (160 - 140 - 5 + 16),
                "quantizable_parameter_count": 3468 + 3 * (160 - 140),
            },
        ),
        ({"attention_bias": False, "tie_word_embeddings": False}, {}),
        (
            {"tie_word_embeddings": True},
            {
                "parameter_count": 3957 - 160,
                "active_parameter_count": 3093 - 160,
            },
        ),
        # Every block has experts.
        *(
            (
                {"first_k_dense_replace": first},
                {
                    "parameter_count": 3 * 527 + 3 * 904 + 328,
                    "active_parameter_count": 3 * 527 + 3 * (904 - 3 * 144) + 328,
                    "quantizable_parameter_count": 3 * 500 + 3 * 6 * 144,
                },
            )
            for first in (0, None)
        ),
        # None has.
        *(
            (
                {"first_k_dense_replace": first},
                {
                    "parameter_count": 3 * (527 + 240) + 328,
                    "active_parameter_count": 3 * (527 + 240) + 328,
                    "quantizable_parameter_count": 3 * (500 + 240),
                },
            )
            for first in (3, 9)
        ),
        # No shared expert, by either word.
        *(
            (
                {"n_shared_experts": shared},
                {
                    "parameter_count": 3957 - 2 * 144,
                    "active_parameter_count": 3093 - 2 * 144,
                    "quantizable_parameter_count": 3468 - 2 * 144,
                    "active_intermediate_size": 12,
                },
            )
            for shared in (0, None)
        ),
        # A dense MLP of 30, wider than what the experts come to.
        (
            {"intermediate_size": 30},
            {
                "parameter_count": 3957 + 480,
                "active_parameter_count": 3093 + 480,
                "quantizable_parameter_count": 3468 + 480,
                "active_intermediate_size": 30,
            },
        ),
        (
            {"intermediate_size": 30, "first_k_dense_replace": 0},
            {
                "parameter_count": 3 * 527 + 3 * 904 + 328,
                "active_parameter_count": 3 * 527 + 3 * (904 - 3 * 144) + 328,
                "quantizable_parameter_count": 3 * 500 + 3 * 6 * 144,
            },
        ),
        ({"max_position_embeddings": LEFT_OUT}, {"context_length": 4096}),
    ],
)
def test_a_key_changes_what_it_changes_and_nothing_else(
    changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Ranks, biases, shared experts, and the blocks before them.
    """
    assert differences(count(DEEPSEEK), count(DEEPSEEK, **changed)) == expected


def test_an_indexer_stands_in_every_block() -> None:
    """
    Three heads of 64: queries 5*3*64 and keys 8*64 are quantized, a norm of 2*64 and
    the heads' weights of 8*3 are not; its keys take 64 bytes and a scale of 2, which is
    33 numbers in 16 bits.
    """
    plain = count(DEEPSEEK, model_type="deepseek_v3")
    found = count(
        DEEPSEEK, model_type="deepseek_v32", index_n_heads=3, index_head_dim=64
    )

    assert differences(plain, found) == {
        "architecture": "DeepseekV32ForCausalLM",
        "model_type": "deepseek_v32",
        "parameter_count": 3957 + 3 * (960 + 512 + 128 + 24),
        "active_parameter_count": 3093 + 3 * (960 + 512 + 128 + 24),
        "quantizable_parameter_count": 3468 + 3 * (960 + 512),
        "kv_elements_per_token": 24 + 3 * 33,
    }


def test_an_indexer_is_as_large_as_its_classs() -> None:
    """
    64 heads of 128, if the file does not say.
    """
    said = count(
        DEEPSEEK, model_type="deepseek_v32", index_n_heads=64, index_head_dim=128
    )

    assert count(DEEPSEEK, model_type="deepseek_v32") == said
