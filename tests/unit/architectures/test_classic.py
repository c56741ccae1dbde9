"""
The families before Llama, counted by hand for models of three small blocks.

All have a width of 8, four heads of width 2, 20 words, and an MLP of 32 or 10 inside.
Attention with all heads its own has 4*8*8 = 256, a norm with its bias 16.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from tests.unit.architectures.counting import LEFT_OUT, Config, count, differences

NAMES = {"hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 4}
OLD_NAMES = {"n_embd": 8, "n_layer": 3, "n_head": 4}
FALCON = {**NAMES, "model_type": "falcon", "vocab_size": 20}
GPT_NEOX = {
    **NAMES,
    "model_type": "gpt_neox",
    "vocab_size": 20,
    "intermediate_size": 10,
}
GPT_BIGCODE = {
    **OLD_NAMES,
    "model_type": "gpt_bigcode",
    "vocab_size": 20,
    "n_positions": 16,
}
MPT = {
    "model_type": "mpt",
    "d_model": 8,
    "n_layers": 3,
    "n_heads": 4,
    "vocab_size": 20,
    "max_seq_len": 16,
}
OPT = {
    **NAMES,
    "model_type": "opt",
    "vocab_size": 20,
    "ffn_dim": 10,
    "max_position_embeddings": 16,
}
GPT_J = {**OLD_NAMES, "model_type": "gptj", "vocab_size": 20, "n_positions": 16}
BLOOM = {
    "model_type": "bloom",
    "hidden_size": 8,
    "n_layer": 3,
    "num_attention_heads": 4,
    "vocab_size": 20,
    "seq_length": 16,
}


def small(
    name: str,
    family: str,
    *,
    parameters: int,
    quantizable: int,
    mlp: int,
    context: int,
    heads: int = 4,
) -> ModelArchitecture:
    """
    Return a model of that size; with one head for keys and values, or as many.
    """
    return ModelArchitecture(
        architecture=name,
        model_type=family,
        parameter_count=parameters,
        active_parameter_count=parameters,
        quantizable_parameter_count=quantizable,
        # Keys and values of heads of width 2 in three layers: 12 a head.
        kv_elements_per_token=12 * heads,
        kv_cache_shards=heads,
        num_hidden_layers=3,
        hidden_size=8,
        active_intermediate_size=mlp,
        num_attention_heads=4,
        num_key_value_heads=heads,
        head_dim=2,
        vocab_size=20,
        context_length=context,
        sliding_window=None,
        windowed_layers=0,
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            # Query, one key and one value 8*(8+2+2), output 64, MLP 2*8*32, a norm;
            # the embedding of 160 is the head, and there is a norm.
            FALCON,
            small(
                "FalconForCausalLM",
                "falcon",
                parameters=3 * (96 + 64 + 512 + 16) + 160 + 16,
                quantizable=3 * (96 + 64 + 512),
                mlp=32,
                context=2048,
                heads=1,
            ),
        ),
        (
            # MLP 2*8*10 with biases 10 + 8, attention biases 4*8, two norms; head
            # and embedding apart.
            GPT_NEOX,
            small(
                "GPTNeoXForCausalLM",
                "gpt_neox",
                parameters=3 * (256 + 32 + 160 + 18 + 32) + 320 + 16,
                quantizable=3 * (256 + 160),
                mlp=10,
                context=2048,
            ),
        ),
        (
            # As Falcon, with biases 12 + 8 and 32 + 8, two norms, and 16 positions.
            GPT_BIGCODE,
            small(
                "GPTBigCodeForCausalLM",
                "gpt_bigcode",
                parameters=3 * (96 + 64 + 20 + 512 + 40 + 32) + 160 + 128 + 16,
                quantizable=3 * (96 + 64 + 512),
                mlp=32,
                context=16,
                heads=1,
            ),
        ),
        (
            # No bias anywhere: norms of 8.
            MPT,
            small(
                "MptForCausalLM",
                "mpt",
                parameters=3 * (256 + 512 + 16) + 160 + 8,
                quantizable=3 * (256 + 512),
                mlp=32,
                context=16,
            ),
        ),
        (
            # Biases 4*8, 10 and 8, two norms; 18 positions, a norm.
            OPT,
            small(
                "OPTForCausalLM",
                "opt",
                parameters=3 * (256 + 32 + 160 + 18 + 32) + 160 + 144 + 16,
                quantizable=3 * (256 + 160),
                mlp=10,
                context=16,
            ),
        ),
        (
            # Biases of the MLP alone, 32 + 8, one norm; a head with a bias of 20.
            GPT_J,
            small(
                "GPTJForCausalLM",
                "gptj",
                parameters=3 * (256 + 512 + 40 + 16) + 320 + 20 + 16,
                quantizable=3 * (256 + 512),
                mlp=32,
                context=16,
            ),
        ),
        (
            # Biases everywhere, 32 + 40, two norms; norms after embedding and blocks.
            BLOOM,
            small(
                "BloomForCausalLM",
                "bloom",
                parameters=3 * (256 + 32 + 512 + 40 + 32) + 160 + 16 + 16,
                quantizable=3 * (256 + 512),
                mlp=32,
                context=16,
            ),
        ),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_a_model_is_counted(config: Config, expected: ModelArchitecture) -> None:
    """
    Everything that is said of it.
    """
    assert count(config) == expected


def both(parameters: int) -> dict[str, object]:
    """
    Return a change of all parameters, which a token passes.
    """
    return {"parameter_count": parameters, "active_parameter_count": parameters}


# As many key and value heads as heads: 8*24 instead of 8*12.
ALL_HEADS = {
    "kv_elements_per_token": 48,
    "kv_cache_shards": 4,
    "num_key_value_heads": 4,
    "quantizable_parameter_count": 2016 + 3 * 96,
}
# Two of them: 8*16.
TWO_HEADS = {
    "kv_elements_per_token": 24,
    "kv_cache_shards": 2,
    "num_key_value_heads": 2,
    "quantizable_parameter_count": 2016 + 3 * 32,
}
NEW = {"new_decoder_architecture": True}
NEW_WITH_2 = {**NEW, "num_kv_heads": 2}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"multi_query": True}, {}),
        ({"multi_query": False}, {**both(2240 + 3 * 96), **ALL_HEADS}),
        # The new decoder has groups, and two norms.
        (NEW_WITH_2, {**both(2240 + 3 * (32 + 16)), **TWO_HEADS}),
        ({**NEW, "n_head_kv": 2}, {**both(2240 + 3 * (32 + 16)), **TWO_HEADS}),
        (NEW, {**both(2240 + 3 * (96 + 16)), **ALL_HEADS}),
        ({**NEW, "multi_query": True}, {**both(2240 + 3 * (96 + 16)), **ALL_HEADS}),
        (
            {**NEW_WITH_2, "num_ln_in_parallel_attn": 1},
            {**both(2240 + 3 * 32), **TWO_HEADS},
        ),
        ({"new_decoder_architecture": False, "num_kv_heads": 2}, {}),
        ({"num_ln_in_parallel_attn": 2}, both(2240 + 3 * 16)),
        # Attention before the MLP has two norms, whatever else is said.
        ({"parallel_attn": True}, {}),
        ({"parallel_attn": False}, both(2240 + 3 * 16)),
        (
            {"parallel_attn": False, "num_ln_in_parallel_attn": 1},
            both(2240 + 3 * 16),
        ),
        # Biases of 12 and 8, and of 32 and 8.
        ({"bias": True}, both(2240 + 3 * 60)),
        ({"bias": False}, {}),
        ({"bias": True, "multi_query": False}, {**both(2528 + 3 * 72), **ALL_HEADS}),
        (
            {"ffn_hidden_size": 10},
            {
                **both(2240 - 3 * 352),
                "quantizable_parameter_count": 2016 - 3 * 352,
                "active_intermediate_size": 10,
            },
        ),
        ({"tie_word_embeddings": False}, both(2240 + 160)),
        ({"tie_word_embeddings": True}, {}),
        ({"max_position_embeddings": 64}, {"context_length": 64}),
        (
            {
                **dict.fromkeys(NAMES, LEFT_OUT),
                "n_embed": 8,
                "n_layer": 3,
                "n_head": 4,
            },
            {},
        ),
        # The first files of the 40B had no switch for the new decoder.
        (
            {"model_type": "RefinedWeb", "n_head_kv": 2},
            {**both(2240 + 3 * (32 + 16)), **TWO_HEADS},
        ),
        (
            {"model_type": "RefinedWeb", "new_decoder_architecture": False},
            {},
        ),
        ({"model_type": "RefinedWebModel", "n_head_kv": 2}, {}),
    ],
)
def test_falcons_switches(changed: dict[str, Any], expected: dict[str, object]) -> None:
    """
    Of three generations.
    """
    assert differences(count(FALCON), count(FALCON, **changed)) == expected


@pytest.mark.parametrize(
    ("config", "changed", "expected"),
    [
        (GPT_NEOX, {"attention_bias": False}, both(1830 - 3 * 32)),
        (GPT_NEOX, {"attention_bias": True, "tie_word_embeddings": False}, {}),
        (GPT_NEOX, {"tie_word_embeddings": True}, both(1830 - 160)),
        (GPT_NEOX, {"max_position_embeddings": 64}, {"context_length": 64}),
        (GPT_BIGCODE, {"multi_query": True, "tie_word_embeddings": True}, {}),
        (
            # 8*12 and biases of 12 more.
            GPT_BIGCODE,
            {"multi_query": False},
            {**both(2596 + 3 * 108), **ALL_HEADS},
        ),
        (
            # An MLP of 10: 352 and biases of 22 less.
            GPT_BIGCODE,
            {"n_inner": 10},
            {
                **both(2596 - 3 * 374),
                "quantizable_parameter_count": 2016 - 3 * 352,
                "active_intermediate_size": 10,
            },
        ),
        (
            GPT_BIGCODE,
            {"n_positions": LEFT_OUT},
            {**both(2596 + 8 * (1024 - 16)), "context_length": 1024},
        ),
        (GPT_BIGCODE, {"tie_word_embeddings": False}, both(2596 + 160)),
        (GPT_BIGCODE, {**dict.fromkeys(OLD_NAMES, LEFT_OUT), **NAMES}, {}),
        (
            # An MLP of 16: 256 less.
            MPT,
            {"expansion_ratio": 2},
            {
                **both(2520 - 3 * 256),
                "quantizable_parameter_count": 2304 - 3 * 256,
                "active_intermediate_size": 16,
            },
        ),
        (MPT, {"max_seq_len": LEFT_OUT}, {"context_length": 2048}),
        (MPT, {"tie_word_embeddings": False}, both(2520 + 160)),
        (
            MPT,
            {**dict.fromkeys(("d_model", "n_layers", "n_heads"), LEFT_OUT), **NAMES},
            {},
        ),
        (
            # Words of 4, and two projections of 4*8.
            OPT,
            {"word_embed_proj_dim": 4},
            both(1814 - 80 + 64),
        ),
        (OPT, {"word_embed_proj_dim": 8}, {}),
        (OPT, {"tie_word_embeddings": False}, both(1814 + 160)),
        (
            OPT,
            {"tie_word_embeddings": False, "word_embed_proj_dim": 4},
            both(1814 + 160 - 160 + 64),
        ),
        (OPT, {"do_layer_norm_before": False}, both(1814 - 16)),
        (OPT, {"_remove_final_layer_norm": True}, both(1814 - 16)),
        (OPT, {"_remove_final_layer_norm": False, "do_layer_norm_before": True}, {}),
        (OPT, {"layer_norm_elementwise_affine": False}, both(1814 - 3 * 32 - 16)),
        (OPT, {"layer_norm_elementwise_affine": True, "enable_bias": True}, {}),
        (OPT, {"enable_bias": False}, both(1814 - 3 * 50)),
        (
            OPT,
            {"max_position_embeddings": LEFT_OUT},
            {**both(1814 + 8 * (2048 - 16)), "context_length": 2048},
        ),
        (
            GPT_J,
            {"n_inner": 10},
            {
                **both(2828 - 3 * 374),
                "quantizable_parameter_count": 2304 - 3 * 352,
                "active_intermediate_size": 10,
            },
        ),
        (GPT_J, {"n_positions": LEFT_OUT}, {"context_length": 2048}),
        (GPT_J, {"tie_word_embeddings": True}, both(2828 - 160)),
        (GPT_J, {**dict.fromkeys(OLD_NAMES, LEFT_OUT), **NAMES}, {}),
        (BLOOM, {"seq_length": LEFT_OUT}, {"context_length": 2048}),
        (BLOOM, {"tie_word_embeddings": False}, both(2808 + 160)),
        (
            BLOOM,
            {
                "hidden_size": LEFT_OUT,
                "num_attention_heads": LEFT_OUT,
                "n_embed": 8,
                "n_head": 4,
            },
            {},
        ),
        (BLOOM, {"n_layer": LEFT_OUT, "num_hidden_layers": 3}, {}),
    ],
)
def test_a_key_changes_what_it_changes_and_nothing_else(
    config: Config, changed: dict[str, Any], expected: dict[str, object]
) -> None:
    """
    Switches, sizes, and the other names of keys.
    """
    assert differences(count(config), count(config, **changed)) == expected


@pytest.mark.parametrize(
    ("config", "name", "other", "value"),
    [
        (FALCON, "hidden_size", "n_embed", 16),
        (FALCON, "num_hidden_layers", "n_layer", 1),
        (FALCON, "num_attention_heads", "n_head", 1),
        ({**FALCON, **NEW_WITH_2}, "num_kv_heads", "n_head_kv", 1),
        (GPT_BIGCODE, "n_embd", "hidden_size", 16),
        (GPT_BIGCODE, "n_layer", "num_hidden_layers", 1),
        (GPT_BIGCODE, "n_head", "num_attention_heads", 1),
        (MPT, "d_model", "hidden_size", 16),
        (MPT, "n_layers", "num_hidden_layers", 1),
        (MPT, "n_heads", "num_attention_heads", 1),
        (GPT_J, "n_embd", "hidden_size", 16),
        (GPT_J, "n_layer", "num_hidden_layers", 1),
        (GPT_J, "n_head", "num_attention_heads", 1),
        (BLOOM, "hidden_size", "n_embed", 16),
        (BLOOM, "n_layer", "num_hidden_layers", 1),
        ({**BLOOM, "n_head": 4}, "n_head", "num_attention_heads", 1),
    ],
)
def test_of_two_names_of_a_key_the_classs_own_is_read(
    config: Config, name: str, other: str, value: int
) -> None:
    """
    Where a file has both.
    """
    with_both = count(config, **{other: value})

    assert with_both == count({k: v for k, v in config.items() if k != other})
    assert with_both != count(config, **{name: value, other: value})
