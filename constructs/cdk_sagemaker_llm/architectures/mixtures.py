"""
Counts for mixtures of experts, of which a token passes a few: Llama's kin, DeepSeek
with latent attention, and Qwen3-Next, whose blocks mostly keep a state of one size.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures.config import Config, Shape
from cdk_sagemaker_llm.architectures.gated import (
    GLM4_MOE,
    GPT_OSS,
    LLAMA4,
    MISTRAL,
    QWEN3_NEXT,
    SHARED,
    Traits,
    shape_of,
)


def count_mixtral(config: Config) -> Shape:
    """
    Count Mixtral: experts in every block, and a router.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=8)
    chosen = config.number("num_experts_per_tok", default=2)
    expert = 3 * hidden * mlp
    return shape_of(
        config,
        MISTRAL,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * hidden * experts,
        experts=layers * experts * expert,
        idle=layers * (experts - chosen) * expert,
        mlp=mlp * chosen,
    )


def count_gpt_oss(config: Config) -> Shape:
    """
    Count gpt-oss: experts and router with biases, and a sink for each head.
    """
    hidden, mlp = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=32)
    chosen = config.number("num_experts_per_tok", default=4)
    expert, biases = 3 * hidden * mlp, 2 * mlp + hidden
    router = experts * (hidden + 1)
    sinks = config.number("num_attention_heads")
    return shape_of(
        config.filled({"attention_bias": True}),
        GPT_OSS,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * (experts * biases + router + sinks),
        experts=layers * experts * expert,
        idle=layers * (experts - chosen) * (expert + biases),
        mlp=mlp * chosen,
    )


