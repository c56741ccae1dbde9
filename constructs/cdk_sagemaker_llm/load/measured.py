"""
All that a run measured: what is kept of each request, and how one process's part joins
another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from cdk_sagemaker_llm.simulation.histogram import Histogram

# From where on the generator shows: a part of a core, seconds, a part of what it
# measures. With less than ten milliseconds nobody judges a language model.
_MOST_CPU, _LATE, _SHARE = 0.9, 0.010, 0.1

UNFINISHED = "unfinished"
"""The failure of a request that nobody waited for any longer: neither good nor bad."""


@dataclass(slots=True)
class Measured:
    """
    What was measured; ``merge`` takes in what another process measured.

    Args:
        records: The requests.

        gaps: Seconds between one token and the next, of all streams.

        delays: How late each process woke up, in seconds, by its number.

        cpus: Which part of a core each process took.

        messages: One message of each kind of failure.

        lost: When each process was last heard of that did not see the end, in seconds
            since 1970, by its number.
    """

    records: list[Record] = field(default_factory=list)
    gaps: Histogram = field(default_factory=Histogram)
    delays: dict[int, Histogram] = field(default_factory=dict)
    cpus: dict[int, float] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    lost: dict[int, float] = field(default_factory=dict)

    @property
    def delay(self) -> GeneratorDelay:
        """
        How late the generator was.
        """
        found = self.delays.values()
        return GeneratorDelay(
            p50=max((one.at(0.5) or 0.0 for one in found), default=0.0),
            p99=max((one.at(0.99) or 0.0 for one in found), default=0.0),
            longest=max((one.at(1.0) or 0.0 for one in found), default=0.0),
            cpu=max(self.cpus.values(), default=0.0),
        )

    def merge(self, other: Measured) -> None:
        """
        Take in what was measured elsewhere, or later.

        Args:
            other: What another process measured.
        """
        self.records += other.records
        self.gaps.merge(other.gaps)
        for process, delays in other.delays.items():
            self.delays.setdefault(process, Histogram()).merge(delays)
        self.cpus |= other.cpus
        self.messages = {**other.messages, **self.messages}
        self.lost |= other.lost

    def shifted(self, seconds: float) -> Self:
        """
        Return it with the start of each request moved, as another clock tells the time.

        Args:
            seconds: By how many seconds.
        """
        moved = [replace(one, start=one.start + seconds) for one in self.records]
        return replace(self, records=moved)

    def packed(self) -> dict[str, Any]:
        """
        Pack it for another process.
        """
        return {
            "records": [record.packed() for record in self.records],
            "gaps": self.gaps.packed(),
            "delays": [[number, one.packed()] for number, one in self.delays.items()],
            "cpus": [[number, share] for number, share in self.cpus.items()],
            "messages": self.messages,
            "lost": [[number, heard] for number, heard in self.lost.items()],
        }

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Self:
        """
        Unpack it.

        Args:
            packed: What ``packed()`` returned.
        """
        return cls(
            records=[Record.unpacked(values) for values in packed["records"]],
            gaps=Histogram.unpacked(packed["gaps"]),
            delays={
                number: Histogram.unpacked(values)
                for number, values in packed["delays"]
            },
            cpus=dict(packed["cpus"]),
            messages=dict(packed["messages"]),
            lost=dict(packed["lost"]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneratorDelay:
    """
    How late the load generator itself was, in its slowest process.

    Args:
        p50: Seconds that half of its wake-ups were late at most.

        p99: Seconds that all but one in a hundred were late at most.

        longest: Seconds that the latest was late.

        cpu: Which part of a core the busiest process took, from 0 to 1.
    """

    p50: float
    p99: float
    longest: float
    cpu: float

    @property
    def is_exhausted(self) -> bool:
        """
        Whether a process had hardly any of its core left.
        """
        return self.cpu > _MOST_CPU

    def shown_in(self, p50: float, p99: float) -> tuple[str, ...]:
        """
        Name the percentiles of a time in which it shows, each beside its own.

        A wake-up that is late in one case of a hundred says nothing of a median.

        Args:
            p50: The median of that time, in seconds.

            p99: What all but one in a hundred took at most.
        """
        pairs = (("p50", self.p50, p50), ("p99", self.p99, p99))
        return tuple(
            name for name, late, time in pairs if late > max(_LATE, time * _SHARE)
        )


@dataclass(frozen=True, slots=True)
class Record:
    """
    One request.

    Args:
        start: When it was due, in seconds since 1970.

        latency: Seconds from then to its end.

        first_token: Seconds from then to its first token. If omitted, there was none,
            or it was not streamed.

        tokens: How many tokens its answer had.

        prompt_tokens: How many its prompt had, as the engine counted.
            If omitted, it did not say.

        failure: What kind of failure it ended with. If omitted, with none.

        turn: Which turn of its conversation it was, counted from 1.
    """

    start: float
    latency: float
    first_token: float | None = None
    tokens: int = 0
    prompt_tokens: int | None = None
    failure: str = ""
    turn: int = 1

    @property
    def output_token(self) -> float | None:
        """
        Seconds that each token took after the first, as a mean, and 0 where none came
        after it; ``None`` if the answer was not streamed.
        """
        if self.first_token is None:
            return None
        if self.tokens <= 1:
            return 0.0
        return (self.latency - self.first_token) / (self.tokens - 1)

    @property
    def end(self) -> float:
        """
        When it ended.
        """
        return self.start + self.latency

    @property
    def is_success(self) -> bool:
        """
        Whether its whole answer came.
        """
        return not self.failure

    @property
    def is_finished(self) -> bool:
        """
        Whether it ended by itself, well or not.
        """
        return self.failure != UNFINISHED

    def packed(self) -> list[Any]:
        """
        Pack it for another process.
        """
        return [
            self.start,
            self.latency,
            self.first_token,
            self.tokens,
            self.prompt_tokens,
            self.failure,
            self.turn,
        ]

    @classmethod
    def unpacked(cls, values: Sequence[Any]) -> Self:
        """
        Unpack it.

        Args:
            values: What ``packed()`` returned.
        """
        return cls(*values)
