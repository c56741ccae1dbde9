"""
Which values the parameters of LMI backends take.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, LmiDist, LmiVllm, NeuronX, TensorRtLlm
from cdk_sagemaker_llm.findings import errors_of
from cdk_sagemaker_llm.serving.lmi.base import LmiServing
from tests.unit.serving.answers import findings_of
from tests.unit.serving.lmi.parameters import MODEL

TOKEN = -1.8881545897087626e289


def told(serving: LmiServing) -> list[str]:
    """
    Return the errors that are told of a configuration.
    """
    return [str(finding) for finding in errors_of(findings_of(serving, MODEL, 8))]


@pytest.mark.parametrize(
    ("serving", "message"),
    [
        (
            LmiVllm(max_model_len=-1),
            "LLM137 max_model_len must be at least 1, got -1",
        ),
        (
            LmiVllm(max_model_len=0),
            "LLM137 max_model_len must be at least 1, got 0",
        ),
        (
            LmiVllm(gpu_memory_utilization=2),
            "LLM137 gpu_memory_utilization must be above 0 and at most 1, got 2",
        ),
        (
            LmiVllm(gpu_memory_utilization=0),
            "LLM137 gpu_memory_utilization must be above 0 and at most 1, got 0",
        ),
        (
            LmiVllm("0.30.0", options={"option.gpu_memory_utilization": 1.01}),
            (
                "LLM137 option.gpu_memory_utilization must be above 0 and at most 1, "
                "got 1.01"
            ),
        ),
        (
            LmiVllm(kv_cache_dtype="foo"),
            (
                "LLM136 kv_cache_dtype must be one such as auto, fp8 or bfloat16, got "
                "'foo'; pass another in unchecked_options"
            ),
        ),
        (
            LmiVllm(kv_cache_dtype="fp8_e5m3"),
            (
                "LLM136 kv_cache_dtype must be one such as auto, fp8 or bfloat16, got "
                "'fp8_e5m3'; write fp8_e5m2, or pass another in unchecked_options"
            ),
        ),
        (
            LmiVllm(options={"option.kv_cache_dtype": "foo"}),
            (
                "LLM136 option.kv_cache_dtype must be one such as auto, fp8 or "
                "bfloat16, got 'foo'; pass another in unchecked_options"
            ),
        ),
        (
            LmiDist("0.30.0", max_loras=0),
            "LLM137 max_loras must be at least 1, got 0",
        ),
        (
            TensorRtLlm("0.26.0", max_input_len=-4),
            "LLM137 max_input_len must be at least 1, got -4",
        ),
        (
            NeuronX("0.29.0", n_positions=0),
            "LLM137 n_positions must be at least 1, got 0",
        ),
    ],
)
def test_fails_outside_its_bounds(serving: LmiServing, message: str) -> None:
    """
    Whether it is written as a parameter or as an option.
    """
    assert told(serving) == [message]


@pytest.mark.parametrize(
    "serving",
    [
        LmiVllm(max_model_len=1),
        LmiVllm(gpu_memory_utilization=1),
        LmiVllm(gpu_memory_utilization=0.01),
        LmiVllm(kv_cache_dtype="fp8_e5m2"),
        LmiVllm(unchecked_options={"option.kv_cache_dtype": "foo"}),
        LmiVllm(options={"option.max_model_len": -1}),
        TensorRtLlm("0.26.0", kv_cache_free_gpu_mem_fraction=1.0),
    ],
    ids=repr,
)
def test_takes_what_is_within(serving: LmiServing) -> None:
    """
    The bounds themselves, and what is not to be checked.
    """
    assert told(serving) == []


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("Foo", "write the class in the model's config.json, under architectures"),
        ("Mistrall", "did you mean 'MistralForCausalLM'?"),
    ],
)
def test_a_class_that_decides_the_backend_is_named(name: str, way_out: str) -> None:
    """
    Where it is likely mistaken, the file itself needs no change.
    """
    model = HuggingFaceModel("a/b", architecture=name)
    (found,) = errors_of(findings_of(LmiVllm("0.36.0"), model, 8))

    assert str(found) == (
        "LLM134 the file runs huggingface in djl-lmi 0.36-lmi27, not vllm; "
        f"architecture {name!r} is no class that is known: {way_out}"
    )


def test_an_option_without_its_prefix_is_told_its_parameter() -> None:
    """
    What the backend reads, and how it is best written.
    """
    (message,) = told(LmiVllm(options={"max_model_len": 4096}))

    assert message == (
        "LLM158 max_model_len has no effect: the backend reads option.max_model_len; "
        "as a parameter, write max_model_len"
    )


@pytest.mark.parametrize(
    "name", ["max_model_len", "gpu_memory_utilization", "tensor_parallel_degree"]
)
def test_a_number_of_the_deployment_is_told_as_that(name: str) -> None:
    """
    Never as the digits of its placeholder.
    """
    given: dict[str, Any] = {name: TOKEN}
    (message,) = told(LmiVllm(**given))

    assert message == (
        f"LLM114 option.{name} is known only at deployment, too late for a file; pass "
        "it in an environment variable"
    )
