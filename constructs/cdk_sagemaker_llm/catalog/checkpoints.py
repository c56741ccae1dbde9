"""
What the files of a model on the Hub say beyond its sizes: data type, length, code.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.architectures import known_config

# What a name adds to that of the model that was quantized.
_ADDED = re.compile(
    r"[-_.](?:awq|gptq|gguf|bnb|fp8|nvfp4|int4|int8|4bit|8bit|w4a16|w8a8|w8a16"
    r"|quantized|unsloth|dynamic|marlin|hf|128g|g128|asym|sym|mlx|autoround)(?=\Z|[-_.])",
    re.IGNORECASE,
)

_KEEPS_DTYPE = ("redhatai/", "neuralmagic/", "unsloth/")


def known_checkpoint(
    model_id: str, *, is_copy: bool = False
) -> Mapping[str, Any] | None:
    """
    Return the known keys of a model's config.json, with ``tokenizer`` and ``facts``
    beside them; ``None`` for a model that the catalogue does not have.

    Of a quantized copy it is what is known of the model that it is of.
    """
    tables = load("checkpoints.json")
    name = _plain(model_id) if is_copy else model_id.lower()
    listed = (_by_plain_name() if is_copy else _by_name()).get(name)
    sizes = known_config(listed or model_id)
    if sizes is None and listed is None:
        return None
    own = tables["models"].get(listed) or {}
    shape = tables["shapes"].get(own.get("shape") or _shape(listed or model_id), {})
    config = {**(sizes or {}), **shape, **own}
    config.pop("shape", None)
    method = (sizes or {}).get("quantization_config", {}).get("quant_method")
    # Who quantizes to 4 bits may save another data type than that of the original;
    # those that are known to keep it are named.
    is_named = "torch_dtype" in own and not is_copy
    is_kept = is_named or model_id.lower().startswith(_KEEPS_DTYPE)
    if (method in {"awq", "gptq"} or is_copy) and not is_kept:
        config.pop("torch_dtype", None)
    return config


def class_facts(name: str) -> Mapping[str, Any]:
    """
    Return what all checkpoints of a class have in common.
    """
    facts: Mapping[str, Any] = load("checkpoints.json")["classes"].get(name, {})
    return facts


def quantized_copies(model_id: str) -> list[str]:
    """
    Return the quantized copies of a model that the catalogue has, by their names, those
    of its own organisation first.
    """
    own = model_id.lower().partition("/")[0]
    found = [
        name
        for name in load("architectures.json")["models"]
        if name.lower() != model_id.lower()
        and _plain(name) == _plain(model_id)
        and (known_config(name) or {}).get("quantization_config")
    ]
    return sorted(found, key=lambda name: (not name.lower().startswith(own), name))


def _shape(model_id: str) -> str:
    names = load("architectures.json")["models"]
    return str(names.get(_by_name().get(model_id.lower(), model_id), ""))


@functools.cache
def _by_name() -> Mapping[str, str]:
    names = [*load("architectures.json")["models"], *load("checkpoints.json")["models"]]
    return {name.lower(): name for name in names}


@functools.cache
def _by_plain_name() -> Mapping[str, str]:
    return {_plain(name): name for name in reversed([*_by_name().values()])}


def _plain(model_id: str) -> str:
    name = model_id.rpartition("/")[2]
    while (shorter := _ADDED.sub("", name)) != name:
        name = shorter
    return name.lower()
