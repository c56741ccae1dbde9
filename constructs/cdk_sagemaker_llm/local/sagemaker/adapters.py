"""
Components of LoRA adapters: what they are to their base.

An adapter has no copies of its own: those of its base load it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.local.errors import validation
from cdk_sagemaker_llm.local.sagemaker.artifacts import ModelData
from cdk_sagemaker_llm.local.sagemaker.world import Component, Endpoint, World
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
    Refuse an adapter that its base could not load.

    Raises:
        AwsError: In this package's words, but for a base that is not there; the
            service's are not known.
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
    Refuse to delete what adapters are loaded into.

    Raises:
        AwsError: In this package's words; the service's are not known.
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
    Refuse copies for an adapter.

    Raises:
        AwsError: In this package's words; the service's are not known.
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
