"""
An asynchronous endpoint: requests wait in a queue, with or without instances.
"""

from __future__ import annotations

import pytest

from cdk_sagemaker_llm.simulation import Lengths, Users
from cdk_sagemaker_llm.simulation.backlog import BacklogRouter
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery, MetricStore
from cdk_sagemaker_llm.simulation.publishing import Publisher
from cdk_sagemaker_llm.simulation.running import run
from cdk_sagemaker_llm.simulation.scenario import Scenario
from cdk_sagemaker_llm.simulation.traffic.base import Arrival
from tests.unit.simulation.scenarios import of_rate

# Answers of 100 tokens take 2 s alone.
ONE_AT_A_TIME = of_rate(1, queue_concurrency=1)


def router(*arrivals: Arrival) -> BacklogRouter:
    """
    Let requests arrive at an endpoint that works on one at a time.
    """
    return BacklogRouter(
        ONE_AT_A_TIME, "LEAST_OUTSTANDING_REQUESTS", iter(arrivals), seed=0
    )


def test_what_arrives_without_instances_waits() -> None:
    """
    And is answered one after the other once there is one: after 11 s and 12 s.
    """
    queue = router((1.0, 0, 100), (2.0, 0, 100))
    queue.run_until(10.0)
    assert (queue.backlog, queue.waiting, queue.serving) == (2, 2, 0)
    assert queue.take(10.0).refused == {}

    queue.add("first")
    queue.run_until(13.0)
    assert (queue.backlog, queue.waiting) == (1, 0)
    queue.run_until(20.0)

    assert queue.take(20.0).latencies == [pytest.approx(11.0), pytest.approx(12.0)]
    assert queue.backlog == 0


def test_what_an_instance_has_not_finished_is_taken_up_again() -> None:
    """
    By the next one, before what came later.
    """
    queue = router((0.0, 0, 100), (0.5, 0, 200))
    queue.add("first")
    queue.run_until(1.0)
    queue.remove("first", 1.0)
    assert queue.backlog == 2
    assert queue.take(1.0).refused == {}

    queue.add("second")
    queue.run_until(10.0)
    assert queue.take(10.0).latencies == [pytest.approx(3.0), pytest.approx(6.5)]


def test_an_instance_that_leaves_finishes_what_it_has() -> None:
    """
    And gets nothing more.
    """
    queue = router((0.0, 0, 100), (1.0, 0, 100))
    queue.add("first")
    queue.run_until(0.5)
    queue.leave("first")
    queue.run_until(10.0)

    assert queue.take(10.0).latencies == [pytest.approx(2.0)]
    assert queue.backlog == 1


def test_what_is_too_long_is_refused() -> None:
    """
    It would never have room.
    """
    queue = router((0.0, 0, 40_001))
    queue.run_until(1.0)

    assert queue.take(1.0).refused == {"too long": 1}
    assert queue.backlog == 0


@pytest.mark.parametrize(
    ("size", "instances", "values"),
    [
        (6, 3, (6.0, 2.0, 0.0)),
        (6, 0, (6.0, None, 1.0)),
        (0, 0, (0.0, None, 0.0)),
    ],
)
def test_the_backlog_is_published_by_endpoint(
    size: int, instances: int, values: tuple[float | None, ...]
) -> None:
    """
    All of it, by instance where there is one, and whether it waits in vain.
    """
    store = MetricStore()
    Publisher(ONE_AT_A_TIME, "batch", store).backlog(0.0, size, instances)

    names = (
        "ApproximateBacklogSize",
        "ApproximateBacklogSizePerInstance",
        "HasBacklogWithoutCapacity",
    )
    metrics = [Metric.of("AWS/SageMaker", n, {"EndpointName": "batch"}) for n in names]
    found = [store.read(MetricQuery(one, "Average", 60), 60) for one in metrics]
    assert tuple(found) == values


def test_it_is_followed_request_by_request() -> None:
    """
    Whatever suits the rate; in aggregate it cannot be asked for.
    """
    scenario = Scenario(workloads=(ONE_AT_A_TIME,), duration=60)

    assert run(scenario).method == "requests"
    with pytest.raises(ValueError, match="method must be 'requests' for chat"):
        run(scenario, "aggregate")


def test_users_do_not_wait_for_it() -> None:
    """
    An answer lies on S3, and nobody thinks after it.
    """
    users = Users(count=1, think=1.0, lengths=Lengths(prompt=10, answer=10))
    with pytest.raises(ValueError, match="users wait for answers"):
        of_rate(1, traffic=users, queue_concurrency=1)
