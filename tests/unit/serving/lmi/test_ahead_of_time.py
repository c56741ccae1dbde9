"""
What engines are bound to, and what compiles them.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm import Compilation, HuggingFaceModel, S3Model
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import (
    NEURONX,
    TENSORRT_LLM,
    AheadOfTime,
    compiled_findings,
    job_properties,
)

MADE = Compilation(
    image="0.28.0",
    accelerator_model="A10G",
    tensor_parallel_degree=4,
    options={"option.max_input_len": "1024"},
)
ENGINES = S3Model("s3://bucket/engines/", compiled=MADE)


def wanted(**more: object) -> Compilation:
    """
    Write what a configuration would compile.
    """
    given = {
        "image": "0.28.0",
        "accelerator_model": "L4",
        "tensor_parallel_degree": 4,
        "options": {"option.max_input_len": "1024"},
        **more,
    }
    return Compilation(**given)  # type: ignore[arg-type] # as tests want it


@pytest.mark.parametrize(
    ("version", "pipeline"),
    [
        ("0.28.0", []),
        ("0.29.0", ["--pipeline_parallel_degree", "1"]),
        ("0.33.0", ["--pipeline_parallel_degree", "1"]),
    ],
)
def test_the_command_is_the_scripts(version: str, pipeline: list[str]) -> None:
    """
    Word by word.
    """
    assert TENSORRT_LLM.command(version, 8) == [
        "python",
        "/opt/djl/partition/trt_llm_partition.py",
        "--properties_dir",
        "{input}/properties",
        "--trt_llm_model_repo",
        "{output}",
        "--tensor_parallel_degree",
        "8",
        *pipeline,
        "--model_path",
        "{input}/model",
    ]


def test_a_job_is_not_told_where_the_model_was() -> None:
    """
    All other lines stay as they are.
    """
    written = b"engine=MPI\noption.model_id=s3://a/\noption.revision=b\noption.x=a=b\n"

    assert job_properties(written) == "engine=MPI\noption.x=a=b\n"


def test_the_command_of_neuron_is_the_scripts() -> None:
    """
    Word by word; the entrypoint knows the first of them.
    """
    assert NEURONX.command("0.27.0", 24) == [
        "partition",
        "--model-dir",
        "{input}/properties",
        "--model-id",
        "{input}/model",
        "--save-mp-checkpoint-path",
        "{output}/neuron",
        "--tensor-parallel-degree",
        "24",
        "--skip-copy",
    ]
    assert NEURONX.folder == "neuron/"


RUNNING = (
    "engine",
    "option.enable_streaming",
    "option.model_id",
    "option.model_loading_timeout",
    "option.output_formatter",
    "option.predict_timeout",
    "option.revision",
    "option.tensor_parallel_degree",
)
SCHEDULING = (
    "option.batch_scheduler_policy",
    "option.enable_kv_cache_reuse",
    "option.kv_cache_free_gpu_mem_fraction",
    "option.mpi_mode",
    "option.rolling_batch",
)


@pytest.mark.parametrize(
    ("way", "running", "bound"),
    [
        (TENSORRT_LLM, (*RUNNING, *SCHEDULING), ("option.dtype", "option.quantize")),
        # Whether requests are batched is compiled into Neuron's graphs.
        (NEURONX, RUNNING, ("option.n_positions", "option.rolling_batch")),
    ],
)
def test_options_of_running_are_no_part_of_what_is_compiled(
    way: AheadOfTime, running: tuple[str, ...], bound: tuple[str, ...]
) -> None:
    """
    Each by its name, and what is left in the order of names.
    """
    found = way.bound_options(dict.fromkeys((*running, *reversed(bound)), "x"))

    assert list(found) == list(bound)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"image": "0.29.0"}, "the image is 0.29.0 where it was 0.28.0"),
        (
            {"tensor_parallel_degree": 2},
            "tensor_parallel_degree is 2 where it was 4",
        ),
        ({"options": {}}, "max_input_len is left out where it was 1024"),
        (
            {"options": {"option.max_input_len": "1024", "option.dtype": "fp16"}},
            "dtype is fp16 where it was left out",
        ),
        (
            {"image": "1", "options": {"option.max_input_len": "5"}},
            "the image is 1 where it was 0.28.0, max_input_len is 5 where it was 1024",
        ),
    ],
    ids=str,
)
def test_fails_if_engines_are_served_otherwise(
    asked: dict[str, object], words: str
) -> None:
    """
    Each difference is named, ours first.
    """
    (found,) = compiled_findings(ENGINES, wanted(**asked), is_precompiled=True)

    expected = f"LLM775 the model was compiled otherwise: {words}; pass the serving"
    assert str(found).startswith(expected)


def test_engines_are_served_as_what_they_are() -> None:
    """
    On what device is looked at elsewhere; what is no engine is not held to one.
    """
    plain = (None, HuggingFaceModel("gpt2"), S3Model("s3://bucket/weights/"))

    assert compiled_findings(ENGINES, wanted(), is_precompiled=True) == []
    assert [
        compiled_findings(each, wanted(image="1"), is_precompiled=False)
        for each in plain
    ] == [[], [], []]
    (found,) = compiled_findings(ENGINES, wanted(), is_precompiled=False)
    assert "precompiled was left out" in str(found)
