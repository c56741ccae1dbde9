"""
Reading a Hugging Face ``config.json``, whatever its keys are called, with what
``transformers`` takes for keys that it omits; and what counting it comes to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.arguments.kinds import value_text
from cdk_sagemaker_llm.catalog._data import load

# More than any size of a model, and little enough for their products to be a float.
_MOST = 10**9

# A whole file always says these: one without them is damaged, and what the class
# would take for it is some other model.
REQUIRED = frozenset(
    {
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
    }
)


class Config:
    """
    The keys of a configuration, with the mistakes in the caller's words.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def number(
        self, *names: str, default: int | None = None, least: int | None = None
    ) -> int:
        """
        Return the first of the keys that is there, as a whole number.

        Without a default one must be there. If ``least`` is omitted, it is 1, or 0
        where that is the default.
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
    """
    if isinstance(source, Mapping):
        return Config(source)
    if not isinstance(source, str | os.PathLike):
        raise ValueError(  # noqa: TRY004 - as every value of a wrong kind
            "config must be a mapping, a config.json's text or its path, got "
            f"{value_text(source)}"
        )
    is_text = isinstance(source, str) and "{" in source
    try:
        text = str(source) if is_text else Path(source).read_text(encoding="utf-8")
    except (OSError, ValueError) as fault:
        raise ValueError(f"config.json cannot be read: {fault}") from fault
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
    """
    values: Mapping[str, Any] = load("config_defaults.json")["families"].get(family, {})
    return {k: v for k, v in values.items() if nested or k not in REQUIRED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """
    A model's sizes, as its class in ``transformers`` has them.

    Args:
        layer_weights: Weights of linear layers in all blocks: what is quantized.

        expert_weights: Those of them that are in experts of which a token passes some.

        other_parameters: Embeddings, heads, norms, biases and routers.

        idle_parameters: Parameters of experts that a token does not pass.

        kv_elements: Numbers in the cache for one token, over all layers.

        kv_heads: Heads that the cache can be split over; 1 for a latent vector.

        vocabulary: Entries of the embedding.

        context: Tokens that the model was made for.

        window: Tokens that windowed layers look back; ``None`` without.

        windowed_layers: How many layers have that window.

        state_elements: Numbers that a sequence keeps beside, however long it is.
    """

    layer_weights: int
    other_parameters: int
    kv_elements: int
    kv_heads: int
    layers: int
    hidden: int
    mlp: int
    heads: int
    head_dim: int
    vocabulary: int
    context: int
    attention_weights: int = 0
    expert_weights: int = 0
    idle_parameters: int = 0
    window: int | None = None
    windowed_layers: int = 0
    state_elements: int = 0

    def __post_init__(self) -> None:
        if self.head_dim < 1:
            raise ValueError(
                "hidden_size in config.json must be at least num_attention_heads, got "
                f"{self.hidden} and {self.heads}"
            )
        if self.heads % self.kv_heads:
            raise ValueError(
                f"num_key_value_heads in config.json must divide the {self.heads} "
                f"attention heads, got {self.kv_heads}"
            )
        if self.idle_parameters < 0:
            raise ValueError(
                "num_experts_per_tok in config.json must be at most the number of "
                "experts"
            )

    @property
    def parameters(self) -> int:
        """
        All parameters.
        """
        return self.layer_weights + self.other_parameters
