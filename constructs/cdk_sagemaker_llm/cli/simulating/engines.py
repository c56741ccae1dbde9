"""
What an engine in an image of its own is told, as far as a plan depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from cdk_sagemaker_llm.catalog.engine_arguments import Engine
from cdk_sagemaker_llm.catalog.engine_releases import (
    find_engine_release,
    pinned_version,
)
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.serving.engines.entry_points import (
    ENTRY_POINTS,
    StartError,
    translate,
)
from cdk_sagemaker_llm.serving.engines.parsing import ParserError, parse

_PARSED: Mapping[str, Engine] = {"vllm": "vllm", "sglang": "sglang"}
# By what the plan calls them: the names of vLLM, SGLang and llama.cpp.
_NAMES = {
    "model": ("model", "model_path", "hf_repo"),
    "file": ("hf_file",),
    "degree": ("tensor_parallel_size", "tp_size"),
    "context_length": ("max_model_len", "context_length", "ctx_size"),
    "most_sequences": ("max_num_seqs", "max_running_requests", "parallel"),
    "quantize": ("quantization",),
    "dtype": ("dtype",),
}
_ONE = "1"


def engine_settings(
    image: ImageRelease | None,
    environment: Mapping[str, str],
    files: Collection[str] = (),
) -> dict[str, str] | None:
    """
    Return what an engine is told; ``None`` for an image without one.

    Args:
        image: The catalogued image.

        environment: The container's variables.

        files: Paths of the files in its model data.

    Raises:
        ValueError: If the engine does not start with it.
    """
    if image is None:
        return None
    version = pinned_version(image.family, image.version)
    release = find_engine_release(image.family, version)
    if release is None or release.rule is None:
        return None
    rule = ENTRY_POINTS[release.rule]
    try:
        arguments = translate(environment, rule, model_data=files)
        engine = _PARSED.get(release.engine)
        if engine is None or release.engine_version is None:
            told = dict(_by_flags(arguments))
        else:
            told = vars(parse(engine, release.engine_version, arguments))
    except (ParserError, StartError) as fault:
        raise ValueError(str(fault)) from fault
    found = {
        name: str(told[field])
        for name, fields in _NAMES.items()
        for field in fields
        if told.get(field) is not None
    }
    # What is not split runs on one accelerator, however many there are.
    return {"degree": _ONE, **found}


def _by_flags(arguments: list[str]) -> Iterator[tuple[str, object]]:
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if flag.startswith("--") and not value.startswith("--"):
            yield flag.removeprefix("--").replace("-", "_"), value
