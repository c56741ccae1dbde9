"""
Which changes a state refuses, in the service's words.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.hosting.states import (
    is_busy,
    look,
    refuse_busy_component,
    refuse_busy_endpoint,
    refuse_failed_endpoint,
    refuse_moving_endpoint,
    refuse_unready_endpoint,
    serves_fully,
    why_not,
)
from cdk_sagemaker_llm.local.hosting.world import Deployment
from cdk_sagemaker_llm.simulation.clock import Timeline
from cdk_sagemaker_llm.simulation.fleet import Fleet, FleetTimes, Pool
from tests.unit.local.hosted import component_of, endpoint_of, fleet_of, world_of

_BUSY = 'ValidationException: Cannot update in-progress endpoint "arn:chat".'
_FAILED = (
    'ValidationException: Cannot update endpoint "arn:chat" with status Failed: '
    "DeleteEndpoint is the only operation that can be performed on it."
)
_INNER = {
    "Creating": "CREATE_IN_PROGRESS",
    "Updating": "UPDATE_RC_IN_PROGRESS",
    "Deleting": "DELETE_IN_PROGRESS",
}


def told(check: Any, *given: object) -> str:  # noqa: ANN401 - any of the guards
    """
    Return what a guard says; nothing if it lets pass.
    """
    try:
        check(*given)
    except AwsError as error:
        return f"{error.code}: {error.message}"
    return ""


@pytest.mark.parametrize(
    ("status", "busy", "failed", "unready"),
    [
        ("Creating", True, False, True),
        ("Updating", True, False, False),
        ("SystemUpdating", True, False, False),
        ("RollingBack", True, False, False),
        ("Deleting", True, False, False),
        ("InService", False, False, False),
        ("UpdateRollbackFailed", False, False, False),
        ("OutOfService", False, False, False),
        ("Failed", False, True, True),
    ],
)
def test_an_endpoint_refuses_by_its_state(
    status: str, *, busy: bool, failed: bool, unready: bool
) -> None:
    """
    What is under way is waited for; of one that failed only deletion is left.
    """
    endpoint = endpoint_of("chat", {})
    endpoint.status = status

    assert is_busy(endpoint) is busy
    assert told(refuse_busy_endpoint, endpoint) == (_BUSY if busy else "")
    assert told(refuse_failed_endpoint, endpoint) == (_FAILED if failed else "")
    words = (
        'ValidationException: Cannot create inference component on endpoint "arn:chat" '
        f"with status {status}."
    )
    assert told(refuse_unready_endpoint, endpoint) == (words if unready else "")


def test_an_endpoint_that_moves_keeps_what_it_hosts() -> None:
    """
    Until it has moved.
    """
    endpoint = endpoint_of("chat", {})
    assert told(refuse_moving_endpoint, endpoint) == ""
    endpoint.deployment = Deployment(
        config_name="next", config={}, fleets={}, started=0.0
    )
    assert told(refuse_moving_endpoint, endpoint) == _BUSY


@pytest.mark.parametrize("status", ["Creating", "Updating", "Deleting", "InService"])
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_a_component_refuses_by_its_state(status: str, verb: str) -> None:
    """
    By the service's name of it.
    """
    component = component_of("llama")
    component.status = status

    words = (
        f'ValidationException: Cannot {verb} inference component "arn:llama" while it '
        f"is in state {_INNER.get(status)}."
    )
    found = told(refuse_busy_component, component, verb)
    assert found == (words if status in _INNER else "")


def test_a_failed_component_may_be_changed() -> None:
    """
    It is not under way.
    """
    component = component_of("llama")
    component.status = "Failed"
    assert told(refuse_busy_component, component, "delete") == ""


def test_an_endpoint_is_in_service_when_all_its_fleets_serve() -> None:
    """
    Not while one of them has yet to come.
    """
    timeline, world = Timeline(), world_of(Clock(lambda: 100.0))
    slow = Fleet(
        timeline,
        pools=[Pool("ml.g5.xlarge")],
        instances=1,
        times=FleetTimes(provision=10.0, image_pull=10.0, model_start=10.0),
    )
    slow.add("B", None, 1)
    endpoint = endpoint_of("chat", {"A": fleet_of("A", 1), "B": slow})
    for moment, status in ((29.9, "Creating"), (30.0, "InService")):
        timeline.run_until(moment)
        look(world, endpoint)
        assert endpoint.status == status
        assert serves_fully(slow) is (status == "InService")
    assert why_not(slow) is None
    assert endpoint.failure is None


def test_an_endpoint_fails_with_what_is_refused() -> None:
    """
    And lets everything else go.
    """
    world, served = world_of(Clock(lambda: 100.0)), fleet_of("A", 1)
    refused = Fleet(
        Timeline(),
        pools=[Pool("ml.g5.xlarge")],
        instances=1,
        times=FleetTimes.instant(),
        capacity=lambda _, __: 0.0,
    )
    endpoint = endpoint_of("chat", {"A": served, "B": refused})
    why = why_not(refused)
    look(world, endpoint)

    assert why is not None
    assert (endpoint.status, endpoint.failure) == ("Failed", why)
    assert not served.instances
