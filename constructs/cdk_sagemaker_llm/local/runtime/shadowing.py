"""
Copies of requests for a shadow variant, whose answers nobody waits for.
"""

from __future__ import annotations

from functools import partial

from cdk_sagemaker_llm.local.runtime.capturing import Sent, capture
from cdk_sagemaker_llm.local.runtime.invocations import Route, shadow_route
from cdk_sagemaker_llm.local.runtime.processing import ask
from cdk_sagemaker_llm.local.sagemaker.world import World

_PATIENCE = 60.0  # As long as a container has to answer a client that waits.


def copy_to_shadow(world: World, route: Route, sent: Sent) -> None:
    """
    Send a copy of a request to the shadow of its endpoint, if it is its turn.

    Its share is its weight, of the weight of the variant beside it.
    """
    shadow = shadow_route(world, route.endpoint)
    if shadow is None:
        return
    weights = route.endpoint.weights
    theirs, ours = weights[shadow.variant], weights[route.variant]
    share = min(1.0, theirs / ours) if ours else 0.0
    if not route.endpoint.is_due(f"shadow {shadow.variant}", share):
        return
    visit = world.traffic.begin(shadow.where)
    found = ask(world, shadow, sent.body, _PATIENCE)
    if not found.failure:
        capture(world, shadow, sent, found.body, found.kind)
    world.clock.after(found.seconds, partial(visit.end, found.status))
