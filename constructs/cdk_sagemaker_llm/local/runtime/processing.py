"""
Asking a container for an answer that no client waits for.
"""

from __future__ import annotations

from dataclasses import dataclass

from cdk_sagemaker_llm.local.aws import faults
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.protocols import JSON
from cdk_sagemaker_llm.local.engines.containers import ContainerRequest
from cdk_sagemaker_llm.local.hosting.world import World
from cdk_sagemaker_llm.local.runtime.invocations import (
    Invocation,
    Result,
    Route,
    broken,
    find_route,
    invoke,
    timed_out,
)

_SLOW = 10.0
_OK = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """
    What came of a request.

    Args:
        body: The answer, or why there is none.

        kind: Its content type.

        status: What the container answered; 0 if it was not asked.

        seconds: How long it took.

        variant: The variant that was asked; empty for none.

        failure: Why it failed; empty if it did not.
    """

    body: bytes
    kind: str = JSON
    status: int = 0
    seconds: float = 0.0
    variant: str = ""
    failure: str = ""


def lost(reason: str) -> Outcome:
    """
    Return the outcome of a request that no container was asked.
    """
    return Outcome(body=reason.encode(), failure=reason)


def process(world: World, endpoint: str, body: bytes, patience: float) -> Outcome:
    """
    Ask the container behind an endpoint.

    Args:
        world: Where.

        endpoint: The endpoint's name.

        body: The request.

        patience: How many seconds to wait for its answer.
    """
    invocation = Invocation(endpoint=endpoint, component=None, variant=None, body=body)
    try:
        route = find_route(world, invocation)
    except AwsError as error:
        return lost(error.message)
    return ask(world, route, body, patience)


def ask(world: World, route: Route, body: bytes, patience: float) -> Outcome:
    """
    Ask the container that a request goes to, and do not wait.

    Args:
        world: Where.

        route: Where the request goes.

        body: The request.

        patience: How many seconds to wait for its answer.
    """
    try:
        result = _result(world, route, body)
        seconds = _seconds(world, route, result)
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
        body=b"".join(result.answer.pieces),
        kind=result.answer.content_type,
        status=_OK,
        seconds=seconds,
        variant=route.variant,
    )


def _result(world: World, route: Route, body: bytes) -> Result:
    instead = world.faults.answer(route.names)
    if instead == faults.THROTTLED:
        raise faults.throttled()
    if instead is not None:
        raise broken(world, route, instead)
    return invoke(world, route, ContainerRequest(body=body))


def _seconds(world: World, route: Route, result: Result) -> float:
    slow = world.faults.find(faults.SLOW, route.names)
    extra = (slow.seconds or _SLOW) if slow else 0.0
    if world.clock.speed is None:
        return extra
    return extra + world.latency.seconds(result.answer.tokens)
