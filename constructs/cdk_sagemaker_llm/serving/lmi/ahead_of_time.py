"""
TensorRT-LLM engines that are compiled ahead of time: the command that makes them, and
what they are bound to.
"""

from __future__ import annotations

from collections.abc import Mapping

from cdk_sagemaker_llm.catalog.lmi_versions import LmiVersion
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import Compilation, ModelSource, S3Model

OTHER_SERVING = Rule(
    "LLM775",
    "engines are served otherwise than they were compiled for",
    "LMI documentation, TensorRT-LLM ahead-of-time compilation",
)

# djl-serving, serving/docker/partition/trt_llm_partition.py: what reads them there, and
# what only the server reads.
_SCRIPT = "/opt/djl/partition/trt_llm_partition.py"
_PIPELINE_SINCE = "0.29"
_ADDRESS = frozenset({"option.model_id", "option.revision"})
_AT_RUN_TIME = _ADDRESS | {
    "engine",
    "option.batch_scheduler_policy",
    "option.enable_kv_cache_reuse",
    "option.enable_streaming",
    "option.kv_cache_free_gpu_mem_fraction",
    "option.model_loading_timeout",
    "option.mpi_mode",
    "option.output_formatter",
    "option.predict_timeout",
    "option.rolling_batch",
    "option.tensor_parallel_degree",
}


def command(version: str, degree: int) -> list[str]:
    """
    Return the arguments that compile in an image of a version: ``{input}`` and
    ``{output}`` stand for the job's folders.

    The image's entrypoint runs what is neither ``serve`` nor ``partition`` as it is,
    once it has set up CUDA's libraries (dockerd-entrypoint-with-cuda-compat.sh of
    djl-serving 0.26 to 0.33).
    """
    pipeline = ["--pipeline_parallel_degree", "1"]
    return [
        "python",
        _SCRIPT,
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


def job_properties(written: bytes) -> str:
    """
    Return the serving.properties of a job: its model is a folder of its own.
    """
    lines = written.decode().splitlines()
    return "".join(
        f"{line}\n" for line in lines if line.partition("=")[0] not in _ADDRESS
    )


def compile_options(texts: Mapping[str, str]) -> dict[str, str]:
    """
    Return of a configuration's properties those that engines are bound to.
    """
    return {key: texts[key] for key in sorted(set(texts) - _AT_RUN_TIME)}


def compiled_findings(
    model: ModelSource | None, wanted: Compilation, *, is_precompiled: bool
) -> list[Finding]:
    """
    Check that a configuration serves engines as they were compiled.

    Args:
        model: What is served.

        wanted: What the configuration would compile; its accelerator is not looked at,
            which the endpoint's instances are held to.

        is_precompiled: Whether the configuration takes the model for engines.
    """
    made = model.compiled if isinstance(model, S3Model) else None
    if made is None:
        return []
    if not is_precompiled:
        return [
            OTHER_SERVING.finding(
                "the model is engines that were compiled ahead of time, and "
                "precompiled was left out",
                "pass the serving of the StagedModel that compiled them",
            )
        ]
    differing = [
        f"{name} {ours} where it was {theirs}"
        for name, ours, theirs in _compared(wanted, made)
        if ours != theirs
    ]
    if not differing:
        return []
    return [
        OTHER_SERVING.finding(
            f"the engines were compiled otherwise: {', '.join(differing)}",
            "pass the serving of the StagedModel that compiled them, or compile anew",
        )
    ]


def _compared(one: Compilation, other: Compilation) -> list[tuple[str, str, str]]:
    names = sorted({*one.options, *other.options})
    return [
        ("the image is", one.image, other.image),
        (
            "tensor_parallel_degree is",
            str(one.tensor_parallel_degree),
            str(other.tensor_parallel_degree),
        ),
        *(
            (
                f"{name.removeprefix('option.')} is",
                one.options.get(name, "left out"),
                other.options.get(name, "left out"),
            )
            for name in names
        ),
    ]
