"""
Calling the checks of a serving.properties: what may be said of the model, and left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdk_sagemaker_llm import ModelArchitecture
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.serving import check_properties
from cdk_sagemaker_llm.serving.lmi.checks import property_findings

HEADS = (
    "LLM156 option.tensor_parallel_degree must divide the 40 attention heads, got 3; "
    "use 1, 2, 4, 8"
)
SCHEDULER = (
    "LLM206 option.rolling_batch=auto runs MistralForCausalLM on the slow scheduler in "
    "djl-deepspeed 0.26; write option.rolling_batch=vllm with engine=Python, or "
    "lmi-dist with engine=MPI"
)


def described(name: str) -> ModelArchitecture:
    """
    Return a model of that class with 40 heads.
    """
    return ModelArchitecture.custom(
        parameters=1, kv_bytes_per_token=1, num_attention_heads=40, architecture=name
    )


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        (None, []),
        ("MistralForCausalLM", [SCHEDULER]),
        ("LlamaForCausalLM", []),
        (described("MistralForCausalLM"), [SCHEDULER]),
        (described("LlamaForCausalLM"), [HEADS]),
        ({}, []),
        ({"architectures": []}, []),
        ({"architectures": None, "num_attention_heads": 40}, []),
        ({"architectures": ["MistralForCausalLM", "LlamaForCausalLM"]}, [SCHEDULER]),
        ({"architectures": ["LlamaForCausalLM"], "num_attention_heads": 40}, [HEADS]),
        ({"architectures": ["LlamaForCausalLM"], "num_attention_heads": "40"}, []),
    ],
    ids=str,
)
def test_a_model_is_its_class_its_config_json_or_its_sizes(
    architecture: str | ModelArchitecture | Mapping[str, Any] | None,
    expected: list[str],
) -> None:
    """
    Where its class chooses LMI-Dist, its heads are to be divided.
    """
    found = check_properties(
        "engine=MPI\noption.rolling_batch=auto\noption.tensor_parallel_degree=3\n",
        container="djl-deepspeed",
        version="0.26.0",
        accelerators=3,
        architecture=architecture,
    )

    assert [str(finding) for finding in found] == expected


def test_left_out_a_file_may_run_anything_and_be_read_by_anything() -> None:
    """
    An option without effect is a warning, and no backend is wrong.
    """
    properties = {"engine": "Python", "option.my_own": "1"}
    (found,) = property_findings(
        properties, container="djl-lmi", version="0.36.0", accelerators=None
    )
    (same,) = check_properties(
        "engine=Python\noption.my_own=1\n",
        container="djl-lmi",
        version="0.36.0",
        accelerators=None,
    )

    assert (found.severity, found.code) == (Severity.WARNING, "LLM204")
    assert same == found
