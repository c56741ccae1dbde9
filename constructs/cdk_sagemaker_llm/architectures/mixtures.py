"""
Counting Llama's kin with experts, of which a token passes a few.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures.config import Config
from cdk_sagemaker_llm.architectures.gated import SHARED, Traits, shape_of
from cdk_sagemaker_llm.architectures.shape import Shape


def count_mixtral(config: Config, traits: Traits) -> Shape:
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
        traits,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * hidden * experts,
        experts=layers * experts * expert,
        idle=layers * (experts - chosen) * expert,
        mlp=mlp * chosen,
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
    sparse = _sparse_layers(config, layers)
    dense = (layers - sparse) * 3 * hidden * _dense_width(config, layers - sparse)
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


def count_gpt_oss(config: Config, traits: Traits) -> Shape:
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
        traits,
        mlp_weights=layers * experts * expert,
        mlp_others=layers * (experts * biases + router + sinks),
        experts=layers * experts * expert,
        idle=layers * (experts - chosen) * (expert + biases),
        mlp=mlp * chosen,
    )


def count_llama4(config: Config, traits: Traits) -> Shape:
    """
    Count the part of Llama 4 that reads text: one expert beside a shared one, in every
    block or every other.
    """
    hidden, expert_width = (
        config.number("hidden_size"),
        config.number("intermediate_size"),
    )
    layers = config.number("num_hidden_layers")
    experts = config.number("num_local_experts", default=16)
    chosen = config.number("num_experts_per_tok", default=1)
    expert = 3 * hidden * expert_width
    step = config.number("interleave_moe_layer_step", default=1)
    listed = config.numbers("moe_layers")
    sparse = len({i for i in listed if 0 <= i < layers}) if listed else layers // step
    dense = layers - sparse
    dense_width = config.number("intermediate_size_mlp", default=16384)
    sparse_width = expert_width * (chosen + 1)
    return shape_of(
        config,
        traits,
        mlp_weights=sparse * (experts + 1) * expert + dense * 3 * hidden * dense_width,
        mlp_others=sparse * hidden * experts,
        experts=sparse * experts * expert,
        idle=sparse * (experts - chosen) * expert,
        mlp=max(dense_width, sparse_width) if dense else sparse_width,
        windows=_chunks(config, layers),
    )


def count_glm4_moe(config: Config, traits: Traits) -> Shape:
    """
    Count GLM 4.5, without the layer for multi-token prediction.

    The correction of its router is a buffer of its class, no parameter.
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
        replace(traits, head_norms=has_norms),
        mlp_weights=sparse * (experts + shared) * expert + dense * 3 * hidden * mlp,
        mlp_others=sparse * hidden * experts,
        experts=sparse * experts * expert,
        idle=sparse * (experts - chosen) * expert,
        mlp=max(mlp, passed) if dense else passed,
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


def _sparse_layers(config: Config, layers: int) -> int:
    step = config.number("decoder_sparse_step", default=1)
    dense = set(config.numbers("mlp_only_layers"))
    spared = sum(0 <= i < layers and (i + 1) % step == 0 for i in dense)
    return layers // step - spared


def _dense_width(config: Config, dense_layers: int) -> int:
    return config.number("intermediate_size") if dense_layers else 1
