"""
Values without end: what is too deep or too long to be read is a finding, or is left to
the engine, and never a traceback.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.serving import check_environment

DEEP = "[" * 100_000
DEEP_OBJECT = '{"name":' * 3_000
LONG = "9" * 5_000


def codes(name: str, value: str, container: str, version: str) -> set[str]:
    """
    Return what is found of one variable.
    """
    found = check_environment(
        {name: value}, container=container, version=version, accelerators=1
    )
    return {one.code for one in found if name in str(one)}


@pytest.mark.parametrize(
    ("container", "version", "name", "value", "expected"),
    [
        # The name of a function may stand there as well.
        ("vllm-server", "2.6", "SM_VLLM_HF_OVERRIDES", DEEP, set()),
        ("vllm-server", "2.6", "SM_VLLM_SPECULATIVE_CONFIG", DEEP, {"LLM504"}),
        (
            "vllm-server",
            "2.6",
            "SM_VLLM_LORA_MODULES",
            DEEP_OBJECT,
            {"LLM504", "LLM621"},
        ),
        ("vllm-server", "2.6", "SM_VLLM_MAX_MODEL_LEN", LONG, {"LLM504"}),
        ("vllm-server", "2.6", "SM_VLLM_MAX_MODEL_LEN", f"{LONG}k", {"LLM504"}),
        ("vllm-server", "2.6", "SM_VLLM_MIDDLEWARE", f"{DEEP}]", set()),
        ("vllm", "0.22.0", "SM_VLLM_MIDDLEWARE", DEEP, set()),
        ("vllm-server", "2.6", "PROCESS_MAX_START_RETRIES", LONG, {"LLM623"}),
        ("vllm-server", "2.6", "PROCESS_MAX_START_RETRIES", f"{'0' * 5_000}9", set()),
        ("tei", "1.9.3", "MAX_BATCH_TOKENS", LONG, {"LLM527"}),
        ("tei", "1.9.3", "MAX_BATCH_TOKENS", "0" * 5_000, {"LLM529"}),
        ("tei", "1.9.3", "MAX_BATCH_TOKENS", f"+{'0' * 5_000}16384", set()),
    ],
)
def test_what_has_no_end_is_no_traceback(
    container: str, version: str, name: str, value: str, expected: set[str]
) -> None:
    """
    Python's own limits are no reason to fall over a template of somebody else's.
    """
    assert codes(name, value, container, version) == expected
