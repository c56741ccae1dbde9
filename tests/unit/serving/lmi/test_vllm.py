"""
VLLM on LMI images: what each parameter writes, at which version, and what it takes.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import HuggingFaceModel, LmiVllm, ModelArchitecture, RopeScaling
from cdk_sagemaker_llm.demand import Assumptions, Demand
from tests.unit.serving.answers import container_of, findings_of
from tests.unit.serving.lmi.parameters import (
    COMMON,
    Row,
    all_of,
    keywords_of,
    named_in,
    text_of,
)

SMALL = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=1000)
OWN: list[Row] = [
    ("quantize", "awq", "option.quantize=awq"),
    ("max_model_len", 4096, "option.max_model_len=4096"),
    ("enforce_eager", True, "option.enforce_eager=true"),
    ("gpu_memory_utilization", 0.85, "option.gpu_memory_utilization=0.85"),
    (
        "max_rolling_batch_prefill_tokens",
        5000,
        "option.max_rolling_batch_prefill_tokens=5000",
    ),
    ("load_format", "safetensors", "option.load_format=safetensors"),
    ("kv_cache_dtype", "fp8", "option.kv_cache_dtype=fp8"),
    ("enable_prefix_caching", True, "option.enable_prefix_caching=true"),
    ("enable_chunked_prefill", False, "option.enable_chunked_prefill=false"),
    ("enable_lora", True, "option.enable_lora=true"),
    ("max_loras", 3, "option.max_loras=3"),
    ("max_lora_rank", 32, "option.max_lora_rank=32"),
    ("max_cpu_loras", 5, "option.max_cpu_loras=5"),
    (
        "speculative_config",
        {"num_speculative_tokens": 5, "model": "a/b"},
        'option.speculative_config={"model":"a/b","num_speculative_tokens":5}',
    ),
    (
        "rope_scaling",
        RopeScaling("dynamic", 2),
        'option.hf_overrides={"rope_scaling":{"factor":2.0,"rope_type":"dynamic"}}',
    ),
]


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the line that it writes.
    """
    assert named_in(COMMON, OWN) == keywords_of(LmiVllm)


@pytest.mark.parametrize(
    ("keyword", "value", "line"), [*COMMON, *OWN], ids=lambda value: str(value)[:40]
)
def test_a_parameter_writes_its_line(keyword: str, value: object, line: str) -> None:
    """
    The option that vLLM reads, and no other.
    """
    serving = LmiVllm("0.34.0", **{keyword: value})  # type: ignore[arg-type] # any of all

    assert line in text_of(serving).splitlines()


def test_all_parameters_are_written_in_their_order() -> None:
    """
    At 0.34, which reads every one of them.
    """
    model = HuggingFaceModel("org/model", revision="abc123")

    assert text_of(LmiVllm("0.34.0", **all_of(COMMON, OWN)), model) == (
        "engine=Python\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=org/model\n"
        "option.revision=abc123\n"
        "option.max_rolling_batch_size=24\n"
        "option.rolling_batch=vllm\n"
        "option.model_loading_timeout=900\n"
        "option.predict_timeout=60\n"
        "option.dtype=fp16\n"
        "option.quantize=awq\n"
        "option.trust_remote_code=true\n"
        "option.output_formatter=jsonlines\n"
        "option.max_model_len=4096\n"
        "option.enforce_eager=true\n"
        "option.gpu_memory_utilization=0.85\n"
        "option.max_rolling_batch_prefill_tokens=5000\n"
        "option.load_format=safetensors\n"
        "option.kv_cache_dtype=fp8\n"
        "option.enable_prefix_caching=true\n"
        "option.enable_chunked_prefill=false\n"
        "option.enable_lora=true\n"
        "option.max_loras=3\n"
        "option.max_lora_rank=32\n"
        "option.max_cpu_loras=5\n"
        'option.speculative_config={"model":"a/b","num_speculative_tokens":5}\n'
        'option.hf_overrides={"rope_scaling":{"factor":2.0,"rope_type":"dynamic"}}\n'
        "job_queue_size=500\n"
        "option.brand_new=1.5\n"
    )


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (
            "0.26.0",
            "engine=Python\noption.model_id=org/model\noption.rolling_batch=vllm\noption.model_loading_timeout=1800\n",
        ),
        (
            "0.34.0",
            "engine=Python\noption.model_id=org/model\noption.rolling_batch=vllm\noption.model_loading_timeout=1800\n",
        ),
        (
            "0.35.0",
            "engine=Python\noption.model_id=org/model\noption.model_loading_timeout=1800\n",
        ),
        (
            "0.36.0",
            "engine=Python\noption.model_id=org/model\noption.model_loading_timeout=1800\n",
        ),
    ],
)
def test_the_scheduler_is_written_up_to_0_34(version: str, text: str) -> None:
    """
    From 0.35 on the word would bring the old one back.
    """
    assert text_of(LmiVllm(version)) == text


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("0.32.0", 'option.rope_scaling={"factor":2.5,"rope_type":"linear"}'),
        (
            "0.33.0",
            'option.hf_overrides={"rope_scaling":{"factor":2.5,"rope_type":"linear"}}',
        ),
    ],
)
def test_rope_scaling_is_an_override_from_0_33_on(version: str, line: str) -> None:
    """
    Newer releases of vLLM have no option of that name.
    """
    serving = LmiVllm(version, rope_scaling=RopeScaling("linear", 2.5))

    assert text_of(serving).splitlines()[-1] == line


