"""
Serving configurations against the memory they will have.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LmiDist,
    NeuronX,
    S3Model,
    ServingFolder,
    SmoothQuant,
    TensorRtLlm,
    Tgi,
    Vllm,
)
from cdk_sagemaker_llm.catalog.instances import find_instance_type
from cdk_sagemaker_llm.demand import Demand, weight_bits_of
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.configuration import ServingConfiguration
from cdk_sagemaker_llm.serving.loading import loading_seconds

LLAMA_13B = HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf")
LLAMA_70B = HuggingFaceModel("meta-llama/Llama-2-70b-hf")
MIXTRAL = HuggingFaceModel("mistralai/Mixtral-8x7B-v0.1")
MISTRAL = HuggingFaceModel("mistralai/Mistral-7B-v0.1")
QWEN_7B = HuggingFaceModel("Qwen/Qwen2.5-7B-Instruct")
REFERENCE_C = Tgi(
    "1.4.5", max_input_length=2048, max_total_tokens=4096, max_batch_total_tokens=16384
)


def demanded(serving: ServingConfiguration, model: ModelSource | None = None) -> Demand:
    """
    Return what a configuration asks of the memory, which is modelled.
    """
    demand = serving.prepare(model, None).demand
    assert demand is not None
    return demand


def checked(
    serving: ServingConfiguration,
    model: ModelSource | None,
    instance_type: str,
    accelerators: int,
) -> list[Finding]:
    """
    Plan a configuration on an instance type, and check the plan.
    """
    demand = serving.prepare(model, accelerators).demand
    hardware = find_instance_type(instance_type)
    return fit_findings(plan_of(demand, hardware, accelerators), demand)


@pytest.mark.parametrize(
    ("serving", "model", "instance_type", "accelerators", "codes"),
    [
        (
            TensorRtLlm("0.26.0", tensor_parallel_degree=4),
            MISTRAL,
            "ml.g5.12xlarge",
            4,
            [],
        ),
        (TensorRtLlm("0.26.0"), MIXTRAL, "ml.p4d.24xlarge", 8, []),
        (REFERENCE_C, LLAMA_13B, "ml.p4d.24xlarge", 1, []),
        (Vllm(), MIXTRAL, "ml.g5.12xlarge", 4, ["LLM190"]),
        (Vllm(tensor_parallel_degree=2), LLAMA_70B, "ml.p4d.24xlarge", 8, ["LLM190"]),
        (Tgi("3.3.6"), LLAMA_13B, "ml.g5.2xlarge", 1, ["LLM190"]),
        (Vllm(quantize="awq"), LLAMA_13B, "ml.g5.2xlarge", 1, []),
        (Vllm(), QWEN_7B, "ml.p4d.24xlarge", 8, ["LLM191"]),
        (Vllm(max_model_len=32768), MISTRAL, "ml.g4dn.12xlarge", 4, []),
        (
            Vllm("0.30.0", max_model_len=16384),
            HuggingFaceModel("codellama/CodeLlama-7b-hf"),
            "ml.g5.xlarge",
            1,
            ["LLM290"],
        ),
        (
            Tgi("1.4.5", max_total_tokens=4096, max_batch_total_tokens=65536),
            LLAMA_13B,
            "ml.p4d.24xlarge",
            1,
            ["LLM291"],
        ),
        (Vllm(), HuggingFaceModel("org/unknown"), "ml.g5.xlarge", 1, []),
        (Vllm(), S3Model("s3://bucket/model/"), "ml.g5.xlarge", 1, []),
        (Vllm(), MIXTRAL, "ml.inf2.xlarge", 1, []),
        (
            Vllm(),
            S3Model("s3://bucket/model/", architecture="meta-llama/Llama-2-70b-hf"),
            "ml.g5.xlarge",
            1,
            ["LLM190"],
        ),
        (
            CustomContainer.from_uri("1" * 12 + ".dkr.ecr.eu-west-1.amazonaws.com/x:1"),
            LLAMA_70B,
            "ml.g5.xlarge",
            1,
            [],
        ),
    ],
)
def test_what_is_known_is_checked(
    serving: ServingConfiguration,
    model: ModelSource,
    instance_type: str,
    accelerators: int,
    codes: list[str],
) -> None:
    """
    Errors for what cannot load, warnings for what holds too little, else nothing.
    """
    found = checked(serving, model, instance_type, accelerators)

    assert [finding.code for finding in found] == codes


def test_the_finding_has_the_numbers_and_the_way_out() -> None:
    """
    What is needed, what there is, and a degree that fits.
    """
    serving = Vllm(tensor_parallel_degree=2)
    (found,) = checked(serving, LLAMA_70B, "ml.p4d.24xlarge", 8)

    assert "of 40.00 GiB per accelerator" in found.message
    assert "weights 64.24 GiB" in found.message
    assert found.remedy.startswith("use tensor parallel degree 4")


@pytest.mark.parametrize(
    ("degree", "codes"), [(None, ["LLM191"]), (3, [])], ids=["chosen", "given"]
)
def test_a_degree_that_was_given_is_checked_elsewhere(
    degree: int | None, codes: list[str]
) -> None:
    """
    28 heads are not divided by 8 nor by 3; the latter is the configuration's own fault.
    """
    serving = Vllm(tensor_parallel_degree=degree)
    found = checked(serving, QWEN_7B, "ml.p4d.24xlarge", 8)

    assert [finding.code for finding in found] == codes


@pytest.mark.parametrize(
    ("instance_type", "accelerators", "codes"),
    [("ml.p4d.24xlarge", 8, []), ("ml.g5.12xlarge", 4, ["LLM190"])],
)
def test_a_folder_names_its_model_itself(
    root: Path, instance_type: str, accelerators: int, codes: list[str]
) -> None:
    """
    Reference deployment B fits where it runs, and not on four A10G.
    """
    serving = ServingFolder(
        root / "assets" / "mixtral-8x7b",
        container_family="djl-tensorrtllm",
        version="0.26.0",
    )
    found = checked(serving, None, instance_type, accelerators)

    assert [finding.code for finding in found] == codes


def test_a_folder_that_cannot_be_read_is_not_planned(tmp_path: Path) -> None:
    """
    Its own check says what is wrong with it.
    """
    (tmp_path / "serving.properties").write_text("option.model_id=\\u1")
    serving = ServingFolder(tmp_path, container_family="djl-lmi", version="0.36.0")

    assert checked(serving, None, "ml.g5.xlarge", 1) == []


@pytest.mark.parametrize(
    ("serving", "model", "instance_type", "reason"),
    [
        (Vllm(), MIXTRAL, None, "the instance type is known only at deployment"),
        (
            NeuronX("0.29.0"),
            LLAMA_13B,
            "ml.p4d.24xlarge",
            "how much memory the serving configuration takes is not modelled",
        ),
        (
            Vllm(),
            HuggingFaceModel("org/unknown"),
            "ml.g5.xlarge",
            "the size of the model is not known",
        ),
        (
            Vllm(),
            HuggingFaceModel("org/known", architecture="MistralForCausalLM"),
            "ml.g5.xlarge",
            "the size of the model is not known",
        ),
        (
            Vllm(max_model_len=0),
            LLAMA_13B,
            "ml.g5.xlarge",
            "the longest sequence that is accepted is of 0 tokens",
        ),
        (
            Vllm(),
            LLAMA_13B,
            "ml.inf2.xlarge",
            (
                "plans are for GPUs, and ml.inf2.xlarge has Inferentia2: how Neuron "
                "compilers lay a model out in memory is not modelled"
            ),
        ),
    ],
)
def test_a_missing_plan_knows_why(
    serving: ServingConfiguration,
    model: ModelSource,
    instance_type: str | None,
    reason: str,
) -> None:
    """
    What is not known, or cannot be planned.
    """
    hardware = None if instance_type is None else find_instance_type(instance_type)
    demand = serving.prepare(model, None).demand
    found = plan_of(demand, hardware)

    assert isinstance(found, NoPlan)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("method", "bits"),
    [
        (None, 16),
        ("awq", 4),
        ("gptq_marlin", 4),
        ("bitsandbytes-nf4", 4),
        ("bitsandbytes", 8),
        ("fp8", 8),
        ("smoothquant", 8),
        ("eetq", 8),
    ],
)
def test_quantization_says_how_many_bits_are_left(
    method: str | None, bits: int
) -> None:
    """
    By the engines' own names.
    """
    assert weight_bits_of(method) == bits


def test_each_engine_takes_its_share() -> None:
    """
    Eager engines record no graphs, TGI takes all of the memory, fp8 halves the cache.
    """
    eager = demanded(Vllm(enforce_eager=True, kv_cache_dtype="fp8"))
    dist = demanded(LmiDist("0.28.0", gpu_memory_utilization=0.8))
    trt = demanded(TensorRtLlm("0.26.0", smoothquant=SmoothQuant()))
    tgi = demanded(REFERENCE_C)

    assert eager.assumptions.cuda_graphs_gib == 0
    assert eager.assumptions.kv_cache_dtype_bytes == 1
    assert dist.assumptions.gpu_memory_utilization == 0.8
    assert trt.weight_bits == 8
    assert tgi.assumptions.gpu_memory_utilization == 1
    assert (tgi.context_length, tgi.batch_tokens) == (4096, 16384)


@pytest.mark.parametrize(
    ("gigabytes", "seconds"), [(14, 900), (26, 1200), (93, 2700), (700, 3600)]
)
def test_loading_takes_longer_the_more_there_is(gigabytes: int, seconds: int) -> None:
    """
    In steps of five minutes, up to what SageMaker waits.
    """
    assert loading_seconds(gigabytes * 10**9) == seconds
