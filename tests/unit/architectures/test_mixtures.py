"""
Llama 4 and GLM 4.5, counted by hand for models of four small blocks.

Both have a width of 8, four heads of width 2, two key and value heads and 20 words: a
block's attention is 192, its norms 16, and 328 stand beside the blocks. Llama 4's
experts have 3*8*6 = 144 each, its dense MLPs 3*8*10 = 240, and its routers 8*5 = 40;
GLM's are the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, Config, count, differences

SMALL = {
    "hidden_size": 8,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 2,
    "vocab_size": 20,
    "max_position_embeddings": 64,
}
LLAMA4 = {
    **SMALL,
    "model_type": "llama4_text",
    "intermediate_size": 6,
    "intermediate_size_mlp": 10,
    "num_local_experts": 5,
    "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 2,
}
GLM = {
    **SMALL,
    "model_type": "glm4_moe",
    "intermediate_size": 10,
    "moe_intermediate_size": 6,
    "n_routed_experts": 5,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
}


def mixture(
    name: str, family: str, sizes: tuple[int, int, int], mlp: int
) -> ModelArchitecture:
    """
    Return a model of which a token passes a part.
    """
    return ModelArchitecture(
        architecture=name,
        model_type=family,
        parameter_count=sizes[0],
        active_parameter_count=sizes[1],
        quantizable_parameter_count=sizes[2],
        kv_elements_per_token=2 * 4 * 2 * 2,
        kv_cache_shards=2,
        num_hidden_layers=4,
        hidden_size=8,
        active_intermediate_size=mlp,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=2,
        vocab_size=20,
        context_length=64,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            # Two blocks of five experts, a shared one and a router; two are dense.
            LLAMA4,
            mixture(
                "Llama4ForCausalLM",
                "llama4_text",
                (
                    4 * 208 + 2 * (6 * 144 + 40) + 2 * 240 + 328,
                    4 * 208 + 2 * (2 * 144 + 40) + 2 * 240 + 328,
                    4 * 192 + 2 * 6 * 144 + 2 * 240,
                ),
                12,
            ),
        ),
        (
            # The first is dense, and a token passes two experts and the shared one.
            GLM,
            mixture(
                "Glm4MoeForCausalLM",
                "glm4_moe",
                (
                    4 * 208 + 3 * (6 * 144 + 40) + 240 + 328,
                    4 * 208 + 3 * (3 * 144 + 40) + 240 + 328,
                    4 * 192 + 3 * 6 * 144 + 240,
                ),
                18,
            ),
        ),
    ],
    ids=["llama4", "glm4_moe"],
)
def test_a_mixture_is_counted(config: Config, expected: ModelArchitecture) -> None:
    """
    Everything that is said of it, and what a token passes.
    """
    assert count(config) == expected


def sizes(total: int, active: int, weights: int) -> dict[str, object]:
    """
    Return the three counts.
    """
    return {
        "parameter_count": total,
        "active_parameter_count": active,
        "quantizable_parameter_count": weights,
    }


# Llama 4's with experts in every block.
ALL_SPARSE = sizes(4 * (208 + 904) + 328, 4 * (208 + 328) + 328, 4 * 192 + 4 * 6 * 144)


@pytest.mark.parametrize(
    ("config", "changed", "expected"),
    [
        (LLAMA4, {"interleave_moe_layer_step": 1}, ALL_SPARSE),
        (LLAMA4, {"interleave_moe_layer_step": LEFT_OUT}, ALL_SPARSE),
        (LLAMA4, {"moe_layers": [0, 1, 2, 3]}, ALL_SPARSE),
        # One of three, and whichever block; twice and beyond the last count for none.
        *(
            (
                LLAMA4,
                changed,
                sizes(
                    4 * 208 + 904 + 3 * 240 + 328,
                    4 * 208 + 328 + 3 * 240 + 328,
                    4 * 192 + 6 * 144 + 3 * 240,
                ),
            )
            for changed in (
                {"interleave_moe_layer_step": 3},
                {"moe_layers": [0]},
                {"moe_layers": [3, 3, 4, -1]},
            )
        ),
        (LLAMA4, {"moe_layers": []}, {}),
        (
            LLAMA4,
            {"intermediate_size_mlp": 20},
            {**sizes(3448 + 480, 2296 + 480, 2976 + 480)}
            | {"active_intermediate_size": 20},
        ),
        # Biases of 8 + 4 + 4 and 8 a block.
        (
            LLAMA4,
            {"attention_bias": True},
            {"parameter_count": 3448 + 96, "active_parameter_count": 2296 + 96},
        ),
        (
            LLAMA4,
            {"num_experts_per_tok": 5},
            {"active_parameter_count": 3448, "active_intermediate_size": 36},
        ),
        (LLAMA4, {"max_position_embeddings": LEFT_OUT}, {"context_length": 131072}),
        # Without the bias of the output.
        (
            GLM,
            {"attention_bias": True},
            {"parameter_count": 4112 + 64, "active_parameter_count": 2816 + 64},
        ),
        # Norms of query and key, as wide as a head.
        (
            GLM,
            {"use_qk_norm": True},
            {"parameter_count": 4112 + 16, "active_parameter_count": 2816 + 16},
        ),
        (
            GLM,
            {"first_k_dense_replace": 0},
            sizes(4112 + 664, 2816 + 232, 3600 + 624),
        ),
        *(
            (
                GLM,
                {"first_k_dense_replace": first},
                sizes(4 * 448 + 328, 4 * 448 + 328, 4 * 432),
            )
            for first in (4, 9)
        ),
        (
            GLM,
            {"n_shared_experts": 0},
            sizes(4112 - 432, 2816 - 432, 3600 - 432)
            | {"active_intermediate_size": 12},
        ),
        (
            GLM,
            {"intermediate_size": 30},
            sizes(4112 + 480, 2816 + 480, 3600 + 480)
            | {"active_intermediate_size": 30},
        ),
        (GLM, {"max_position_embeddings": LEFT_OUT}, {"context_length": 131072}),
    ],
)
def test_a_key_changes_what_it_changes_and_nothing_else(
    config: Config, changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Where experts stand, what is shared, biases and norms.
    """
    assert differences(count(config), count(config, **changed)) == expected


