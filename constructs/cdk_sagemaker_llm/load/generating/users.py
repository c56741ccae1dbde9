"""
Locust's users: they ask again when they are answered, or requests arrive by themselves,
at random or as a trace has them.
"""

from __future__ import annotations

import time
from typing import ClassVar

import gevent
from gevent.event import Event
from gevent.pool import Pool
from locust import User, task
from locust.env import Environment

from cdk_sagemaker_llm.load.generating.asking import EVERY, MOST_IN_FLIGHT, Asking
from cdk_sagemaker_llm.load.prompts import Conversation
from cdk_sagemaker_llm.load.settings import TRACE_LEAD, LoadSettings
from cdk_sagemaker_llm.simulation.traffic.trace import TracedRequest

_FOR_EVER = 1e6


class Looping(User):
    """
    Asks, waits for the answer, thinks, and asks again.
    """

    asking: ClassVar[Asking]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._talk: Conversation | None = None

    def wait_time(self) -> float:
        return self.asking.settings.think_time

    @task
    def ask(self) -> None:
        if self._talk is None or self._talk.is_over:
            self._talk = self.asking.converse()
        self.asking.ask(conversation=self._talk)


class _OpenLoop(User):
    """
    Has requests sent whether or not those before have been answered.
    """

    abstract = True
    asking: ClassVar[Asking]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._under_way = Pool(MOST_IN_FLIGHT)

    def on_stop(self) -> None:
        """
        Wait for the answers that are under way, for as long as there is time.
        """
        self._under_way.join(timeout=self.asking.settings.drain)
        self._under_way.kill()


class Arriving(_OpenLoop):
    """
    Has conversations begin at random, and each go on once it was answered.
    """

    is_ending: ClassVar[Event]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._due = time.time()

    def wait_time(self) -> float:
        """
        Wait for the next one to arrive.
        """
        self._due += self.asking.next_arrival()
        return max(0.0, self._due - time.time())

    @task
    def arrive(self) -> None:
        self._under_way.spawn(self._converse, self._due)

    def _converse(self, due: float) -> None:
        talk = self.asking.converse()
        self.asking.ask(due, talk)
        while not talk.is_over and not self.is_ending.is_set():
            gevent.sleep(self.asking.settings.think_time)
            self.asking.ask(conversation=talk)


class Replaying(_OpenLoop):
    """
    Has the requests of a trace come as they came.
    """

    has_begun: ClassVar[Event]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._trace = self.asking.traced()
        self._zero = 0.0
        self._next: tuple[float, TracedRequest, str] | None = None

    def wait_time(self) -> float:
        """
        Wait for the next one to come, with its prompt in hand.
        """
        if not self._zero:
            self.has_begun.wait()
            self._zero = time.time() + TRACE_LEAD
        settings = self.asking.settings
        for request, prompt in self._trace:
            since = (request.at - settings.trace[0].at) / settings.trace_speed
            self._next = self._zero + since, request, prompt
            return max(0.0, self._next[0] - time.time())
        self._next = None
        return _FOR_EVER

    @task
    def replay(self) -> None:
        if self._next is not None:
            due, request, prompt = self._next
            self.asking.late(time.time() - due)
            self._under_way.spawn(self.asking.replay, due, request, prompt)


KINDS = (Looping, Arriving, Replaying)
"""All kinds of users."""


def furnish(environment: Environment, asking: Asking) -> None:
    """
    Give an environment's users what they ask.
    """
    has_begun, is_ending = Event(), Event()
    for kind in KINDS:
        kind.asking = asking
    Replaying.has_begun, Arriving.is_ending = has_begun, is_ending

    def begin(**_: object) -> None:
        asking.begin()
        has_begun.set()

    def end(**_: object) -> None:
        asking.end()
        is_ending.set()

    environment.stop_timeout = asking.settings.drain
    environment.events.spawning_complete.add_listener(begin)
    environment.events.test_stopping.add_listener(end)
    gevent.spawn(_watch, asking)


def kind_of(settings: LoadSettings) -> type[User]:
    if settings.trace:
        return Replaying
    return Looping if settings.arrival_rate is None else Arriving


def _watch(asking: Asking) -> None:
    while True:
        due = time.perf_counter() + EVERY
        gevent.sleep(EVERY)
        asking.late(time.perf_counter() - due)
