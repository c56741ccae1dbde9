"""
Components of LoRA adapters: what they are to their base, and to its container.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.local.aws.artifacts import ModelData
from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.engines import vllm
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import EngineError, StartedEngine
from cdk_sagemaker_llm.local.hosting.container_starts import started_engine
from cdk_sagemaker_llm.local.hosting.definitions import containers_of, serving_type
from cdk_sagemaker_llm.local.hosting.world import Component, Endpoint, World
from cdk_sagemaker_llm.simulation.api_values import specification_on

_BASE = "BaseInferenceComponentName"


def base_name(request: dict[str, Any]) -> str | None:
    """
    Return the name of a component's base; ``None`` if it is no adapter.
    """
    # Instance types are the base's: an adapter has one specification.
    name: str | None = specification_on(request, "").get(_BASE)
    return name


def base_of(world: World, component: Component) -> Component:
    """
    Return the component whose copies answer: an adapter's base, or itself.
    """
    name = base_name(component.request)
    return component if name is None else world.components.get(name)


def refuse_adapter(
    world: World, endpoint: Endpoint, specification: Mapping[str, Any]
) -> None:
    """
    Refuse an adapter that its base could not load, in this package's words but for a
    base that is not there; the service's are not known.
    """
    base = world.components.get(specification[_BASE])
    if "ComputeResourceRequirements" in specification:
        raise validation(
            "An adapter uses the compute resources of its base: omit "
            "ComputeResourceRequirements."
        )
    if base_name(base.request) is not None:
        raise validation(
            f'Inference component "{base.arn}" is an adapter itself and cannot be a '
            "base."
        )
    if base.endpoint_name != endpoint.name:
        raise validation(
            f'Inference component "{base.arn}" is not on endpoint "{endpoint.arn}".'
        )
    if base.status != "InService":
        raise validation(
            f'Inference component "{base.arn}" must be InService to take adapters, and '
            f"is {base.status}."
        )


def refuse_deleting_base(world: World, component: Component) -> None:
    """
    Refuse to delete what adapters are loaded into, in this package's words; the
    service's are not known.
    """
    names = sorted(
        each.name
        for each in world.components
        if base_name(each.request) == component.name and each.status != "Deleting"
    )
    if names:
        raise validation(
            f'Cannot delete inference component "{component.arn}" while it is the base '
            f"of {', '.join(names)}."
        )


def refuse_copies(component: Component) -> None:
    """
    Refuse copies for an adapter, in this package's words; the service's are not known.
    """
    if base_name(component.request) is not None:
        raise validation(
            f'Inference component "{component.arn}" is an adapter and has no copies of '
            "its own."
        )


def missing_artifact(world: World, request: dict[str, Any]) -> str | None:
    """
    Say what is not in S3 of an adapter's files; ``None`` if nothing is missing.
    """
    if base_name(request) is None:
        return None
    url = str(specification_on(request, "")["Container"]["ArtifactUrl"])
    if world.artifacts.is_there(ModelData(url, prefix=url.endswith("/"))):
        return None
    return f'Could not find the artifact of the adapter at "{url}".'


def load_failure(world: World, name: str, request: dict[str, Any]) -> str | None:
    """
    Say why an adapter cannot be loaded; ``None`` if it can, and for what is none.

    An engine in an image of its own is asked when the adapter comes, by the component's
    name, and its log says what it did; LMI is asked with the first request.
    """
    missing = missing_artifact(world, request)
    base = world.components.find(base_name(request) or "")
    engine = None if base is None else _engine(world, base)
    if missing is not None or engine is None or base is None:
        return missing
    url = str(specification_on(request, "")["Container"]["ArtifactUrl"])
    data = ModelData(url, prefix=url.endswith("/"))
    try:
        vllm.load_adapter(engine, name, world.artifacts.read(data, vllm.ADAPTER_CONFIG))
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
    Have the container of an adapter's base forget it, if it was loaded.
    """
    base = world.components.find(base_name(component.request) or "")
    is_loaded = component.status != "Failed"
    if is_loaded and base is not None and _engine(world, base) is not None:
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