def count_llama4(config: Config) -> Shape:
    """
    Count the part of Llama 4 that reads text: one expert beside a shared one, in every
    block or every other.
    """
    hidden, width = config.number("hidden_size"), config.number("intermediate_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=16)
    chosen = config.number("num_experts_per_tok", default=1)
    expert = 3 * hidden * width
    step = config.number("interleave_moe_layer_step", default=1)
    listed = config.numbers("moe_layers")
    sparse = len({i for i in listed if 0 <= i < layers}) if listed else layers // step
    dense = layers - sparse
    dense_width = config.number("intermediate_size_mlp", default=16384)
    sparse_width = width * (chosen + 1)
    return shape_of(
        config,
        LLAMA4,
        mlp_weights=sparse * (experts + 1) * expert + dense * 3 * hidden * dense_width,
        mlp_others=sparse * hidden * experts,
        experts=sparse * experts * expert,
        idle=sparse * (experts - chosen) * expert,
        mlp=max(dense_width, sparse_width) if dense else sparse_width,
        windows=_chunks(config, layers),
    )


def count_glm4_moe(config: Config) -> Shape:
    """
    Count GLM 4.5, without the layer for multi-token prediction; the correction of its
    router is a buffer, no parameter.
    """
    hidden, layers = config.number("hidden_size"), config.number("num_hidden_layers")
    experts = config.number("n_routed_experts")
    chosen = config.number("num_experts_per_tok")
    shared = config.number("n_shared_experts", default=0)
    width = config.number("moe_intermediate_size")
    dense = min(config.number("first_k_dense_replace", default=0), layers)
    mlp, sparse = config.number("intermediate_size"), layers - dense
    expert = 3 * hidden * width
    passed = width * (chosen + shared)
    has_norms = config.flag("use_qk_norm", default=False)
    return shape_of(
        config,
        GLM4_MOE._replace(head_norms=has_norms),
        mlp_weights=sparse * (experts + shared) * expert + dense * 3 * hidden * mlp,
        mlp_others=sparse * hidden * experts,
        experts=sparse * experts * expert,
        idle=sparse * (experts - chosen) * expert,
        mlp=max(mlp, passed) if dense else passed,
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


def count_deepseek(config: Config) -> Shape:
    """
    Count DeepSeek-V2 and V3, without the layers for multi-token prediction; the
    correction of V3's router is a buffer, no parameter.
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


def count_qwen3_next(config: Config) -> Shape:
    """
    Count Qwen3-Next, without the layer for multi-token prediction.

    It is a mixture of Qwen's, but that queries have gates, as large as they are, and
    that three blocks of four have a gated delta net for attention.
    """
    plain = count_qwen_moe(config, QWEN3_NEXT)
    hidden, width = plain.hidden, plain.head_dim
    listed = config.count_of("layer_types", "full_attention")
    full = plain.layers // config.number("full_attention_interval", default=4)
    if listed is not None:
        full = min(listed, plain.layers)
    linear = plain.layers - full
    weights, others, state = _delta_net(config, hidden)
    keys = 2 * plain.kv_heads * width
    gated = hidden * (3 * plain.heads * width + keys)
    attention = full * gated + linear * weights
    # What the mixture has for each block, biases of query, key and value, the output's,
    # and norms of query and key, is in the blocks with attention alone.
    has_bias = QWEN3_NEXT.switch(config, "attention_bias", default=False)
    biases = plain.heads * width + keys + hidden if has_bias else 0
    of_gates = plain.heads * width if has_bias else 0
    return replace(
        plain,
        layer_weights=plain.layer_weights - plain.attention_weights + attention,
        attention_weights=attention,
        other_parameters=plain.other_parameters
        + full * of_gates
        + linear * (others - biases - 2 * width),
        kv_elements=full * keys,
        state_elements=linear * state,
    )


def count_qwen_moe(config: Config, traits: Traits) -> Shape:
    """
    Count Qwen's mixtures: small experts, some blocks dense, perhaps a shared expert.
    """
    hidden = config.number("hidden_size")
    layers = config.number("num_hidden_layers")
    experts = config.number("num_experts", "num_local_experts")
    chosen = config.number("num_experts_per_tok")
    expert = 3 * hidden * config.number("moe_intermediate_size")
    shared = config.number(SHARED, default=0) if SHARED in traits.reads else 0
    step = config.number("decoder_sparse_step", default=1)
    listed = set(config.numbers("mlp_only_layers"))
    spared = sum(0 <= i < layers and (i + 1) % step == 0 for i in listed)
    sparse = layers // step - spared
    dense = 0
    if layers > sparse:
        dense = (layers - sparse) * 3 * hidden * config.number("intermediate_size")
    # The shared expert has a gate of its own, one number wide.
    others = hidden * experts + (hidden if shared else 0)
    width = config.number("moe_intermediate_size") * chosen + shared
    return shape_of(
        config,
        traits,
        mlp_weights=sparse * (experts * expert + 3 * hidden * shared) + dense,
        mlp_others=sparse * others,
        experts=sparse * experts * expert,
        idle=sparse * (experts - chosen) * expert,
        mlp=width,
    )


def _chunks(config: Config, layers: int) -> tuple[int | None, int]:
    """
    Return Llama 4's chunks: a layer with positions looks back within its own alone.
    """
    chunk = config.number("attention_chunk_size", default=0) or None
    if chunk is None:
        return None, 0
    listed = config.count_of("layer_types", "chunked_attention")
    if listed is not None:
        return chunk, min(listed, layers)
    positions = config.numbers("no_rope_layers")
    if positions:
        return chunk, sum(map(bool, positions[:layers]))
    return chunk, layers - layers // config.number("no_rope_layer_interval", default=4)


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


def _delta_net(config: Config, hidden: int) -> tuple[int, int, int]:
    """
    Return a block's linear weights, its other parameters, and the numbers of its state:
    the last inputs of a convolution, and a matrix for each head.
    """
    heads = config.number("linear_num_value_heads", default=32)
    key_width = config.number("linear_key_head_dim", default=128)
    value_width = config.number("linear_value_head_dim", default=128)
    keys = key_width * config.number("linear_num_key_heads", default=16)
    values = heads * value_width
    kernel = config.number("linear_conv_kernel_dim", default=4)
    mixed = 2 * keys + values
    weights = hidden * (mixed + values) + hidden * 2 * heads + values * hidden
    others = mixed * kernel + 2 * heads + value_width
    return weights, others, mixed * (kernel - 1) + heads * key_width * value_width