def test_left_out_the_version_is_the_newest() -> None:
    """
    The newest that the SageMaker SDK lists.
    """
    assert LmiVllm().version == "0.36.0"


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("0.26.0", "djl-deepspeed"),
        ("0.27.0", "djl-deepspeed"),
        ("0.28.0", "djl-lmi"),
        ("0.36.0", "djl-lmi"),
    ],
)
def test_the_image_that_has_it_is_of_another_family_from_0_28_on(
    version: str, family: str
) -> None:
    """
    Up to 0.27 it came with DeepSpeed.
    """
    assert LmiVllm(version).container_family == family
    assert container_of(LmiVllm(version), HuggingFaceModel("a/b"), 1).image.family == (
        family
    )


def test_a_version_that_is_none_is_one_error() -> None:
    """
    It is sought among the newest images.
    """
    (found,) = findings_of(LmiVllm("latest"), HuggingFaceModel("a/b"))

    assert str(found) == ("LLM102 image djl-lmi has no version 'latest'; use 0.38.0")


def test_what_it_asks_of_the_memory_with_everything_set() -> None:
    """
    Each parameter that changes it, in its place.
    """
    serving = LmiVllm(
        tensor_parallel_degree=2,
        max_rolling_batch_size=48,
        quantize="awq",
        max_model_len=3000,
        enforce_eager=True,
        gpu_memory_utilization=0.8,
        max_rolling_batch_prefill_tokens=5000,
        kv_cache_dtype="fp8_e5m2",
    )
    model = HuggingFaceModel("org/model", architecture=SMALL)

    assert serving.prepare(model, 2).demand == Demand(
        architecture=SMALL,
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            cuda_graphs_gib=0.0,
            max_num_batched_tokens=5000,
            max_num_seqs=48,
            kv_cache_dtype_bytes=1,
        ),
        weight_bits=4,
        context_length=3000,
        batch_tokens=None,
        tensor_parallel_degree=2,
        engine_version="0.23.1",
    )


@pytest.mark.parametrize(
    "serving",
    [
        LmiVllm(),
        LmiVllm(
            tensor_parallel_degree="max", enforce_eager=False, kv_cache_dtype="auto"
        ),
    ],
    ids=["nothing", "the defaults"],
)
def test_what_it_asks_of_the_memory_by_default(serving: LmiVllm) -> None:
    """
    The engine's own defaults, and the weights as they are published.
    """
    assert serving.prepare(None, None).demand == Demand(
        architecture=None,
        assumptions=Assumptions(
            max_num_seqs=32,
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
        engine_version="0.23.1",
    )


@pytest.mark.parametrize(
    ("quantize", "bits"),
    [("bitsandbytes", 4), ("fp8", 8), ("awq", 4), (None, None)],
)
def test_a_quantization_leaves_fewer_bits(
    quantize: str | None, bits: int | None
) -> None:
    """
    In 4 bits with bitsandbytes, which other engines have in 8.
    """
    demand = LmiVllm(quantize=quantize).prepare(None, 1).demand

    assert demand is not None
    assert demand.weight_bits == bits


@pytest.mark.parametrize(
    ("version", "codes"), [("0.35.0", ["LLM231"]), ("0.36.0", [])], ids=str
)
def test_a_switch_that_stays_on_is_told_of(version: str, codes: list[str]) -> None:
    """
    Up to vLLM 0.20 LMI drops the word false, and the cache of prefixes stays on.
    """
    serving = LmiVllm(version, enable_prefix_caching=False)

    found = [
        one
        for one in findings_of(serving, HuggingFaceModel("a/b"))
        if "prefix" in one.message
    ]
    assert [one.code for one in found] == codes


@pytest.mark.parametrize(
    ("serving", "sequences"),
    [
        (LmiVllm("0.34.0"), 256),
        (LmiVllm("0.35.0"), 32),
        (LmiVllm("0.35.0", max_rolling_batch_size=8), 8),
        (LmiVllm("0.35.0", options={"option.rolling_batch": "vllm"}), 256),
    ],
    ids=["a rolling batch", "the service", "said", "a rolling batch still"],
)
def test_the_asynchronous_service_runs_32_sequences(
    serving: LmiVllm, sequences: int
) -> None:
    """
    The front end writes 256 for a rolling batch of vLLM alone.
    """
    demand = serving.prepare(HuggingFaceModel("a/b"), 1).demand

    assert demand is not None
    assert demand.assumptions.max_num_seqs == sequences
