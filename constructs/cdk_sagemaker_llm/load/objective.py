"""
How fast it has to be, and which part of what was asked for was so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cdk_sagemaker_llm.load.measured import Record
from cdk_sagemaker_llm.load.settings import Fault, SettingsError, hold_settings

PERCENTS = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "longest": 100}
"""Of how many in a hundred requests each percentile asks it."""

NAMES = {
    "latency": "latency",
    "first_token": "time to first token",
    "output_token": "time per output token",
}
"""What the times are called that there is an objective for."""

STREAMED = ("first_token", "output_token")
"""Those that only a stream tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """
    How fast it has to be.

    ``Objective(latency=5.0)`` asks of 95 in 100 requests to be answered in 5 s.

    Args:
        latency: The most seconds until an answer is whole. If omitted, any.

        first_token: The most seconds until its first token. If omitted, any.

        output_token: The most seconds that each further token takes, as a mean of its
            answer. If omitted, any.

        percentile: Of how many requests it is asked: ``p50``, ``p90``, ``p95``,
            ``p99``, or ``longest`` for all of them. Goodput counts each request by
            itself.
    """

    latency: float | None = None
    first_token: float | None = None
    output_token: float | None = None
    percentile: str = "p95"

    def __post_init__(self) -> None:
        hold_settings(self)
        faults = [
            Fault("{} must be more than 0, got {}", (name,), (seconds,))
            for name, seconds in self.bounds.items()
            if not 0 < seconds < math.inf
        ]
        if self.percentile not in PERCENTS:
            percentiles = ", ".join(PERCENTS)
            words = "{} must be one of {}, got {!r}"
            faults.append(Fault(words, ("percentile",), (percentiles, self.percentile)))
        if faults:
            raise SettingsError(faults)

    @property
    def bounds(self) -> Mapping[str, float]:
        """
        The seconds of each time that there is an objective for.
        """
        each = {name: getattr(self, name) for name in NAMES}
        return {name: most for name, most in each.items() if most is not None}

    def is_kept_by(self, record: Record) -> bool:
        """
        Say whether a request ended well, and within every bound.

        Args:
            record: The request.
        """
        return record.is_success and all(
            (took := getattr(record, name)) is not None and took <= most
            for name, most in self.bounds.items()
        )

    def __str__(self) -> str:
        return " and ".join(
            f"{NAMES[name]} {self.percentile} at most {most:g} s"
            for name, most in self.bounds.items()
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Goodput:
    """
    How much was done as fast as it has to be.

    As vLLM's and NVIDIA's benchmarks have it (vllm.benchmarks.serve,
    ``request_goodput``; AIPerf, ``--goodput``): the requests a second that ended well
    and kept each bound by itself.

    Args:
        requests_per_second: How many such requests ended a second while it was
            measured.

        share: Which part of the requests that began then were such; ``None`` if none
            began. Failed and unfinished ones are not.

        bounds: The most seconds of each time.
    """

    requests_per_second: float
    share: float | None
    bounds: Mapping[str, float]

    @classmethod
    def of(
        cls, records: Iterable[Record], objective: Objective, begin: float, end: float
    ) -> Goodput:
        """
        Count what was measured between two moments.

        Args:
            records: The requests.

            objective: How fast each has to be; its percentile does not matter.

            begin: From when on it was measured, in seconds since 1970.

            end: Until when.
        """
        requests = list(records)
        begun = [one for one in requests if begin <= one.start < end]
        kept = [one for one in requests if objective.is_kept_by(one)]
        return cls(
            requests_per_second=sum(begin <= one.end < end for one in kept)
            / (end - begin),
            share=sum(begin <= one.start < end for one in kept) / len(begun)
            if begun
            else None,
            bounds=objective.bounds,
        )

    def __str__(self) -> str:
        bounds = " and ".join(
            f"{NAMES[name]} at most {most:g} s" for name, most in self.bounds.items()
        )
        return f"{self.requests_per_second:.2f} requests/s ({bounds})"

    def to_facts(self) -> dict[str, Any]:
        """
        Return it as JSON has it.
        """
        return {
            "requests_per_second": self.requests_per_second,
            "share": self.share,
            "bounds": dict(self.bounds),
        }
