"""
DeepSpeed on LMI images: what each parameter writes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import DeepSpeed, HuggingFaceModel, SmoothQuant
from tests.unit.serving.answers import container_of
from tests.unit.serving.lmi.parameters import (
    COMMON,
    MODEL,
    Row,
    all_of,
    keywords_of,
    named_in,
    text_of,
)

OWN: list[Row] = [
    ("rolling_batch", "auto", "option.rolling_batch=auto"),
    ("quantize", "dynamic_int8", "option.quantize=dynamic_int8"),
    ("max_tokens", 2048, "option.max_tokens=2048"),
    ("enable_cuda_graph", True, "option.enable_cuda_graph=true"),
    ("triangular_masking", False, "option.triangular_masking=false"),
    ("low_cpu_mem_usage", True, "option.low_cpu_mem_usage=true"),
    ("checkpoint", "c.json", "option.checkpoint=c.json"),
    ("task", "text-generation", "option.task=text-generation"),
    ("smoothquant", SmoothQuant(alpha=0.5), "option.smoothquant_alpha=0.5"),
]
NEEDS = {"checkpoint": {"dtype": "fp16"}}


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the line that it writes.
    """
    assert named_in(COMMON, OWN) == keywords_of(DeepSpeed)


@pytest.mark.parametrize(
    ("keyword", "value", "line"), [*COMMON, *OWN], ids=lambda value: str(value)[:40]
)
def test_a_parameter_writes_its_line(keyword: str, value: object, line: str) -> None:
    """
    The option that DeepSpeed reads, and no other.
    """
    given = {**NEEDS.get(keyword, {}), keyword: value}
    serving = DeepSpeed("0.27.0", **given)  # type: ignore[arg-type] # any of all

    assert line in text_of(serving).splitlines()


def test_all_parameters_are_written_in_their_order() -> None:
    """
    Of the two that name a quantization, one.
    """
    model = HuggingFaceModel("org/model", revision="abc123")
    serving = DeepSpeed("0.27.0", **all_of(COMMON, OWN, but=["quantize"]))

    assert text_of(serving, model) == (
        "engine=DeepSpeed\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=org/model\n"
        "option.revision=abc123\n"
        "option.max_rolling_batch_size=24\n"
        "option.rolling_batch=auto\n"
        "option.model_loading_timeout=900\n"
        "option.predict_timeout=60\n"
        "option.dtype=fp16\n"
        "option.trust_remote_code=true\n"
        "option.output_formatter=jsonlines\n"
        "option.max_tokens=2048\n"
        "option.enable_cuda_graph=true\n"
        "option.triangular_masking=false\n"
        "option.low_cpu_mem_usage=true\n"
        "option.checkpoint=c.json\n"
        "option.task=text-generation\n"
        "option.quantize=smoothquant\n"
        "option.smoothquant_alpha=0.5\n"
        "job_queue_size=500\n"
        "option.brand_new=1.5\n"
    )


def test_what_is_written_of_nothing_but_a_model() -> None:
    """
    The launcher and the scheduler that choose it.
    """
    assert text_of(DeepSpeed("0.26.0")) == (
        "engine=DeepSpeed\noption.model_id=org/model\noption.rolling_batch=deepspeed\noption.model_loading_timeout=1800\n"
    )


def test_its_image_is_of_its_own_family() -> None:
    """
    Which has Accelerate, vLLM and LMI-Dist as well.
    """
    image = container_of(DeepSpeed("0.26.0"), MODEL, 1).image

    assert (image.family, image.version) == ("djl-deepspeed", "0.26.0")


def test_what_it_asks_of_the_memory_is_not_modelled() -> None:
    """
    No plan is made with it.
    """
    assert DeepSpeed("0.26.0").prepare(MODEL, 1).demand is None


@pytest.mark.parametrize(
    ("rolling_batch", "codes"),
    [(None, ["LLM175"]), ("auto", ["LLM175"]), ("disable", [])],
)
def test_a_model_without_a_rolling_batch_is_served_without_one(
    rolling_batch: str | None, codes: list[str]
) -> None:
    """
    As the finding says.
    """
    mistral = HuggingFaceModel("a/b", architecture="MistralForCausalLM")
    serving = DeepSpeed("0.27.0", rolling_batch=rolling_batch, tensor_parallel_degree=1)
    found = serving.prepare(mistral, 1).findings

    assert [each.code for each in found if each.code < "LLM2"] == codes
