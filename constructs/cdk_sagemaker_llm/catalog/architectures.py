"""
Configurations of models that people deploy, by their names on the Hugging Face Hub.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.catalog._data import load


def known_config(model_id: str) -> Mapping[str, Any] | None:
    """
    Return the keys of a model's config.json that sizes depend on; ``None`` without.
    """
    name = _by_lower_case().get(model_id.lower())
    if name is None:
        return None
    tables = load("architectures.json")
    config: Mapping[str, Any] = tables["configs"][tables["models"][name]]
    published = tables["formats"].get(name)
    if published is None:
        return config
    return {**config, "quantization_config": tables["quantizations"][published]}


def model_names() -> tuple[str, ...]:
    """
    Return the names of all models in the catalogue.
    """
    return tuple(load("architectures.json")["models"])


@functools.cache
def _by_lower_case() -> Mapping[str, str]:
    return {name.lower(): name for name in model_names()}
