"""
Parameter counts against the real model classes, on the meta device.

Development only: ``make oracles`` installs ``transformers`` and PyTorch into an
environment of their own, and runs this.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.architectures import ModelArchitecture
from cdk_sagemaker_llm.catalog._data import load
from tests.oracles.real import real_count

CONFIGS: dict[str, dict[str, Any]] = load("architectures.json")["configs"]
# Older files leave the classes' own names for these.
_ITS_NAMES = {"n_embed": "hidden_size"}
_NOMICS_NAMES = {
    "n_embd": "hidden_size",
    "n_inner": "intermediate_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_positions": "max_position_embeddings",
}
# Files that came with code of their own, before transformers had the class.
_ITS_CLASSES = {"NewModel": ("gte", "GteModel")}


def count_of(values: dict[str, Any]) -> int:
    """
    Count the parameters of the class that a configuration names.
    """
    (name,) = values["architectures"]
    model_type, name = _ITS_CLASSES.get(name, (values["model_type"], name))
    renamed = _NOMICS_NAMES if model_type == "nomic_bert" else _ITS_NAMES
    known = {renamed.get(key, key): value for key, value in values.items()}
    del known["model_type"], known["architectures"]
    return real_count(model_type, known, name)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_count_is_that_of_the_real_class(name: str) -> None:
    """
    To the parameter.
    """
    counted = ModelArchitecture.from_config(CONFIGS[name]).parameter_count

    assert counted == count_of(CONFIGS[name])
