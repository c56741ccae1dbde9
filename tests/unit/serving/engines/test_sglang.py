"""
SGLang in its own image: what each keyword writes, and what is refused.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

import pytest
from aws_cdk import Token

from cdk_sagemaker_llm import HuggingFaceModel, ModelSource, S3Model, Sglang
from cdk_sagemaker_llm.demand import Assumptions, Demand
from cdk_sagemaker_llm.serving.base import Prepared

MODEL = HuggingFaceModel("a/b")
REF: dict[str, Any] = {"Ref": "Parameter"}
LATER: Any = Token.as_number(REF)


def prepared(
    serving: Sglang, model: ModelSource = MODEL, accelerators: int | None = 1
) -> Prepared:
    """
    Prepare for a model.
    """
    return serving.prepare(model, accelerators)


def written(
    serving: Sglang, model: ModelSource = MODEL, accelerators: int | None = 1
) -> dict[str, str]:
    """
    Return the variables that are written.
    """
    container = prepared(serving, model, accelerators).container
    assert container is not None
    return dict(container.environment)


KEYWORDS: dict[str, tuple[Any, dict[str, str]]] = {
    "tp_size": (1, {"SM_SGLANG_TP_SIZE": "1"}),
    "dp_size": (1, {"SM_SGLANG_DP_SIZE": "1"}),
    "pp_size": (1, {"SM_SGLANG_PP_SIZE": "1"}),
    "context_length": (4096, {"SM_SGLANG_CONTEXT_LENGTH": "4096"}),
    "mem_fraction_static": (0.8, {"SM_SGLANG_MEM_FRACTION_STATIC": "0.8"}),
    "max_running_requests": (8, {"SM_SGLANG_MAX_RUNNING_REQUESTS": "8"}),
    "chunked_prefill_size": (4096, {"SM_SGLANG_CHUNKED_PREFILL_SIZE": "4096"}),
    "dtype": ("bfloat16", {"SM_SGLANG_DTYPE": "bfloat16"}),
    "quantization": ("fp8", {"SM_SGLANG_QUANTIZATION": "fp8"}),
    "kv_cache_dtype": ("fp8_e5m2", {"SM_SGLANG_KV_CACHE_DTYPE": "fp8_e5m2"}),
    "disable_radix_cache": (True, {"SM_SGLANG_DISABLE_RADIX_CACHE": "true"}),
    "disable_cuda_graph": (True, {"SM_SGLANG_DISABLE_CUDA_GRAPH": "true"}),
    "trust_remote_code": (True, {"SM_SGLANG_TRUST_REMOTE_CODE": "true"}),
    "served_model_name": ("a", {"SM_SGLANG_SERVED_MODEL_NAME": "a"}),
    "enable_lora": (True, {"SM_SGLANG_ENABLE_LORA": "true"}),
    "lora_paths": (
        ["a=/opt/ml/model/a"],
        {"SM_SGLANG_LORA_PATHS": "a=/opt/ml/model/a"},
    ),
    "tool_call_parser": ("qwen25", {"SM_SGLANG_TOOL_CALL_PARSER": "qwen25"}),
    "reasoning_parser": ("qwen3", {"SM_SGLANG_REASONING_PARSER": "qwen3"}),
    "speculative_algorithm": ("NGRAM", {"SM_SGLANG_SPECULATIVE_ALGORITHM": "NGRAM"}),
    "chat_template": ("chatml", {"SM_SGLANG_CHAT_TEMPLATE": "chatml"}),
    "json_model_override_args": (
        {"a": 1},
        {"SM_SGLANG_JSON_MODEL_OVERRIDE_ARGS": '{"a":1}'},
    ),
    "options": ({"stream_interval": 2}, {"SM_SGLANG_STREAM_INTERVAL": "2"}),
    "unchecked_options": ({"made-up": "x"}, {"SM_SGLANG_MADE_UP": "x"}),
    "environment": ({"HF_HUB_OFFLINE": "1"}, {"HF_HUB_OFFLINE": "1"}),
}


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_each_keyword_is_a_variable(keyword: str) -> None:
    """
    Beside the model and its split.
    """
    value, variables = KEYWORDS[keyword]
    usual = {"SM_SGLANG_MODEL_PATH": "a/b", "SM_SGLANG_TP_SIZE": "1"}

    # LoRA without a first adapter asks for both.
    lora: dict[str, int | str] = {"max-lora-rank": 16, "lora-target-modules": "all"}
    if keyword == "enable_lora":
        usual["SM_SGLANG_MAX_LORA_RANK"] = "16"
        usual["SM_SGLANG_LORA_TARGET_MODULES"] = "all"
        serving = Sglang(enable_lora=True, options=lora)
    else:
        serving = Sglang(**{keyword: value})

    assert written(serving) == {**usual, **variables}


def test_every_keyword_is_tried() -> None:
    """
    But for those that choose the image, and the files.
    """
    rest = {"version", "distribution", "image", "files"}

    assert KEYWORDS.keys() | rest == {field.name for field in fields(Sglang)}


def test_what_is_off_already_is_not_written() -> None:
    """
    SGLang has no way to say it, and needs none.
    """
    off = Sglang(
        disable_radix_cache=False,
        disable_cuda_graph=False,
        trust_remote_code=False,
        enable_lora=False,
    )

    assert written(off) == written(Sglang())


@pytest.mark.parametrize(
    ("degrees", "devices", "size"),
    [
        ({}, 4, "4"),
        ({}, None, None),
        ({"dp_size": 2}, 4, "2"),
        ({"pp_size": 2, "dp_size": 2}, 4, "1"),
        ({"pp_size": 3}, 4, None),
        ({"tp_size": 2}, 4, "2"),
    ],
)
def test_the_model_is_split_over_what_nothing_else_takes(
    degrees: dict[str, int], devices: int | None, size: str | None
) -> None:
    """
    What does not divide is left alone.
    """
    told = written(Sglang(**degrees), accelerators=devices)  # type: ignore[arg-type]  # three of its fields

    assert told.get("SM_SGLANG_TP_SIZE") == size


def test_the_model_is_named_with_its_revision() -> None:
    """
    This entry point does not read HF_MODEL_ID.
    """
    told = written(Sglang(), HuggingFaceModel("a/b", revision="main"))

    assert told["SM_SGLANG_MODEL_PATH"] == "a/b"
    assert told["SM_SGLANG_REVISION"] == "main"
    assert "HF_MODEL_ID" not in told


def test_weights_on_s3_are_named_by_where_they_are() -> None:
    """
    SageMaker puts them there before the container starts.
    """
    told = written(Sglang(), S3Model("s3://bucket/weights/"))

    assert told["SM_SGLANG_MODEL_PATH"] == "/opt/ml/model"


@pytest.mark.parametrize(
    ("dtype", "size"), [(None, 2), ("bf16", 2), ("fp8_e5m2", 1), ("fp8_e4m3", 1)]
)
def test_a_cache_in_fp8_is_planned_with_a_byte(dtype: str | None, size: int) -> None:
    """
    Half of the cache of 16 bits.
    """
    demand = prepared(Sglang(kv_cache_dtype=dtype)).demand

    assert demand is not None
    assert demand.assumptions is not None
    assert demand.assumptions.kv_cache_dtype_bytes == size


@pytest.mark.parametrize(
    ("version", "distribution", "family"),
    [
        ("1.4", "aws", "sglang-server"),
        ("0.5.20", "aws", "sglang"),
        ("0.5.8", "huggingface", "huggingface-sglang"),
    ],
)
def test_version_and_distribution_name_the_image(
    version: str,
    distribution: Literal["aws", "huggingface"],
    family: str,
) -> None:
    """
    Each track has its own.
    """
    container = prepared(Sglang(version, distribution=distribution)).container

    assert container is not None
    assert container.image.family == family
    assert container.image.version == version


@pytest.mark.parametrize(
    ("serving", "told"),
    [
        (Sglang("1"), "LLM557 version 1 of sglang-server is a tag that AWS moves"),
        (
            Sglang(options={"tp-sise": 2}),
            "LLM551 tp-sise is no argument of SGLang 0.5.19; write tp-size",
        ),
        (
            Sglang(options={"json-model-override-args": "{bad"}),
            "LLM558 json-model-override-args must be JSON (Expecting property name",
        ),
        (
            Sglang(options={"model-loader-extra-config": "{bad"}),
            "LLM558 model-loader-extra-config must be JSON (Expecting",
        ),
        (
            Sglang(json_model_override_args={"a": 10**5000}),
            "LLM555 json_model_override_args cannot be told to this image: it is not",
        ),
        (
            Sglang(context_length=LATER),
            "LLM114 context_length is known only at deployment",
        ),
        (
            Sglang(context_length=1, environment={"SM_SGLANG_CONTEXT_LENGTH": "2"}),
            "LLM113 environment repeats SM_SGLANG_CONTEXT_LENGTH",
        ),
    ],
)
def test_what_would_fail_is_refused_in_one_line(serving: Sglang, told: str) -> None:
    """
    Nothing is written then.
    """
    outcome = prepared(serving)
    (line,) = map(str, outcome.findings)

    assert line.startswith(told)
    assert outcome.container is None


def test_json_that_is_some_is_taken_as_text() -> None:
    """
    As the command line takes it.
    """
    text = '{"a": [1, "b c"]}'
    told = written(Sglang(options={"json-model-override-args": text}))

    assert told["SM_SGLANG_JSON_MODEL_OVERRIDE_ARGS"] == text


def test_what_it_asks_of_the_memory() -> None:
    """
    By its own arguments; a prompt in one piece is up to 16,384 tokens long.
    """
    serving = Sglang(
        "1.4",
        tp_size=2,
        context_length=8192,
        mem_fraction_static=0.8,
        max_running_requests=8,
        chunked_prefill_size=-1,
        disable_cuda_graph=True,
        quantization="fp8",
    )

    assert serving.prepare(HuggingFaceModel("own/model"), 2).demand == Demand(
        architecture=None,
        assumptions=Assumptions(
            gpu_memory_utilization=0.8,
            cuda_graphs_gib=0.0,
            max_num_seqs=8,
            max_num_batched_tokens=16_384,
        ),
        weight_bits=8,
        context_length=8192,
        tensor_parallel_degree=2,
        engine="sglang",
        engine_version="0.5.19",
    )


@pytest.mark.parametrize(
    ("serving", "is_known"),
    [
        (Sglang(), True),
        (Sglang(pp_size=1, dp_size=1), True),
        (Sglang(pp_size=2), False),
        (Sglang(dp_size=2), False),
    ],
)
def test_copies_and_stages_are_not_modelled(
    serving: Sglang,
    is_known: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    No plan is made of them.
    """
    demand = serving.prepare(HuggingFaceModel("own/model"), 4).demand

    assert (demand is not None) is is_known


@pytest.mark.parametrize(
    ("serving", "devices", "size"),
    [
        (Sglang(), 4, "4"),
        (Sglang(dp_size=2), 4, "2"),
        (Sglang(pp_size=2, dp_size=2), 4, "1"),
        (Sglang(dp_size=3), 4, None),
        (Sglang(), None, None),
    ],
)
def test_copies_and_stages_share_the_devices(
    serving: Sglang, devices: int | None, size: str | None
) -> None:
    """
    Where they can do so evenly.
    """
    container = serving.prepare(HuggingFaceModel("own/model"), devices).container
    told = {} if container is None else container.environment

    assert told.get("SM_SGLANG_TP_SIZE") == size
