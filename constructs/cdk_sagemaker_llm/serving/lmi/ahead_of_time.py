"""
What is compiled ahead of time by LMI's own scripts: what it is bound to, and that it is
served as it was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.models import Compilation, ModelSource, S3Model

OTHER_SERVING = Rule(
    "LLM775",
    "engines are served otherwise than they were compiled for",
    "LMI documentation, TensorRT-LLM ahead-of-time compilation",
)

_ADDRESS = frozenset({"option.model_id", "option.revision"})
# What only the server reads.
_AT_RUN_TIME = _ADDRESS | {
    "engine",
    "option.model_loading_timeout",
    "option.output_formatter",
    "option.predict_timeout",
    "option.tensor_parallel_degree",
}


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
    at_run_time: frozenset[str] = frozenset()

    def bound_options(self, texts: Mapping[str, str]) -> dict[str, str]:
        """
        Return of a configuration's properties those that what is compiled is bound to.
        """
        free = _AT_RUN_TIME | self.at_run_time
        return {key: texts[key] for key in sorted(set(texts) - free)}

    def findings(
        self,
        model: ModelSource | None,
        texts: Mapping[str, str],
        *,
        image: str,
        degree: int,
        is_precompiled: bool,
    ) -> list[Finding]:
        """
        Check that properties serve a model as it was compiled.

        Args:
            model: What is served.

            texts: The properties.

            image: The image, as a ``Compilation`` names it.

            degree: Over how many devices it is split.

            is_precompiled: Whether the configuration takes the model for compiled.
        """
        wanted = Compilation(
            image=image,
            accelerator_model="",
            tensor_parallel_degree=degree,
            options=self.bound_options(texts),
        )
        return compiled_findings(model, wanted, is_precompiled=is_precompiled)


def job_properties(written: bytes) -> str:
    """
    Return the serving.properties of a job: its model is a folder of its own.
    """
    lines = written.decode().splitlines()
    return "".join(
        f"{line}\n" for line in lines if line.partition("=")[0] not in _ADDRESS
    )


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
                "the model was compiled ahead of time, and precompiled was left out",
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
            f"the model was compiled otherwise: {', '.join(differing)}",
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
