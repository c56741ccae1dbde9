"""
What SGLang's parser takes and its start refuses, each rule on both sides.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cdk_sagemaker_llm.serving.engines.engine_environment import engine_findings

CONTEXT = {"architectures": ["LlamaForCausalLM"], "context_length": 8192}
P = "SM_SGLANG_"


def codes(
    environment: Mapping[str, str], version: str = "1.4", family: str = "sglang-server"
) -> list[str]:
    """
    Return what is found of the start.
    """
    found = engine_findings(
        environment,
        family=family,
        version=version,
        accelerators=None,
        architecture=CONTEXT,
    )
    return [one.code for one in found if one.code in {"LLM504", "LLM537", "LLM644"}]


@pytest.mark.parametrize(
    "environment",
    [
        {f"{P}LOG_LEVEL": "warn"},
        {f"{P}LOG_LEVEL": "fatal"},
        {f"{P}LOG_LEVEL": "notset"},
        {f"{P}LOG_LEVEL": "info", f"{P}LOG_LEVEL_HTTP": "warn"},
        {f"{P}ENABLE_DP_ATTENTION": "true", f"{P}TP_SIZE": "4", f"{P}DP_SIZE": "3"},
        {f"{P}ENABLE_DP_ATTENTION": "true", f"{P}TP_SIZE": "1", f"{P}DP_SIZE": "2"},
        {f"{P}ENABLE_LORA": "true"},
        {f"{P}ENABLE_LORA": "true", f"{P}MAX_LORA_RANK": "16"},
        {f"{P}ENABLE_HIERARCHICAL_CACHE": "true", f"{P}DISABLE_RADIX_CACHE": "true"},
        {f"{P}SERVED_MODEL_NAME": "model:large"},
    ],
    ids=str,
)
def test_what_the_start_refuses_is_an_error(environment: Mapping[str, str]) -> None:
    """
    One, of that rule alone.
    """
    assert codes(environment) == ["LLM537"]


@pytest.mark.parametrize(
    "environment",
    [
        {f"{P}LOG_LEVEL": "warning"},
        # Python's logging knows it, and uvicorn has a level of its own.
        {f"{P}LOG_LEVEL": "warn", f"{P}LOG_LEVEL_HTTP": "trace"},
        {f"{P}ENABLE_DP_ATTENTION": "true", f"{P}TP_SIZE": "4", f"{P}DP_SIZE": "2"},
        {f"{P}TP_SIZE": "4", f"{P}DP_SIZE": "3"},
        {
            f"{P}ENABLE_LORA": "true",
            f"{P}MAX_LORA_RANK": "16",
            f"{P}LORA_TARGET_MODULES": "all",
        },
        {f"{P}ENABLE_LORA": "true", f"{P}LORA_PATHS": "a=/opt/ml/model/a"},
        {f"{P}ENABLE_HIERARCHICAL_CACHE": "true"},
        {f"{P}DISABLE_RADIX_CACHE": "true"},
        {f"{P}SERVED_MODEL_NAME": "model"},
        {f"{P}SERVED_MODEL_NAME": "s3://bucket/model"},
        {f"{P}CONTEXT_LENGTH": "8192"},
        {
            f"{P}CONTEXT_LENGTH": "8193",
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1",
        },
        # Deployment may say so, too.
        {
            f"{P}CONTEXT_LENGTH": "8193",
            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "${Token[TOKEN.12]}",
        },
        {f"{P}CONTEXT_LENGTH": "8193", f"{P}JSON_MODEL_OVERRIDE_ARGS": "{}"},
    ],
    ids=str,
)
def test_what_starts_is_none(environment: Mapping[str, str]) -> None:
    """
    The same arguments within their rules.
    """
    assert codes(environment) == []


def test_a_context_that_is_too_long_is_doubted() -> None:
    """
    A config.json may say that positions are scaled.
    """
    assert codes({f"{P}CONTEXT_LENGTH": "8193"}) == ["LLM644"]


def test_a_colon_is_refused_since_adapters_are_named_by_it() -> None:
    """
    SGLang 0.5.5 takes it still.
    """
    environment = {f"{P}SERVED_MODEL_NAME": "model:large"}

    assert codes(environment, "0.5.5", "sglang") == []
    assert codes(environment, "0.5.6", "sglang") == ["LLM537"]


def test_the_levels_that_are_named_are_good_ones() -> None:
    """
    The way out is no way into the next error.
    """
    (found,) = [
        one
        for one in engine_findings(
            {f"{P}LOG_LEVEL": "loud"},
            family="sglang-server",
            version="1.4",
            accelerators=None,
        )
        if one.code == "LLM504"
    ]

    assert "critical, error, warning, info or debug" in found.message
    assert "notset" not in found.message
