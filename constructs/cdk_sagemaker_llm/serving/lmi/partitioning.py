"""
The scripts of LMI's images that compile ahead of time, and how they are called.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.serving.lmi.ahead_of_time import AheadOfTime

_PIPELINE_SINCE = "0.29"


def _compile_engines(version: str, degree: int) -> list[str]:
    """
    Return the arguments that compile TensorRT-LLM engines.

    The image's entrypoint runs what is neither ``serve`` nor ``partition`` as it is,
    once it has set up CUDA's libraries (dockerd-entrypoint-with-cuda-compat.sh of
    djl-serving 0.26 to 0.33).
    """
    pipeline = ["--pipeline_parallel_degree", "1"]
    return [
        "python",
        "/opt/djl/partition/trt_llm_partition.py",
        "--properties_dir",
        "{input}/properties",
        "--trt_llm_model_repo",
        "{output}",
        "--tensor_parallel_degree",
        str(degree),
        # Before 0.29 the script knows no such argument; from then on it must have it.
        *(pipeline if LmiVersion.parse(version).at_least(_PIPELINE_SINCE) else ()),
        "--model_path",
        "{input}/model",
    ]


TENSORRT_LLM = AheadOfTime(
    name="tensorrt-llm",
    command=_compile_engines,
    needed="*.engine",
    at_run_time=frozenset(
        {
            "option.batch_scheduler_policy",
            "option.enable_kv_cache_reuse",
            "option.enable_streaming",
            "option.kv_cache_free_gpu_mem_fraction",
            "option.mpi_mode",
            "option.rolling_batch",
        }
    ),
)
"""By trt_llm_partition.py of djl-serving, in serving/docker/partition."""

_NEURON_FOLDER = "neuron"


def _compile_graphs(_version: str, degree: int) -> list[str]:
    """
    Return the arguments that compile Neuron's graphs: the image's entrypoint hands what
    follows ``partition`` to its script.

    The script makes the folder anew that it writes to, and writes the model's
    config.json with what it was compiled for; without ``--skip-copy`` it would put the
    original one over it, and the server would compile again (partition.py and
    model_loader.py of djl-serving 0.27 to 0.30).
    """
    return [
        "partition",
        "--model-dir",
        "{input}/properties",
        "--model-id",
        "{input}/model",
        "--save-mp-checkpoint-path",
        f"{{output}}/{_NEURON_FOLDER}",
        "--tensor-parallel-degree",
        str(degree),
        "--skip-copy",
    ]


NEURONX = AheadOfTime(
    name="neuronx",
    command=_compile_graphs,
    folder=f"{_NEURON_FOLDER}/",
    needed="compiled/*",
    at_run_time=frozenset({"option.enable_streaming"}),
)
"""By partition.py of djl-serving, in serving/docker/partition."""
