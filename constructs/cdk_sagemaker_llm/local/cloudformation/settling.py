"""
Waiting until endpoints and inference components are what was asked for.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.background import wait_until
from cdk_sagemaker_llm.local.sagemaker.states import is_busy
from cdk_sagemaker_llm.local.sagemaker.world import Component, Endpoint, World


def settled(world: World, kind: str, name: str) -> str | None:
    """
    Wait until a resource changes no more.

    Args:
        world: Where it is.

        kind: The API's word for it; most kinds are what they are at once.

        name: Its name.

    Returns:
        The service's reason if it is not what was asked for.
    """
    record = _find(world, kind, name)
    if record is None:
        return None
    wait_until(lambda: not is_busy(record))
    # After a rollback it is in service as well, as it was before.
    return record.failure


def wait_until_gone(world: World, kind: str, name: str) -> None:
    """
    Wait until a resource that is deleted is not there any more.
    """
    wait_until(lambda: _find(world, kind, name) is None)


def _find(world: World, kind: str, name: str) -> Endpoint | Component | None:
    if kind == "Endpoint":
        return world.endpoints.find(name)
    if kind == "InferenceComponent":
        return world.components.find(name)
    return None