CHUNKED, FULL = "chunked_attention", "full_attention"


@pytest.mark.parametrize(
    ("changed", "window", "windowed"),
    [
        ({}, None, 0),
        ({"attention_chunk_size": None}, None, 0),
        # The fourth has no positions.
        ({"attention_chunk_size": 16}, 16, 3),
        ({"attention_chunk_size": 16, "num_hidden_layers": 3}, 16, 3),
        ({"attention_chunk_size": 16, "no_rope_layers": []}, 16, 3),
        ({"attention_chunk_size": 16, "no_rope_layers": [1, 0, 0, 0, 1]}, 16, 1),
        ({"attention_chunk_size": 16, "no_rope_layer_interval": 2}, 16, 2),
        (
            {
                "attention_chunk_size": 16,
                "layer_types": [CHUNKED, FULL, FULL, FULL],
                "no_rope_layers": [1, 1, 1, 1],
            },
            16,
            1,
        ),
        ({"attention_chunk_size": 16, "layer_types": [CHUNKED] * 9}, 16, 4),
        # A window is other families' word.
        ({"sliding_window": 16}, None, 0),
    ],
)
def test_a_chunk_spans_the_layers_with_positions(
    changed: dict[str, Any], window: int | None, windowed: int
) -> None:
    """
    By the file's list of kinds, its list of positions, or every fourth without.
    """
    found = count(LLAMA4, **changed)

    assert (found.sliding_window, found.windowed_layers) == (window, windowed)
