"""
A sweep over the stand-in's copies in no time at all: the event loop's clock jumps.

So what is computed from a sweep is held against known figures on any machine.
"""

from __future__ import annotations

import asyncio
import itertools
import selectors
from collections.abc import Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.load.benchmark import Row, row_of
from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.settings import LoadSettings
from tests.local.loading import engine

# Seconds: those in the middle are measured, and the last let its answers come.
_BEFORE, _MEASURED, _AFTER = 30.0, 90.0, 30.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """
    What users ask: so many tokens of prompt, and of answer, each time.
    """

    users: int
    prompt: int = 1000
    answer: int = 50


class _Jumping(selectors.SelectSelector):
    """
    Never waits: time is what would have been waited.
    """

    now = 0.0

    def select(
        self, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """
        Look what is there, and let time go by.
        """
        self.now += timeout or 0.0
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    """
    An event loop with such a clock.
    """

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """
        Return its time.
        """
        return self._jumping.now


def sweep(
    *asked: Asked,
    times: engine.Times = engine.PUBLISHED,
    copies: int = engine.COPIES,
) -> tuple[Row, ...]:
    """
    Measure one after the other.
    """
    return tuple(_row(each, times, copies) for each in asked)


def _row(asked: Asked, times: engine.Times, copies: int) -> Row:
    loop = _Loop()
    try:
        measured = loop.run_until_complete(_measured(asked, times, copies))
    finally:
        loop.close()
    result = LoadResult(
        settings=LoadSettings(endpoint="chat", users=asked.users),
        begin=_BEFORE,
        end=_BEFORE + _MEASURED,
        measured=measured,
    )
    return row_of(result)


async def _measured(asked: Asked, times: engine.Times, count: int) -> Measured:
    measured = Measured()
    copies = [engine.Copy(times, 1.0) for _ in range(count)]
    tasks = [asyncio.create_task(copy.serve()) for copy in copies]
    for number in range(asked.users):
        user = _user(asked, number, times, copies, measured)
        tasks.append(asyncio.create_task(user))
    # A window is followed by the answers that are under way at its end.
    await asyncio.sleep(_BEFORE + _MEASURED + _AFTER)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return measured


async def _user(
    asked: Asked,
    number: int,
    times: engine.Times,
    copies: Sequence[engine.Copy],
    measured: Measured,
) -> None:
    loop = asyncio.get_running_loop()
    # They come one after another, as a load test has it.
    await asyncio.sleep(5 * number / asked.users)
    while True:
        start = loop.time()
        await asyncio.sleep(times.network)
        moments: list[float] = []
        done = asyncio.Event()

        def write(
            left: int, moments: list[float] = moments, done: asyncio.Event = done
        ) -> None:
            moments.append(loop.time())
            if not left:
                done.set()

        emptiest = min(copies, key=lambda copy: copy.outstanding)
        emptiest.take(engine.Sequence(asked.prompt, asked.answer, write))
        await done.wait()
        measured.records.append(
            Record(
                start,
                loop.time() - start,
                moments[0] - start,
                asked.answer,
                asked.prompt,
            )
        )
        if start >= _BEFORE:
            pairs = itertools.pairwise(moments)
            measured.gaps.add(after - before for before, after in pairs)
