"""
Engines in images of their own, as SageMaker hosts them: what they start with, and what
their log says where they do not start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.local.runtime.engines.started import EngineError, StartedEngine
from cdk_sagemaker_llm.local.runtime.engines.starting import engine_release, start
from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.world import World

_CONFIG = "config.json"


def started_engine(world: World, container: Mapping[str, Any]) -> StartedEngine | None:
    """
    Start the engine of a container; ``None`` if its image has none that is known.

    Args:
        container: The container as it was described.

    Raises:
        EngineError: If it does not start; it says why.
    """
    release = engine_release(str(container.get("Image", "")))
    if release is None:
        return None
    variables = container.get("Environment", {})
    data = next(ModelData.of(container), None)
    if data is None:
        return start(release, variables)
    files = world.artifacts.files(data)
    config = world.artifacts.read(data, _CONFIG) if _CONFIG in files else None
    told = None if config is None else config.decode(errors="replace")
    return start(release, variables, files, told)


def start_log(
    world: World, container: Mapping[str, Any]
) -> tuple[tuple[str, ...], bool]:
    """
    Return what a container's log says when it starts, and whether it comes to answer.
    """
    try:
        engine = started_engine(world, container)
    except EngineError as fault:
        return fault.lines, False
    return () if engine is None else engine.log, True
