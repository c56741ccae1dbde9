"""
Llama and its kin, counted by hand for models of three small blocks.

All have a width of 8, an MLP of 10 inside, four heads of width 2, two key and value
heads, and 20 words. So a block has, without biases:

- attention: query 8*8, key 8*4, value 8*4, output 8*8: 192
- MLP: gate, up and down of 8*10 each: 240
- two norms of 8: 16

and beside the blocks stand an embedding and a head of 20*8 each, and a norm of 8: 328.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, Config, count, differences

SMALL = {
    "hidden_size": 8,
    "intermediate_size": 10,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 20,
    "max_position_embeddings": 64,
}
LLAMA = {**SMALL, "model_type": "llama"}
MISTRAL = {**SMALL, "model_type": "mistral"}
QWEN2 = {**SMALL, "model_type": "qwen2"}
QWEN3 = {**SMALL, "model_type": "qwen3", "head_dim": 2}
GEMMA = {**SMALL, "model_type": "gemma", "head_dim": 2}
GEMMA2 = {**SMALL, "model_type": "gemma2", "head_dim": 2}
GEMMA3 = {**SMALL, "model_type": "gemma3_text", "head_dim": 2}
PHI3 = {**SMALL, "model_type": "phi3"}
MIXTRAL = {
    **SMALL,
    "model_type": "mixtral",
    "num_local_experts": 5,
    "num_experts_per_tok": 2,
}
QWEN2_MOE = {
    **SMALL,
    "model_type": "qwen2_moe",
    "moe_intermediate_size": 6,
    "num_experts": 5,
    "num_experts_per_tok": 2,
    "shared_expert_intermediate_size": 7,
}
QWEN3_MOE = {
    **SMALL,
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 6,
    "num_experts": 5,
    "num_experts_per_tok": 2,
}


def dense(name: str, family: str, parameters: int) -> ModelArchitecture:
    """
    Return a model whose tokens pass all of it.
    """
    return ModelArchitecture(
        architecture=name,
        model_type=family,
        parameter_count=parameters,
        active_parameter_count=parameters,
        # Attention and MLP of three blocks: 3 * (192 + 240).
        quantizable_parameter_count=1296,
        # Keys and values of 2 heads of width 2 in 3 layers.
        kv_elements_per_token=24,
        kv_cache_shards=2,
        num_hidden_layers=3,
        hidden_size=8,
        active_intermediate_size=10,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=2,
        vocab_size=20,
        context_length=64,
        sliding_window=None,
        windowed_layers=0,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        # Three blocks of 192, 240 and 16, and the 328 beside them.
        (LLAMA, dense("LlamaForCausalLM", "llama", 1672)),
        (MISTRAL, dense("MistralForCausalLM", "mistral", 1672)),
        (PHI3, dense("Phi3ForCausalLM", "phi3", 1672)),
        # Biases of query, key and value: 8 + 4 + 4 a block.
        (QWEN2, dense("Qwen2ForCausalLM", "qwen2", 1672 + 3 * 16)),
        # Norms of query and key: 2 + 2 a block.
        (QWEN3, dense("Qwen3ForCausalLM", "qwen3", 1672 + 3 * 4)),
        # The head is the embedding.
        (GEMMA, dense("GemmaForCausalLM", "gemma", 1672 - 160)),
        # Two norms more a block.
        (GEMMA2, dense("Gemma2ForCausalLM", "gemma2", 1672 - 160 + 3 * 16)),
        # And those of query and key.
        (GEMMA3, dense("Gemma3ForCausalLM", "gemma3_text", 1672 - 160 + 3 * 16 + 12)),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_a_dense_model_is_counted(config: Config, expected: ModelArchitecture) -> None:
    """
    Everything that is said of it.
    """
    assert count(config) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            # An expert is an MLP, 240; five and a router of 8*5 a block.
            MIXTRAL,
            ModelArchitecture(
                architecture="MixtralForCausalLM",
                model_type="mixtral",
                parameter_count=3 * (192 + 5 * 240 + 40 + 16) + 328,
                active_parameter_count=3 * (192 + 2 * 240 + 40 + 16) + 328,
                quantizable_parameter_count=3 * (192 + 5 * 240),
                kv_elements_per_token=24,
                kv_cache_shards=2,
                num_hidden_layers=3,
                hidden_size=8,
                active_intermediate_size=20,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=2,
                vocab_size=20,
                context_length=64,
            ),
        ),
        (
            # An expert has 3*8*6 = 144, the shared one 3*8*7 = 168 and a gate of 8;
            # biases of query, key and value 16.
            QWEN2_MOE,
            ModelArchitecture(
                architecture="Qwen2MoeForCausalLM",
                model_type="qwen2_moe",
                parameter_count=3 * (192 + 16 + 5 * 144 + 40 + 168 + 8 + 16) + 328,
                active_parameter_count=(
                    3 * (192 + 16 + 2 * 144 + 40 + 168 + 8 + 16) + 328
                ),
                quantizable_parameter_count=3 * (192 + 5 * 144 + 168),
                kv_elements_per_token=24,
                kv_cache_shards=2,
                num_hidden_layers=3,
                hidden_size=8,
                active_intermediate_size=19,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=2,
                vocab_size=20,
                context_length=64,
            ),
        ),
        (
            # No shared expert, no biases; norms of query and key 4.
            QWEN3_MOE,
            ModelArchitecture(
                architecture="Qwen3MoeForCausalLM",
                model_type="qwen3_moe",
                parameter_count=3 * (192 + 4 + 5 * 144 + 40 + 16) + 328,
                active_parameter_count=3 * (192 + 4 + 2 * 144 + 40 + 16) + 328,
                quantizable_parameter_count=3 * (192 + 5 * 144),
                kv_elements_per_token=24,
                kv_cache_shards=2,
                num_hidden_layers=3,
                hidden_size=8,
                active_intermediate_size=12,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=2,
                vocab_size=20,
                context_length=64,
            ),
        ),
    ],
    ids=["mixtral", "qwen2_moe", "qwen3_moe"],
)
def test_a_mixture_is_counted(config: Config, expected: ModelArchitecture) -> None:
    """
    Everything that is said of it, and what a token passes.
    """
    assert count(config) == expected


# Query and output 8*8 each, key and value 8*8 each: all heads their own.
FOUR_KEYS = {
    "parameter_count": 1672 + 3 * 64,
    "active_parameter_count": 1672 + 3 * 64,
    "quantizable_parameter_count": 1296 + 3 * 64,
    "kv_elements_per_token": 48,
    "kv_cache_shards": 4,
    "num_key_value_heads": 4,
}
# Heads of 3: query and output 8*12, key and value 8*6, 96 more a block.
HEADS_OF_3 = {
    "parameter_count": 1672 + 3 * 96,
    "active_parameter_count": 1672 + 3 * 96,
    "quantizable_parameter_count": 1296 + 3 * 96,
    "kv_elements_per_token": 36,
    "head_dim": 3,
}


def both(parameters: int) -> dict[str, object]:
    """
    Return a change of all parameters, which a token passes.
    """
    return {"parameter_count": parameters, "active_parameter_count": parameters}


@pytest.mark.parametrize(
    ("config", "changed", "expected"),
    [
        (LLAMA, {"num_key_value_heads": LEFT_OUT}, FOUR_KEYS),
        (LLAMA, {"num_key_value_heads": 4}, FOUR_KEYS),
        (LLAMA, {"head_dim": 3}, HEADS_OF_3),
        (LLAMA, {"tie_word_embeddings": True}, both(1672 - 160)),
        (LLAMA, {"tie_word_embeddings": False}, {}),
        # Query 8, key 4, value 4, output 8.
        (LLAMA, {"attention_bias": True}, both(1672 + 3 * 24)),
        (LLAMA, {"attention_bias": False}, {}),
        (
            # One key and value head: 8*2 each, and biases of 8 + 2 + 2 + 8.
            LLAMA,
            {"num_key_value_heads": 1, "attention_bias": True},
            {
                **both(1672 - 3 * 32 + 3 * 20),
                "quantizable_parameter_count": 1296 - 3 * 32,
                "kv_elements_per_token": 12,
                "kv_cache_shards": 1,
                "num_key_value_heads": 1,
            },
        ),
        # Gate 10, up 10, down 8.
        (LLAMA, {"mlp_bias": True}, both(1672 + 3 * 28)),
        (LLAMA, {"mlp_bias": False}, {}),
        (LLAMA, {"qkv_bias": True}, {}),
        (LLAMA, {"max_position_embeddings": LEFT_OUT}, {"context_length": 2048}),
        (MISTRAL, {"attention_bias": True, "mlp_bias": True}, {}),
        (MISTRAL, {"max_position_embeddings": LEFT_OUT}, {"context_length": 131072}),
        (PHI3, {"attention_bias": True, "mlp_bias": True}, {}),
        (PHI3, {"max_position_embeddings": LEFT_OUT}, {"context_length": 4096}),
        (QWEN2, {"attention_bias": True, "mlp_bias": True, "qkv_bias": False}, {}),
        (QWEN2, {"tie_word_embeddings": True}, both(1720 - 160)),
        (
            # One key and value head: 8*2 each, and biases of 8 + 2 + 2.
            QWEN2,
            {"num_key_value_heads": 1},
            {
                **both(1672 - 3 * 32 + 3 * 12),
                "quantizable_parameter_count": 1296 - 3 * 32,
                "kv_elements_per_token": 12,
                "kv_cache_shards": 1,
                "num_key_value_heads": 1,
            },
        ),
        (QWEN2, {"max_position_embeddings": LEFT_OUT}, {"context_length": 32768}),
        # Query 8, key 4, value 4, output 8.
        (QWEN3, {"attention_bias": True}, both(1684 + 3 * 24)),
        (QWEN3, {"mlp_bias": True, "qkv_bias": True}, {}),
        (QWEN3, {"max_position_embeddings": LEFT_OUT}, {"context_length": 32768}),
        (
            # Heads of 128: 8 * 128 * (4 + 4 + 2 + 2) and norms of 2 * 128.
            QWEN3,
            {"head_dim": LEFT_OUT},
            {
                **both(3 * (12288 + 240 + 16 + 256) + 328),
                "quantizable_parameter_count": 3 * (12288 + 240),
                "kv_elements_per_token": 2 * 3 * 2 * 128,
                "head_dim": 128,
            },
        ),
        (GEMMA, {"tie_word_embeddings": False}, both(1512 + 160)),
        (GEMMA, {"attention_bias": True}, both(1512 + 3 * 24)),
        (GEMMA, {"mlp_bias": True, "qkv_bias": True}, {}),
        (GEMMA, {"max_position_embeddings": LEFT_OUT}, {"context_length": 8192}),
        *(
            (
                # Heads of 256: 8 * 256 * 12.
                config,
                {"head_dim": LEFT_OUT},
                {
                    **both(3 * (24576 + 240 + norms) + 168),
                    "quantizable_parameter_count": 3 * (24576 + 240),
                    "kv_elements_per_token": 2 * 3 * 2 * 256,
                    "head_dim": 256,
                },
            )
            for config, norms in ((GEMMA, 16), (GEMMA2, 32), (GEMMA3, 32 + 512))
        ),
        (GEMMA2, {"tie_word_embeddings": False}, both(1560 + 160)),
        (GEMMA2, {"attention_bias": True}, both(1560 + 3 * 24)),
        (GEMMA2, {"mlp_bias": True, "qkv_bias": True}, {}),
        (GEMMA2, {"max_position_embeddings": LEFT_OUT}, {"context_length": 8192}),
        (GEMMA3, {"tie_word_embeddings": False}, both(1572 + 160)),
        (GEMMA3, {"attention_bias": True}, both(1572 + 3 * 24)),
        (GEMMA3, {"mlp_bias": True, "qkv_bias": True}, {}),
        (GEMMA3, {"max_position_embeddings": LEFT_OUT}, {"context_length": 131072}),
        (MIXTRAL, {"attention_bias": True, "mlp_bias": True}, {}),
        (MIXTRAL, {"max_position_embeddings": LEFT_OUT}, {"context_length": 131072}),
        *(
            (
                # Eight experts of 240, and a router of 8*8.
                MIXTRAL,
                dict.fromkeys(("num_local_experts", "num_experts_per_tok"), absent),
                {
                    "parameter_count": 3 * (192 + 8 * 240 + 64 + 16) + 328,
                    "active_parameter_count": 3 * (192 + 2 * 240 + 64 + 16) + 328,
                    "quantizable_parameter_count": 3 * (192 + 8 * 240),
                },
            )
            for absent in (LEFT_OUT, None)
        ),
        (
            MIXTRAL,
            {"num_experts_per_tok": 5},
            {"active_parameter_count": 4672, "active_intermediate_size": 50},
        ),
    ],
)
def test_a_switch_changes_what_it_changes_and_nothing_else(
    config: Config, changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Those of other families are passed over.
    """
    assert differences(count(config), count(config, **changed)) == expected


