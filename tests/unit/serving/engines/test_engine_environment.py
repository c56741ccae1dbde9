"""
What vLLM is told of adapters, and of which images that is known.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.images import find_image
from cdk_sagemaker_llm.serving.adapters import AdapterHost
from cdk_sagemaker_llm.serving.engines.engine_environment import (
    adapter_settings,
)

IMAGE = find_image("vllm-server", "2.6")
ON = {"SM_VLLM_ENABLE_LORA": "true", "SM_VLLM_MAX_LORA_RANK": "64"}
SWITCH = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true"}


@pytest.mark.parametrize(
    ("family", "version"),
    [("vllm-server", "9.9"), ("djl-lmi", "0.36.0"), ("tei", "1.9.3"), ("no", "1")],
)
def test_of_other_images_nothing_is_known(family: str, version: str) -> None:
    """
    Nor of an engine without an entry point that takes arguments.
    """
    assert adapter_settings(ON, family, version) is None


@pytest.mark.parametrize(
    ("variables", "settings"),
    [
        (ON, AdapterHost(image=IMAGE, is_on=None, largest_rank=64, switches=SWITCH)),
        (
            {**ON, **SWITCH},
            AdapterHost(image=IMAGE, is_on=True, largest_rank=64, switches={}),
        ),
        (
            {**ON, "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "0"},
            AdapterHost(image=IMAGE, is_on=False, largest_rank=64, switches={}),
        ),
    ],
)
def test_of_vllm_it_is(variables: dict[str, str], settings: AdapterHost) -> None:
    """
    Whether it takes some, how large, and what it lacks.
    """
    assert adapter_settings(variables, "vllm-server", "2.6") == settings
