"""
What each version of the containers makes of variables, and what wins.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.serving.lmi.translation import (
    Lost,
    Translation,
    engine_to_load,
    option_key,
    translate,
)

LMI, TRT, DS, NEURON = "djl-lmi", "djl-tensorrtllm", "djl-deepspeed", "djl-neuronx"
AT_DEPLOYMENT = "${Token[TOKEN.1]}"


def translated(
    image: str, environment: dict[str, str], file: dict[str, str] | None = None
) -> Translation:
    """
    Translate for an image such as ``djl-lmi 0.36.0``.
    """
    container, version = image.split()
    return translate(
        environment, file, container=container, version=LmiVersion.parse(version)
    )


@pytest.mark.parametrize(
    ("image", "environment", "properties"),
    [
        # Up to 0.26 there is no engine among the options.
        (f"{DS} 0.26.0", {"OPTION_ENGINE": "MPI", "OPTION_X": "1"}, {"option.x": "1"}),
        (f"{DS} 0.27.0", {"OPTION_ENGINE": "MPI"}, {"engine": "MPI"}),
        # The entry point's name keeps its capital, and so do all from 0.28 on.
        (f"{LMI} 0.28.0", {"OPTION_ENTRYPOINT": "m.py"}, {"option.entryPoint": "m.py"}),
        (f"{LMI} 0.28.0", {"OPTION_entryPoint": "m.py"}, {"option.entryPoint": "m.py"}),
        (f"{LMI} 0.28.0", {"OPTION_tgi_Compat": "1"}, {"option.tgi_Compat": "1"}),
        (f"{DS} 0.27.0", {"OPTION_Dtype": "fp16"}, {"option.dtype": "fp16"}),
        # An empty option is none; any other name is no option.
        (f"{LMI} 0.36.0", {"OPTION_DTYPE": "", "OPTION_": "x", "DTYPE": "x"}, {}),
        # A model of the Hub, with what belongs to it.
        (
            f"{DS} 0.26.0",
            {"HF_MODEL_ID": "a/b", "HF_MODEL_REVISION": "1", "HF_REVISION": "2"},
            {"option.model_id": "a/b", "option.revision": "1"},
        ),
        (
            f"{LMI} 0.36.0",
            {"HF_MODEL_ID": "a/b", "HF_MODEL_REVISION": "1", "HF_REVISION": "2"},
            {"option.model_id": "a/b", "option.revision": "2"},
        ),
        (
            f"{LMI} 0.36.0",
            {"HF_MODEL_ID": "a/b", "OPTION_MODEL_ID": "c/d", "HF_TASK": "x"},
            {"option.model_id": "a/b", "option.task": "x"},
        ),
        # From 0.28 on an address is loaded as it is.
        (
            f"{DS} 0.27.0",
            {"HF_MODEL_ID": "s3://b/m/"},
            {"option.model_id": "s3://b/m/"},
        ),
        (f"{LMI} 0.28.0", {"HF_MODEL_ID": "s3://b/m/", "HF_TASK": "x"}, {}),
        (f"{LMI} 0.28.0", {"HF_MODEL_ID": "djl://a/b/c", "HF_TASK": "x"}, {}),
        (
            f"{LMI} 0.30.0",
            {"SERVING_MIN_WORKERS": "1", "SERVING_MAX_WORKERS": "2"},
            {"minWorkers": "1", "maxWorkers": "2"},
        ),
        (f"{LMI} 0.36.0", {"HF_MODEL_ID": "/opt/ml/model", "HF_REVISION": "x"}, {}),
        # TGI's and SageMaker's names, on images for GPUs.
        (f"{DS} 0.26.0", {"SM_NUM_GPUS": "4"}, {}),
        (f"{DS} 0.27.0", {"SM_NUM_GPUS": "4"}, {"option.tensor_parallel_degree": "4"}),
        (f"{NEURON} 0.27.0", {"SM_NUM_GPUS": "4"}, {}),
        (f"{LMI} 0.36.0", {"SM_NUM_GPUS": ""}, {}),
        (
            f"{NEURON} 0.29.0",
            {"TENSOR_PARALLEL_DEGREE": "4"},
            {"option.tensor_parallel_degree": "4"},
        ),
        (
            f"{LMI} 0.36.0",
            {"TENSOR_PARALLEL_DEGREE": "2", "SM_NUM_GPUS": "4"},
            {"option.tensor_parallel_degree": "2"},
        ),
        (
            f"{LMI} 0.28.0",
            {"MAX_BATCH_SIZE": "8", "MAX_BATCH_PREFILL_TOKENS": "9"},
            {
                "option.max_rolling_batch_prefill_tokens": "9",
                "option.max_rolling_batch_size": "8",
            },
        ),
        (
            f"{LMI} 0.28.0",
            {"HF_MODEL_QUANTIZE": "awq", "OPTION_QUANTIZE": "gptq"},
            {"option.quantize": "gptq"},
        ),
        (
            f"{LMI} 0.36.0",
            {"HF_MODEL_TRUST_REMOTE_CODE": "true"},
            {"option.trust_remote_code": "true"},
        ),
        # Graphs are the opposite of eager execution, from 0.28 on.
        (f"{DS} 0.27.0", {"ENABLE_CUDA_GRAPHS": "true"}, {}),
        (
            f"{LMI} 0.28.0",
            {"ENABLE_CUDA_GRAPHS": "true"},
            {"option.enforce_eager": "false"},
        ),
        (
            f"{LMI} 0.28.0",
            {"ENABLE_CUDA_GRAPHS": "1"},
            {"option.enforce_eager": "true"},
        ),
        # The share of memory is each image's own.
        (f"{TRT} 0.27.0", {"CUDA_MEMORY_FRACTION": "0.8"}, {}),
        (
            f"{TRT} 0.28.0",
            {"CUDA_MEMORY_FRACTION": "0.8"},
            {"option.kv_cache_free_gpu_mem_fraction": "0.8"},
        ),
        (
            f"{LMI} 0.28.0",
            {"CUDA_MEMORY_FRACTION": "0.8"},
            {"option.gpu_memory_utilization": "0.8"},
        ),
        (f"{NEURON} 0.28.0", {"CUDA_MEMORY_FRACTION": "0.8"}, {}),
        # Pipelines came with 0.29.
        (f"{LMI} 0.28.0", {"PIPELINE_PARALLEL_DEGREE": "2"}, {}),
        (
            f"{LMI} 0.29.0",
            {"PIPELINE_PARALLEL_DEGREE": "2"},
            {"option.pipeline_parallel_degree": "2"},
        ),
        # The image's own time-outs, and SageMaker's names for them from 0.35 on.
        (
            f"{LMI} 0.34.0",
            {"MODEL_LOADING_TIMEOUT": "9", "SAGEMAKER_STARTUP_TIMEOUT": "8"},
            {"option.model_loading_timeout": "9"},
        ),
        (
            f"{LMI} 0.35.0",
            {"MODEL_LOADING_TIMEOUT": "9", "SAGEMAKER_STARTUP_TIMEOUT": "8"},
            {"option.model_loading_timeout": "8"},
        ),
        (
            f"{LMI} 0.35.0",
            {"PREDICT_TIMEOUT": "9", "OPTION_PREDICT_TIMEOUT": "7"},
            {"option.predict_timeout": "7"},
        ),
        (
            f"{LMI} 0.35.0",
            {"SAGEMAKER_NUM_MODEL_WORKERS": "2", "SERVING_MAX_WORKERS": "3"},
            {"maxWorkers": "2", "minWorkers": "2"},
        ),
        # Python's own default, up to 0.26.
        (
            f"{DS} 0.26.0",
            {"HF_TRUST_REMOTE_CODE": "true"},
            {"option.trust_remote_code": "true"},
        ),
        (f"{DS} 0.27.0", {"HF_TRUST_REMOTE_CODE": "true"}, {}),
        # The engine of the model to load, where there is no other.
        (
            f"{DS} 0.26.0",
            {"SERVING_LOAD_MODELS": "it::MPI=/opt/ml/model"},
            {"engine": "MPI"},
        ),
        (
            f"{LMI} 0.28.0",
            {"SERVING_LOAD_MODELS": "it::MPI=/m", "OPTION_ENGINE": "Python"},
            {"engine": "MPI"},
        ),
        (
            f"{DS} 0.26.0",
            {"SERVING_LOAD_MODELS": "it::MPI=/m", "HF_MODEL_ID": "a/b"},
            {"option.model_id": "a/b"},
        ),
    ],
    ids=str,
)
def test_each_version_reads_its_own_variables(
    image: str, environment: dict[str, str], properties: dict[str, str]
) -> None:
    """
    As djl-serving's front end and the entry point do at that version.
    """
    assert translated(image, environment).properties == properties


def test_the_file_wins_over_all_but_sagemakers_names() -> None:
    """
    What does not take effect is kept, with what wins.
    """
    found = translated(
        f"{LMI} 0.36.0",
        {
            "OPTION_DTYPE": "bf16",
            "TENSOR_PARALLEL_DEGREE": "2",
            "OPTION_MAX_MODEL_LEN": "9",
            "SAGEMAKER_STARTUP_TIMEOUT": "8",
        },
        {
            "option.dtype": "fp16",
            "option.tensor_parallel_degree": "4",
            "option.model_loading_timeout": "7",
        },
    )

    assert found.properties == {
        "option.dtype": "fp16",
        "option.tensor_parallel_degree": "4",
        "option.max_model_len": "9",
        "option.model_loading_timeout": "8",
    }
    assert found.lost == [
        Lost("OPTION_DTYPE", "bf16", "option.dtype", None, "fp16"),
        Lost("TENSOR_PARALLEL_DEGREE", "2", "option.tensor_parallel_degree", None, "4"),
        Lost("", "7", "option.model_loading_timeout", "SAGEMAKER_STARTUP_TIMEOUT", "8"),
    ]
    assert found.variables == {
        "option.max_model_len": "OPTION_MAX_MODEL_LEN",
        "option.model_loading_timeout": "SAGEMAKER_STARTUP_TIMEOUT",
    }


def test_a_model_of_the_hub_does_not_reach_into_a_file() -> None:
    """
    It is written into a file of its own, for a model of its own.
    """
    found = translated(f"{LMI} 0.36.0", {"HF_MODEL_ID": "a/b"}, {"engine": "Python"})

    assert found.properties == {"engine": "Python"}


def test_what_deployment_decides_has_no_value() -> None:
    """
    It is known that something sets it, and nothing else does then.
    """
    found = translated(
        f"{LMI} 0.36.0",
        {"OPTION_DTYPE": AT_DEPLOYMENT, "TENSOR_PARALLEL_DEGREE": AT_DEPLOYMENT},
    )

    assert found.properties == {}
    assert found.unknown == {"option.dtype", "option.tensor_parallel_degree"}
    assert found.lost == []


def test_what_deployment_decides_wins_like_any_value() -> None:
    """
    Though nobody can say by which value.
    """
    degree, timeout = "option.tensor_parallel_degree", "option.predict_timeout"
    found = translated(
        f"{LMI} 0.36.0",
        {
            "OPTION_TENSOR_PARALLEL_DEGREE": AT_DEPLOYMENT,
            "TENSOR_PARALLEL_DEGREE": "4",
            "PREDICT_TIMEOUT": "60",
            "SAGEMAKER_MODEL_SERVER_TIMEOUT_SECONDS": AT_DEPLOYMENT,
        },
    )
    sagemakers = "SAGEMAKER_MODEL_SERVER_TIMEOUT_SECONDS"

    assert found.properties == {}
    assert found.unknown == {degree, timeout}
    assert found.lost == [
        Lost(
            "TENSOR_PARALLEL_DEGREE", "4", degree, "OPTION_TENSOR_PARALLEL_DEGREE", None
        ),
        Lost("PREDICT_TIMEOUT", "60", timeout, sagemakers, None),
    ]


@pytest.mark.parametrize(
    ("value", "eager"), [("true", "false"), ("false", "true"), ("1", "true")]
)
def test_cuda_graphs_are_the_contrary_of_eager(value: str, eager: str) -> None:
    """
    A placeholder is neither.
    """
    graphs = "ENABLE_CUDA_GRAPHS"
    later = translated(f"{LMI} 0.28.0", {graphs: AT_DEPLOYMENT})

    assert translated(f"{LMI} 0.28.0", {graphs: value}).properties == {
        "option.enforce_eager": eager
    }
    assert (later.properties, later.unknown) == ({}, {"option.enforce_eager"})


@pytest.mark.parametrize(
    ("written", "engine"),
    [
        ("it::MPI=/opt/ml/model", "MPI"),
        ("[it::Python]=/opt/ml/model", "Python"),
        ("it:1:Python:0=s3://bucket/model/", "Python"),
        ("it=/opt/ml/model", None),
        ("it::=/opt/ml/model", None),
        ("ALL", None),
        ("one::MPI=/a,two::Python=/b", None),
        (AT_DEPLOYMENT, None),
        ("", None),
    ],
)
def test_the_engine_of_a_model_to_load_is_read(
    written: str, engine: str | None
) -> None:
    """
    Name, version, engine and device stand before the address.
    """
    assert engine_to_load({"SERVING_LOAD_MODELS": written}) == engine


@pytest.mark.parametrize("version", ["0.25.0", "0.27.0", "0.28.0", "0.36.0"])
def test_another_name_is_no_option(version: str) -> None:
    """
    Neither the bare prefix nor a word that only begins alike.
    """
    parsed = LmiVersion.parse(version)

    assert option_key("OPTION_", parsed) is None
    assert option_key("OPTIONS_DTYPE", parsed) is None
    assert option_key("OPTION_MODEL_ID", parsed) == "option.model_id"
