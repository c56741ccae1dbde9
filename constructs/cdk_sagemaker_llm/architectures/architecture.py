"""
What a model is: how many parameters, what its cache takes, how it can be split.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdk_sagemaker_llm.architectures.config import Config, defaults_of, read_config
from cdk_sagemaker_llm.architectures.families import FAMILIES, family_of
from cdk_sagemaker_llm.architectures.weight_format import (
    WeightFormat,
    plain_format,
    read_format,
)
from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.architectures import known_config, model_names
from cdk_sagemaker_llm.text import any_of, nearest, redacted

_UNQUANTIZED_BITS = 16
_MOST_DEGREE = 64
_UNNAMED = "custom"
# Of a model that only its size is known of, the widths are taken to be those of a
# large one, so that its activations are not underrated.
_UNKNOWN_HIDDEN, _UNKNOWN_MLP, _UNKNOWN_VOCABULARY = 8192, 28672, 152064
_WAY_IN = (
    "describe it with ModelArchitecture.custom(parameters=..., kv_bytes_per_token=...)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelArchitecture:
    """
    A model's sizes, as far as serving it depends on them.

    ``ModelArchitecture.of("mistralai/Mistral-7B-v0.1")``
    ``ModelArchitecture.from_config("config.json")``

    Args:
        architecture: The class in config.json, such as ``MistralForCausalLM``.

        model_type: The family, such as ``mistral``; ``custom`` without one.

        parameter_count: All parameters, as the model's class in ``transformers`` has
            them; a tied embedding counts once.

        active_parameter_count: Those that a token passes.

        quantizable_parameter_count: The weights of linear layers in the blocks, which
            is what GPTQ and AWQ quantize; embeddings, head, norms, biases and routers
            stay as they are.

        kv_elements_per_token: Numbers in the cache for one token, over all layers; 0
            for an encoder, which reads a text once and keeps no cache.

        kv_cache_shards: Over how many accelerators a token's cache can be split.

        num_hidden_layers: Blocks.

        hidden_size: The model's width.

        active_intermediate_size: The width inside the MLPs that a token passes.

        num_attention_heads: Attention heads; ``None`` if not known.

        num_key_value_heads: Key and value heads; ``None`` if not known.

        head_dim: A head's width.

        vocab_size: Entries of the embedding.

        context_length: Tokens that the model was made for.

        sliding_window: Tokens that windowed layers look back; ``None`` without.

        windowed_layers: How many layers have that window.

        state_elements_per_sequence: Numbers that a sequence keeps beside, however long
            it is: of layers with linear attention.

        weight_format: How the weights are published; ``None`` if not quantized.
    """

    architecture: str
    model_type: str
    parameter_count: int
    active_parameter_count: int
    quantizable_parameter_count: int
    kv_elements_per_token: int
    kv_cache_shards: int
    num_hidden_layers: int
    hidden_size: int
    active_intermediate_size: int
    num_attention_heads: int | None
    num_key_value_heads: int | None
    head_dim: int
    vocab_size: int
    context_length: int
    sliding_window: int | None = None
    windowed_layers: int = 0
    state_elements_per_sequence: int = 0
    weight_format: WeightFormat | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | str | Path) -> ModelArchitecture:
        """
        Read a Hugging Face ``config.json``: its path, its text, or its object.

        Of a model with several modalities it is the part that reads text. What reads
        images comes on top where it is served too: 0.8 GB in 16 bits for Gemma 3.

        Args:
            config: The path, the text, or the object.

        Raises:
            ValueError: If it cannot be read, or is of no family that can be counted;
                the message says what to do.
        """
        return _read(read_config(config))

    @classmethod
    @held
    def of(cls, model_id: str) -> ModelArchitecture:
        """
        Look a model up by its name on the Hugging Face Hub, in any case.

        Args:
            model_id: The model's name on the Hub.

        Raises:
            ValueError: If the catalogue does not have it; names the nearest ones.
        """
        found = find_architecture(model_id)
        if found is not None:
            return found
        near = _alike(model_id)
        hint = f"did you mean {any_of(near)}? Else" if near else "pass"
        raise ValueError(
            f"no model {redacted(repr(model_id))} in the catalogue; {hint} the path of "
            f"its config.json, or {_WAY_IN}"
        )

    @classmethod
    def custom(
        cls,
        *,
        parameters: int,
        kv_bytes_per_token: int,
        active_parameters: int | None = None,
        num_attention_heads: int | None = None,
        num_key_value_heads: int | None = None,
        context_length: int = 4096,
        architecture: str = _UNNAMED,
    ) -> ModelArchitecture:
        """
        Describe a model of which only its size is known.

        Args:
            parameters: All parameters.

            kv_bytes_per_token: Bytes of the cache for one token in 16 bits.

            active_parameters: Those that a token passes. If omitted, it is all of
                them.

            num_attention_heads: If omitted, any power of two is taken to divide them.

            num_key_value_heads:
                Over how many accelerators the cache can be split.
                If omitted, each accelerator is taken to hold all of it.

            context_length: Tokens that the model was made for.

            architecture: A name for messages.

        Raises:
            ValueError: If one is no whole number of at least 1, or if a token passes
                more parameters than there are.
        """
        numbers = {
            "parameters": parameters,
            "kv_bytes_per_token": kv_bytes_per_token,
            "active_parameters": active_parameters,
            "num_attention_heads": num_attention_heads,
            "context_length": context_length,
        }
        for name, value in numbers.items():
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(
                    f"{name} must be a whole number of at least 1, got {value!r}"
                )
        if active_parameters is not None and active_parameters > parameters:
            raise ValueError(
                "active_parameters must be at most parameters, got "
                f"active_parameters={active_parameters} and parameters={parameters}"
            )
        return cls(
            architecture=architecture,
            model_type="custom",
            parameter_count=parameters,
            active_parameter_count=active_parameters or parameters,
            quantizable_parameter_count=parameters,
            kv_elements_per_token=-(-kv_bytes_per_token // 2),
            kv_cache_shards=num_key_value_heads or 1,
            num_hidden_layers=1,
            hidden_size=_UNKNOWN_HIDDEN,
            active_intermediate_size=_UNKNOWN_MLP,
            num_attention_heads=num_attention_heads,
            num_key_value_heads=num_key_value_heads,
            head_dim=128,
            vocab_size=_UNKNOWN_VOCABULARY,
            context_length=context_length,
        )

    @property
    def class_name(self) -> str | None:
        """
        The class in config.json; ``None`` where only sizes are known.
        """
        return None if self.architecture == _UNNAMED else self.architecture

    @property
    def reads_images(self) -> bool:
        """
        Whether an engine also loads what reads images, which is not counted here.
        """
        return self.architecture.endswith("ForConditionalGeneration")

    @property
    def tensor_parallel_degrees(self) -> tuple[int, ...]:
        """
        Over how many accelerators the heads can be split, up to 64.

        The degree divides the attention heads, and divides the key and value heads or
        is a multiple of them, which then are copied (vLLM, ModelConfig).
        """
        heads, shared = self.num_attention_heads, self.num_key_value_heads
        if heads is None:
            return tuple(2**power for power in range(7))
        return tuple(
            degree
            for degree in range(1, _MOST_DEGREE + 1)
            if heads % degree == 0
            if shared is None or shared % degree == 0 or degree % shared == 0
        )

    @property
    def keeps_cache(self) -> bool:
        """
        Whether it writes text, and keeps keys and values of what it read: an encoder,
        which makes embeddings or ranks, does not.
        """
        return self.kv_elements_per_token > 0

    def kv_cache_bytes_per_token(self, dtype_bytes: int = 2) -> int:
        """
        Return the bytes that one token takes in the cache, over all layers.

        Args:
            dtype_bytes: Bytes of a number: 2 in 16 bits, 1 in fp8.
        """
        return self.kv_elements_per_token * dtype_bytes

    def kv_cache_bytes(self, tokens: int, dtype_bytes: int = 2) -> int:
        """
        Return the bytes of a sequence, where the engine forgets what left the window.

        An engine that does not takes ``tokens * kv_cache_bytes_per_token()``.

        Args:
            tokens: Tokens of the sequence.

            dtype_bytes: Bytes of a number.
        """
        per_layer = self.kv_elements_per_token // self.num_hidden_layers
        kept = min(tokens, self.sliding_window or tokens)
        forgotten = per_layer * self.windowed_layers * (tokens - kept)
        elements = self.kv_elements_per_token * tokens - forgotten
        return (elements + self.state_elements_per_sequence) * dtype_bytes

    def state_bytes(self, dtype_bytes: int = 2) -> int:
        """
        Return the bytes that a sequence keeps however long it is.

        Args:
            dtype_bytes: Bytes of a number.
        """
        return self.state_elements_per_sequence * dtype_bytes

    def bits_of_a_weight(self, weight_bits: int | None = None) -> int:
        """
        Return the bits of a weight that are asked for, or else published.

        Args:
            weight_bits: The bits that are asked for. If omitted, those published.
        """
        published = self.weight_format.bits if self.weight_format else _UNQUANTIZED_BITS
        return published if weight_bits is None else weight_bits

    def weight_bytes(self, weight_bits: int | None = None) -> int:
        """
        Return the bytes of all weights.

        Args:
            weight_bits:
                Bits of a weight: 16 or 32 for all of them; 8 or 4 for the quantized
                ones, in 4 bits with scales and zero points for groups of 128.
                If omitted, or the same as published, it is the published format.

        Raises:
            ValueError: If it is none of these.
        """
        if weight_bits not in (None, 4, 8, 16, 32):
            raise ValueError(f"weight_bits must be 4, 8, 16 or 32, got {weight_bits}")
        bits = self.bits_of_a_weight(weight_bits)
        published = self.weight_format
        if published is None or published.bits != bits:
            if bits >= _UNQUANTIZED_BITS:
                return self.parameter_count * bits // 8
            published = plain_format(bits)
        return published.bytes_of(
            self.quantizable_parameter_count, self.parameter_count
        )


@functools.cache
def find_architecture(model_id: str) -> ModelArchitecture | None:
    """
    Look a model up by its name on the Hub; ``None`` if the catalogue lacks it.
    """
    config = known_config(model_id)
    return None if config is None else _read(Config(config))


def _alike(model_id: str) -> list[str]:
    """
    Return the catalogued names most like one whose organisation may be missing.
    """
    is_whole = "/" in model_id
    names = {
        (name if is_whole else name.partition("/")[2]).lower(): name
        for name in model_names()
    }
    return [names[one] for one in nearest(model_id.lower(), names)]


def _read(config: Config) -> ModelArchitecture:
    nested = config.part("text_config")
    inner = nested or config
    model_type = inner.word("model_type") or config.word("model_type")
    name = config.architecture or inner.architecture
    family = family_of(model_type, name) or family_of(None, inner.architecture)
    if family is None:
        raise ValueError(_unknown(model_type, name))
    default_name, count = FAMILIES[family]
    defaults = defaults_of(family, nested=nested is not None)
    shape = count(inner.filled(defaults))
    quantization = config.mapping("quantization_config") or inner.mapping(
        "quantization_config"
    )
    total = shape.parameters
    latent = shape.kv_heads == 1 and family.startswith("deepseek")
    return ModelArchitecture(
        architecture=name or default_name,
        model_type=family,
        parameter_count=total,
        active_parameter_count=total - shape.idle_parameters,
        quantizable_parameter_count=shape.layer_weights,
        kv_elements_per_token=shape.kv_elements,
        kv_cache_shards=shape.kv_heads,
        num_hidden_layers=shape.layers,
        hidden_size=shape.hidden,
        active_intermediate_size=shape.mlp,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads if latent else shape.kv_heads,
        head_dim=shape.head_dim,
        vocab_size=shape.vocabulary,
        context_length=shape.context,
        sliding_window=shape.window,
        windowed_layers=shape.windowed_layers,
        state_elements_per_sequence=shape.state_elements,
        weight_format=read_format(quantization, shape) if quantization else None,
    )


def _unknown(model_type: str | None, name: str | None) -> str:
    label = name or model_type
    if label is None:
        return f"config.json has neither architectures nor model_type; {_WAY_IN}"
    classes = [one for one, _ in FAMILIES.values()]
    near = nearest(label, [*classes, *FAMILIES], count=1)
    hint = f" (nearest: {near[0]})" if near else ""
    return f"architecture {label!r} cannot be counted{hint}; {_WAY_IN}"
