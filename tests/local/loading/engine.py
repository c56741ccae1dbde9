"""
Copies that serve as an engine does: step by step, in exact time.

Between two prompts everybody gets a token, as in engines that keep answers flowing;
so requests that came together do not end together for ever.

Nothing here is shared with the library's own model of a copy, which is held against it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Times:
    """
    What a copy takes.

    Args:
        network: Seconds of a request outside of the copy.

        pass_: Seconds of a prompt, however short.

        prompt: Seconds more for each of its tokens.

        alone: Seconds of a step that writes one sequence.

        beside: Seconds more for each sequence beside it.

        places: How many sequences are written at once; the others wait in line.
    """

    network: float
    pass_: float
    prompt: float
    alone: float
    beside: float
    places: int


# With these, eight copies come to the published table of Llama-2-13B: 26 requests a
# second of 1000 and 50 tokens as soon as all places are taken. 15 sequences of these
# are what the 16,384 tokens hold to which the reference bounds a batch.
PUBLISHED = Times(
    network=0.04,
    pass_=0.02,
    prompt=0.00015,
    alone=0.022,
    beside=0.00139,
    places=15,
)
COPIES = 8


@dataclass(slots=True)
class Sequence:
    """
    One request.

    Args:
        prompt: Tokens of its prompt.

        left: Tokens of its answer that are not written yet.

        write: What is told of each token when it is there, by how many are left.
    """

    prompt: int
    left: int
    write: Callable[[int], None]

    def step(self) -> None:
        """
        Write a token.
        """
        self.left -= 1
        self.write(self.left)


class Copy:
    """
    One copy of the model.

    Its clock runs from step to step and never by how late the event loop woke up, so
    that a busy machine delays a token and not all that follow.

    Args:
        times: What it takes.

        speed: How many times as fast it is.
    """

    def __init__(self, times: Times, speed: float) -> None:
        self._times = times
        self._speed = speed
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []
        self._arrived = asyncio.Event()
        self._now = 0.0

    @property
    def outstanding(self) -> int:
        """
        How many requests it has.
        """
        return len(self._waiting) + len(self._running)

    def take(self, sequence: Sequence) -> None:
        """
        Let a request get in line.
        """
        self._waiting.append(sequence)
        self._arrived.set()

    async def serve(self) -> None:
        """
        Serve without end.
        """
        times, running, waiting = self._times, self._running, self._waiting
        is_turn = True
        while True:
            if not running and not waiting:
                self._arrived.clear()
                await self._arrived.wait()
                self._now = asyncio.get_running_loop().time()
            if waiting and len(running) < times.places and (is_turn or not running):
                is_turn = False
                sequence = waiting[0]
                await self._spend(times.pass_ + times.prompt * sequence.prompt)
                running.append(waiting.popleft())
                sequence.step()
            else:
                is_turn = True
                await self._spend(times.alone + times.beside * (len(running) - 1))
                for sequence in running:
                    sequence.step()
            running[:] = [each for each in running if each.left]

    async def _spend(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._now += seconds / self._speed
        await asyncio.sleep(max(0.0, self._now - loop.time()))
