"""
In what format weights are published: by ``quantization_config`` of a
``config.json``, or by the type of a GGUF file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.architectures.config import Shape
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.text import any_of, nearest

_SCALE_BITS = 16
_GROUP = 128
# A scale in 8 bits for 32 weights (OCP Microscaling), or for 16 (NVFP4).
_MXFP4_SCALE, _NVFP4_SCALE = 8 / 32, 8 / 16
# bitsandbytes: a scale of 32 bits for 64 weights; in 8 bits, and for 256 of them one
# of 32 bits, where it quantizes the scales too.
_BNB_SCALE, _BNB_TWICE = 32 / 64, 8 / 64 + 32 / (64 * 256)
_LAYER = re.compile(r"layers(?:\.|\\\.)(\d+)(?!\d)")
_MLP = ("mlp", "experts", "feed_forward")
_MLP_PARTS = ("gate_proj", "up_proj", "down_proj")
_QUERY_PARTS, _KEY_PARTS = ("q_proj", "o_proj"), ("k_proj", "v_proj")

# Embedding and head keep at least Q6_K's bits in the mixed types below it.
_KEPT_BITS = 6.5633


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightFormat:
    """
    How many bits the quantized weights of a model take, and which stay in 16.

    Args:
        method: The format's name, such as ``fp8`` or ``awq``.

        bits: Bits of a quantized weight.

        scale_bits: Bits of scales and zero points for each of those weights.

        spared: Weights of linear layers in the blocks that are not quantized.
    """

    method: str
    bits: int
    scale_bits: float = 0.0
    spared: int = 0

    def bytes_of(self, quantizable: int, parameters: int) -> int:
        """
        Return the bytes of all weights.

        Args:
            quantizable: The weights of linear layers in the blocks.

            parameters: All parameters; those that are not quantized have 16 bits.
        """
        quantized = quantizable - self.spared
        bits = quantized * self.bits + int(quantized * self.scale_bits)
        return (bits + (parameters - quantized) * 16) // 8


def plain_format(bits: int) -> WeightFormat:
    """
    Return the usual format of so many bits.

    In 4 bits, groups of 128 weights have a scale and a zero point, as with GPTQ and
    AWQ; in 8 bits, as fp8 and int8, a scale is for a whole row.
    """
    scales = (_SCALE_BITS + bits) / _GROUP if bits == 4 else 0.0  # noqa: PLR2004
    return WeightFormat(method=f"{bits} bits", bits=bits, scale_bits=scales)


def read_format(values: Mapping[str, Any], shape: Shape) -> WeightFormat | None:
    """
    Read a ``quantization_config``; ``None`` if it is of no known kind.
    """
    method = str(values.get("quant_method") or "").lower().replace("_", "-")
    found = _format(method, values)
    if found is None:
        return None
    bits, scales = found
    return WeightFormat(
        method=method, bits=bits, scale_bits=scales, spared=_spared(values, shape)
    )


def gguf_bytes(gguf_type: str, quantizable: int, parameters: int) -> tuple[int, int]:
    """
    Return the bytes of all weights: as of the model that the bits are of, and at most.

    A model whose embedding is a larger part of it than Llama's is has more bits.
    """
    bits = gguf_bits(gguf_type)
    usual = int(parameters * bits / 8)
    kept = (parameters - quantizable) * max(bits, _KEPT_BITS)
    return usual, max(usual, int((quantizable * bits + kept) / 8))


def gguf_bits(gguf_type: str) -> float:
    """
    Return the bits of a weight, on average of a model's.
    """
    name, types = gguf_type.upper(), load("gguf_types.json")
    bits: Mapping[str, float] = types["bits"]
    found = bits.get(types["aliases"].get(name, name))
    if found is None:
        near = nearest(name, list(bits)) or list(bits)
        raise ValueError(f"gguf_type must be such as {any_of(near)}, got {gguf_type!r}")
    return found


def _format(method: str, values: Mapping[str, Any]) -> tuple[int, float] | None:
    reader = _READERS.get(method)
    if reader is not None:
        return reader(values)
    if "fp8" in method:
        return 8, _block_scale(values.get("weight_block_size"))
    if method in ("awq", "gptq") or "bits" in values:
        return _grouped(_number(values, "bits", "w_bit") or 4, values)
    return None


def _spared(values: Mapping[str, Any], shape: Shape) -> int:
    """
    Count the weights of modules that stay as they are, each layer's part once.
    """
    names = [
        name
        for key in ("modules_to_not_convert", "ignore", "llm_int8_skip_modules")
        for name in (values.get(key) or ())
        if isinstance(name, str)
    ]
    parts: dict[tuple[int, str], int] = {}
    for name in names:
        match = _LAYER.search(name)
        layers = [int(match[1])] if match else range(shape.layers)
        for part, weights in _parts(name, shape, is_layer=match is not None).items():
            parts |= {(layer, part): weights for layer in layers}
    return min(
        sum(n for (layer, _), n in parts.items() if layer < shape.layers),
        shape.layer_weights,
    )


def _block_scale(block: object) -> float:
    """
    Return the bits of a scale of 32 bits for a block, such as of 128 by 128 weights.
    """
    if not isinstance(block, Sequence) or isinstance(block, str):
        return 0.0
    sides = [side for side in block if isinstance(side, int) and side > 0]
    return 32 / (sides[0] * sides[1]) if len(sides) == 2 else 0.0  # noqa: PLR2004


def _grouped(bits: int, values: Mapping[str, Any]) -> tuple[int, float]:
    """
    Return the bits of scales and zero points; a group of -1, or none, is a row.
    """
    group = _number(values, "group_size", "q_group_size")
    if group is None:
        return bits, _block_scale(values.get("block_structure"))
    has_zeros = values.get("zero_point") is not False
    return bits, (_SCALE_BITS + (bits if has_zeros else 0)) / group


def _number(values: Mapping[str, Any], *names: str) -> int | None:
    found = (values.get(name) for name in names)
    return next((one for one in found if type(one) is int and one > 0), None)


def _parts(name: str, shape: Shape, *, is_layer: bool) -> dict[str, int]:
    """
    Return the weights of one layer that a name stands for, by projection.
    """
    mlp = (shape.layer_weights - shape.attention_weights) // shape.layers
    attention = shape.attention_weights // shape.layers
    ratio = attention // (2 * shape.heads + 2 * shape.kv_heads)
    sizes = dict.fromkeys(_MLP_PARTS, mlp // 3)
    sizes |= dict.fromkeys(_QUERY_PARTS, ratio * shape.heads)
    sizes |= dict.fromkeys(_KEY_PARTS, ratio * shape.kv_heads)
    if shape.expert_weights and _is_beside_experts(name):
        return {"beside": mlp - shape.expert_weights // shape.layers}
    for part, weights in sizes.items():
        if part in name:
            return {part: weights}
    if "attn" in name or "attention" in name:
        return {p: sizes[p] for p in (*_QUERY_PARTS, *_KEY_PARTS)}
    if name.rstrip("$*.").endswith(("gate", "router")):
        return {}
    if any(word in name for word in _MLP):
        return {p: sizes[p] for p in _MLP_PARTS}
    end = name.rstrip("$*.").rsplit(".", 1)[-1]
    return sizes if is_layer and end.isdigit() else {}


def _is_beside_experts(name: str) -> bool:
    """
    Whether a name stands for the expert that all tokens pass, or for dense MLPs, as
    ``re:.*mlp\\.(gate|up|down)_proj.*``: experts have their own names below an MLP's.
    """
    if "expert" in name:
        return "shared_expert" in name
    return "_proj" in name and any(word in name for word in _MLP)


def _modelopt(values: Mapping[str, Any]) -> tuple[int, float]:
    algorithm = str(values.get("quant_algo") or "FP8").upper()
    return (4, _NVFP4_SCALE) if "FP4" in algorithm else (8, 0.0)


def _bitsandbytes(values: Mapping[str, Any]) -> tuple[int, float]:
    if not _is_set(values, "load_in_4bit"):
        return 8, 0.0
    twice = _is_set(values, "bnb_4bit_use_double_quant")
    return 4, _BNB_TWICE if twice else _BNB_SCALE


def _is_set(values: Mapping[str, Any], name: str) -> bool:
    return values.get(name) is True or values.get(f"_{name}") is True


def _compressed_tensors(values: Mapping[str, Any]) -> tuple[int, float] | None:
    """
    Return the widest of the groups: of several, nobody says how large each is.
    """
    groups = values.get("config_groups")
    weights = [
        group["weights"]
        for group in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping)
    ]
    formats = [
        _grouped(bits, {"zero_point": not one.get("symmetric", True), **one})
        for one in weights
        if (bits := _number(one, "num_bits")) is not None
    ]
    return max(formats, default=None)


_READERS: Mapping[str, Callable[[Mapping[str, Any]], tuple[int, float] | None]] = {
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed_tensors,
    "modelopt": _modelopt,
    "mxfp4": lambda _: (4, _MXFP4_SCALE),
}
