"""
Which files of a repository are staged.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.hub import HubFile

SAFE = (".safetensors",)
# Formats that run code when they are read, or that no engine of SageMaker's reads.
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_OTHERS = (".h5", ".msgpack", ".onnx", ".onnx_data", ".ot", ".tflite", ".mlmodel")
_GGUF = ".gguf"
# The same weights once more, in their makers' own form.
_TWICE = ("original/*", "consolidated*", "metal/*")


def select(
    files: Sequence[HubFile], include: Sequence[str], exclude: Sequence[str]
) -> list[HubFile]:
    """
    Choose by the user's patterns, or else what an engine needs: weights as safetensors
    where there are any, and all small files.

    Raises:
        StagingError: If a pattern matches nothing, or nothing would be left to serve.
    """
    left = [one for one in files if not _matches(one.path, exclude)]
    if include:
        return _included(left, include)
    found = [one for one in left if _is_usual(one.path)]
    if any(one.path.endswith(SAFE) for one in found):
        return found
    return _without_safetensors(left)


def _included(files: Sequence[HubFile], include: Sequence[str]) -> list[HubFile]:
    for pattern in include:
        if not any(_matches(one.path, [pattern]) for one in files):
            raise StagingError(
                f"include={pattern!r} matches no file of the repository, which holds "
                f"{_some(one.path for one in files)}"
            )
    return [one for one in files if _matches(one.path, include)]


def _is_usual(path: str) -> bool:
    unwanted = (*PICKLES, *_OTHERS, _GGUF)
    return not path.endswith(unwanted) and not _matches(path, _TWICE)


def _without_safetensors(files: Sequence[HubFile]) -> list[HubFile]:
    twice = [one for one in files if _is_weights(one.path)]
    if twice:
        return [one for one in files if not _is_other(one.path)]
    pickles = [one.path for one in files if one.path.endswith(PICKLES)]
    if pickles:
        raise StagingError(
            f"the repository holds its weights as pickles alone ({_some(pickles)}), "
            "which run code when they are read; pass include=['*'] to take them"
        )
    ggufs = [one.path for one in files if one.path.endswith(_GGUF)]
    if ggufs:
        raise StagingError(
            f"the repository holds GGUF files ({_some(ggufs)}); pass "
            f"include={[ggufs[0]]} with the one that is to be served"
        )
    raise StagingError(
        f"the repository holds no weights, but {_some(one.path for one in files)}"
    )


def _is_weights(path: str) -> bool:
    return path.endswith(SAFE)


def _is_other(path: str) -> bool:
    return path.endswith((*PICKLES, *_OTHERS, _GGUF))


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def _some(paths: Iterable[str]) -> str:
    names = sorted(paths)
    shown = ", ".join(names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown or "none"  # noqa: PLR2004 - enough to tell
