"""
Which variant of an endpoint a request goes to.
"""

from __future__ import annotations

from typing import Any

from cdk_sagemaker_llm.local.sagemaker.world import Endpoint
from cdk_sagemaker_llm.simulation.fleet import Fleet

# Weights are counted in whole parts, so that shares come out exactly.
_PARTS = 1_000_000


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
    chosen: str = max(names, key=turns.__getitem__)
    turns[chosen] -= total
    return chosen


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
