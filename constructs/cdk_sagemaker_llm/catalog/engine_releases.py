"""
What is inside the images of vLLM, SGLang, llama.cpp, TEI and their kin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog._data import load
from cdk_sagemaker_llm.catalog.image_rows import full_version

ENGINES: Mapping[str, str] = {
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tgi": "TGI",
    "tei": "TEI",
    "tensorrt-llm": "TensorRT-LLM",
    "lmi-dist": "LMI-Dist",
    "deepspeed": "DeepSpeed",
    "vllm-neuron": "vLLM on Neuron",
    "vllm-omni": "vLLM-Omni",
    "tgi-neuron": "TGI on Neuron",
    "llama.cpp": "llama.cpp",
}
"""
The engines, and how their makers write them.
"""


class EngineRelease(NamedTuple):
    """
    The engine in one image, and how the image tells it its arguments.

    Args:
        engine: Which engine it is, such as ``vllm``, ``llama.cpp`` or ``vllm-omni``.

        engine_version: The engine's release, such as ``0.30.0``; of ``vllm-omni`` its
            own, which is numbered as the vLLM that it is made for, and of
            ``vllm-neuron`` that of vLLM. ``None`` where the tag moves, or nobody
            has told.

        cuda: The image's CUDA version; ``None`` for images without.

        rule: The name of the entry point's rule; ``None`` for TEI, which has none.
            Of several it is the one to write for: what can be written for it is
            read alike by the others.

        rules: Every rule that the image may have. Where they are two, the day of its
            build decides, which a tag does not tell: what only one of them finds
            wrong may be right.

        routes: Whether the entry point honours ``route=`` in CustomAttributes.

        is_rolling: Whether AWS moves the tag to newer releases.

        gpu_architectures: The compute capabilities of the GPUs that the image is
            built for; ``None`` where nothing is known of it. Others may run it.
    """

    family: str
    version: str
    engine: str
    engine_version: str | None
    cuda: str | None
    rule: str | None
    rules: tuple[str, ...] = ()
    routes: bool = False
    os: str | None = None
    is_rolling: bool = False
    gpu_architectures: tuple[str, ...] | None = None


@held
def find_engine_release(family: str, version: str) -> EngineRelease | None:
    """
    Look up what is inside a catalogued image; ``None`` for a family without an engine
    of these, such as LMI's and TGI's, and a version that is not catalogued.
    """
    engine = _family(family).get("engine")
    version = full_version(family, version)
    row = _row(family, version)
    if engine is None or row is None:
        return None
    rules = tuple(row.get("rules", ()))
    architectures = row.get("gpus")
    release = row.get("engine")
    return EngineRelease(
        family=family,
        version=version,
        engine=engine,
        engine_version=release and release.partition("+")[0],
        cuda=row.get("cuda"),
        rule=rules[0] if rules else None,
        rules=rules,
        routes=row.get("routes", False),
        os=row.get("os"),
        is_rolling=row.get("rolling", False),
        gpu_architectures=None if architectures is None else tuple(architectures),
    )


def engine_families() -> tuple[str, ...]:
    """
    Return the families whose engine is known.
    """
    return tuple(name for name, row in _families().items() if row["engine"] is not None)


def engine_of(family: str) -> str | None:
    """
    Return the engine in a family's images; ``None`` for LMI's and TGI's.
    """
    engine: str | None = _family(family)["engine"]
    return engine


def entry_point_rows() -> Mapping[str, Mapping[str, Any]]:
    """
    Return how each entry point of the images reads variables, by its name.
    """
    rows: Mapping[str, Mapping[str, Any]] = load("entry_points.json")["entry_points"]
    return rows


def cuda_inside(family: str, version: str) -> str | None:
    """
    Return the CUDA version in a catalogued image whose tag need not name it.
    """
    cuda: str | None = (_row(family, version) or {}).get("cuda")
    return cuda


def is_rolling(family: str, version: str) -> bool:
    """
    Whether AWS moves the tag of a catalogued version to newer releases.
    """
    return bool((_row(family, version) or {}).get("rolling"))


def pinned_version(family: str, version: str) -> str:
    """
    Return the newest version that a rolling one may stand for, which stays; of any
    other, itself.
    """
    version = full_version(family, version)
    if not is_rolling(family, version):
        return version
    behind = [
        name
        for name in _family(family)["versions"]
        if name.startswith(f"{version}.") and not is_rolling(family, name)
    ]
    return behind[-1] if behind else version


def _families() -> Mapping[str, Any]:
    families: Mapping[str, Any] = load("engine_releases.json")["families"]
    return families


def _family(name: str) -> Mapping[str, Any]:
    family: Mapping[str, Any] = _families().get(name, {"engine": None, "versions": {}})
    return family


def _row(family: str, version: str) -> Mapping[str, Any] | None:
    name = full_version(family, version)
    row: Mapping[str, Any] | None = _family(family)["versions"].get(name)
    return row
