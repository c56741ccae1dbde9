"""
What ``transformers`` takes for keys that a configuration leaves out.

Of a model with several modalities the part that reads text names only what differs
from its class: that of Gemma 3 4B has no attention heads, that of LLaVA no sizes.
Source: the configuration classes of transformers 5.23.0 (2026-11). Windows are not
among them: a cache that is taken too large does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _sizes(
    vocabulary: int,
    hidden: int,
    mlp: int,
    layers: int,
    heads: int,
) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": mlp,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
    }


_LATENT = {
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "deepseek_v2": {
        **_sizes(102400, 4096, 11008, 32, 32),
        **_LATENT,
        "moe_intermediate_size": 1407,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
    },
    "deepseek_v3": {
        **_sizes(129280, 7168, 18432, 61, 128),
        **_LATENT,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 3,
    },
    "deepseek_v32": {
        **_sizes(129280, 7168, 18432, 61, 128),
        **_LATENT,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 3,
        "max_position_embeddings": 163840,
    },
    "gemma": {**_sizes(256000, 3072, 24576, 28, 16), "num_key_value_heads": 16},
    "gemma2": {**_sizes(256000, 2304, 9216, 26, 8), "num_key_value_heads": 4},
    "gemma3_text": {**_sizes(262208, 2304, 9216, 26, 8), "num_key_value_heads": 4},
    "glm4_moe": {
        **_sizes(151552, 4096, 10944, 46, 96),
        "num_key_value_heads": 8,
        "moe_intermediate_size": 1408,
        "num_experts_per_tok": 8,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
    },
    "gpt_neox": _sizes(50432, 6144, 24576, 44, 64),
    "llama": _sizes(32000, 4096, 11008, 32, 32),
    "llama4_text": {
        **_sizes(202048, 5120, 8192, 48, 40),
        "num_key_value_heads": 8,
        "intermediate_size_mlp": 16384,
        "num_local_experts": 16,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 1,
    },
    "ministral3": {**_sizes(131072, 4096, 14336, 34, 32), "num_key_value_heads": 8},
    "mistral": {**_sizes(32000, 4096, 14336, 32, 32), "num_key_value_heads": 8},
    "mixtral": {
        **_sizes(32000, 4096, 14336, 32, 32),
        "num_key_value_heads": 8,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    },
    "phi3": _sizes(32064, 3072, 8192, 32, 32),
    "qwen2": {
        **_sizes(151936, 4096, 22016, 32, 32),
        "num_key_value_heads": 32,
        "use_sliding_window": False,
        "max_window_layers": 28,
    },
    "qwen2_moe": {
        **_sizes(151936, 2048, 5632, 24, 16),
        "num_key_value_heads": 16,
        "num_experts_per_tok": 4,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
        "use_sliding_window": False,
        "max_window_layers": 28,
    },
    "qwen3": {
        **_sizes(151936, 4096, 22016, 32, 32),
        "num_key_value_heads": 32,
        "use_sliding_window": False,
        "max_window_layers": 28,
    },
    "qwen3_moe": {
        **_sizes(151936, 2048, 6144, 24, 32),
        "num_key_value_heads": 4,
        "num_experts_per_tok": 8,
        "moe_intermediate_size": 768,
        "use_sliding_window": False,
    },
    "qwen3_next": {
        **_sizes(151936, 2048, 5632, 48, 16),
        "num_key_value_heads": 2,
        "num_experts": 512,
        "num_experts_per_tok": 10,
        "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512,
    },
}
# A whole file always says these: one without them is damaged, and what the class
# would take for it is some other model.
REQUIRED = frozenset(_sizes(0, 0, 0, 0, 0))


def defaults_of(family: str, *, nested: bool) -> Mapping[str, Any]:
    """
    Return the values of keys that may be left out.

    Args:
        family: The family, such as ``llama``.

        nested: Whether the configuration is a part of another.
    """
    known = DEFAULTS.get(family, {})
    return {k: v for k, v in known.items() if nested or k not in REQUIRED}
