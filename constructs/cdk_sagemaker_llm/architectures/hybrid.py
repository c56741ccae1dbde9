"""
Counting Qwen3-Next: most blocks keep a state of one size instead of keys and values.
"""

from __future__ import annotations

from dataclasses import replace

from cdk_sagemaker_llm.architectures.config import Config
from cdk_sagemaker_llm.architectures.gated import Traits
from cdk_sagemaker_llm.architectures.mixtures import count_qwen_moe
from cdk_sagemaker_llm.architectures.shape import Shape


def count_qwen3_next(config: Config, traits: Traits) -> Shape:
    """
    Count Qwen3-Next, without the layer for multi-token prediction.

    It is a mixture of Qwen's, but that queries have gates, as large as they are, and
    that three blocks of four have a gated delta net for attention.
    """
    plain = count_qwen_moe(config, traits)
    hidden, width = plain.hidden, plain.head_dim
    full = _full_layers(config, plain.layers)
    linear = plain.layers - full
    weights, others, state = _delta_net(config, hidden)
    keys = 2 * plain.kv_heads * width
    gated = hidden * (3 * plain.heads * width + keys)
    attention = full * gated + linear * weights
    # What the mixture has for each block, biases of query, key and value, the output's,
    # and norms of query and key, is in the blocks with attention alone.
    has_bias = traits.switch(config, "attention_bias", default=False)
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


def _full_layers(config: Config, layers: int) -> int:
    listed = config.count_of("layer_types", "full_attention")
    if listed is not None:
        return min(listed, layers)
    return layers // config.number("full_attention_interval", default=4)


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
