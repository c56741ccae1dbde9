"""
``InvokeEndpoint``: from an endpoint's name to the variant, the container behind it, and
what the container answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from cdk_sagemaker_llm.local.aws import faults
from cdk_sagemaker_llm.local.aws.artifacts import ModelData
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.engines.bodies import RefusedError
from cdk_sagemaker_llm.local.engines.containers import (
    JSON,
    Answer,
    ContainerRequest,
    EngineError,
    ServingContainer,
    serving_container,
)
from cdk_sagemaker_llm.local.engines.model_server import generate
from cdk_sagemaker_llm.local.hosting.component_adapters import base_of
from cdk_sagemaker_llm.local.hosting.components import serving_copies
from cdk_sagemaker_llm.local.hosting.container_starts import started_engine
from cdk_sagemaker_llm.local.hosting.definitions import (
    containers_of,
    missing_data,
    model_on,
    serving_type,
)
from cdk_sagemaker_llm.local.hosting.traffic import Where
from cdk_sagemaker_llm.local.hosting.world import (
    Component,
    Endpoint,
    World,
    key_of,
)
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
_SLOW = 10.0
_OK = 200
# Weights are counted in whole parts, so that shares come out exactly.
_PARTS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """
    Where a request goes.

    Args:
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


def find_route(
    world: World,
    endpoint_name: str,
    *,
    component_name: str | None = None,
    variant: str | None = None,
) -> Route:
    """
    Find the container behind an endpoint.
    """
    endpoint = world.endpoints.find(endpoint_name)
    # One that has yet to come, or goes, is not there for the runtime.
    if endpoint is None or endpoint.status in _NOT_THERE:
        name = f"Endpoint {endpoint_name} of account {world.account}"
        raise _invalid(f"{name} not found.")
    if endpoint.takes_components:
        return _to_component(world, endpoint, component_name)
    if component_name:
        raise _invalid(
            "Inference Component Name header is not allowed for endpoints to which "
            "you dont plan to deploy inference components. Please remove the "
            "Inference Component Name header or consider using inference components."
        )
    return _to_variant(world, endpoint, variant)


def _to_component(world: World, endpoint: Endpoint, name: str | None) -> Route:
    if not name:
        raise _invalid(COMPONENT_NEEDED)
    component = world.components.find(name)
    if component is None or component.endpoint_name != endpoint.name:
        raise _invalid(
            f"Inference Component {name} of endpoint {endpoint.name} not found."
        )
    if not serving_copies(world, component):
        raise NoCapacityError((endpoint.name, component.variant_name, component.name))
    base = base_of(world, component)
    fleet = endpoint.fleets[base.variant_name]
    version = choose_version(base, fleet)
    instance_type = serving_type(fleet, [version])
    specification = specification_on(base.request_of(version), instance_type)
    role, model = endpoint.config["ExecutionRoleArn"], ""
    if "ModelName" in specification:
        container, role, model = _of_model(world, specification["ModelName"])
    else:
        container = specification["Container"]
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
    return _route_of_model(world, endpoint, name, filled_by)


def shadow_route(world: World, endpoint: Endpoint) -> Route | None:
    """
    Find the container of an endpoint's shadow; ``None`` if it has none that serves.
    """
    for variant in endpoint.config.get("ShadowProductionVariants", ()):
        name = variant["VariantName"]
        fleet = endpoint.fleets.get(name)
        if fleet is None or not fleet.serving(name):
            continue
        return _route_of_model(world, endpoint, name, variant["ModelName"])
    return None


def _route_of_model(world: World, endpoint: Endpoint, variant: str, name: str) -> Route:
    container, role, model = _of_model(world, name)
    return Route(
        endpoint=endpoint,
        variant=variant,
        component=None,
        container=container,
        role=role,
        model=model,
    )


def _of_model(world: World, name: str) -> tuple[dict[str, Any], str | None, str]:
    model = world.deployed_models[name].request
    return containers_of(model)[0], model.get("ExecutionRoleArn"), name


@dataclass(frozen=True, slots=True)
class Result:
    """
    An answer, and how many of its pieces the container writes at once.
    """

    answer: Answer
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


def invoke(world: World, route: Route, request: ContainerRequest) -> Result:
    """
    Pass a request to its container.
    """
    container = replace(_container(world, route), adapter=route.adapter)
    try:
        answer = generate(container, replace(request, adapter=route.adapter))
    except RefusedError as error:
        raise model_error(world, route, error.status, error.body) from error
    early = container.server == "lmi" and container.version < (0, 27)
    return Result(answer, _PACKED if early else 1)


def _container(world: World, route: Route) -> ServingContainer:
    definition = route.container
    data = next(ModelData.of(definition), None)
    if data and not world.artifacts.is_there(data):
        raise missing_data(data.url, route.role, world.region)
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


