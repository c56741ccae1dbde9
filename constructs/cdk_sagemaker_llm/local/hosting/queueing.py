"""
Working off what waits for endpoints of asynchronous inference.

Everything here happens with the server's lock held.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdk_sagemaker_llm.local.hosting.traffic import Backlog, Request
from cdk_sagemaker_llm.local.hosting.world import Endpoint, World

# The API: "If no value is provided, SageMaker chooses an optimal value", which is not
# told; the stand-in model answers one at a time.
_AT_ONCE = 1


def instances_of(endpoint: Endpoint) -> int:
    """
    Return how many instances of an endpoint serve.
    """
    names = (each["VariantName"] for each in endpoint.config["ProductionVariants"])
    fleets = ((name, endpoint.fleets.get(name)) for name in names)
    # A fleet that is closed holds nothing, while its instances are on their way out.
    return sum(
        fleet.serving(name) for name, fleet in fleets if fleet and name in fleet.names
    )


def put(world: World, endpoint: Endpoint, request: Request) -> None:
    """
    Let a request wait for its turn, which may be now.
    """
    endpoint.backlog.waiting.append(request)
    work(world, endpoint)


def work(world: World, endpoint: Endpoint) -> None:
    """
    Start as many requests as the instances take.
    """
    backlog = endpoint.backlog
    _expire(backlog, world.clock.moment)
    while backlog.waiting and len(backlog.working) < _places(endpoint):
        request = backlog.waiting.popleft()
        backlog.working.append(request)
        seconds, finish = request.start()
        world.clock.after(seconds, partial(_end, world, endpoint, request, finish))


def work_everywhere(world: World) -> None:
    """
    Start what waits, wherever instances have come.
    """
    for endpoint in list(world.endpoints):
        if endpoint.backlog.waiting:
            work(world, endpoint)


def _end(
    world: World, endpoint: Endpoint, request: Request, finish: Callable[[], object]
) -> None:
    endpoint.backlog.working.remove(request)
    finish()
    # Where nothing takes time, who started this one goes on with the next.
    if world.clock.speed is not None:
        work(world, endpoint)


def _expire(backlog: Backlog, now: float) -> None:
    late = [request for request in backlog.waiting if request.expires <= now]
    for request in late:
        backlog.waiting.remove(request)
        request.expire()


def _places(endpoint: Endpoint) -> int:
    client = endpoint.config.get("AsyncInferenceConfig", {}).get("ClientConfig", {})
    each = client.get("MaxConcurrentInvocationsPerInstance", _AT_ONCE)
    return instances_of(endpoint) * int(each)
