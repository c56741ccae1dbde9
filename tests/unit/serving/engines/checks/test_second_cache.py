"""
The second KV cache of Hugging Face's images of vLLM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, Vllm
from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

AT_HUB = {"SM_VLLM_MODEL": "a/b"}


def told(
    environment: Mapping[str, str],
    version: str = "0.29.0",
    family: str = "huggingface-vllm",
    **given: Any,  # noqa: ANN401 - what the checks take by keyword
) -> list[str]:
    """
    Return what is said of the second cache.
    """
    found = engine_findings(
        {**AT_HUB, **environment},
        family=family,
        version=version,
        accelerators=1,
        **given,
    )
    return [one.message for one in found if one.code == "LLM637"]


@pytest.mark.parametrize(
    ("instance_type", "environment", "kept"),
    [
        ("ml.g5.2xlarge", {}, "16.0 of the 32 GiB of the host"),
        (
            "ml.g5.2xlarge",
            {"HF_ENABLE_OPTIMIZATIONS": ""},
            "16.0 of the 32 GiB of the host",
        ),
        (
            "ml.g5.2xlarge",
            {"HF_ENABLE_OPTIMIZATIONS": "1"},
            "16.0 of the 32 GiB of the host",
        ),
        ("ml.g5.xlarge", {"HF_LMCACHE_CPU_FRACTION": "0.25"}, "4.7 of the 16 GiB"),
        ("ml.g5.xlarge", {"HF_LMCACHE_CPU_FRACTION": "0.3"}, "4.8 of the 16 GiB"),
    ],
)
def test_it_takes_half_of_the_host(
    instance_type: str, environment: Mapping[str, str], kept: str
) -> None:
    """
    Or what is said, but 5 GB at least, which are 4.7 GiB.
    """
    (found,) = told(environment, instance_type=instance_type)

    assert found.startswith("HF_ENABLE_LMCACHE is on by default, and keeps a second KV")
    assert f" in {kept}" in found


@pytest.mark.parametrize(
    "environment",
    [
        {"HF_ENABLE_LMCACHE": "0"},
        {"HF_ENABLE_LMCACHE": "1"},
        {"HF_ENABLE_OPTIMIZATIONS": "0"},
        {"HF_ENABLE_OPTIMIZATIONS": "true"},
        {"HF_ENABLE_OPTIMIZATIONS": "${Token[TOKEN.12]}"},
        {"SM_VLLM_KV_TRANSFER_CONFIG": '{"kv_connector":"X","kv_role":"kv_both"}'},
    ],
)
def test_nothing_is_said_where_somebody_decided(
    environment: Mapping[str, str],
) -> None:
    """
    Off, on, all off, or another connector.
    """
    assert told(environment, instance_type="ml.g5.xlarge") == []


@pytest.mark.parametrize(
    ("family", "version", "is_told"),
    [
        ("huggingface-vllm", "0.21.0", False),
        ("huggingface-vllm", "0.22.1", True),
        ("vllm", "0.28.0", False),
        ("vllm-server", "2.6", False),
    ],
)
def test_it_is_in_hugging_faces_images_since_0_22(
    family: str, version: str, *, is_told: bool
) -> None:
    """
    And in none of AWS.
    """
    found = told({}, version, family, instance_type="ml.g5.xlarge")

    assert bool(found) == is_told


@pytest.mark.parametrize(
    ("environment", "architecture", "kind"),
    [
        ({"SM_VLLM_RUNNER": "pooling"}, None, "make embeddings or scores"),
        ({}, "BertModel", "make embeddings or scores"),
        ({}, "Qwen2ForSequenceClassification", "make embeddings or scores"),
        ({}, "Qwen3NextForCausalLM", "keep a state, as Qwen3NextForCausalLM"),
        ({}, "MambaForCausalLM", "keep a state, as MambaForCausalLM"),
    ],
)
def test_some_models_have_no_use_of_it(
    environment: Mapping[str, str], architecture: str | None, kind: str
) -> None:
    """
    Which is said whatever the instance has.
    """
    (found,) = told(environment, architecture=architecture)

    assert found.endswith(
        f"half of the memory of the host; it is not for models that {kind}"
    )


def test_nothing_is_said_of_what_is_not_known() -> None:
    """
    Neither the host nor the model; a fraction that is none says nothing of the size.
    """
    assert told({}) == []
    assert told({}, architecture="LlamaForCausalLM") == []
    for wrong in ("half", "nan", "-1", "1.5"):
        environment = {"HF_LMCACHE_CPU_FRACTION": wrong}
        assert told(environment, instance_type="ml.g5.xlarge") == []


def test_the_class_switches_it_off() -> None:
    """
    Unless told otherwise.
    """
    serving = Vllm("0.29.0", distribution="huggingface")
    prepared = serving.prepare(HuggingFaceModel("a/b"), 1)

    assert prepared.container is not None
    assert prepared.container.environment["HF_ENABLE_LMCACHE"] == "0"
    assert "LLM637" not in [one.code for one in prepared.findings]
