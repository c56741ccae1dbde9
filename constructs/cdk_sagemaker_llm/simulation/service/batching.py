"""
One copy of a model that batches continuously, as vLLM does.

All sequences of a batch get their next token together, so that one clock of tokens
is enough for all of them: a request is done when that clock has moved on by the
length of its answer. What is looked at is only whose turn is next; when the first token
of an answer comes is written down as its request is admitted.
"""

from __future__ import annotations

import heapq
import math
from collections import deque

from cdk_sagemaker_llm.simulation.service.times import ServiceTimes

# arrival, tokens of the prompt, tokens of the answer, whose it is
Asked = tuple[float, int, int, int]
# the clock at which it is done, arrival, room it holds in the cache, whose it is
_Running = tuple[float, float, int, int]


class BatchingCopy:
    """
    Serves requests in batches that change with every request that comes or goes.

    A request takes room for its prompt and its answer in the cache, and a place in the
    batch, or waits in line. Its prompt is worked off first, while the others stand
    still; then each token takes as long as the batch's size makes it. An answer whose
    time-out has passed is written to its end all the same: the container is not told.
    One that still waits by then is dropped, and listed in ``dropped``.
    """

    __slots__ = (
        "_begin",
        "_clock",
        "_free",
        "_paces",
        "_places",
        "_prompt",
        "_room",
        "_running",
        "_since",
        "_used",
        "_waiting",
        "_worked",
        "dropped",
        "next",
        "patience",
    )

    def __init__(
        self,
        times: ServiceTimes,
        timeout: float = math.inf,
        firsts: list[float] | None = None,
    ) -> None:
        # Seconds to the first tokens, of all copies of a model in one list.
        self._begin = ([] if firsts is None else firsts).append
        self.next = math.inf
        self.dropped: list[Asked] = []
        # The overhead is spent outside of the batch, yet the client waits for it.
        self.patience = timeout - times.overhead_seconds
        self._paces = times.paces()
        self._prompt = times.prompt_seconds_per_token
        self._places = times.max_sequences
        self._room = math.inf if times.kv_tokens is None else times.kv_tokens
        self._running: list[_Running] = []
        self._waiting: deque[Asked] = deque()
        self._used = 0
        # The clock of tokens stands until the prompts that are there are worked off;
        # this is what it shows at that moment, whether past or to come.
        self._clock = 0.0
        self._free = 0.0
        # Since when there has been something to do, and the seconds before that.
        self._since = 0.0
        self._worked = 0.0

    @property
    def waiting(self) -> int:
        """
        How many wait in line.
        """
        return len(self._waiting)

    @property
    def running(self) -> int:
        """
        How many are in the batch.
        """
        return len(self._running)

    @property
    def outstanding(self) -> int:
        """
        How many it has taken and not finished.
        """
        return len(self._running) + len(self._waiting)

    def must_wait(self, tokens: int) -> bool:
        """
        Whether a request of so many tokens would have to wait in line.
        """
        size = len(self._running)
        is_full = size > 0 and self._used + tokens > self._room
        return is_full or size >= self._places or bool(self._waiting)

    def offer(self, now: float, prompt: int, answer: int, whose: int = 0) -> float:
        """
        Take a request that arrives now, and return ``next`` as it is then.

        Nothing may be due before: who calls has the copy finish what ``next`` says.
        """
        running = self._running
        size = len(running)
        tokens = prompt + answer
        if (
            self._waiting
            or size >= self._places
            or (size and self._used + tokens > self._room)
        ):
            self._waiting.append((now, prompt, answer, whose))
            return self.next
        clock, free = self._clock, self._free
        if free <= now:
            if size:
                clock += (now - free) / self._paces[size]
            else:
                self._since = now
            self._clock = clock
            free = now
        self._used += tokens
        self._free = free = free + prompt * self._prompt
        heapq.heappush(running, (clock + answer, now, tokens, whose))
        pace = self._paces[size + 1]
        self._begin(free + pace - now)
        self.next = due = free + (running[0][0] - clock) * pace
        return due

    def finish(self) -> tuple[float, int]:
        """
        Finish the request that is due at ``next``; say when it came, and whose it is.
        """
        running = self._running
        now = self.next
        done, arrived, tokens, whose = heapq.heappop(running)
        self._clock = done
        self._free = now
        self._used -= tokens
        if self._waiting:
            self._admit(now)
        if running:
            pace = self._paces[len(running)]
            self.next = self._free + (running[0][0] - done) * pace
        else:
            self.next = math.inf
            self._worked += now - self._since
        return arrived, whose

    def take_worked(self, now: float) -> float:
        """
        Return for how many seconds it had something to do since the last time.
        """
        worked, self._worked = self._worked, 0.0
        if self._running:
            worked += now - self._since
            self._since = now
        return worked

    def give_up(self, now: float) -> None:
        """
        Move those in line whose time-out has passed to ``dropped``.
        """
        waiting = self._waiting
        oldest = now - self.patience
        while waiting and waiting[0][0] <= oldest:
            self.dropped.append(waiting.popleft())

    def stop(self) -> list[int]:
        """
        Drop everything, as a copy that goes away does; say whose it was.
        """
        whose = [one[3] for one in self._running] + [one[3] for one in self._waiting]
        self._running.clear()
        self._waiting.clear()
        self.next = math.inf
        return whose

    def _admit(self, now: float) -> None:
        self.give_up(now)
        running, waiting = self._running, self._waiting
        while waiting and len(running) < self._places:
            arrived, prompt, answer, whose = waiting[0]
            tokens = prompt + answer
            if running and self._used + tokens > self._room:
                return
            waiting.popleft()
            self._used += tokens
            self._free += prompt * self._prompt
            heapq.heappush(running, (self._clock + answer, arrived, tokens, whose))
            self._begin(self._free + self._paces[len(running)] - arrived)
