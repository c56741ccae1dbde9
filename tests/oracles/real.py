"""
Counting the real classes of ``transformers``, on the meta device.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="run by make oracles: torch is large")
transformers = pytest.importorskip("transformers", reason="run by make oracles")

# What writes text is built by the part that does, whatever reads images beside it.
_WRITES = ("ForCausalLM", "ForConditionalGeneration")


def real_count(model_type: str, values: dict[str, Any], name: str | None = None) -> int:
    """
    Count the parameters of a class.

    Args:
        model_type: The family, such as ``llama``.

        values: The keys of its configuration.

        name: The class. If left out, it is the family's that writes text.
    """
    config = transformers.AutoConfig.for_model(model_type, **values)
    with torch.device("meta"):
        if name is None or name.endswith(_WRITES):
            model = transformers.AutoModelForCausalLM.from_config(config)
        else:
            model = getattr(transformers, name)(config)
    return sum(parameter.numel() for parameter in model.parameters())
