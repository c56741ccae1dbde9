"""
The smallest file that runs each backend, at each version that has it.
"""

from __future__ import annotations

from cdk_sagemaker_llm.catalog.images import image_versions
from cdk_sagemaker_llm.catalog.lmi import LmiVersion

Case = tuple[str, str, str]

# By backend of the option tables: the text before the option under test.
_LAUNCH = {
    "trtllm": "engine=MPI\n",
    "vllm": "engine=Python\noption.rolling_batch=vllm\n",
    "lmi-dist": "engine=MPI\noption.rolling_batch=lmi-dist\n",
    "deepspeed": "engine=DeepSpeed\n",
    "neuronx": "engine=Python\n",
    "hf": "engine=Python\noption.rolling_batch=disable\n",
    "scheduler": "engine=Python\noption.rolling_batch=scheduler\n",
}
_LAUNCH["common"] = _LAUNCH["hf"]


def cases(backend: str) -> list[Case]:
    """
    Return container, version and launching text wherever a backend runs.
    """
    if backend == "trtllm":
        found = _versions("djl-tensorrtllm")
    elif backend == "neuronx":
        found = _versions("djl-neuronx")
    elif backend == "deepspeed":
        found = _versions("djl-deepspeed")
    else:
        found = [*_versions("djl-deepspeed"), *_versions("djl-lmi")]
    return [
        (container, str(version), _text(backend, version))
        for container, version in found
        if _exists(backend, version)
    ]


def _versions(container: str) -> list[tuple[str, str]]:
    return [
        (container, version)
        for version in image_versions(container)
        if LmiVersion.parse(version).rows
    ]


def _exists(backend: str, version: str) -> bool:
    last = {"lmi-dist": "0.33", "scheduler": "0.33"}.get(backend)
    first = {"lmi-dist": "0.26", "vllm": "0.26", "scheduler": "0.26"}.get(backend)
    parsed = LmiVersion.parse(version)
    young = first is None or parsed.at_least(first)
    return young and (last is None or parsed.before(last))


def _text(backend: str, version: str) -> str:
    newest = LmiVersion.parse(version).at_least("0.35")
    return "engine=Python\n" if backend == "vllm" and newest else _LAUNCH[backend]
