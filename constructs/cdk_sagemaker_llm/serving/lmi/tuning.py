"""
Settings that are one decision and several options: RoPE scaling and SmoothQuant.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cdk_sagemaker_llm.arguments import hold_kinds, hold_known
from cdk_sagemaker_llm.serving.lmi.properties import PropertyValue


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """
    Scale rotary positions, so that prompts may be longer than in training.

    ``RopeScaling("dynamic", factor=2.0)``

    Args:
        type: ``linear``, or ``dynamic`` with the length of the prompt.

        factor: How many times the training length; above 1.

    Raises:
        ValueError: If the factor is not above 1.
    """

    type: Literal["linear", "dynamic"]
    factor: float

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the rule that both engines state.
        """
        hold_known(self)
        if isinstance(self.factor, int | float) and not self.factor > 1:
            raise ValueError(f"factor must be above 1, got {self.factor}")
        hold_kinds(self)

    def as_tensorrt_llm(self) -> Mapping[str, PropertyValue]:
        """
        Write both options, which TensorRT-LLM takes only together.
        """
        return {
            "option.rotary_scaling_type": self.type,
            "option.rotary_scaling_factor": float(self.factor),
        }

    def as_json(self) -> str:
        """
        Write the object that a model's config.json has under ``rope_scaling``.
        """
        value = {"factor": float(self.factor), "rope_type": self.type}
        return json.dumps(value, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True, slots=True)
class SmoothQuant:
    """
    Quantize weights and activations to 8 bits, smoothing the activations' outliers.

    ``SmoothQuant(alpha=0.8, per_token=True, per_channel=True)``

    Args:
        alpha:
            How much of the outliers moves into the weights, 0 to 1.
            If left out, it is the backend's default, 0.8 in TensorRT-LLM.

        per_token: Whether activations are scaled per token; TensorRT-LLM only.

        per_channel: Whether weights are scaled per channel; TensorRT-LLM only.

    Raises:
        ValueError: If alpha is outside 0 to 1.
    """

    alpha: float | None = None
    per_token: bool = False
    per_channel: bool = False

    def __post_init__(self) -> None:
        """
        Hold each field to its kind, and the range.
        """
        hold_known(self)
        if isinstance(self.alpha, int | float) and not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha must be from 0 to 1, got {self.alpha}")
        hold_kinds(self)

    def as_tensorrt_llm(self) -> Mapping[str, PropertyValue]:
        """
        Write the quantization and what differs from its defaults.
        """
        scaling = {
            "option.smoothquant_per_token": self.per_token,
            "option.smoothquant_per_channel": self.per_channel,
        }
        return {**self.as_deepspeed(), **{k: True for k, v in scaling.items() if v}}

    def as_deepspeed(self) -> Mapping[str, PropertyValue]:
        """
        Write the quantization and its alpha.
        """
        alpha = {} if self.alpha is None else {"option.smoothquant_alpha": self.alpha}
        return {"option.quantize": "smoothquant", **alpha}