def answer_instead(world: World, route: Route, *, stream: bool) -> bool:
    """
    Have a request fail that a fault has chosen; tell whether its stream is to be cut.

    Raises:
        AwsError: If it fails at once.
    """
    instead = world.faults.answer(route.names)
    if instead is None or (stream and instead == faults.CUT):
        return instead is not None
    if instead == faults.THROTTLED:
        raise AwsError("ThrottlingException", "Rate exceeded")
    status = int(instead) if instead.isdecimal() else 500
    raise model_error(world, route, status, "this request was chosen to fail")


def extra_seconds(world: World, route: Route) -> float:
    """
    Return how much longer a container takes that a fault makes slow.
    """
    fault = world.faults.find(faults.SLOW, route.names)
    return (fault.seconds or _SLOW) if fault else 0.0


def answer_seconds(world: World, route: Route, answer: Answer) -> float:
    """
    Return how long a container takes for an answer.
    """
    extra = extra_seconds(world, route)
    if world.clock.speed is None:
        return extra
    return extra + world.latency.seconds(answer.tokens)


def timed_out(world: World, route: Route) -> AwsError:
    """
    Make the error of a container that took too long.
    """
    message = (
        "Your invocation timed out while waiting for a response from container "
        "primary. Review the latency metrics for each container in Amazon CloudWatch, "
        "resolve the issue, and try again."
    )
    return model_error(world, route, 0, message)


def model_error(world: World, route: Route, status: int, body: str) -> AwsError:
    """
    Make the error of a container that answers with a status; 0 if it does not answer.
    """
    group = f"/aws/sagemaker/Endpoints/{route.endpoint.name}"
    place = f"{world.region}:{world.account}"
    kind = "client" if 0 < status < 500 else "server"  # noqa: PLR2004 - HTTP's line
    return AwsError(
        "ModelError",
        f'Received {kind} error ({status}) from primary with message "{body}". See '
        f"log group {group} in account {world.account} for more information.",
        424,
        OriginalStatusCode=status,
        OriginalMessage=body,
        LogStreamArn=f"arn:{world.partition}:logs:{place}:log-group:{group}",
    )


def _invalid(message: str) -> AwsError:
    # The runtime's own error shape is called ValidationError, not ...Exception.
    return AwsError("ValidationError", message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    What came of a request that no client waits for.

    Args:
        body: The answer, or why there is none.

        status: What the container answered; 0 if it was not asked.

        variant: The variant that was asked; empty for none.

        failure: Why it failed; empty if it did not.
    """

    body: bytes
    kind: str = JSON
    status: int = 0
    seconds: float = 0.0
    variant: str = ""
    failure: str = ""

    @classmethod
    def lost(cls, reason: str) -> Outcome:
        """
        Return that of a request which no container was asked.
        """
        return cls(body=reason.encode(), failure=reason)


def ask(
    world: World, route: Route, body: bytes, patience: float, path: str | None = None
) -> Outcome:
    """
    Ask the container that a request goes to, and do not wait; it has the patience's
    seconds.
    """
    try:
        answer_instead(world, route, stream=False)
        answer = invoke(world, route, ContainerRequest(body=body, path=path)).answer
        seconds = answer_seconds(world, route, answer)
        if seconds > patience:
            raise timed_out(world, route)
    except AwsError as error:
        return Outcome(
            body=error.message.encode(),
            status=int(error.fields.get("OriginalStatusCode", error.status)),
            variant=route.variant,
            failure=error.message,
        )
    return Outcome(
        body=b"".join(answer.pieces),
        kind=answer.content_type,
        status=_OK,
        seconds=seconds,
        variant=route.variant,
    )


def choose_variant(endpoint: Endpoint) -> str | None:
    """
    Take the next variant in turn, each as often as its weight is of their sum.

    The turns are smooth: of ten requests at 0.9 and 0.1, exactly one goes to the
    second variant. ``None`` if every weight is zero.
    """
    names = [v["VariantName"] for v in endpoint.config["ProductionVariants"]]
    weights = {name: endpoint.weights[name] for name in names}
    parts = {
        name: max(1, round(weight * _PARTS)) if weight else 0
        for name, weight in weights.items()
    }
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


def choose_version(component: Component, fleet: Fleet) -> str:
    """
    Return what the version is called that answers the next request: during an update
    the new one as often as is its share of the copies that serve.
    """
    update = component.update
    if update is None:
        return component.key
    new = key_of(component.name, update.version)
    keys = [key for key in {component.key, new} if key in fleet.names]
    serving = {key: fleet.serving(key) for key in keys}
    if not serving.get(new):
        return component.key
    update.turn += serving[new] / sum(serving.values())
    if round(update.turn, 6) < 1:
        return component.key
    update.turn -= 1
    return new


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
