"""
What a simulation reads out of the variables of an engine in an image of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cdk_sagemaker_llm.catalog.images import ImageRelease, image_at
from cdk_sagemaker_llm.cli.app.containers import (
    ServedModel,
    _served,
    engine_settings,
)
from cdk_sagemaker_llm.cli.app.simulated import read_hosted
from cdk_sagemaker_llm.hosting.models.artifact import tarball
from tests.unit.cli.app.templates import template, variant

REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"


def image(name: str) -> ImageRelease:
    """
    Return an image of AWS's registry.
    """
    found = image_at(f"{REGISTRY}/{name}")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "variables", "expected"),
    [
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {
                "SM_VLLM_MODEL": "a/b",
                "SM_VLLM_TENSOR_PARALLEL_SIZE": "4",
                "SM_VLLM_MAX_MODEL_LEN": "8k",
                "SM_VLLM_MAX_NUM_SEQS": "32",
            },
            {
                "model": "a/b",
                "degree": "4",
                "context_length": "8000",
                "most_sequences": "32",
            },
        ),
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {"HF_MODEL_ID": "a/b", "SM_VLLM_QUANTIZATION": "awq"},
            {"model": "a/b", "degree": "1", "quantize": "awq"},
        ),
        (
            "sglang:server-sagemaker-cuda-v1.4",
            {
                "SM_SGLANG_MODEL_PATH": "a/b",
                "SM_SGLANG_TP": "2",
                "SM_SGLANG_CONTEXT_LENGTH": "4096",
                "SM_SGLANG_MAX_RUNNING_REQUESTS": "16",
            },
            {
                "model": "a/b",
                "degree": "2",
                "context_length": "4096",
                "most_sequences": "16",
            },
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {
                "SM_LLAMA_CPP_MODEL": "/opt/ml/model/x.gguf",
                "SM_LLAMA_CPP_CTX_SIZE": "4096",
                "SM_LLAMA_CPP_PARALLEL": "4",
            },
            {
                "model": "/opt/ml/model/x.gguf",
                "degree": "1",
                "context_length": "4096",
                "most_sequences": "4",
            },
        ),
    ],
    ids=["vLLM", "vLLM by its Hub id", "SGLang", "llama.cpp"],
)
def test_what_an_engine_is_told(
    name: str, variables: dict[str, str], expected: dict[str, str]
) -> None:
    """
    As its entry point and its parser read it.
    """
    assert engine_settings(image(name), variables) == expected


def test_other_images_have_none() -> None:
    """
    Nor has one that nobody knows.
    """
    assert engine_settings(None, {}) is None
    lmi = image("djl-inference:0.36.0-lmi28.0.0-cu130")
    assert engine_settings(lmi, {"OPTION_MODEL_ID": "a/b"}) is None
    tei = image("tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04")
    assert engine_settings(tei, {"HF_MODEL_ID": "a/b"}) is None


def test_an_engine_that_does_not_start() -> None:
    """
    The simulation says why.
    """
    wrong = {"SM_VLLM_MODEL": "a/b", "SM_VLLM_NO_SUCH": "1"}
    with pytest.raises(ValueError, match="unrecognized arguments: --no-such"):
        engine_settings(image("vllm:server-sagemaker-cuda-v2.6"), wrong)


@pytest.mark.parametrize(
    ("name", "settings", "engine", "version", "model_type", "gguf"),
    [
        (
            "vllm:server-sagemaker-cuda-v2.6",
            {"model": "Qwen/Qwen3-4B"},
            *("vllm", "0.30.0", "qwen3", None),
        ),
        (
            "sglang:server-sagemaker-cuda-v1.4",
            {"model": "Qwen/Qwen3-4B"},
            *("sglang", "0.5.19", "qwen3", None),
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {"model": "Qwen/Qwen3-4B-GGUF:Q4_K_M"},
            *("llama.cpp", None, "qwen3", "Q4_K_M"),
        ),
        (
            "llama-cpp:server-sagemaker-cuda-v1.0.1",
            {"model": "Qwen/Qwen3-4B-gguf", "file": "qwen3-4b-q8_0.gguf"},
            *("llama.cpp", None, "qwen3", "Q8_0"),
        ),
        (
            "tei:2.0.1-tei1.9.3-gpu-py310-cu129-ubuntu24.04",
            {"HF_MODEL_ID": "BAAI/bge-m3"},
            *("tei", None, "xlm-roberta", None),
        ),
        (
            "djl-inference:0.30.0-tensorrtllm0.12.0-cu125",
            {"option.model_id": "mistralai/Mistral-7B-v0.1"},
            *("tensorrt-llm", None, "mistral", None),
        ),
    ],
    ids=["vLLM", "SGLang", "GGUF", "GGUF by its file", "TEI", "TensorRT-LLM"],
)
def test_a_plan_is_of_the_engine_in_the_image(
    name: str,
    settings: dict[str, str],
    engine: str,
    version: str | None,
    model_type: str,
    gguf: str | None,
) -> None:
    """
    With its release, where a plan knows it, and the type of its file.
    """
    served = _served(settings, {}, image(name))

    assert (served.engine, served.engine_version) == (engine, version)
    assert served.gguf_type == gguf
    assert served.architecture is not None
    assert served.architecture.model_type == model_type


def read(folder: Path, container: Mapping[str, object]) -> tuple[ServedModel, str]:
    """
    Return what a container serves, and what is told of it.
    """
    hosts = variant()
    hosts["Model"]["Properties"]["PrimaryContainer"] = container
    found = read_hosted(template(folder, hosts))
    (one,) = found.variants
    return one.models[0].served, "\n".join(found.left_out)


def test_variables_that_an_engine_does_not_take_are_told(tmp_path: Path) -> None:
    """
    What they say is taken as they say it.
    """
    uri = f"{REGISTRY}/vllm:server-sagemaker-cuda-v2.6"
    variables = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "SM_VLLM_NO_SUCH": "1"}
    served, told = read(tmp_path, {"Image": uri, "Environment": variables})

    assert (served.model, served.degree, served.image) == ("Qwen/Qwen3-4B", None, uri)
    assert told.startswith("Host/Model: its environment cannot be read: ")
    assert "unrecognized arguments: --no-such" in told


def test_model_data_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """
    And the variables of an LMI container are taken.
    """
    name = "ab" * 32
    (tmp_path / f"asset.{name}.tar.gz").write_bytes(b"none")
    uri = f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"
    container = {
        "Image": uri,
        "Environment": {"HF_MODEL_ID": "Qwen/Qwen3-4B"},
        "ModelDataUrl": f"s3://bucket/{name}.tar.gz",
    }
    served, told = read(tmp_path, container)

    assert served.model == "Qwen/Qwen3-4B"
    assert told.startswith("Host/Model: its model data cannot be read: ")


def test_a_tarball_says_what_an_lmi_container_serves(tmp_path: Path) -> None:
    """
    With the variables beside it.
    """
    name = "ab" * 32
    text = (
        "option.model_id=Qwen/Qwen3-4B\noption.tensor_parallel_degree=2\n"
        "option.max_model_len=2048\noption.max_rolling_batch_size=8\n"
    )
    content = tarball({"serving.properties": b"\xef\xbb\xbf" + text.encode()})
    (tmp_path / f"asset.{name}.tar.gz").write_bytes(content)
    uri = f"{REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"
    container = {
        "Image": uri,
        "Environment": {"OPTION_QUANTIZE": "fp8", "OPEN": {"Ref": "It"}, "N": 1},
        "ModelDataUrl": f"s3://bucket/{name}.tar.gz",
    }
    served, told = read(tmp_path, container)

    assert told == ""
    assert (served.model, served.degree, served.weight_bits) == ("Qwen/Qwen3-4B", 2, 8)
    assert (served.context_length, served.most_sequences) == (2048, 8)
    assert (served.source, served.unknown) == ("hub", "")


@pytest.mark.parametrize(
    ("settings", "container", "source"),
    [
        ({"HF_MODEL_ID": "Qwen/Qwen3-4B"}, {}, "hub"),
        ({"HF_MODEL_ID": "s3://bucket/it/"}, {}, "s3"),
        ({"HF_MODEL_ID": "/opt/ml/model"}, {}, "s3"),
        (
            {"HF_MODEL_ID": "Qwen/Qwen3-4B"},
            {"ModelDataSource": {"S3DataSource": {"S3Uri": "s3://bucket/it/"}}},
            "s3",
        ),
        ({}, {}, "s3"),
    ],
)
def test_weights_come_from_the_hub_or_from_s3(
    settings: dict[str, str], container: dict[str, object], source: str
) -> None:
    """
    As the name of the model says it, or what is put beside the container.
    """
    assert _served(settings, container, None).source == source


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ({"option.model_id": "a", "model": "b", "HF_MODEL_ID": "c"}, "model", "a"),
        ({"model": "b", "HF_MODEL_ID": "c"}, "model", "b"),
        ({"option.tensor_parallel_degree": "2", "SM_NUM_GPUS": "4"}, "degree", 2),
        ({"SM_NUM_GPUS": "4"}, "degree", 4),
        ({"option.tensor_parallel_degree": "max"}, "degree", None),
        ({"option.quantize": "awq"}, "weight_bits", 4),
        ({"HF_MODEL_QUANTIZE": "awq"}, "weight_bits", 4),
        ({"QUANTIZE": "awq"}, "weight_bits", 4),
        ({"quantize": "awq"}, "weight_bits", 4),
        ({"option.dtype": "fp32"}, "weight_bits", 32),
        ({"dtype": "float32"}, "weight_bits", 32),
        ({"DTYPE": "float32"}, "weight_bits", 32),
        ({"MAX_TOTAL_TOKENS": "99"}, "context_length", 99),
        ({"context_length": "98"}, "context_length", 98),
        ({"MAX_BATCH_SIZE": "7"}, "most_sequences", 7),
        ({"most_sequences": "6"}, "most_sequences", 6),
    ],
)
def test_a_setting_has_several_names(
    settings: dict[str, str], field: str, value: object
) -> None:
    """
    LMI's own first.
    """
    assert getattr(_served(settings, {}, None), field) == value


def test_a_model_without_a_name_cannot_be_planned() -> None:
    """
    Nor one that the catalogue lacks; each says why.
    """
    nameless, unknown = _served({}, {}, None), _served({"model": "a/b"}, {}, None)

    assert nameless.plan_on("ml.g5.xlarge", 1) == (
        "the app does not say which model it serves"
    )
    assert unknown.plan_on("ml.g5.xlarge", 1) == (
        "the catalogue does not have its model a/b"
    )


def test_a_plan_is_made_with_all_that_is_known() -> None:
    """
    Its own degree counts before the accelerators that a copy has.
    """
    settings = {
        "model": "Qwen/Qwen3-4B",
        "degree": "2",
        "context_length": "2048",
        "most_sequences": "8",
        "quantize": "fp8",
    }
    served = _served(settings, {}, image("vllm:server-sagemaker-cuda-v2.6"))
    plan = served.plan_on("ml.g5.12xlarge", 4)
    assert not isinstance(plan, str)

    assert (plan.tensor_parallel_degree, plan.context_length) == (2, 2048)
    assert (plan.weight_bits, plan.engine) == (8, "vllm")
    assert plan.engine_version == "0.30.0"
    assert plan.setting.assumptions.max_num_seqs == 8
    whole = served._replace(degree=None).plan_on("ml.g5.12xlarge", 4)
    assert not isinstance(whole, str)
    assert whole.tensor_parallel_degree == 4
    wrong = served.plan_on("ml.z9.xlarge", 4)
    assert isinstance(wrong, str)
    assert "ml.z9.xlarge" in wrong
