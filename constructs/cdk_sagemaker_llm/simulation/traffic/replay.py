"""
Traffic that was seen: a table of requests, each with its moment and its lengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cdk_sagemaker_llm.simulation.traffic.base import Arrival, Expected, Traffic
from cdk_sagemaker_llm.simulation.traffic.trace import read_trace

if TYPE_CHECKING:
    import numpy as np

    from cdk_sagemaker_llm.simulation.traffic.base import Numbers, Tokens

_AT_ONCE = 8192


@dataclass(frozen=True, slots=True)
class Replay(Traffic):
    """
    Requests as they came: ``Replay.from_trace("requests.csv").scaled(3)``.

    Times count from the first request. More than were seen are made by repeating each
    one within the pause that follows it, fewer by leaving some out.

    Args:
        requests: Seconds, tokens of the prompt and tokens of the answer of each.

        factor: How many times the requests there are.
            If omitted, they are those that were seen.
    """

    requests: tuple[Arrival, ...]
    factor: float = 1.0

    def __post_init__(self) -> None:
        if not self.requests:
            raise ValueError("requests must have at least one request, got none")
        if not 0 <= self.factor < math.inf:
            raise ValueError(f"factor must be at least 0, got {self.factor}")
        if not all(math.isfinite(at) for at, _, _ in self.requests):
            raise ValueError("requests must each have a moment that is a number")
        ordered = sorted(self.requests)
        first = ordered[0][0]
        moved = tuple((at - first, prompt, answer) for at, prompt, answer in ordered)
        object.__setattr__(self, "requests", moved)

    @classmethod
    def from_trace(cls, path: Path | str) -> Replay:
        """
        Read a trace: a CSV file with the columns time, prompt_tokens and output_tokens,
        one of Azure's traces, or one of Mooncake's (``.jsonl``).

        Args:
            path: The file.

        Raises:
            ValueError: If it is no such file; one line for each fault.
        """
        found = read_trace(path)
        return cls(
            tuple((one.at, one.prompt_tokens, one.output_tokens) for one in found)
        )

    @classmethod
    def from_csv(cls, path: Path | str) -> Replay:
        """
        Read a CSV file, as ``from_trace`` does.

        Args:
            path: The file.

        Raises:
            ValueError: If it is no such file; one line for each fault.
        """
        return cls.from_trace(path)

    @property
    def seconds(self) -> float:
        """
        Until the last request.
        """
        return self.requests[-1][0]

    def scaled(self, factor: float) -> Self:
        return replace(self, factor=self.factor * factor)

    def arrivals(
        self, generator: np.random.Generator, duration: float
    ) -> Iterator[Arrival]:
        """
        Give the requests, one after the other in the order in which they came.
        """
        for begin in range(0, len(self.requests), _AT_ONCE):
            # One more than are given: each is repeated in the pause up to the next.
            few = self.requests[begin : begin + _AT_ONCE + 1]
            for request in self._repeated(generator, few):
                if request[0] >= duration:
                    return
                yield request

    def expected(self, edges: Numbers) -> Expected:
        """
        Return the number of requests between each two consecutive moments.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        # The last moment is the end of a run: what comes then, nobody sees any more.
        rows = [request for request in self.requests if request[0] < edges[-1]]
        times, prompts, answers = np.array(rows, dtype=float).reshape(-1, 3).T
        found = (
            np.histogram(times, edges, weights=weights)[0] * self.factor
            for weights in (np.ones_like(times), prompts, answers)
        )
        return Expected(*found)

    def typical(
        self, generator: np.random.Generator, count: int, duration: float
    ) -> tuple[Tokens, Tokens]:
        """
        Draw about so many of the requests that come in time, for their lengths.
        """
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        lengths = np.array(
            [(p, a) for at, p, a in self.requests if at < duration], dtype=np.int64
        )
        drawn = lengths[generator.integers(0, len(lengths), count)]
        return drawn[:, 0], drawn[:, 1]

    def _repeated(
        self, generator: np.random.Generator, few: tuple[Arrival, ...]
    ) -> Iterator[Arrival]:
        import numpy as np  # noqa: PLC0415 - what does not sample starts without it

        own = min(len(few), _AT_ONCE)
        if math.isclose(self.factor, 1.0):
            yield from few[:own]
            return
        times, prompts, answers = np.array(few, dtype=float).T
        pauses = np.append(np.diff(times), 0.0)[:own]
        whole = math.floor(self.factor)
        more = generator.random(own) < self.factor - whole
        times, prompts, answers = times[:own], prompts[:own], answers[:own]
        counts = whole + more.astype(int)
        nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        moved = nth / np.repeat(np.maximum(counts, 1), counts)
        yield from zip(
            (np.repeat(times, counts) + moved * np.repeat(pauses, counts)).tolist(),
            np.repeat(prompts, counts).astype(int).tolist(),
            np.repeat(answers, counts).astype(int).tolist(),
            strict=True,
        )
