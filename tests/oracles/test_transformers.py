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

torch = pytest.importorskip("torch", reason="run by make oracles: torch is large")
transformers = pytest.importorskip("transformers", reason="run by make oracles")

CONFIGS: dict[str, dict[str, Any]] = load("architectures.json")["configs"]
# Older files leave the classes' own names for these.
_ITS_NAMES = {"max_seq_len": "max_seq_len", "n_embed": "hidden_size"}


def real_count(values: dict[str, Any]) -> int:
    """
    Count the parameters of the class that a configuration names.
    """
    known = {_ITS_NAMES.get(key, key): value for key, value in values.items()}
    model_type = known.pop("model_type")
    known.pop("architectures")
    config = transformers.AutoConfig.for_model(model_type, **known)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("name", CONFIGS)
def test_the_count_is_that_of_the_real_class(name: str) -> None:
    """
    To the parameter.
    """
    counted = ModelArchitecture.from_config(CONFIGS[name]).parameter_count

    assert counted == real_count(CONFIGS[name])
