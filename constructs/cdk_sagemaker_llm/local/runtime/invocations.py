"""
``InvokeEndpoint``: from an endpoint's name to the variant, and the container behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cdk_sagemaker_llm.local.aws.artifacts import ModelData
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.engines.containers import (
    Answer,
    ContainerRequest,
    ServingContainer,
    serving_container,
)
from cdk_sagemaker_llm.local.engines.engine import EngineError
from cdk_sagemaker_llm.local.engines.model_server import ContainerError, generate
from cdk_sagemaker_llm.local.hosting.component_adapters import base_of
from cdk_sagemaker_llm.local.hosting.components import keys_of, serving_copies
from cdk_sagemaker_llm.local.hosting.container_starts import started_engine
from cdk_sagemaker_llm.local.hosting.definitions import (
    containers_of,
    missing_data,
    model_on,
    serving_type,
)
from cdk_sagemaker_llm.local.hosting.traffic import Where
from cdk_sagemaker_llm.local.hosting.world import Component, Endpoint, World
from cdk_sagemaker_llm.simulation.api_values import specification_on
from cdk_sagemaker_llm.simulation.fleet import Fleet

COMPONENT_NEEDED = (
    "Inference Component Name header is required for endpoints to which you plan to "
    "deploy inference components. Please include Inference Component Name header or "
    "consider using SageMaker models."
)
NO_CAPACITY = (
    "Inference Component has no capacity to process this request. "
    "ApplicationAutoScaling may be in-progress (if configured) or try to increase the "
    "capacity by invoking UpdateInferenceComponentRuntimeConfig API."
)
_NOT_THERE = frozenset({"Creating", "Failed", "Deleting"})
_PACKED = 4  # Tokens that LMI 0.26 writes at once.
# Weights are counted in whole parts, so that shares come out exactly.
_PARTS = 1_000_000


@dataclass(frozen=True, slots=True)
class Invocation:
    """
    What a client asks for, beside the endpoint.
    """

    endpoint: str
    component: str | None
    variant: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """
    An answer and the variant that gave it.
    """

    answer: Answer
    variant: str
    packed: int

    def parts(self) -> Iterator[bytes]:
        """
        Cut the body into the parts of a stream.

        A part is not a line: now and then one ends in the middle, as the service's do.
        """
        pieces = self.answer.pieces
        for start in range(0, len(pieces), self.packed):
            part = b"".join(pieces[start : start + self.packed])
            middle = len(part) // 2 if start // self.packed % 3 == 1 else 0
            yield from (cut for cut in (part[:middle], part[middle:]) if cut)


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """
    Where a request goes.

    Args:
        endpoint: The endpoint.

        variant: The variant's name.

        component: The component's name, if the endpoint is for those.

        container: The container as it was described.

        role: The role that reads its artifact.

        model: The model's name; empty for a container of a component's own.

        adapter: What the adapter is called that the container is to use; ``None`` for
            the model as it is.

        base: The component whose copies answer, if the endpoint is for those.
    """

    endpoint: Endpoint
    variant: str
    component: str | None
    container: dict[str, Any]
    role: str | None
    model: str
    adapter: str | None = None
    base: str | None = None

    @property
    def where(self) -> Where:
        """
        What the request counts for.
        """
        return self.endpoint.name, self.variant, self.component

    @property
    def names(self) -> set[str]:
        """
        What a fault may call it.
        """
        names = {self.endpoint.name, self.variant, self.component, self.model}
        return {name for name in names if name}


class NoCapacityError(AwsError):
    """
    A component has no copy that could answer.
    """

    def __init__(self, where: Where) -> None:
        super().__init__("ValidationError", NO_CAPACITY)
        self.where = where


def find_route(world: World, invocation: Invocation) -> Route:
    """
    Find the container behind an endpoint.

    Raises:
        AwsError: If SageMaker refuses the request.
    """
    endpoint = world.endpoints.find(invocation.endpoint)
    # One that has yet to come, or goes, is not there for the runtime.
    if endpoint is None or endpoint.status in _NOT_THERE:
        name = f"Endpoint {invocation.endpoint} of account {world.account}"
        raise _invalid(f"{name} not found.")
    if endpoint.takes_components:
        component = _component(world, endpoint, invocation.component)
        base = base_of(world, component)
        container, role, model = _of_component(world, endpoint, base)
        return Route(
            endpoint=endpoint,
            variant=component.variant_name,
            component=component.name,
            container=container,
            role=role,
            model=model,
            adapter=None if base is component else component.name,
            base=base.name,
        )
    if invocation.component:
        raise _invalid(
            "Inference Component Name header is not allowed for endpoints to which "
            "you dont plan to deploy inference components. Please remove the "
            "Inference Component Name header or consider using inference components."
        )
    return _to_variant(world, endpoint, invocation.variant)


def shadow_route(world: World, endpoint: Endpoint) -> Route | None:
    """
    Find the container of an endpoint's shadow; ``None`` if it has none that serves.
    """
    for variant in endpoint.config.get("ShadowProductionVariants", ()):
        name = variant["VariantName"]
        fleet = endpoint.fleets.get(name)
        if fleet is None or not fleet.serving(name):
            continue
        container, role, model = _of_model(world, variant["ModelName"])
        return Route(
            endpoint=endpoint,
            variant=name,
            component=None,
            container=container,
            role=role,
            model=model,
        )
    return None


def invoke(world: World, route: Route, request: ContainerRequest) -> Result:
    """
    Pass a request to its container.

    Args:
        world: Where.

        route: Where the request goes.

        request: The request, as the client sent it.

    Raises:
        AwsError: If the container refuses it, or cannot be there.
    """
    container = replace(
        _container(world, route.container, route.role), adapter=route.adapter
    )
    try:
        answer = generate(container, replace(request, adapter=route.adapter))
    except ContainerError as error:
        raise _model_error(world, route.endpoint, error) from error
    early = container.server == "lmi" and container.version < (0, 27)
    return Result(answer, route.variant, _PACKED if early else 1)


def broken(
    world: World,
    route: Route,
    answer: str,
    why: str = "this request was chosen to fail",
) -> AwsError:
    """
    Make the error of a container that answers with a status, or breaks off.
    """
    status = int(answer) if answer.isdecimal() else 500
    error = ContainerError(status, why)
    return _model_error(world, route.endpoint, error)


def timed_out(world: World, route: Route) -> AwsError:
    """
    Make the error of a container that took too long.
    """
    message = (
        "Your invocation timed out while waiting for a response from container "
        "primary. Review the latency metrics for each container in Amazon CloudWatch, "
        "resolve the issue, and try again."
    )
    return _model_error(
        world, route.endpoint, ContainerError(0, message), kind="server"
    )


def _to_variant(world: World, endpoint: Endpoint, variant: str | None) -> Route:
    name = variant or choose_variant(endpoint)
    if name is None:
        raise _invalid(f"Every variant of endpoint {endpoint.name} has weight 0.")
    config, fleets = choose_side(endpoint, name)
    variants = {v["VariantName"]: v for v in config["ProductionVariants"]}
    if name not in variants:
        raise _invalid(f"Variant {name} of endpoint {endpoint.name} not found.")
    fleet = fleets[name]
    if fleet.instance_type and not fleet.serving(name):
        raise _invalid(
            f"Variant {name} of endpoint {endpoint.name} has no instances to process "
            "this request."
        )
    filled_by = model_on(variants[name], serving_type(fleet, [name]))
    container, role, model = _of_model(world, filled_by)
    return Route(
        endpoint=endpoint,
        variant=name,
        component=None,
        container=container,
        role=role,
        model=model,
    )


def _component(world: World, endpoint: Endpoint, name: str | None) -> Component:
    if not name:
        raise _invalid(COMPONENT_NEEDED)
    component = world.components.find(name)
    if component is None or component.endpoint_name != endpoint.name:
        raise _invalid(
            f"Inference Component {name} of endpoint {endpoint.name} not found."
        )
    if not serving_copies(world, component):
        raise NoCapacityError((endpoint.name, component.variant_name, component.name))
    return component


def _of_component(
    world: World, endpoint: Endpoint, component: Component
) -> tuple[dict[str, Any], str | None, str]:
    fleet = endpoint.fleets[component.variant_name]
    instance_type = serving_type(fleet, keys_of(component))
    specification = specification_on(component.request, instance_type)
    if "ModelName" in specification:
        return _of_model(world, specification["ModelName"])
    container = specification.get("Container", {})
    return container, endpoint.config["ExecutionRoleArn"], ""


def _of_model(world: World, name: str) -> tuple[dict[str, Any], str | None, str]:
    model = world.deployed_models[name].request
    return containers_of(model)[0], model.get("ExecutionRoleArn"), name


def _container(
    world: World, definition: dict[str, Any], role: str | None
) -> ServingContainer:
    data = next(ModelData.of(definition), None)
    if data and not world.artifacts.is_there(data):
        raise missing_data(data.url, role, world.region)
    image = definition.get("Image", "")
    try:
        engine = started_engine(world, definition)
    except EngineError as fault:
        raise _invalid(f"The engine of {image!r} does not start: {fault}") from fault
    if engine is not None:
        return ServingContainer(server="engine", version=(), engine=engine)
    options = world.artifacts.options(data) if data else {}
    found = serving_container(image, definition.get("Environment", {}), options)
    if found is None:
        raise _invalid(
            f"The embedded AWS does not know the answers of image {image!r}: it stands "
            "in for LMI (djl-inference), TGI (huggingface-pytorch-tgi-inference), and "
            "the images of vLLM, SGLang, llama.cpp and TEI."
        )
    return found


def _invalid(message: str) -> AwsError:
    # The runtime's own error shape is called ValidationError, not ...Exception.
    return AwsError("ValidationError", message)


def _model_error(
    world: World, endpoint: Endpoint, error: ContainerError, kind: str = ""
) -> AwsError:
    group = f"/aws/sagemaker/Endpoints/{endpoint.name}"
    place = f"{world.region}:{world.account}"
    kind = kind or ("client" if error.status < 500 else "server")  # noqa: PLR2004 - HTTP's line
    return AwsError(
        "ModelError",
        f'Received {kind} error ({error.status}) from primary with message "'
        f'{error.body}". See log group {group} in account {world.account} for more '
        "information.",
        424,
        OriginalStatusCode=error.status,
        OriginalMessage=error.body,
        LogStreamArn=f"arn:{world.partition}:logs:{place}:log-group:{group}",
    )


def choose_variant(endpoint: Endpoint) -> str | None:
    """
    Take the next variant in turn, each as often as its weight is of their sum.

    The turns are smooth: of ten requests at 0.9 and 0.1, exactly one goes to the
    second variant. ``None`` if every weight is zero.
    """
    names = [v["VariantName"] for v in endpoint.config["ProductionVariants"]]
    parts = {name: _parts(endpoint.weights[name]) for name in names}
    total = sum(parts.values())
    if not total:
        return None
    if len(names) == 1:
        return str(names[0])
    turns = endpoint.turns
    for name in names:
        turns[name] = turns.get(name, 0) + parts[name]
    # One of weight zero is never ahead: the turns that are positive sum to the total.
    choice: str = max(names, key=turns.__getitem__)
    turns[choice] -= total
    return choice


def choose_side(
    endpoint: Endpoint, variant: str
) -> tuple[dict[str, Any], dict[str, Fleet]]:
    """
    Return the configuration and the fleets that answer the next request.

    During a deployment the new ones answer as often as is their share, where they have
    the variant.
    """
    deployment = endpoint.deployment
    if deployment is None or variant not in deployment.fleets:
        return endpoint.config, endpoint.fleets
    deployment.turn += deployment.share
    if round(deployment.turn, 6) < 1:
        return endpoint.config, endpoint.fleets
    deployment.turn -= 1
    return deployment.config, deployment.fleets


def _parts(weight: float) -> int:
    return max(1, round(weight * _PARTS)) if weight else 0
