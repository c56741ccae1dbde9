"""
Serving configurations against the memory they will have.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm import (
    CustomContainer,
    HuggingFaceModel,
    LmiDist,
    LmiVllm,
    ModelArchitecture,
    NeuronX,
    S3Model,
    ServingFolder,
    Sglang,
    SmoothQuant,
    TensorRtLlm,
    Tgi,
    Vllm,
)
from cdk_sagemaker_llm.catalog.instances import InstanceType, find_instance_type
from cdk_sagemaker_llm.demand import (
    Assumptions,
    Demand,
    DraftModel,
    EngineName,
    weight_bits_of,
)
from cdk_sagemaker_llm.findings import Finding, Severity
from cdk_sagemaker_llm.fit.checking import NoPlan, fit_findings, plan_of
from cdk_sagemaker_llm.fit.plans import Plan
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.base import ServingConfiguration, loading_seconds

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
        (LmiVllm(), MIXTRAL, "ml.g5.12xlarge", 4, ["LLM190"]),
        (
            LmiVllm(tensor_parallel_degree=2),
            LLAMA_70B,
            "ml.p4d.24xlarge",
            8,
            ["LLM190"],
        ),
        (Tgi("3.3.6"), LLAMA_13B, "ml.g5.2xlarge", 1, ["LLM190"]),
        (LmiVllm(quantize="awq"), LLAMA_13B, "ml.g5.2xlarge", 1, []),
        (LmiVllm(), QWEN_7B, "ml.p4d.24xlarge", 8, ["LLM191"]),
        (LmiVllm(max_model_len=32768), MISTRAL, "ml.g4dn.12xlarge", 4, []),
        (
            LmiVllm("0.30.0", max_model_len=16384),
            HuggingFaceModel("codellama/CodeLlama-7b-hf"),
            "ml.g5.xlarge",
            1,
            ["LLM194"],
        ),
        (
            Tgi("1.4.5", max_total_tokens=4096, max_batch_total_tokens=65536),
            LLAMA_13B,
            "ml.p4d.24xlarge",
            1,
            ["LLM291"],
        ),
        (LmiVllm(), HuggingFaceModel("org/unknown"), "ml.g5.xlarge", 1, []),
        (LmiVllm(), S3Model("s3://bucket/model/"), "ml.g5.xlarge", 1, []),
        (LmiVllm(), MIXTRAL, "ml.inf2.xlarge", 1, []),
        (
            LmiVllm(),
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
    serving = LmiVllm(tensor_parallel_degree=2)
    (found,) = checked(serving, LLAMA_70B, "ml.p4d.24xlarge", 8)

    assert "at best 64.67 GiB of 39.40 GiB per accelerator" in found.message
    assert "weights 64.24 GiB" in found.message
    assert found.remedy.startswith("set tensor_parallel_degree to 8")


@pytest.mark.parametrize(
    ("serving", "message"),
    [
        (
            LmiVllm(),
            "a copy has 8 accelerators, and 8 does not divide the 28 attention",
        ),
        (
            LmiVllm(tensor_parallel_degree=8),
            "tensor_parallel_degree is 8, and 8 does not divide the 28 attention heads",
        ),
        (Tgi("3.3.6", num_gpus=3), "num_gpus is 3, and 3 does not divide"),
        (
            LmiVllm(tensor_parallel_degree=14),
            "tensor_parallel_degree is 14, and ml.p4d.24xlarge has 8 accelerators",
        ),
    ],
    ids=["chosen", "given", "TGI", "too many"],
)
def test_a_degree_that_was_given_is_planned_like_a_chosen_one(
    serving: ServingConfiguration, message: str
) -> None:
    """
    28 heads are divided by neither 8 nor 3, and there are 8 accelerators.
    """
    (found,) = checked(serving, QWEN_7B, "ml.p4d.24xlarge", 8)

    assert found.code == "LLM191"
    assert found.message.startswith(message)
    word = "num_gpus" if isinstance(serving, Tgi) else "tensor_parallel_degree"
    assert found.remedy == f"set {word} to 1 or 2 or 4"


def test_a_degree_is_not_refused_twice() -> None:
    """
    Where the configuration's own check knew the heads, it has said so.
    """
    known = ModelArchitecture.of("Qwen/Qwen2.5-7B-Instruct")
    model = HuggingFaceModel("org/model", architecture=known)
    prepared = LmiVllm(tensor_parallel_degree=8).prepare(model, 8)
    found = plan_of(prepared.demand, find_instance_type("ml.p4d.24xlarge"), 8)

    assert [one.code for one in prepared.findings] == ["LLM156"]
    assert fit_findings(found, prepared.demand, prepared.findings) == []
    assert [one.code for one in fit_findings(found, prepared.demand)] == ["LLM191"]


@pytest.mark.parametrize(
    ("degree", "instance_type", "accelerators", "code"),
    [(8, "ml.p4d.24xlarge", 8, "LLM517"), (4, "ml.g6e.2xlarge", 1, "LLM516")],
    ids=["heads", "accelerators"],
)
def test_a_size_of_vllm_is_not_refused_twice(
    degree: int, instance_type: str, accelerators: int, code: str
) -> None:
    """
    28 heads are not divided by 8, and one accelerator is not four.
    """
    serving = Vllm(tensor_parallel_size=degree)
    prepared = serving.prepare(QWEN_7B, accelerators)
    hardware = find_instance_type(instance_type)
    found = plan_of(prepared.demand, hardware, accelerators)

    assert [one.code for one in prepared.findings] == [code]
    assert fit_findings(found, prepared.demand, prepared.findings) == []


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
        (LmiVllm(), MIXTRAL, None, "the instance type is known only at deployment"),
        (
            NeuronX("0.29.0"),
            LLAMA_13B,
            "ml.p4d.24xlarge",
            "how much memory the serving configuration takes is not modelled",
        ),
        (
            LmiVllm(),
            HuggingFaceModel("org/unknown"),
            "ml.g5.xlarge",
            "the size of the model is not known",
        ),
        (
            LmiVllm(),
            HuggingFaceModel("org/known", architecture="MistralForCausalLM"),
            "ml.g5.xlarge",
            "the size of the model is not known",
        ),
        (
            LmiVllm(max_model_len=0),
            LLAMA_13B,
            "ml.g5.xlarge",
            "the longest sequence that is accepted is of 0 tokens",
        ),
        (
            Tgi("3.3.6", num_gpus=0),
            LLAMA_13B,
            "ml.g5.xlarge",
            "a copy is split over 0 devices",
        ),
        (
            LmiVllm(),
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
        (None, None),
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
    method: str | None, bits: int | None
) -> None:
    """
    By the engines' own names.
    """
    assert weight_bits_of(method) == bits


def test_each_engine_takes_its_share() -> None:
    """
    Eager engines record no graphs, TGI takes all of the memory, fp8 halves the cache.
    """
    eager = demanded(LmiVllm(enforce_eager=True, kv_cache_dtype="fp8"))
    dist = demanded(LmiDist("0.28.0", gpu_memory_utilization=0.8))
    trt = demanded(TensorRtLlm("0.26.0", smoothquant=SmoothQuant()))
    tgi = demanded(REFERENCE_C)

    assert eager.assumptions.cuda_graphs_gib == 0
    assert eager.assumptions.kv_cache_dtype_bytes == 1
    assert dist.assumptions.gpu_memory_utilization == 0.8
    assert trt.weight_bits == 8
    assert (tgi.engine, tgi.assumptions.gpu_memory_utilization) == ("tgi", None)
    assert (tgi.context_length, tgi.batch_tokens) == (4096, 16384)


# 12.55 GiB of weights on a T4 of 14.56; 512 tokens of Llama 2 take 0.25.
LLAMA_7B = HuggingFaceModel("meta-llama/Llama-2-7b-hf")


@pytest.mark.parametrize(
    ("share", "codes"),
    [
        # 12.52 GiB are less than the weights; 12.74 leave 0.05 for the cache at best.
        (0.86, ["LLM190"]),
        (0.875, ["LLM194"]),
        # 13.00 hold the sequence at best; 13.07 are expected to be taken before it.
        (0.893, ["LLM292"]),
        (0.905, ["LLM290"]),
        (0.93, []),
    ],
)
def test_only_what_fails_in_the_best_case_is_an_error(
    share: float, codes: list[str]
) -> None:
    """
    What fails in the expected case is a warning.
    """
    serving = LmiVllm(
        "0.34.0",
        max_model_len=512,
        max_rolling_batch_size=32,
        gpu_memory_utilization=share,
    )
    found = checked(serving, LLAMA_7B, "ml.g4dn.xlarge", 1)

    assert [finding.code for finding in found] == codes


def test_a_warning_names_the_two_ways_out() -> None:
    """
    Another machine or other weights; or figures that were measured.
    """
    serving = LmiVllm(
        "0.34.0",
        max_model_len=512,
        max_rolling_batch_size=32,
        gpu_memory_utilization=0.893,
    )
    (warning,) = checked(serving, LLAMA_7B, "ml.g4dn.xlarge", 1)

    assert "may not load on ml.g4dn.xlarge" in warning.message
    assert warning.remedy == (
        "use a larger instance type or a quantized model, or pass "
        "assumptions=Assumptions(...) with what was measured"
    )


@pytest.mark.parametrize(
    ("serving", "code"),
    [
        # vLLM 0.10 does not start with more than its cache holds; 0.2.7 did, and so
        # does TGI; a window of Mistral's is not in the way.
        (LmiVllm("0.34.0", max_model_len=16384), "LLM194"),
        (LmiVllm("0.26.0", max_model_len=16384), "LLM290"),
        (Tgi("3.3.6", max_total_tokens=16384), "LLM290"),
    ],
)
def test_a_sequence_that_never_fits_is_an_error_where_the_engine_refuses_it(
    serving: ServingConfiguration, code: str
) -> None:
    """
    16,384 tokens of Code Llama take 8 GiB, beside 12.6 of weights on an A10G.
    """
    model = HuggingFaceModel("codellama/CodeLlama-7b-hf")
    (found,) = checked(serving, model, "ml.g5.xlarge", 1)

    assert found.code == code
    assert re.match(r"set max_\w+ to \d+, or use a larger", found.remedy)


def test_a_window_is_not_in_the_way_of_a_long_context() -> None:
    """
    Of 32,768 tokens Mistral's cache keeps 4,096, and what is worked off at once: that
    fits. Before 0.10 it may keep all: a warning, and no error.
    """
    new = LmiVllm("0.34.0", max_model_len=32768, gpu_memory_utilization=0.77)
    old = LmiVllm("0.33.0", max_model_len=32768, gpu_memory_utilization=0.77)

    assert not checked(new, MISTRAL, "ml.g5.xlarge", 1)
    assert [f.code for f in checked(old, MISTRAL, "ml.g5.xlarge", 1)] == ["LLM290"]


def test_what_is_not_assumed_stays_as_the_configuration_says() -> None:
    """
    One figure is overridden, and the others are not.
    """
    demand = (
        LmiVllm(gpu_memory_utilization=0.8, kv_cache_dtype="fp8")
        .prepare(MISTRAL, 1)
        .demand
    )
    hardware = find_instance_type("ml.g5.xlarge")
    found = plan_of(demand, hardware, assumptions=Assumptions(runtime_gib=2.0))

    assert isinstance(found, Plan)
    assert found.assumptions == Assumptions(
        gpu_memory_utilization=0.8,
        runtime_gib=2.0,
        max_num_seqs=32,
        kv_cache_dtype_bytes=1,
    )


@pytest.mark.parametrize(
    "serving",
    [
        LmiVllm(options={"option.cpu_offload_gb": 20}),
        LmiDist("0.32.0", pipeline_parallel_degree=2),
    ],
    ids=["offloaded", "in a pipeline"],
)
def test_weights_that_are_spread_further_are_not_planned(
    serving: ServingConfiguration,
) -> None:
    """
    They take less of each device than a degree says.
    """
    assert serving.prepare(LLAMA_70B, 4).demand is None


@pytest.mark.parametrize(
    ("model", "instance_type", "accelerators"),
    [
        ("deepseek-ai/DeepSeek-R1", "ml.p5en.48xlarge", 8),
        ("deepseek-ai/DeepSeek-V3", "ml.p5e.48xlarge", 8),
        ("meta-llama/Llama-3.1-405B-Instruct-FP8", "ml.p5.48xlarge", 8),
        ("openai/gpt-oss-120b", "ml.p5.4xlarge", 1),
        ("Qwen/Qwen2.5-32B-Instruct-AWQ", "ml.g6e.xlarge", 1),
        ("tiiuae/falcon-40b", "ml.g5.12xlarge", 4),
        ("meta-llama/Llama-2-7b-hf", "ml.g4dn.xlarge", 1),
    ],
)
def test_what_is_known_to_run_is_not_refused(
    model: str, instance_type: str, accelerators: int
) -> None:
    """
    With the weights as they are published.
    """
    serving = LmiVllm(max_model_len=1024)
    found = checked(serving, HuggingFaceModel(model), instance_type, accelerators)

    assert [one for one in found if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("gigabytes", "seconds"), [(14, 900), (26, 1200), (93, 2700), (700, 3600)]
)
def test_loading_takes_longer_the_more_there_is(gigabytes: int, seconds: int) -> None:
    """
    In steps of five minutes, up to what SageMaker waits.
    """
    assert loading_seconds(gigabytes * 10**9) == seconds


def test_a_context_that_nobody_wrote_is_no_error() -> None:
    """
    vLLM refuses 4,096 tokens, which nobody asked for; the way out is the cautious one.
    """
    serving = LmiVllm("0.34.0", max_rolling_batch_size=32, gpu_memory_utilization=0.93)
    (found,) = checked(serving, LLAMA_7B, "ml.g4dn.xlarge", 1)

    assert found.code == "LLM290"
    assert "expected to hold 960 tokens on" in found.message
    assert found.remedy.startswith("set max_model_len to 240, or ")


@pytest.mark.parametrize(
    ("serving", "instance_type", "accelerators", "word"),
    [
        # In 16 bits no four A10G hold it; vLLM would take eight A100, and TGI four.
        (
            LmiVllm(quantize="awq", tensor_parallel_degree=1),
            "ml.g5.12xlarge",
            4,
            "tensor_parallel_degree",
        ),
        (
            Vllm(quantization="awq", tensor_parallel_size=1),
            "ml.g5.12xlarge",
            4,
            "tensor_parallel_size",
        ),
        (Sglang(quantization="awq", tp_size=1), "ml.g5.12xlarge", 4, "tp_size"),
        (
            Tgi("3.3.6", num_gpus=2, max_total_tokens=2048, max_input_length=1024),
            "ml.p4d.24xlarge",
            8,
            "num_gpus",
        ),
    ],
    ids=["LMI", "vLLM", "SGLang", "TGI"],
)
def test_the_way_out_is_for_the_same_weights_and_engine(
    serving: ServingConfiguration, instance_type: str, accelerators: int, word: str
) -> None:
    """
    Four accelerators, of which each configuration makes do, in its own word.
    """
    (found,) = checked(serving, LLAMA_70B, instance_type, accelerators)

    assert found.code == "LLM190"
    assert found.remedy.startswith(f"set {word} to 4; ")
    assert f"with {word} " in found.message


def test_a_copy_has_as_many_devices_as_it_needs() -> None:
    """
    Where neither configuration nor component says how many: 26 GB on A10G.
    """
    demand = demanded(LmiVllm(), LLAMA_13B)
    found = plan_of(demand, find_instance_type("ml.g5.12xlarge"))

    assert isinstance(found, Plan)
    assert (found.tensor_parallel_degree, found.fits) == (2, True)


@pytest.mark.parametrize(("more", "codes"), [(0, []), (1, ["LLM291"])])
def test_a_batch_may_fill_the_cache(more: int, codes: list[str]) -> None:
    """
    And be no token larger.
    """
    demand = demanded(REFERENCE_C, LLAMA_13B)
    found = plan_of(demand, find_instance_type("ml.p4d.24xlarge"), 1)
    assert isinstance(found, Plan)
    batch = found.expected.kv_cache_tokens + more
    told = fit_findings(found, replace(demand, batch_tokens=batch))

    assert [one.code for one in told] == codes
    assert [one.remedy for one in told] == [
        f"keep max_batch_total_tokens at {found.cautious.kv_cache_tokens}"
        for _ in codes
    ]


def test_a_context_may_be_longer_than_the_models_own() -> None:
    """
    With RoPE scaling Llama 2 takes twice its 4,096 tokens.
    """
    demand = replace(demanded(LmiVllm(), LLAMA_13B), context_length=8192)
    found = plan_of(demand, find_instance_type("ml.p4d.24xlarge"), 1)

    assert isinstance(found, Plan)
    assert found.context_length == 8192


def engine_demand(engine: EngineName, **more: Any) -> Demand:  # noqa: ANN401 - fields
    """
    Ask for Llama 3.1 8B, unless told otherwise.
    """
    usual: dict[str, Any] = {
        "architecture": ModelArchitecture.of("meta-llama/Llama-3.1-8B"),
        "assumptions": Assumptions(),
    }
    return Demand(engine=engine, **{**usual, **more})


def told_of(demand: Demand, hardware: str | InstanceType) -> list[Finding]:
    """
    Plan what is asked for on one accelerator, and check the plan.
    """
    known = find_instance_type(hardware) if isinstance(hardware, str) else hardware
    return fit_findings(
        plan_of(demand, known, 1 if known.accelerators else None), demand
    )


CPU = InstanceType.of("ml.m7i.large", accelerators=0, vcpus=2, memory_gib=8)


def test_sglang_starts_with_less_than_its_context() -> None:
    """
    And refuses longer requests: a warning, in its words.
    """
    demand = engine_demand("sglang", context_length=65536, engine_version="0.5.19")
    (found,) = told_of(demand, "ml.g6.xlarge")

    assert (found.code, found.severity) == ("LLM290", Severity.WARNING)
    assert found.message == (
        "the KV cache is expected to hold 21984 tokens on ml.g6.xlarge with tp_size 1, "
        "fewer than one sequence of 65536; SGLang starts all the same, and refuses "
        "longer requests"
    )
    assert found.remedy.startswith("set context_length to 20496, or use a larger")


def test_sglang_is_planned_as_itself() -> None:
    """
    By the release inside the image, and by its own share.
    """
    model = HuggingFaceModel("meta-llama/Llama-3.1-8B")
    serving = Sglang(
        "0.5.20",
        mem_fraction_static=0.8,
        chunked_prefill_size=-1,
        disable_cuda_graph=True,
        tp_size=2,
        kv_cache_dtype="fp8_e5m2",
        max_running_requests=32,
    )

    assert demanded(serving, model) == Demand(
        architecture=ModelArchitecture.of("meta-llama/Llama-3.1-8B"),
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            cuda_graphs_gib=0.0,
            max_num_seqs=32,
            max_num_batched_tokens=16384,
            kv_cache_dtype_bytes=1,
        ),
        tensor_parallel_degree=2,
        engine="sglang",
        engine_version="0.5.20",
    )
    assert demanded(Sglang("0.5.20"), model).assumptions == Assumptions()


@pytest.mark.parametrize(
    ("engine", "word"),
    [("vllm", "gpu_memory_utilization"), ("sglang", "mem_fraction_static")],
)
def test_a_share_that_is_too_small_is_named(engine: EngineName, word: str) -> None:
    """
    Where the usual one would do.
    """
    taken = Assumptions(gpu_memory_utilization=0.5)
    version = {"vllm": "0.30.0", "sglang": "0.5.19"}[engine]
    demand = engine_demand(engine, assumptions=taken, engine_version=version)
    (found,) = told_of(demand, "ml.g6.xlarge")

    assert found.code == "LLM190"
    assert found.remedy.startswith(f"raise {word} from 0.5; ")


def test_heads_that_cannot_be_split_are_told_in_the_engines_word() -> None:
    """
    Of SGLang it is tp_size.
    """
    demand = replace(
        engine_demand("sglang", tensor_parallel_degree=3), engine_version="0.5.19"
    )
    (found,) = told_of(demand, "ml.g6.12xlarge")

    assert found.code == "LLM191"
    assert found.message.startswith("tp_size is 3, and 3 does not divide the 32")
    assert found.remedy == "set tp_size to 1 or 2 or 4"


def test_a_draft_model_must_be_split_too() -> None:
    """
    The way out suits both.
    """
    draft = DraftModel("Qwen/Qwen2.5-0.5B-Instruct")
    demand = replace(engine_demand("vllm", tensor_parallel_degree=4), draft=draft)
    (found,) = told_of(demand, "ml.g6.12xlarge")

    assert found.code == "LLM191"
    assert found.message == (
        "tensor_parallel_degree is 4, and 4 does not divide the 14 attention heads of "
        "the draft model"
    )
    assert found.remedy == "set tensor_parallel_degree to 1 or 2"
    on_one = replace(draft, tensor_parallel_degree=1)
    assert told_of(replace(demand, draft=on_one), "ml.g6.12xlarge") == []


def test_llama_cpp_allocates_all_of_its_context_when_it_starts() -> None:
    """
    What no luck has room for is an error, in its words.
    """
    demand = engine_demand("llama.cpp", gguf_type="Q4_K_M", context_length=131072)
    (found,) = told_of(demand, CPU)

    assert (found.code, found.severity) == ("LLM194", Severity.ERROR)
    assert found.message == (
        "llama.cpp does not start with a context of 131072 tokens on ml.m7i.large: its "
        "KV cache holds at best 19648"
    )
    assert found.remedy == (
        "set ctx_size to 816, or use a larger instance type or a quantized model"
    )


def test_a_host_is_too_small_for_the_weights() -> None:
    """
    Without a word of accelerators.
    """
    demand = engine_demand("llama.cpp", gguf_type="F16")
    (found,) = told_of(demand, CPU)

    assert found.code == "LLM190"
    assert found.message == (
        "LlamaForCausalLM does not load on ml.m7i.large: at best 15.50 GiB of 7.52 GiB "
        "of the host before any KV cache (weights 14.96 GiB)"
    )


def test_a_file_of_unknown_type_is_not_planned() -> None:
    """
    And nothing is found.
    """
    demand = engine_demand("llama.cpp")
    found = plan_of(demand, CPU)

    assert isinstance(found, NoPlan)
    assert found.reason == "the type of the GGUF file's weights is not known"
    assert found.remedy == "name the file such as model-Q4_K_M.gguf"
    wrong = plan_of(replace(demand, gguf_type="Q4_K_N"), CPU)
    assert isinstance(wrong, NoPlan)
    assert wrong.reason.startswith("gguf_type must be such as Q4_K_")


def test_what_embeds_has_no_cache_to_speak_of() -> None:
    """
    In 16 bits on a GPU, and in 32 on a host.
    """
    large = engine_demand("tei", architecture=ModelArchitecture.of("Qwen/Qwen3-14B"))
    (found,) = told_of(large, "ml.g6.xlarge")

    assert found.code == "LLM190"
    assert "KV cache" not in found.message
    assert "1 accelerator of ml.g6.xlarge" in found.message
    small = engine_demand("tei", architecture=ModelArchitecture.of("Qwen/Qwen3-8B"))
    assert not told_of(small, "ml.g6.xlarge")
    (found,) = told_of(small, CPU)
    assert found.message.endswith("of the host (weights 30.51 GiB)")