@pytest.mark.parametrize(
    ("config", "changed", "expected"),
    [
        # Without the shared expert: 168 and its gate of 8.
        (
            QWEN2_MOE,
            {"shared_expert_intermediate_size": 0},
            {
                "parameter_count": 3808 - 3 * 176,
                "active_parameter_count": 2512 - 3 * 176,
                "quantizable_parameter_count": 3240 - 3 * 168,
                "active_intermediate_size": 12,
            },
        ),
        (
            QWEN2_MOE,
            {"shared_expert_intermediate_size": None},
            {
                "parameter_count": 3808 - 3 * 176,
                "active_parameter_count": 2512 - 3 * 176,
                "quantizable_parameter_count": 3240 - 3 * 168,
                "active_intermediate_size": 12,
            },
        ),
        # One block of three has experts: 720 + 40 + 168 + 8 against an MLP of 240.
        (
            QWEN2_MOE,
            {"decoder_sparse_step": 2},
            {
                "parameter_count": 3 * 224 + 936 + 2 * 240 + 328,
                "active_parameter_count": 3 * 224 + 936 - 3 * 144 + 2 * 240 + 328,
                "quantizable_parameter_count": 3 * 192 + 888 + 2 * 240,
            },
        ),
        # The first of two is dense already, so that the list spares none.
        (
            QWEN2_MOE,
            {"decoder_sparse_step": 2, "mlp_only_layers": [0]},
            {
                "parameter_count": 3 * 224 + 936 + 2 * 240 + 328,
                "active_parameter_count": 3 * 224 + 936 - 3 * 144 + 2 * 240 + 328,
                "quantizable_parameter_count": 3 * 192 + 888 + 2 * 240,
            },
        ),
        # The second is the one with experts.
        (
            QWEN2_MOE,
            {"decoder_sparse_step": 2, "mlp_only_layers": [1]},
            {
                "parameter_count": 3 * (224 + 240) + 328,
                "active_parameter_count": 3 * (224 + 240) + 328,
                "quantizable_parameter_count": 3 * (192 + 240),
            },
        ),
        *(
            (
                QWEN2_MOE,
                {"mlp_only_layers": layers},
                {
                    "parameter_count": 3 * 224 + 2 * 936 + 240 + 328,
                    "active_parameter_count": (
                        3 * 224 + 2 * (936 - 3 * 144) + 240 + 328
                    ),
                    "quantizable_parameter_count": 3 * 192 + 2 * 888 + 240,
                },
            )
            # Of whichever block, said twice, and beside blocks that there are not.
            for layers in ([0], [2], [1, 1], [-1, 0, 3])
        ),
        (QWEN2_MOE, {"mlp_only_layers": [3, -1]}, {}),
        (QWEN2_MOE, {"mlp_only_layers": None, "decoder_sparse_step": 1}, {}),
        (QWEN2_MOE, {"intermediate_size": LEFT_OUT}, {}),
        (QWEN2_MOE, {"num_experts": LEFT_OUT, "num_local_experts": 5}, {}),
        (QWEN2_MOE, {"num_local_experts": 9}, {}),
        (
            # Without the biases of query, key and value.
            QWEN2_MOE,
            {"qkv_bias": False},
            {"parameter_count": 3808 - 48, "active_parameter_count": 2512 - 48},
        ),
        (QWEN2_MOE, {"attention_bias": True, "mlp_bias": True}, {}),
        (QWEN2_MOE, {"max_position_embeddings": LEFT_OUT}, {"context_length": 32768}),
        (QWEN3_MOE, {"shared_expert_intermediate_size": 7, "qkv_bias": True}, {}),
        (
            QWEN3_MOE,
            {"attention_bias": True},
            {"parameter_count": 3244 + 72, "active_parameter_count": 1948 + 72},
        ),
        (QWEN3_MOE, {"max_position_embeddings": LEFT_OUT}, {"context_length": 32768}),
        (
            QWEN3_MOE,
            {"num_experts_per_tok": 5},
            {"active_parameter_count": 3244, "active_intermediate_size": 30},
        ),
    ],
)
def test_experts_stand_where_the_file_says(
    config: Config, changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Every so many blocks, but in those that are listed, perhaps with a shared one.
    """
    assert differences(count(config), count(config, **changed)) == expected


SLIDING, FULL = "sliding_attention", "full_attention"


@pytest.mark.parametrize(
    ("config", "changed", "window", "windowed"),
    [
        (LLAMA, {}, None, 0),
        (LLAMA, {"sliding_window": 16}, 16, 3),
        (LLAMA, {"sliding_window": 0}, None, 0),
        (LLAMA, {"sliding_window": None}, None, 0),
        (LLAMA, {"sliding_window": 16, "use_sliding_window": False}, None, 0),
        (LLAMA, {"sliding_window": 16, "max_window_layers": 1}, 16, 2),
        (LLAMA, {"sliding_window": 16, "max_window_layers": 3}, 16, 0),
        (LLAMA, {"sliding_window": 16, "max_window_layers": 9}, 16, 0),
        (LLAMA, {"sliding_window": 16, "layer_types": [SLIDING, FULL, FULL]}, 16, 1),
        (LLAMA, {"sliding_window": 16, "layer_types": [FULL] * 3}, 16, 0),
        (LLAMA, {"sliding_window": 16, "layer_types": [SLIDING] * 9}, 16, 3),
        (
            LLAMA,
            {
                "sliding_window": 16,
                "layer_types": [SLIDING],
                "sliding_window_pattern": 3,
                "max_window_layers": 3,
            },
            16,
            1,
        ),
        (LLAMA, {"sliding_window": 16, "sliding_window_pattern": 3}, 16, 2),
        (LLAMA, {"sliding_window": 16, "sliding_window_pattern": 1}, 16, 0),
        (MISTRAL, {"sliding_window": 16}, 16, 3),
        (PHI3, {"sliding_window": 16}, 16, 3),
        (MIXTRAL, {"sliding_window": 16}, 16, 3),
        # Qwen's windows are switched off unless the file says otherwise, and left out
        # begin after the 28th layer.
        (QWEN2, {"sliding_window": 16}, None, 0),
        (QWEN2, {"sliding_window": 16, "use_sliding_window": True}, 16, 0),
        (
            QWEN2,
            {
                "sliding_window": 16,
                "use_sliding_window": True,
                "num_hidden_layers": 30,
            },
            16,
            2,
        ),
        (QWEN3, {"sliding_window": 16}, None, 0),
        (
            QWEN3,
            {
                "sliding_window": 16,
                "use_sliding_window": True,
                "num_hidden_layers": 30,
            },
            16,
            2,
        ),
        (QWEN2_MOE, {"sliding_window": 16}, None, 0),
        (
            QWEN2_MOE,
            {
                "sliding_window": 16,
                "use_sliding_window": True,
                "num_hidden_layers": 30,
            },
            16,
            2,
        ),
        (QWEN3_MOE, {"sliding_window": 16}, None, 0),
        (QWEN3_MOE, {"sliding_window": 16, "use_sliding_window": True}, 16, 3),
        # Gemma's: every other layer, or five of six.
        (GEMMA, {"sliding_window": 16}, 16, 3),
        (GEMMA2, {"sliding_window": 16}, 16, 2),
        (GEMMA2, {"sliding_window": 16, "num_hidden_layers": 4}, 16, 2),
        (GEMMA3, {"sliding_window": 16}, 16, 3),
        (GEMMA3, {"sliding_window": 16, "num_hidden_layers": 6}, 16, 5),
        (GEMMA3, {"sliding_window": 16, "num_hidden_layers": 7}, 16, 6),
        (GEMMA3, {"sliding_window": 16, "sliding_window_pattern": 2}, 16, 2),
    ],
)
def test_a_window_spans_the_layers_that_it_does(
    config: Config, changed: dict[str, Any], window: int | None, windowed: int
) -> None:
    """
    By the file's list, its pattern, its first layers without, or the family's way.
    """
    found = count(config, **changed)

    assert (found.sliding_window, found.windowed_layers) == (window, windowed)
