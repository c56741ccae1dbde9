"""
TensorRT-LLM's configuration.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    ModelArchitecture,
    RopeScaling,
    S3Model,
    SmoothQuant,
    TensorRtLlm,
)
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.findings import Severity
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.serving.lmi.tensorrt_llm import compiled_since
from tests.unit.serving.answers import container_of, findings_of
from tests.unit.serving.lmi.parameters import (
    COMMON,
    Row,
    all_of,
    keywords_of,
    named_in,
    text_of,
)

MISTRAL = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
SMALL = ModelArchitecture.custom(parameters=10**9, kv_bytes_per_token=1000)
OWN: list[Row] = [
    ("quantize", "awq", "option.quantize=awq"),
    ("rolling_batch", "trtllm", "option.rolling_batch=trtllm"),
    ("max_input_len", 1000, "option.max_input_len=1000"),
    ("max_output_len", 500, "option.max_output_len=500"),
    ("max_num_tokens", 9000, "option.max_num_tokens=9000"),
    (
        "batch_scheduler_policy",
        "guaranteed_no_evict",
        "option.batch_scheduler_policy=guaranteed_no_evict",
    ),
    (
        "kv_cache_free_gpu_mem_fraction",
        0.8,
        "option.kv_cache_free_gpu_mem_fraction=0.8",
    ),
    ("enable_kv_cache_reuse", True, "option.enable_kv_cache_reuse=true"),
    ("use_custom_all_reduce", True, "option.use_custom_all_reduce=true"),
    (
        "rope_scaling",
        RopeScaling("dynamic", 2),
        "option.rotary_scaling_factor=2.0",
    ),
    ("smoothquant", SmoothQuant(alpha=0.6), "option.smoothquant_alpha=0.6"),
]
UNRESOLVED = "s3://${Token[Bucket.Ref.1]}/weights/"


def written(serving: TensorRtLlm, model: ModelSource | None = MISTRAL) -> str:
    """
    Return the serving.properties of a configuration.
    """
    files = container_of(serving, model, 4).files
    return files["serving.properties"].decode()


def errors(serving: TensorRtLlm, model: ModelSource | None = MISTRAL) -> list[str]:
    """
    Return the codes of the errors found.
    """
    found = findings_of(serving, model)
    return [f.code for f in found if f.severity is Severity.ERROR]


def test_the_reference_file_is_written() -> None:
    """
    Reference deployment A, line by line.
    """
    serving = TensorRtLlm("0.26.0", tensor_parallel_degree=4, max_rolling_batch_size=16)

    assert written(serving) == (
        "engine=MPI\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=HuggingFaceH4/zephyr-7b-beta\n"
        "option.max_rolling_batch_size=16\n"
        "option.rolling_batch=auto\n"
        "option.model_loading_timeout=1800\n"
    )
    assert errors(serving) == []


def test_the_last_image_has_its_own_engine() -> None:
    """
    LMI 0.33 serves through TensorRT-LLM's asynchronous API.
    """
    lines = written(TensorRtLlm("0.33.0")).splitlines()

    assert lines[0] == "engine=Python"
    assert "option.rolling_batch=disable" in lines
    assert "option.mpi_mode=true" in lines


def test_options_follow_in_order() -> None:
    """
    The same options in another order give the same file.
    """
    options = {"option.max_output_len": 512, "option.max_input_len": 1024}

    lines = written(TensorRtLlm("0.26.0", options=options)).splitlines()

    assert lines[-2:] == ["option.max_input_len=1024", "option.max_output_len=512"]


def test_weights_on_s3_are_named_in_the_file() -> None:
    """
    The container downloads an uncompressed prefix itself.
    """
    text = written(TensorRtLlm("0.26.0"), S3Model("s3://bucket/weights/"))

    assert "option.model_id=s3://bucket/weights/\n" in text


def test_a_bucket_known_at_deployment_travels_as_a_variable() -> None:
    """
    A placeholder is never written into a file.
    """
    serving = TensorRtLlm("0.26.0")
    container = container_of(serving, S3Model(UNRESOLVED), 4)

    assert b"Token" not in container.files["serving.properties"]
    assert container.environment == {"OPTION_MODEL_ID": UNRESOLVED}


@pytest.mark.parametrize(
    ("serving", "code"),
    [
        (TensorRtLlm("0.26.1"), "LLM102"),
        (TensorRtLlm("0.26.0", tensor_parallel_degree=0), "LLM137"),
        (TensorRtLlm("0.26.0", max_rolling_batch_size=0), "LLM137"),
        (TensorRtLlm("0.26.0", model_loading_timeout=-1), "LLM137"),
        (TensorRtLlm("0.26.0", options={"engine": "Python"}), "LLM113"),
        (TensorRtLlm("0.26.0", options={"option.revision": "é"}), "LLM114"),
        (
            TensorRtLlm("0.26.0", options={"option.revision": "hf_" + "a" * 30}),
            "LLM107",
        ),
    ],
    ids=str,
)
def test_fails_if_a_value_is_wrong(serving: TensorRtLlm, code: str) -> None:
    """
    Each fault has its own code.
    """
    assert errors(serving) == [code]


def test_fails_if_nothing_names_the_weights() -> None:
    """
    Without a model the container would start empty.
    """
    assert errors(TensorRtLlm("0.26.0"), None) == ["LLM112"]


def test_warns_that_the_images_have_ended() -> None:
    """
    It runs, but gets no fixes.
    """
    (found,) = findings_of(TensorRtLlm("0.26.0"), MISTRAL)

    assert found.severity is Severity.WARNING
    assert found.code == "LLM201"


def test_every_parameter_has_a_row() -> None:
    """
    A new one comes with the line that it writes; the last one writes none.
    """
    assert named_in(COMMON, OWN) | {"precompiled"} == keywords_of(TensorRtLlm)


@pytest.mark.parametrize(
    ("keyword", "value", "line"), [*COMMON, *OWN], ids=lambda value: str(value)[:40]
)
def test_a_parameter_writes_its_line(keyword: str, value: object, line: str) -> None:
    """
    The option that TensorRT-LLM reads, and no other.
    """
    serving = TensorRtLlm("0.28.0", **{keyword: value})  # type: ignore[arg-type] # any of all

    assert line in text_of(serving).splitlines()


def test_all_parameters_are_written_in_their_order() -> None:
    """
    Of the two that name a quantization, one.
    """
    model = HuggingFaceModel("org/model", revision="abc123")
    serving = TensorRtLlm("0.28.0", **all_of(COMMON, OWN, but=["quantize"]))

    assert text_of(serving, model) == (
        "engine=MPI\n"
        "option.tensor_parallel_degree=4\n"
        "option.model_id=org/model\n"
        "option.revision=abc123\n"
        "option.max_rolling_batch_size=24\n"
        "option.rolling_batch=trtllm\n"
        "option.model_loading_timeout=900\n"
        "option.predict_timeout=60\n"
        "option.dtype=fp16\n"
        "option.trust_remote_code=true\n"
        "option.output_formatter=jsonlines\n"
        "option.max_input_len=1000\n"
        "option.max_output_len=500\n"
        "option.max_num_tokens=9000\n"
        "option.batch_scheduler_policy=guaranteed_no_evict\n"
        "option.kv_cache_free_gpu_mem_fraction=0.8\n"
        "option.enable_kv_cache_reuse=true\n"
        "option.use_custom_all_reduce=true\n"
        "option.rotary_scaling_type=dynamic\n"
        "option.rotary_scaling_factor=2.0\n"
        "option.quantize=smoothquant\n"
        "option.smoothquant_alpha=0.6\n"
        "job_queue_size=500\n"
        "option.brand_new=1.5\n"
    )


@pytest.mark.parametrize(
    ("serving", "lines"),
    [
        (TensorRtLlm("0.32.0"), ["engine=MPI", "option.rolling_batch=auto"]),
        (
            TensorRtLlm("0.33.0"),
            ["engine=Python", "option.rolling_batch=disable", "option.mpi_mode=true"],
        ),
        (
            TensorRtLlm("0.33.0", rolling_batch="trtllm"),
            ["engine=Python", "option.rolling_batch=trtllm", "option.mpi_mode=true"],
        ),
    ],
    ids=["0.32", "0.33", "0.33 with another scheduler"],
)
def test_the_launcher_and_the_scheduler_are_those_of_the_version(
    serving: TensorRtLlm, lines: list[str]
) -> None:
    """
    LMI 0.33 is the one image with TensorRT-LLM's own asynchronous service.
    """
    engine, *scheduling = lines

    assert text_of(serving) == "".join(
        f"{line}\n"
        for line in (
            engine,
            "option.model_id=org/model",
            *scheduling,
            "option.model_loading_timeout=1800",
        )
    )


@pytest.mark.parametrize(
    ("given", "context"),
    [
        ({"max_input_len": 1000, "max_output_len": 500}, 1500),
        ({"max_input_len": 1000}, None),
        ({"max_output_len": 500}, None),
        ({}, None),
    ],
    ids=["both", "prompt", "answer", "neither"],
)
def test_the_longest_sequence_is_prompt_and_answer(
    given: dict[str, int], context: int | None
) -> None:
    """
    With one of the two alone, the other is the version's.
    """
    demand = TensorRtLlm("0.26.0", **given).prepare(MISTRAL, 4).demand  # type: ignore[arg-type] # two of all

    assert demand is not None
    assert demand.context_length == context


@pytest.mark.parametrize(
    ("given", "bits"),
    [
        ({}, None),
        ({"quantize": "awq"}, 4),
        ({"quantize": "fp8"}, 8),
        ({"smoothquant": SmoothQuant()}, 8),
    ],
    ids=["none", "awq", "fp8", "smoothquant"],
)
def test_a_quantization_leaves_fewer_bits(
    given: dict[str, object], bits: int | None
) -> None:
    """
    By whichever parameter it is named.
    """
    demand = TensorRtLlm("0.26.0", **given).prepare(MISTRAL, 4).demand  # type: ignore[arg-type] # one of all

    assert demand is not None
    assert demand.weight_bits == bits


def test_what_it_asks_of_the_memory_with_everything_set() -> None:
    """
    Each parameter that changes it, in its place.
    """
    serving = TensorRtLlm(
        "0.28.0",
        tensor_parallel_degree=2,
        max_rolling_batch_size=48,
        max_input_len=1000,
        max_output_len=500,
        kv_cache_free_gpu_mem_fraction=0.8,
        quantize="fp8",
    )
    model = HuggingFaceModel("org/model", architecture=SMALL)

    assert serving.prepare(model, 2).demand == Demand(
        architecture=SMALL,
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            max_num_seqs=48,
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=8,
        context_length=1500,
        batch_tokens=None,
        tensor_parallel_degree=2,
        engine="tensorrt-llm",
    )


def test_what_it_asks_of_the_memory_by_default() -> None:
    """
    A share of what the weights leave, and no graphs.
    """
    serving = TensorRtLlm("0.28.0", tensor_parallel_degree="max")

    assert serving.prepare(None, None).demand == Demand(
        architecture=None,
        assumptions=Assumptions(
            kv_cache_dtype_bytes=2,
        ),
        weight_bits=None,
        context_length=None,
        batch_tokens=None,
        tensor_parallel_degree=None,
        engine="tensorrt-llm",
    )


@pytest.mark.parametrize(
    ("version", "architecture", "expected"),
    [
        (
            "0.25.0",
            "MistralForCausalLM",
            (
                "LLM219 TensorRT-LLM 0.25.0 does not compile MistralForCausalLM just "
                "in time: it does so from LMI 0.26 on; compile an engine ahead of time "
                "(precompiled=True), or use LmiVllm"
            ),
        ),
        (
            "0.32.0",
            "DbrxForCausalLM",
            (
                "LLM219 TensorRT-LLM 0.32.0 does not compile DbrxForCausalLM just in "
                "time: it does so at no LMI version; compile an engine ahead of time "
                "(precompiled=True), or use LmiVllm"
            ),
        ),
    ],
)
def test_says_since_when_an_architecture_is_compiled(
    version: str, architecture: str, expected: str
) -> None:
    """
    And what to do where it is not.
    """
    model = HuggingFaceModel("org/model", architecture=architecture)
    found = findings_of(TensorRtLlm(version), model)

    assert [str(f) for f in found if f.code == "LLM219"] == [expected]


def test_an_unknown_architecture_is_not_doubted() -> None:
    """
    Neither of a model of which only the size is known, nor without a model.
    """
    sized = HuggingFaceModel("org/model", architecture=SMALL)
    named = TensorRtLlm("0.25.0", options={"option.model_id": "a/b"})
    found = [
        *findings_of(TensorRtLlm("0.25.0"), sized),
        *findings_of(TensorRtLlm("0.25.0"), HuggingFaceModel("org/model")),
        *findings_of(named, None),
    ]

    assert {f.code for f in found} == {"LLM201"}


def test_a_precompiled_engine_is_not_on_the_hub() -> None:
    """
    The whole message, and where it is loaded from; a model is not missed twice.
    """
    serving = TensorRtLlm("0.26.0", precompiled=True)
    named = TensorRtLlm(
        "0.26.0", precompiled=True, options={"option.model_id": "s3://b/p/"}
    )

    assert [str(f) for f in findings_of(serving, MISTRAL)][1:] == [
        (
            "LLM159 precompiled engines are loaded from S3, got a HuggingFaceModel; "
            "pass S3Model('s3://bucket/prefix/'), the parent of the engine's folder"
        )
    ]
    assert [f.code for f in findings_of(named, None)] == ["LLM201"]


@pytest.mark.parametrize(
    ("architecture", "since"),
    [
        ("LlamaForCausalLM", "0.25"),
        ("FalconForCausalLM", "0.25"),
        ("RWForCausalLM", "0.25"),
        ("InternLMForCausalLM", "0.26"),
        ("BaichuanForCausalLM", "0.26"),
        ("ChatGLMModel", "0.26"),
        ("GPTJForCausalLM", "0.26"),
        ("MistralForCausalLM", "0.26"),
        ("MixtralForCausalLM", "0.26"),
        ("QWenLMHeadModel", "0.26"),
        ("Qwen2ForCausalLM", "0.26"),
        ("GPT2LMHeadModel", "0.26"),
        ("GPTBigCodeForCausalLM", "0.26"),
        ("PhiForCausalLM", "0.27"),
        ("OPTForCausalLM", "0.27"),
        ("GemmaForCausalLM", "0.28"),
        ("T5ForConditionalGeneration", "0.30"),
        ("GPTNeoXForCausalLM", None),
        ("BloomForCausalLM", None),
        ("MptForCausalLM", None),
        ("", None),
    ],
)
def test_an_architecture_is_compiled_from_its_version_on(
    architecture: str, since: str | None
) -> None:
    """
    As the documentation of each version lists them.
    """
    assert compiled_since(architecture) == since
