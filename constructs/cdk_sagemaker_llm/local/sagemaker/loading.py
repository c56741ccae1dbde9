"""
What becomes of an adapter in its base's container.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.runtime.engines import adapters
from cdk_sagemaker_llm.local.runtime.engines.refusals import RefusedError
from cdk_sagemaker_llm.local.runtime.engines.started import EngineError, StartedEngine
from cdk_sagemaker_llm.local.sagemaker.adapters import base_name, missing_artifact
from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.definitions import containers_of
from cdk_sagemaker_llm.local.sagemaker.engines import started_engine
from cdk_sagemaker_llm.local.sagemaker.pools import serving_type
from cdk_sagemaker_llm.local.sagemaker.world import Component, World
from cdk_sagemaker_llm.simulation.api_values import specification_on


def load_failure(world: World, name: str, request: dict[str, Any]) -> str | None:
    """
    Say why an adapter cannot be loaded; ``None`` if it can, and for what is none.

    An engine in an image of its own is asked when the adapter comes, and its log says
    what it did; LMI is asked with the first request.

    Args:
        world: Where.

        name: The component's name, by which the container knows the adapter.

        request: The component as it was described.
    """
    missing = missing_artifact(world, request)
    base = world.components.find(base_name(request) or "")
    engine = None if base is None else _engine(world, base)
    if missing is not None or engine is None or base is None:
        return missing
    url = str(specification_on(request, "")["Container"]["ArtifactUrl"])
    data = ModelData(url, prefix=url.endswith("/"))
    try:
        adapters.load(engine, name, world.artifacts.read(data, adapters.CONFIG))
    except RefusedError as fault:
        # In this package's words; the service's are not known.
        return (
            f'The container of inference component "{base.arn}" refused the adapter '
            f"with status {fault.status}: {fault.body}"
        )
    _write(world, base, f"Loaded new LoRA adapter: name '{name}', path '{url}'")
    return None


def unload(world: World, component: Component) -> None:
    """
    Have the container of an adapter's base forget it.
    """
    base = world.components.find(base_name(component.request) or "")
    if base is not None and _engine(world, base) is not None:
        _write(world, base, f"Removed LoRA adapter: name '{component.name}'")


def _engine(world: World, base: Component) -> StartedEngine | None:
    endpoint = world.endpoints.get(base.endpoint_name)
    fleet = endpoint.fleets[base.variant_name]
    kind = serving_type(fleet, [base.key])
    specification = specification_on(base.request, kind)
    model = world.deployed_models.get(str(specification.get("ModelName", "")))
    own = specification.get("Container", {})
    container = containers_of(model.request)[0] if model else own
    try:
        return started_engine(world, container)
    except EngineError:
        # What does not answer says nothing to it.
        return None


def _write(world: World, base: Component, line: str) -> None:
    group = f"/aws/sagemaker/InferenceComponents/{base.name}"
    stream = f"{base.variant_name}/container-0"
    world.surroundings.write_log(group, stream, [f"INFO {line}"], world.clock.now)
