"""
VLLM in its own image: what each keyword writes, and what is refused.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from aws_cdk import Token

from cdk_sagemaker_llm import HuggingFaceModel, ModelSource, S3Model, Vllm
from cdk_sagemaker_llm.serving.base import Prepared

MODEL = HuggingFaceModel("a/b")
REF: dict[str, Any] = {"Ref": "Parameter"}
LATER: Any = Token.as_number(REF)
ZEPHYR = HuggingFaceModel("HuggingFaceH4/zephyr-7b-beta")
FILE = "/opt/ml/model/chat_template.jinja"


def prepared(
    serving: Vllm, model: ModelSource = MODEL, accelerators: int | None = 1
) -> Prepared:
    """
    Prepare for a model.
    """
    return serving.prepare(model, accelerators)


def written(
    serving: Vllm, model: ModelSource = MODEL, accelerators: int | None = 1
) -> dict[str, str]:
    """
    Return the variables that are written.
    """
    container = prepared(serving, model, accelerators).container
    assert container is not None
    return dict(container.environment)


def found(serving: Vllm, model: ModelSource = MODEL) -> list[str]:
    """
    Return what is found, each as one line.
    """
    return [str(each) for each in prepared(serving, model).findings]


KEYWORDS: dict[str, tuple[Any, dict[str, str]]] = {
    "tensor_parallel_size": (1, {"SM_VLLM_TENSOR_PARALLEL_SIZE": "1"}),
    "pipeline_parallel_size": (1, {"SM_VLLM_PIPELINE_PARALLEL_SIZE": "1"}),
    "data_parallel_size": (1, {"SM_VLLM_DATA_PARALLEL_SIZE": "1"}),
    "max_model_len": (4096, {"SM_VLLM_MAX_MODEL_LEN": "4096"}),
    "gpu_memory_utilization": (0.8, {"SM_VLLM_GPU_MEMORY_UTILIZATION": "0.8"}),
    "dtype": ("bfloat16", {"SM_VLLM_DTYPE": "bfloat16"}),
    "quantization": ("fp8", {"SM_VLLM_QUANTIZATION": "fp8"}),
    "kv_cache_dtype": ("fp8", {"SM_VLLM_KV_CACHE_DTYPE": "fp8"}),
    "enable_prefix_caching": (True, {"SM_VLLM_ENABLE_PREFIX_CACHING": "true"}),
    "enable_chunked_prefill": (True, {"SM_VLLM_ENABLE_CHUNKED_PREFILL": "true"}),
    "max_num_seqs": (8, {"SM_VLLM_MAX_NUM_SEQS": "8"}),
    "max_num_batched_tokens": (8192, {"SM_VLLM_MAX_NUM_BATCHED_TOKENS": "8192"}),
    "enforce_eager": (True, {"SM_VLLM_ENFORCE_EAGER": "true"}),
    "load_format": ("runai_streamer", {"SM_VLLM_LOAD_FORMAT": "runai_streamer"}),
    "trust_remote_code": (True, {"SM_VLLM_TRUST_REMOTE_CODE": "true"}),
    "served_model_name": (["a", "b"], {"SM_VLLM_SERVED_MODEL_NAME": '["a","b"]'}),
    "enable_lora": (True, {"SM_VLLM_ENABLE_LORA": "true"}),
    "max_loras": (2, {"SM_VLLM_MAX_LORAS": "2"}),
    "max_lora_rank": (32, {"SM_VLLM_MAX_LORA_RANK": "32"}),
    "speculative_config": (
        {"method": "ngram", "num_speculative_tokens": 3},
        {"SM_VLLM_SPECULATIVE_CONFIG": '{"method":"ngram","num_speculative_tokens":3}'},
    ),
    "tool_call_parser": (
        "hermes",
        {
            "SM_VLLM_ENABLE_AUTO_TOOL_CHOICE": "true",
            "SM_VLLM_TOOL_CALL_PARSER": "hermes",
        },
    ),
    "reasoning_parser": ("qwen3", {"SM_VLLM_REASONING_PARSER": "qwen3"}),
    "chat_template": (
        "{{ messages }}",
        {"SM_VLLM_CHAT_TEMPLATE": "{{ messages }}"},
    ),
    "default_chat_template_kwargs": (
        {"enable_thinking": False},
        {"SM_VLLM_DEFAULT_CHAT_TEMPLATE_KWARGS": '{"enable_thinking":false}'},
    ),
    "hf_overrides": ({"x": 1.5}, {"SM_VLLM_HF_OVERRIDES": '{"x":1.5}'}),
    "limit_mm_per_prompt": (
        {"image": 2},
        {"SM_VLLM_LIMIT_MM_PER_PROMPT": '{"image":2}'},
    ),
    "options": ({"max_logprobs": 20}, {"SM_VLLM_MAX_LOGPROBS": "20"}),
    "unchecked_options": ({"made-up": "x"}, {"SM_VLLM_MADE_UP": "x"}),
    "environment": ({"HF_HUB_OFFLINE": "1"}, {"HF_HUB_OFFLINE": "1"}),
}


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_each_keyword_is_a_variable(keyword: str) -> None:
    """
    Beside the model and its split.
    """
    value, variables = KEYWORDS[keyword]
    usual = {"SM_VLLM_MODEL": "a/b", "SM_VLLM_TENSOR_PARALLEL_SIZE": "1"}

    assert written(Vllm(**{keyword: value})) == {**usual, **variables}


def test_every_keyword_is_tried() -> None:
    """
    But for those that choose the image, and the files.
    """
    rest = {"version", "distribution", "image", "files"}

    assert KEYWORDS.keys() | rest == {field.name for field in fields(Vllm)}


@pytest.mark.parametrize(
    ("keyword", "variable"),
    [
        ("enable_prefix_caching", "SM_VLLM_NO_ENABLE_PREFIX_CACHING"),
        ("enable_chunked_prefill", "SM_VLLM_NO_ENABLE_CHUNKED_PREFILL"),
    ],
)
def test_what_is_on_by_default_is_switched_off_by_its_negative(
    keyword: str, variable: str
) -> None:
    """
    The entry point drops a variable that says false.
    """
    off: dict[str, Any] = {keyword: False}
    told = written(Vllm(**off))

    assert told[variable] == "true"
    assert f"SM_VLLM_{keyword.upper()}" not in told


@pytest.mark.parametrize(
    ("template", "is_file"),
    [
        # Without braces it is the name of a file, which is not there.
        ("{" + "x" * 1023, False),
        ("{" + "x" * 1024, True),
        ("{}" + "é" * 511, False),
        ("{}" + "é" * 511 + "x", True),
        ("one\ntwo", True),
        ("{one} # two", True),
        ("{one}#two", False),
    ],
)
def test_a_template_that_no_variable_holds_travels_as_a_file(
    template: str,
    is_file: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """
    Beyond 1,024 bytes, of several lines, or cut by supervisord.
    """
    container = prepared(Vllm(chat_template=template)).container
    assert container is not None

    files = {"chat_template.jinja": template.encode()} if is_file else {}
    assert dict(container.files) == files
    said = container.environment["SM_VLLM_CHAT_TEMPLATE"]
    assert said == (FILE if is_file else template)
    assert container.environment["SM_VLLM_MODEL"] == "a/b"


@pytest.mark.parametrize(
    ("degrees", "devices", "size"),
    [
        ({}, 4, "4"),
        ({}, 1, "1"),
        ({}, None, None),
        ({"pipeline_parallel_size": 2}, 4, "2"),
        ({"data_parallel_size": 4}, 4, "1"),
        ({"pipeline_parallel_size": 2, "data_parallel_size": 2}, 4, "1"),
        ({"pipeline_parallel_size": 3}, 4, None),
        ({"tensor_parallel_size": 2}, 4, "2"),
    ],
)
def test_the_model_is_split_over_what_nothing_else_takes(
    degrees: dict[str, int], devices: int | None, size: str | None
) -> None:
    """
    What does not divide is left alone.
    """
    told = written(Vllm(**degrees), accelerators=devices)  # type: ignore[arg-type]  # three of its fields

    assert told.get("SM_VLLM_TENSOR_PARALLEL_SIZE") == size


def test_a_revision_goes_along() -> None:
    """
    Of the Hub's repository.
    """
    told = written(Vllm(), HuggingFaceModel("a/b", revision="main"))

    assert told["SM_VLLM_REVISION"] == "main"


def test_weights_on_s3_are_named_by_where_they_are() -> None:
    """
    SageMaker puts them there before the container starts.
    """
    container = prepared(Vllm(), S3Model("s3://bucket/weights/")).container
    assert container is not None

    assert container.environment["SM_VLLM_MODEL"] == "/opt/ml/model"
    assert container.weights_uri == "s3://bucket/weights/"


def test_hugging_faces_second_cache_is_off_unless_it_is_asked_for() -> None:
    """
    It takes half of the host's memory.
    """
    theirs = Vllm("0.29.0", distribution="huggingface")
    asked = Vllm(
        "0.29.0", distribution="huggingface", environment={"HF_ENABLE_LMCACHE": "1"}
    )

    assert written(theirs)["HF_ENABLE_LMCACHE"] == "0"
    assert written(asked)["HF_ENABLE_LMCACHE"] == "1"
    assert "HF_ENABLE_LMCACHE" not in written(Vllm())


@pytest.mark.parametrize(
    ("model", "seconds"),
    [
        ("HuggingFaceH4/zephyr-7b-beta", None),
        ("Qwen/Qwen2.5-14B-Instruct", None),
        ("Qwen/Qwen2.5-32B-Instruct", "2100"),
        ("Qwen/Qwen2.5-72B-Instruct", "3600"),
    ],
)
def test_vllm_waits_as_long_as_sagemaker_does(model: str, seconds: str | None) -> None:
    """
    Where weights alone take longer than its own 600 seconds: beyond 30 GB.
    """
    told = written(Vllm(), HuggingFaceModel(model), 8)

    assert told.get("VLLM_ENGINE_READY_TIMEOUT_S") == seconds


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(None, 2), ("bfloat16", 2), ("auto", 2), ("fp8", 1), ("fp8_e5m2", 1)],
)
def test_a_cache_in_fp8_is_planned_with_a_byte(dtype: str | None, size: int) -> None:
    """
    Half of the cache of 16 bits.
    """
    demand = prepared(Vllm(kv_cache_dtype=dtype), ZEPHYR).demand

    assert demand is not None
    assert demand.assumptions is not None
    assert demand.assumptions.kv_cache_dtype_bytes == size


@pytest.mark.parametrize(
    ("serving", "told"),
    [
        (Vllm("2"), "LLM557 version 2 of vllm-server is a tag that AWS moves"),
        (Vllm("9.9"), "LLM102 image vllm-server has no version '9.9'"),
        (
            Vllm(options={"max_num_seqs": 8}, max_num_seqs=8),
            "LLM113 options repeats max_num_seqs",
        ),
        (
            Vllm(max_num_seqs=8, environment={"SM_VLLM_MAX_NUM_SEQS": "9"}),
            "LLM113 environment repeats SM_VLLM_MAX_NUM_SEQS",
        ),
        (
            Vllm(options={"SM_VLLM_MAX_LOGPROBS": 20}),
            (
                "LLM551 SM_VLLM_MAX_LOGPROBS is no argument of vLLM 0.30.0; write "
                "max-logprobs"
            ),
        ),
        (
            Vllm(options={"max-num-seqss": 8}),
            "LLM551 max-num-seqss is no argument of vLLM 0.30.0; write max-num-seqs",
        ),
        (
            Vllm("0.26.0", options={"swap-space": 8}),
            "LLM553 swap-space is no argument of vLLM 0.26.0",
        ),
        (
            Vllm(options={"speculative-config": "{bad"}),
            "LLM504 speculative-config must be JSON (Expecting property name",
        ),
        (
            Vllm(options={"compilation-config": "{bad"}),
            "LLM504 compilation-config must be JSON (Expecting property name",
        ),
        (
            Vllm(hf_overrides={"a": 10**5000}),
            "LLM555 hf_overrides cannot be told to this image: it is not what JSON can",
        ),
        (Vllm(max_num_seqs=0), "LLM507 max_num_seqs must be at least 1, got 0"),
        (
            Vllm(max_num_seqs=LATER),
            "LLM114 max_num_seqs is known only at deployment",
        ),
        (
            Vllm(hf_overrides={"a": Token.as_string(REF)}),
            "LLM114 hf_overrides is known only at deployment",
        ),
    ],
)
def test_what_would_fail_is_refused_in_one_line(serving: Vllm, told: str) -> None:
    """
    Nothing is written then.
    """
    outcome = prepared(serving)
    (line,) = map(str, outcome.findings)

    assert line.startswith(told)
    assert outcome.container is None


def test_fails_for_json_as_text_in_a_parameter() -> None:
    """
    A parameter takes the object itself.
    """
    with pytest.raises(ValueError, match=r"hf_overrides must be a mapping .*'\{bad'"):
        Vllm(hf_overrides="{bad")  # type: ignore[arg-type]  # on purpose


def test_fails_for_what_no_json_holds() -> None:
    """
    It is named where it stands.
    """
    said = (
        r"hf_overrides\['a'\] must be a value that JSON can hold, got a value of type"
    )
    with pytest.raises(ValueError, match=said):
        Vllm(hf_overrides={"a": {1, 2}})


def test_an_image_by_its_digest_is_checked_as_the_version() -> None:
    """
    Tags move, digests do not.
    """
    digest = f"sha256:{'0' * 64}"
    outcome = prepared(Vllm(image=digest))

    assert [each.code for each in outcome.findings] == ["LLM224"]
    assert outcome.container is not None
    assert outcome.container.image.tag == digest


def test_a_gated_model_is_told_of_once() -> None:
    """
    By the class, which knows of tokens.
    """
    gated = HuggingFaceModel("meta-llama/Llama-3.1-8B-Instruct")

    assert [line[:6] for line in found(Vllm(), gated)] == ["LLM214"]


@pytest.mark.parametrize(
    ("image", "codes"),
    [
        ("server-sagemaker-cuda-v2-soci", ["LLM224", "LLM557"]),
        ("server-sagemaker-cuda-v2.6-soci", ["LLM224"]),
    ],
)
def test_an_image_with_an_index_moves_as_the_one_without(
    image: str, codes: list[str]
) -> None:
    """
    The message names what was written.
    """
    given = prepared(Vllm("2.6", image=image)).findings

    assert [one.code for one in given] == codes
    assert all(f"image {image} is" in one.message for one in given)


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (
            "latest",
            (
                "LLM557 version latest of vllm-server is a tag that AWS moves: the "
                "next instance may start another engine; name 2.6, or the image's "
                "digest in image="
            ),
        ),
        ("v0.28.0", "LLM102 image vllm has no version 'v0.28.0'; use 0.28.0"),
        (
            "0.10.2",
            "LLM102 image vllm has no version '0.10.2'; use 0.13.0, 0.14.0 or 0.15.1",
        ),
    ],
)
def test_a_version_that_is_none_names_those_nearest(version: str, told: str) -> None:
    """
    By their numbers, and not by their letters.
    """
    (line,) = map(str, prepared(Vllm(version)).findings)

    assert line == told


@pytest.mark.parametrize(
    ("serving", "family"),
    [
        (Vllm(), "vllm-server"),
        (Vllm("2.4"), "vllm-server"),
        (Vllm("0.28.0"), "vllm"),
        (Vllm("0.29.0", distribution="huggingface"), "huggingface-vllm"),
        (Vllm("0.29.0", distribution="aws"), "vllm"),
    ],
)
def test_the_version_and_whose_it_is_choose_the_family(
    serving: Vllm, family: str
) -> None:
    """
    The track on Ubuntu counts as vLLM does.
    """
    assert serving.container_family == family
