"""
Comparing what small configurations are counted as.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from cdk_sagemaker_llm import ModelArchitecture

Config = Mapping[str, Any]

# As a value: the key is left out.
LEFT_OUT = object()


def count(config: Config, **changed: object) -> ModelArchitecture:
    """
    Count a configuration with some keys changed, or left out.
    """
    whole = {**config, **changed}
    return ModelArchitecture.from_config(
        {key: value for key, value in whole.items() if value is not LEFT_OUT}
    )


def differences(
    before: ModelArchitecture, after: ModelArchitecture
) -> dict[str, object]:
    """
    Return what differs, as it is afterwards.
    """
    return {
        one.name: getattr(after, one.name)
        for one in fields(before)
        if getattr(before, one.name) != getattr(after, one.name)
    }
