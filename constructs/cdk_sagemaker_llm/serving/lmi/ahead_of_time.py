"""
What is compiled ahead of time by LMI's own scripts: what it is bound to, and that it is
served as it was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cdk_sagemaker_llm.catalog.lmi import LmiVersion
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import Compilation, ModelSource, S3Model
from cdk_sagemaker_llm.serving.base import OTHER_SERVING, Case
from cdk_sagemaker_llm.serving.images import named_image
from cdk_sagemaker_llm.serving.lmi.base import LmiServing

_ADDRESS = frozenset({"option.model_id", "option.revision"})
# What only the server reads.
_AT_RUN_TIME = _ADDRESS | {
    "engine",
    "option.model_loading_timeout",
    "option.output_formatter",
    "option.predict_timeout",
    "option.tensor_parallel_degree",
}
_PIPELINE_SINCE = "0.29"
_NEURON_FOLDER = "neuron"


@dataclass(frozen=True, kw_only=True, slots=True)
class AheadOfTime:
    """
    How a backend is compiled ahead of time.

    Args:
        name: What prefixes are named by, such as ``tensorrt-llm``.

        command:
            Returns the job's arguments for an LMI version and a degree: ``{input}`` and
            ``{output}`` stand for the job's folders.

        folder: Where below the output the script writes; empty for the output itself.

        needed: The pattern of a file that is there where it worked.

        at_run_time: Further properties that only the server reads.
    """

    name: str
    command: Callable[[str, int], Sequence[str]]
    folder: str = ""
    needed: str
    at_run_time: frozenset[str]

    def bound_options(self, texts: Mapping[str, str]) -> dict[str, str]:
        """
        Return the properties of a configuration that a compiled model is bound to.
        """
        free = _AT_RUN_TIME | self.at_run_time
        return {key: texts[key] for key in sorted(set(texts) - free)}


def job_properties(written: bytes) -> str:
    """
    Return the serving.properties of a job: its model is a folder of its own.
    """
    lines = written.decode().splitlines()
    return "".join(
        f"{line}\n" for line in lines if line.partition("=")[0] not in _ADDRESS
    )


def compiled_findings(
    model: ModelSource | None, compilation: Compilation, *, is_precompiled: bool
) -> list[Finding]:
    """
    Check that a configuration serves engines as they were compiled.
    """
    made = model.compiled if isinstance(model, S3Model) else None
    if made is None:
        return []
    if not is_precompiled:
        return [
            OTHER_SERVING.finding(
                "the model was compiled ahead of time, and precompiled was left out",
                "pass the serving of the StagedModel that compiled them",
            )
        ]
    ours, theirs = compilation.options, made.options
    compared = [
        ("the image", compilation.image, made.image),
        (
            "tensor_parallel_degree",
            compilation.tensor_parallel_degree,
            made.tensor_parallel_degree,
        ),
    ]
    compared += [
        (
            name.removeprefix("option."),
            ours.get(name, "left out"),
            theirs.get(name, "left out"),
        )
        for name in sorted({*ours, *theirs})
    ]
    differing = [
        f"{name} is {one} where it was {other}"
        for name, one, other in compared
        if one != other
    ]
    if not differing:
        return []
    return [
        OTHER_SERVING.finding(
            f"the model was compiled otherwise: {', '.join(differing)}",
            "pass the serving of the StagedModel that compiled them, or compile anew",
        )
    ]


class CompiledServing(LmiServing):
    """
    A backend whose model may have been compiled ahead of time.
    """

    __slots__ = ()

    loads_engines: ClassVar[bool] = True
    ahead_of_time: ClassVar[AheadOfTime]
    devices_each: ClassVar[int] = 1
    """How many devices of the degree an accelerator has."""

    precompiled: bool

    def compiling_findings(self) -> list[Finding]:
        """
        Return what the script would not compile.
        """
        return []

    def _settled_degree(self, accelerators: int | None) -> int:
        # That of all devices where none is said.
        return self._degree() or self.devices_each * (accelerators or 0)

    def _compiled_findings(self, case: Case, texts: Mapping[str, str]) -> list[Finding]:
        compilation = Compilation(
            image=named_image(case.image.version, self.image),
            accelerator_model="",
            tensor_parallel_degree=self._settled_degree(case.devices),
            options=self.ahead_of_time.bound_options(texts),
        )
        return compiled_findings(
            case.model, compilation, is_precompiled=self.precompiled
        )


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
