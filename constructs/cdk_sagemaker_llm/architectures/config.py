"""
Reading a Hugging Face ``config.json``, whatever its keys are called, with what
``transformers`` takes for keys that it omits.

Of a model with several modalities the part that reads text names only what differs
from its class: that of Gemma 3 4B has no attention heads, that of LLaVA no sizes.
Source: the configuration classes of transformers 5.23.0 (2026-11). Windows are not
among them: a cache that is taken too large does no harm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.arguments.kinds import value_text

# More than any size of a model, and little enough for their products to be a float.
_MOST = 10**9

_LATENT = {
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
}


class Config:
    """
    The keys of a configuration, with the mistakes in the caller's words.

    Args:
        values: The configuration's object.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def number(
        self, *names: str, default: int | None = None, least: int | None = None
    ) -> int:
        """
        Return the first of the keys that is there, as a whole number.

        Args:
            names: The keys.

            default: What it is if none is there. If omitted, one must be.

            least: The least that it can be. If omitted, it is 1, or 0 where that is
                the default.

        Raises:
            ValueError: If none is there and there is no default, or if it is no such
                number.
        """
        if least is None:
            least = 0 if default == 0 else 1
        for name in names:
            value = self._values.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(
                    f"{name} in config.json must be a whole number of at least "
                    f"{least}, got {value!r}"
                )
            if value > _MOST:
                raise ValueError(f"{name} in config.json must be at most {_MOST}")
            return value
        if default is None:
            raise ValueError(f"config.json has no {names[0]}")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        """
        Return a switch.

        Raises:
            ValueError: If it is neither true nor false.
        """
        value = self._values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ValueError(  # noqa: TRY004 - a value of the caller's file
                f"{name} in config.json must be true or false, got {value!r}"
            )
        return value

    def word(self, name: str) -> str | None:
        """
        Return a text; ``None`` if it is not there.
        """
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def numbers(self, name: str) -> list[int]:
        """
        Return a list of whole numbers; empty if it is not there.
        """
        value = self._values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(n, int) for n in value):
            raise ValueError(
                f"{name} in config.json must be a list of numbers, got {value!r}"
            )
        return value

    def count_of(self, name: str, word: str) -> int | None:
        """
        Return how often a word is in a list; ``None`` if the list is not there.
        """
        value = self._values.get(name)
        return value.count(word) if isinstance(value, list) else None

    def filled(self, defaults: Mapping[str, Any]) -> Config:
        """
        Return the same configuration with values for keys that it leaves out.
        """
        return Config({**defaults, **self._values})

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        """
        Return a nested object; ``None`` if there is none.
        """
        value = self._values.get(name)
        return value if isinstance(value, Mapping) else None

    def part(self, name: str) -> Config | None:
        """
        Return a nested configuration, such as ``text_config``.
        """
        value = self.mapping(name)
        return None if value is None else Config(value)

    @property
    def architecture(self) -> str | None:
        """
        The first of ``architectures``.
        """
        names = self._values.get("architectures")
        first = names[0] if isinstance(names, list) and names else None
        return first if isinstance(first, str) else None


def read_config(source: Mapping[str, Any] | str | Path) -> Config:
    """
    Read a configuration from an object, a text, or a file.

    Raises:
        ValueError: If there is no such file, or it holds no JSON object.
    """
    if isinstance(source, Mapping):
        return Config(source)
    if not isinstance(source, str | os.PathLike):
        raise ValueError(  # noqa: TRY004 - as every value of a wrong kind
            "config must be a mapping, a config.json's text or its path, got "
            f"{value_text(source)}"
        )
    is_text = isinstance(source, str) and "{" in source
    text = str(source) if is_text else _file_text(source)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as fault:
        name = "config.json" if is_text else str(source)
        raise ValueError(f"{name} is no JSON: {fault}") from fault
    if not isinstance(values, Mapping):
        raise ValueError(  # noqa: TRY004 - the content of the caller's file
            "config.json must hold an object"
        )
    return Config(values)


def defaults_of(family: str, *, nested: bool) -> Mapping[str, Any]:
    """
    Return the values of keys that may be left out.

    Args:
        family: The family, such as ``llama``.

        nested: Whether the configuration is a part of another.
    """
    known = TRANSFORMERS_DEFAULTS.get(family, {})
    return {k: v for k, v in known.items() if nested or k not in REQUIRED}


def _file_text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as fault:
        raise ValueError(f"config.json cannot be read: {fault}") from fault


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


TRANSFORMERS_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
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
