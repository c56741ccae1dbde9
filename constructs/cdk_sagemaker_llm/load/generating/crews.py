"""
Who does the work of a run: one process, or several (``workers``).
"""

from __future__ import annotations

from typing import Protocol

from gevent.event import Event

from cdk_sagemaker_llm.load.generating.asking import Asking
from cdk_sagemaker_llm.load.generating.users import environment_of
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.settings import LoadSettings


class Crew(Protocol):
    """
    Whoever does the work.
    """

    measured: Measured
    is_ready: Event
    is_complete: Event
    patience: float

    @property
    def phase(self) -> str:
        """
        The workers that are awaited before the load begins.
        """

    @property
    def is_deserted(self) -> bool:
        """
        Whether nobody is left who could ask.
        """

    @property
    def user_count(self) -> int:
        """
        How many users ask at present.
        """

    def start(self) -> None:
        """
        Have the users begin, one after another.
        """

    def recent(self) -> list[Record]:
        """
        Hand over the requests that ended since the last time.
        """

    def stop(self) -> None:
        """
        End the load, and wait for the last answers.
        """

    def dismiss(self, reason: str = "") -> None:
        """
        Have everybody go home.

        Args:
            reason: Why. If omitted, because the test is over.
        """


class Alone:
    """
    This process does all of it.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self.measured = Measured()
        self.is_ready, self.is_complete = Event(), Event()
        self.patience = 0.0
        self.is_ready.set()
        self._settings = settings
        self._asking = Asking(settings, 1)
        self._environment = environment_of(self._asking)
        self._environment.events.spawning_complete.add_listener(
            lambda **_: self.is_complete.set()
        )
        self._runner = self._environment.create_local_runner()

    @property
    def phase(self) -> str:
        """
        Nobody is waited for.
        """
        return ""

    @property
    def is_deserted(self) -> bool:
        """
        This process is there.
        """
        return False

    @property
    def user_count(self) -> int:
        """
        How many users ask at present.
        """
        return int(self._runner.user_count) if self._settings.user_count else 0

    def start(self) -> None:
        """
        Have the users begin, one after another.
        """
        self._runner.start(*ramp_of(self._settings))

    def recent(self) -> list[Record]:
        """
        Hand over the requests that ended since the last time.
        """
        taken = self._asking.take()
        self.measured.merge(taken)
        return taken.records

    def stop(self) -> None:
        """
        End the load, and wait for the last answers.
        """
        self._runner.stop()
        self.measured.merge(self._asking.take())

    def dismiss(self, reason: str = "") -> None:
        """
        Nobody else is there.
        """


def ramp_of(settings: LoadSettings) -> tuple[int, float]:
    """
    Return how many users of Locust's begin, and how many of them a second.
    """
    # Where requests arrive by themselves, each process needs one to see to it.
    count = settings.user_count or settings.process_count
    rate = settings.users_a_second if settings.user_count else count
    return count, max(rate, 0.01)
