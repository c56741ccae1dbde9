"""
Requests under way and over, those that wait in a queue, and who is told of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.clock import Clock
from cdk_sagemaker_llm.local.hosting import queueing
from cdk_sagemaker_llm.local.hosting.traffic import (
    Backlog,
    Processed,
    Request,
    Served,
    Traffic,
    Where,
)
from cdk_sagemaker_llm.local.hosting.world import (
    ComponentUpdate,
    Endpoint,
    key_of,
    plain_name,
)
from cdk_sagemaker_llm.local.scaling.meter import Meter
from cdk_sagemaker_llm.local.scaling.watching import count_backlogs
from tests.unit.local.hosted import component_of, endpoint_of, fleet_of, world_of

_CHAT: Where = ("chat", "AllTraffic", None)
_LLAMA: Where = ("host", "AllTraffic", "llama")
_OF_QUEUES = [
    "ApproximateBacklogSize",
    "ApproximateBacklogSizePerInstance",
    "ApproximateAgeOfOldestRequest",
    "HasBacklogWithoutCapacity",
]


@dataclass
class Wall:
    """
    A clock on a wall that the test moves.
    """

    time: float = 100.0

    def __call__(self) -> float:
        """
        Tell the time.
        """
        return self.time


@pytest.fixture(name="wall")
def _wall() -> Wall:
    return Wall()


@pytest.fixture(name="clock")
def _clock(wall: Wall) -> Clock:
    """
    Give a clock by hand, which stands at 100.
    """
    clock = Clock(wall)
    clock.run_by_hand()
    return clock


def test_a_visit_is_told_when_it_has_ended(wall: Wall) -> None:
    """
    With its times, its status, and where it was.
    """
    traffic, told = Traffic(Clock(wall)), list[Served]()
    arrived = list[Where]()
    traffic.listeners.append(told.append)
    traffic.arrivals.append(arrived.append)

    first, second = traffic.begin(_LLAMA), traffic.begin(_LLAMA)
    assert arrived == [_LLAMA, _LLAMA]
    assert traffic.in_flight == {_LLAMA: 2}
    wall.time = 103.0
    first.first_chunk()
    wall.time = 104.0
    first.first_chunk()
    first.end(200, is_cut=True)
    assert traffic.in_flight == {_LLAMA: 1}
    wall.time = 105.0
    second.end(500)

    named: dict[str, Any] = {
        "endpoint": "host",
        "variant": "AllTraffic",
        "component": "llama",
        "started": 100.0,
    }
    assert told == [
        Served(ended=104.0, status=200, first_chunk=103.0, is_cut=True, **named),
        Served(ended=105.0, status=500, **named),
    ]
    assert (told[1].first_chunk, told[1].no_capacity, told[1].is_cut) == (
        None,
        False,
        False,
    )
    # Where nothing is under way, nothing is remembered.
    assert list(traffic.in_flight) == []


def test_a_refusal_is_over_at_once(wall: Wall) -> None:
    """
    It has not been under way, and is no arrival.
    """
    traffic, told, arrived = Traffic(Clock(wall)), list[Served](), list[Where]()
    traffic.listeners.append(told.append)
    traffic.arrivals.append(arrived.append)
    traffic.note_refusal(_LLAMA, 400)

    assert told == [
        Served(
            endpoint="host",
            variant="AllTraffic",
            component="llama",
            started=100.0,
            ended=100.0,
            status=400,
            no_capacity=True,
        )
    ]
    assert arrived == []
    assert traffic.in_flight == {}


def test_of_a_queue_others_are_told(wall: Wall) -> None:
    """
    What nobody waited for is told where that is asked for.
    """
    traffic, told, later = Traffic(Clock(wall)), list[Served](), list[Processed]()
    traffic.listeners.append(told.append)
    traffic.later.append(later.append)
    done = Processed(
        endpoint="chat",
        variant="AllTraffic",
        received=1.0,
        started=2.0,
        ended=3.0,
        status=200,
    )
    traffic.processed(done)

    assert later == [done]
    assert told == []
    defaults = done.failed, done.expired, done.downloaded, done.notified
    assert defaults == (False, False, True, True)


@dataclass
class Queued:
    """
    A request that takes ten seconds.
    """

    name: str
    log: list[str]
    received: float = 100.0
    expires: float = 1000.0

    def start(self) -> tuple[float, Callable[[], object]]:
        """
        Note that it begins, and when it is over.
        """
        self.log.append(f"{self.name} starts")
        return 10.0, lambda: self.log.append(f"{self.name} ends")

    def expire(self) -> None:
        """
        Note that it is too late.
        """
        self.log.append(f"{self.name} is late")


def test_a_backlog_counts_what_waits_and_what_is_in_work() -> None:
    """
    The oldest of both has its age.
    """
    backlog, log = Backlog(), list[str]()
    assert (backlog.size, backlog.age(500.0)) == (0, 0.0)
    one, other = Queued("a", log, received=120.0), Queued("b", log, received=130.0)
    backlog.waiting.append(one)
    backlog.working.append(other)
    assert (backlog.size, backlog.age(150.0)) == (2, 30.0)
    backlog.waiting.clear()
    assert (backlog.size, backlog.age(150.0)) == (1, 20.0)


@dataclass
class Queues:
    """
    A world with endpoints of queues.
    """

    clock: Clock
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """
        Lay out the world.
        """
        self.world = world_of(self.clock)

    def endpoint(self, name: str, count: int, **client: int) -> Endpoint:
        """
        Add an endpoint of two variants, the second of which has one instance.
        """
        fleets = {"A": fleet_of("A", count), "B": fleet_of("B", 1)}
        queue = {"ClientConfig": client} if client else {}
        made = endpoint_of(name, fleets, AsyncInferenceConfig=queue)
        self.world.endpoints.add(made)
        return made

    def send(self, endpoint: Endpoint, *names: str, expires: float = 1000.0) -> None:
        """
        Put requests into the queue.
        """
        for name in names:
            request: Request = Queued(name, self.log, expires=expires)
            queueing.put(self.world, endpoint, request)

    def run(self, seconds: float) -> list[str]:
        """
        Let time pass; return what has happened since the last time.
        """
        with self.clock.lock:
            self.clock.advance(seconds)
        log, self.log[:] = [*self.log], []
        return log


@pytest.fixture(name="queues")
def _queues(clock: Clock) -> Queues:
    return Queues(clock)


def test_every_instance_takes_one_request_at_a_time(queues: Queues) -> None:
    """
    Of all variants; the next comes when one has ended.
    """
    endpoint = queues.endpoint("chat", 1)
    assert queueing.instances_of(endpoint) == 2
    queues.send(endpoint, "a", "b", "c")

    assert queues.run(0) == ["a starts", "b starts"]
    assert (len(endpoint.backlog.waiting), len(endpoint.backlog.working)) == (1, 2)
    assert queues.run(9.9) == []
    assert queues.run(0.1) == ["a ends", "c starts", "b ends"]
    assert queues.run(10) == ["c ends"]
    assert endpoint.backlog.size == 0


def test_an_instance_takes_as_many_as_the_client_says(queues: Queues) -> None:
    """
    Two on each of two.
    """
    endpoint = queues.endpoint("chat", 1, MaxConcurrentInvocationsPerInstance=2)
    queues.send(endpoint, *"abcde")

    assert queues.run(0) == [f"{name} starts" for name in "abcd"]


def test_what_waits_too_long_is_given_up(queues: Queues) -> None:
    """
    When somebody looks, and not a moment before its time.
    """
    endpoint = queues.endpoint("chat", 1)
    queues.send(endpoint, "a", "b")
    queues.send(endpoint, "c", expires=110.0)
    queues.send(endpoint, "d", expires=110.5)

    assert queues.run(10) == [
        *("a starts", "b starts"),
        *("a ends", "c is late", "d starts", "b ends"),
    ]


def test_work_begins_wherever_instances_have_come(queues: Queues) -> None:
    """
    At every endpoint that has something to do.
    """
    chat, search = queues.endpoint("chat", 0), queues.endpoint("search", 0)
    for endpoint in (chat, search):
        endpoint.fleets["B"].close()
        queues.send(endpoint, f"{endpoint.name} a", f"{endpoint.name} b")
    assert queues.run(0) == []
    for endpoint in (chat, search):
        endpoint.fleets["A"] = fleet_of("A", 1)
    queueing.work_everywhere(queues.world)

    assert queues.run(0) == ["chat a starts", "search a starts"]
    assert queues.run(10) == [
        *("chat a ends", "chat b starts"),
        *("search a ends", "search b starts"),
    ]


def test_where_nothing_takes_time_who_started_one_goes_on(wall: Wall) -> None:
    """
    One after the other, not one within the other.
    """
    queues = Queues(Clock(wall))
    endpoint = queues.endpoint("chat", 0)
    for name in ("A", "B"):
        endpoint.fleets[name] = fleet_of(name, 0)
    queues.send(endpoint, "a", "b")
    assert queues.log == []
    endpoint.fleets["A"] = fleet_of("A", 1)
    queueing.work_everywhere(queues.world)

    assert queues.log == ["a starts", "a ends", "b starts", "b ends"]


def test_a_closed_fleet_holds_nothing(queues: Queues) -> None:
    """
    Nor does a variant that has none yet.
    """
    endpoint = queues.endpoint("chat", 2)
    assert queueing.instances_of(endpoint) == 3
    endpoint.fleets["A"].close()
    assert queueing.instances_of(endpoint) == 1
    del endpoint.fleets["B"]
    assert queueing.instances_of(endpoint) == 0


@pytest.mark.parametrize(
    ("share", "turns"),
    [
        (0.0, [False] * 5),
        (0.25, [False, False, False, True, False]),
        (0.1, [False] * 9 + [True]),
        (1.0, [True] * 3),
        (1 / 3, [False, False, True, False, False, True]),
    ],
)
def test_a_share_of_the_requests_is_spread_evenly(
    queues: Queues, share: float, turns: list[bool]
) -> None:
    """
    Each thing that is due has turns of its own.
    """
    endpoint = queues.endpoint("chat", 1)

    assert [endpoint.is_due("shadow", share) for _ in turns] == turns
    assert not endpoint.is_due("capture", 0.5)
    assert endpoint.is_due("capture", 0.5)


@pytest.mark.parametrize(
    ("config", "is_so"),
    [
        ({"ExecutionRoleArn": "role"}, True),
        ({}, False),
        (
            {"ExecutionRoleArn": "role", "ProductionVariants": [{"ModelName": "m"}]},
            False,
        ),
    ],
)
def test_components_need_a_role_and_no_model(
    queues: Queues, config: dict[str, Any], *, is_so: bool
) -> None:
    """
    Of the configuration; and only one with a queue is asynchronous.
    """
    endpoint = queues.endpoint("chat", 1)
    assert endpoint.is_asynchronous
    endpoint.config = {"ProductionVariants": [{"VariantName": "A"}], **config}

    assert endpoint.takes_components is is_so
    assert not endpoint.is_asynchronous


def test_a_component_is_hosted_under_a_name_for_each_version() -> None:
    """
    The first has the plain name; an update has a request of its own.
    """
    assert [key_of("llama", version) for version in (0, 1, 12)] == [
        *("llama", "llama#1", "llama#12"),
    ]
    assert [plain_name(key) for key in ("llama", "llama#12")] == ["llama", "llama"]
    component = component_of("llama", {"is": "old"})
    assert component.key == "llama"
    assert component.request_of("llama") == {"is": "old"}
    component.update = ComponentUpdate(request={"is": "new"}, copies=1, version=1)
    assert component.request_of("llama") == {"is": "old"}
    assert component.request_of("llama#1") == {"is": "new"}
    component.version = 1
    assert component.key == "llama#1"


def test_a_world_names_what_is_in_it(queues: Queues) -> None:
    """
    Every kind of resource, by its noun and its ARN; endpoints whatever their case.
    """
    world = queues.world
    place = "arn:aws:sagemaker:us-east-1:123456789012"
    nouns = {shelf.noun: shelf.arn("x") for shelf in world.shelves()}
    assert nouns == {
        "model": f"{place}:model/x",
        "endpoint configuration": f"{place}:endpoint-config/x",
        "endpoint": f"{place}:endpoint/x",
        "inference component": f"{place}:inference-component/x",
    }
    assert world.arn("training-job") == f"{place}:training-job/"
    endpoint = queues.endpoint("Chat", 1)
    assert world.endpoints.find("chat") is endpoint
    assert world.components_on(endpoint) == []
    every = [
        component_of(name, endpoint=host)
        for name, host in (("b", "Chat"), ("a", "Chat"), ("c", "Other"))
    ]
    for one in every:
        world.components.add(one)
    assert world.components_on(endpoint) == every[:2]
    assert world.components.find("B") is None


@pytest.mark.parametrize(
    ("request_", "image"),
    [
        ({"PrimaryContainer": {"Image": "one"}}, "one"),
        ({"Containers": [{"Image": "two"}, {"Image": "three"}]}, "two"),
        (
            {"PrimaryContainer": {"Image": "one"}, "Containers": [{"Image": "two"}]},
            "one",
        ),
        ({"PrimaryContainer": {"Mode": "SingleModel"}}, ""),
        ({}, ""),
    ],
)
def test_a_model_has_the_image_of_its_first_container(
    queues: Queues, request_: dict[str, Any], image: str
) -> None:
    """
    A model that is not there has none.
    """
    world = queues.world
    world.deployed_models["m"] = component_of("m", request_)
    assert world.image_of("m") == image
    assert world.image_of("other") == ""


def test_what_waits_is_counted_at_every_endpoint_with_a_queue(queues: Queues) -> None:
    """
    By the instances that there are; where there are none, as by one.
    """
    queues.world.endpoints.add(endpoint_of("plain", {"A": fleet_of("A", 1)}))
    busy, asleep, empty = (queues.endpoint(name, 1) for name in ("a", "b", "c"))
    for endpoint in (asleep, empty):
        for fleet in endpoint.fleets.values():
            fleet.close()
    queues.send(busy, "1", "2", "3")
    queues.send(asleep, "4", "5")
    meter = Meter()
    count_backlogs(meter, queues.world, 130.0)

    found: dict[str, list[float]] = {}
    for metric, start, point in meter.take(180):
        assert (start, point.count) == (120, 1.0)
        ((_, name),) = metric.dimensions
        found.setdefault(name, []).append(point.total)
        assert len(found[name]) == 1 + _OF_QUEUES.index(metric.name)
    assert found == {
        "a": [3.0, 1.5, 30.0, 0.0],
        "b": [2.0, 2.0, 30.0, 1.0],
        "c": [0.0, 0.0, 0.0, 0.0],
    }
