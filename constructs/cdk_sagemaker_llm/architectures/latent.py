"""
Counting DeepSeek: latent attention, and experts of which some are shared.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures.config import Config
from cdk_sagemaker_llm.architectures.shape import Shape


def count_deepseek(config: Config) -> Shape:
    """
    Count DeepSeek-V2 and V3, without the layers for multi-token prediction.

    The correction of V3's router is a buffer of its class, no parameter.
    """
    hidden, layers = config.number("hidden_size"), config.number("num_hidden_layers")
    heads = config.number("num_attention_heads")
    latent = config.number("kv_lora_rank")
    rotary = config.number("qk_rope_head_dim")
    dense = min(config.number("first_k_dense_replace", default=0), layers)
    expert = 3 * hidden * config.number("moe_intermediate_size")
    experts = config.number("n_routed_experts")
    chosen = config.number("num_experts_per_tok")
    shared = config.number("n_shared_experts", default=0)
    sparse = layers - dense
    attention, norms = _attention(config)
    vocabulary = config.number("vocab_size")
    tied = config.flag("tie_word_embeddings", default=False)
    mlp = config.number("intermediate_size")
    weights = sparse * (experts + shared) * expert + dense * 3 * hidden * mlp
    others = vocabulary * hidden * (1 if tied else 2) + hidden
    return Shape(
        layer_weights=layers * attention + weights,
        attention_weights=layers * attention,
        expert_weights=sparse * experts * expert,
        other_parameters=others
        + layers * (norms + 2 * hidden)
        + sparse * hidden * experts,
        idle_parameters=sparse * (experts - chosen) * expert,
        kv_elements=layers * (latent + rotary),
        kv_heads=1,
        layers=layers,
        hidden=hidden,
        mlp=max(mlp if dense else 0, (chosen + shared) * expert // (3 * hidden)),
        heads=heads,
        head_dim=config.number("qk_nope_head_dim") + rotary,
        vocabulary=vocabulary,
        context=config.number("max_position_embeddings", default=4096),
    )


def count_deepseek_sparse(config: Config) -> Shape:
    """
    Count DeepSeek-V3.2: each block has an indexer, which finds what attention looks at.

    vLLM keeps its keys in fp8 with a scale of 32 bits for each 128, whatever the rest
    of the cache has: counted is that in 16 bits.
    """
    plain = count_deepseek(config)
    heads = config.number("index_n_heads", default=64)
    width = config.number("index_head_dim", default=128)
    rank = config.number("q_lora_rank")
    weights = plain.layers * (rank * heads * width + plain.hidden * width)
    return replace(
        plain,
        layer_weights=plain.layer_weights + weights,
        attention_weights=plain.attention_weights + weights,
        other_parameters=plain.other_parameters
        + plain.layers * (2 * width + plain.hidden * heads),
        kv_elements=plain.kv_elements + plain.layers * -(-width * 33 // 64),
    )


def _attention(config: Config) -> tuple[int, int]:
    hidden, heads = config.number("hidden_size"), config.number("num_attention_heads")
    latent = config.number("kv_lora_rank")
    rotary = config.number("qk_rope_head_dim")
    plain, value = config.number("qk_nope_head_dim"), config.number("v_head_dim")
    # V2-Lite says null: its queries are not compressed.
    rank = config.number("q_lora_rank", default=0)
    query_in = rank or hidden
    query = query_in * heads * (plain + rotary) + (hidden * rank if rank else 0)
    keys = hidden * (latent + rotary) + latent * heads * (plain + value)
    has_bias = config.flag("attention_bias", default=False)
    biases = rank + latent + rotary + hidden if has_bias else 0
    return query + keys + heads * value * hidden, latent + rank + biases
