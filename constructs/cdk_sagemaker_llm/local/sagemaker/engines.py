"""
Engines in images of their own, as SageMaker hosts them: what they start with, and what
their log says where they do not start.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.local.runtime.engines.started import (
    EngineError,
    StartedEngine,
    engine_release,
    start,
)
from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.world import World


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
    data = next(ModelData.of(container), None)
    files = world.artifacts.files(data) if data else ()
    return start(release, container.get("Environment", {}), files)


def start_failure(world: World, container: Mapping[str, Any]) -> tuple[str, ...]:
    """
    Return what a container's log says where its engine does not start; nothing where
    it does.
    """
    try:
        started_engine(world, container)
    except EngineError as fault:
        return fault.lines
    return ()
