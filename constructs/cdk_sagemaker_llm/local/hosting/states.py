"""
From what a fleet does to the states that the API shows.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.aws.errors import validation
from cdk_sagemaker_llm.local.aws.faults import MAINTENANCE
from cdk_sagemaker_llm.local.hosting.fleet import holds
from cdk_sagemaker_llm.local.hosting.world import Component, Endpoint, World
from cdk_sagemaker_llm.simulation.fleet import Fleet

_BUSY = frozenset({"Creating", "Updating", "SystemUpdating", "RollingBack", "Deleting"})
# The states that SageMaker's messages name, by those that it describes.
_INNER = {
    "Creating": "CREATE_IN_PROGRESS",
    "Updating": "UPDATE_RC_IN_PROGRESS",
    "Deleting": "DELETE_IN_PROGRESS",
}


def is_busy(record: Endpoint | Component) -> bool:
    """
    Tell whether something is under way.
    """
    return record.status in _BUSY


def refuse_busy_endpoint(endpoint: Endpoint) -> None:
    """
    Refuse a change of an endpoint that changes already, in the service's words, which
    are the same for a deletion.
    """
    if is_busy(endpoint):
        raise validation(f'Cannot update in-progress endpoint "{endpoint.arn}".')


def refuse_moving_endpoint(endpoint: Endpoint) -> None:
    """
    Refuse changes of what an endpoint that moves to another configuration hosts.
    """
    if endpoint.deployment is not None:
        raise validation(f'Cannot update in-progress endpoint "{endpoint.arn}".')


def refuse_failed_endpoint(endpoint: Endpoint) -> None:
    """
    Refuse what only an endpoint that came up once can do.

    The API reference: deletion is all that is left of one that failed.
    """
    if endpoint.status == "Failed":
        raise validation(
            f'Cannot update endpoint "{endpoint.arn}" with status Failed: '
            "DeleteEndpoint is the only operation that can be performed on it."
        )


def refuse_unready_endpoint(endpoint: Endpoint) -> None:
    """
    Refuse components on an endpoint that is not in service, nor on its way from one
    state of service to another. One without copies is gone as soon as it is deleted.
    """
    if endpoint.status in {"Creating", "Failed"}:
        raise validation(
            f'Cannot create inference component on endpoint "{endpoint.arn}" with '
            f"status {endpoint.status}."
        )


def refuse_busy_component(component: Component, verb: str) -> None:
    """
    Refuse a change of a component that changes already, with the state that the service
    names; the rest of its words is not documented.
    """
    if component.status in _INNER:
        raise validation(
            f'Cannot {verb} inference component "{component.arn}" while it is in state '
            f"{_INNER[component.status]}."
        )


def look(world: World, endpoint: Endpoint) -> None:
    """
    Bring the states of an endpoint and its components up to what its fleets do.
    """
    for component in world.components_on(endpoint):
        _look_at_component(world, endpoint, component)
    if endpoint.deployment is not None:
        rollout = endpoint.deployment.rollout
        if rollout is not None:
            rollout.look()
    elif endpoint.status == "Creating":
        _look_at_creation(endpoint)
    elif endpoint.status == "Updating" and all(
        fleet.is_settled() for fleet in endpoint.fleets.values()
    ):
        refusals = (fleet.refusal() for fleet in endpoint.fleets.values())
        enter(endpoint, "InService", next(filter(None, refusals), None))
    elif endpoint.status == "Deleting" and not any(
        fleet.instances for fleet in endpoint.fleets.values()
    ):
        world.endpoints.drop(endpoint)
    _look_at_maintenance(world, endpoint)


def enter(
    record: Endpoint | Component, status: str, failure: str | None = None
) -> None:
    """
    Put an endpoint or a component into a state.
    """
    record.status, record.failure = status, failure
    record.touch()
    if isinstance(record, Endpoint):
        record.tell()


def serves_fully(fleet: Fleet) -> bool:
    """
    Tell whether the instances are there, and with them the model of the variant.
    """
    return fleet.is_settled() and all(
        fleet.serving(name) == fleet.desired(name) for name in fleet.names
    )


def why_not(fleet: Fleet) -> str | None:
    """
    Say why instances or a variant's model are not there and will not be.
    """
    reasons = [fleet.refusal(), *map(fleet.refusal, fleet.names)]
    return next((reason for reason in reasons if reason), None)


def _look_at_creation(endpoint: Endpoint) -> None:
    fleets = endpoint.fleets.values()
    reason = next(filter(None, map(why_not, fleets)), None)
    if reason is not None:
        enter(endpoint, "Failed", reason)
        for fleet in fleets:
            fleet.close()
    elif all(map(serves_fully, fleets)):
        enter(endpoint, "InService")


def _look_at_maintenance(world: World, endpoint: Endpoint) -> None:
    # It serves meanwhile: the API reference takes updates, deletion and scaling away.
    is_due = world.faults.find(MAINTENANCE, {endpoint.name}) is not None
    if is_due and endpoint.status == "InService":
        enter(endpoint, "SystemUpdating", endpoint.failure)
    elif not is_due and endpoint.status == "SystemUpdating":
        enter(endpoint, "InService", endpoint.failure)


def _look_at_component(world: World, endpoint: Endpoint, component: Component) -> None:
    fleet = endpoint.fleets.get(component.variant_name)
    key = component.key
    if fleet is None:
        return
    if component.update is not None:
        if component.update.rollout is not None:
            component.update.rollout.look()
    elif component.status == "Deleting":
        if not holds(fleet, key):
            world.components.drop(component)
    elif key not in fleet.names:
        if component.status in {"Creating", "Updating"}:
            # An adapter reserves nothing: it is there with its base.
            enter(component, "InService")
    elif component.status != "InService" and fleet.is_settled(key):
        _look_at_copies(fleet, component, key)


def _look_at_copies(fleet: Fleet, component: Component, key: str) -> None:
    refusal = fleet.refusal(key)
    if fleet.serving(key) == fleet.desired(key):
        enter(component, "InService")
    elif refusal is None:
        return
    elif component.status == "Creating":
        enter(component, "Failed", refusal)
        fleet.remove(key)
    elif component.status == "Updating":
        # What serves goes on; the rest is tried again as the fleet does.
        enter(component, "InService" if fleet.serving(key) else "Failed", refusal)
