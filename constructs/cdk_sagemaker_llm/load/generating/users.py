"""
Locust's users: they ask again when they are answered, or requests arrive by themselves.
"""

from __future__ import annotations

import time
from typing import ClassVar

import gevent
from gevent.pool import Pool
from locust import User, task
from locust.env import Environment

from cdk_sagemaker_llm.load.generating.asking import EVERY, MOST_IN_FLIGHT, Asking
from cdk_sagemaker_llm.load.settings import LoadSettings


class Looping(User):
    """
    Asks, waits for the answer, thinks, and asks again.
    """

    asking: ClassVar[Asking]

    def wait_time(self) -> float:
        return self.asking.settings.think_time

    @task
    def ask(self) -> None:
        self.asking.ask()


class Arriving(User):
    """
    Has requests arrive at random, whether or not those before have been answered.
    """

    asking: ClassVar[Asking]

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._under_way = Pool(MOST_IN_FLIGHT)
        self._due = time.time()

    def wait_time(self) -> float:
        """
        Wait for the next one to arrive.
        """
        self._due += self.asking.next_arrival()
        return max(0.0, self._due - time.time())

    @task
    def arrive(self) -> None:
        self._under_way.spawn(self.asking.ask, self._due)

    def on_stop(self) -> None:
        """
        Wait for the answers that are under way, for as long as there is time.
        """
        self._under_way.join(timeout=self.asking.settings.drain)
        self._under_way.kill()


def furnish(environment: Environment, asking: Asking) -> None:
    """
    Have an environment's users ask.
    """
    for kind in (Looping, Arriving):
        kind.asking = asking
    environment.stop_timeout = asking.settings.drain
    environment.events.spawning_complete.add_listener(lambda **_: asking.begin())
    environment.events.test_stopping.add_listener(lambda **_: asking.end())
    gevent.spawn(_watch, asking)


def kind_of(settings: LoadSettings) -> type[User]:
    return Looping if settings.arrival_rate is None else Arriving


def _watch(asking: Asking) -> None:
    while True:
        due = time.perf_counter() + EVERY
        gevent.sleep(EVERY)
        asking.late(time.perf_counter() - due)
