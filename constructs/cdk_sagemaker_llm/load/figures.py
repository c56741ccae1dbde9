"""
What a run comes to: exact percentiles of all requests, never a mean of percentiles.

How sure a figure is, 95 % intervals say, as if requests did not know of each other.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cdk_sagemaker_llm.load.measured import Measured, Record
from cdk_sagemaker_llm.simulation.histogram import Histogram

_SHARES = (0.5, 0.9, 0.95, 0.99, 1.0)
_Z = 1.96
_PARTS = 10
# Student's t for the mean of ten parts.
_T = 2.262


@dataclass(frozen=True, kw_only=True, slots=True)
class Distribution:
    """
    How long something took, in seconds.

    Args:
        count: How often it was measured.

        p50: What half of them took at most; the others likewise.

        longest: What the longest took.

        p90: The value that nine in ten do not exceed.

        p95: The value that 95 in 100 do not exceed.

        p99: The value that 99 in 100 do not exceed.
    """

    count: int
    p50: float
    p90: float
    p95: float
    p99: float
    longest: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Distribution | None:
        """
        Take the exact percentiles of all samples; ``None`` if there are none.

        Args:
            seconds: The values, in any order.
        """
        found = sorted(seconds)
        ranks = (math.ceil(share * len(found)) - 1 for share in _SHARES)
        return cls._at(len(found), (found[max(0, rank)] for rank in ranks))

    @classmethod
    def of_histogram(cls, histogram: Histogram) -> Distribution | None:
        """
        Take the percentiles of a histogram, right within half a per cent.

        Args:
            histogram: How often each value came.
        """
        found = (histogram.at(share) or 0.0 for share in _SHARES)
        return cls._at(histogram.count, found)

    @classmethod
    def _at(cls, count: int, percentiles: Iterator[float]) -> Distribution | None:
        if not count:
            return None
        p50, p90, p95, p99, longest = percentiles
        return cls(count=count, p50=p50, p90=p90, p95=p95, p99=p99, longest=longest)


@dataclass(frozen=True, kw_only=True, slots=True)
class Second:
    """
    One second of a run.

    Args:
        second: Which, from the beginning of what is measured.

        tokens: How many tokens the answers had that ended.

        latency: The median latency of those that ended well, in seconds.
            ``None`` if none did.

        in_flight: How many requests were under way when it began.
    """

    second: int
    requests: int
    failures: int
    tokens: int
    latency: float | None
    first_token: float | None
    in_flight: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """
    What a run comes to.

    Args:
        requests: How many requests began while it was measured, and ended.

        unfinished: How many began then and were never answered: not before the load
            had ended, nor in the time for the last answers.

        failures: How many failed, by kind.

        success_rate:
            Which part of those that began got its whole answer; ``None`` if none began.

        requests_per_second: How many ended well a second while it was measured.

        tokens_per_second: How many tokens their answers had a second.

        latency: From the request to the end of the answer, of those that ended well.

        first_token: From the request to the first token, likewise.

        output_token: What a token after the first took as a mean of its answer, of
            the answers with more than one. ``None`` if there was none.

        between_tokens: From one token to the next, of all streams.

        tokens: The mean number of tokens in an answer.

        prompt_tokens: The mean number of tokens in a prompt, where the engine counts.
    """

    requests: int
    unfinished: int
    failures: Mapping[str, int]
    success_rate: float | None
    requests_per_second: float
    tokens_per_second: float
    latency: Distribution | None
    first_token: Distribution | None
    output_token: Distribution | None
    between_tokens: Distribution | None
    tokens: float | None
    prompt_tokens: float | None


def figures_of(measured: Measured, begin: float, end: float) -> Figures:
    """
    Compute what a run comes to.
    """
    begun = [one for one in measured.records if begin <= one.start < end]
    finished = [one for one in begun if one.is_finished]
    good = [one for one in finished if one.is_success]
    ended = [
        one for one in measured.records if one.is_success and begin <= one.end < end
    ]
    seconds = end - begin
    firsts = (one.first_token for one in good if one.first_token is not None)
    further = (
        one.output_token
        for one in good
        if one.output_token is not None and one.tokens > 1
    )
    prompts = [one.prompt_tokens for one in good if one.prompt_tokens is not None]
    return Figures(
        requests=len(finished),
        unfinished=len(begun) - len(finished),
        failures=dict(Counter(one.failure for one in finished if one.failure)),
        success_rate=len(good) / len(begun) if begun else None,
        requests_per_second=len(ended) / seconds,
        tokens_per_second=sum(one.tokens for one in ended) / seconds,
        latency=Distribution.of(one.latency for one in good),
        first_token=Distribution.of(firsts),
        output_token=Distribution.of(further),
        between_tokens=Distribution.of_histogram(measured.gaps),
        tokens=statistics.fmean(one.tokens for one in good) if good else None,
        prompt_tokens=statistics.fmean(prompts) if prompts else None,
    )


def seconds_of(records: Sequence[Record], begin: float, end: float) -> Iterator[Second]:
    """
    Walk through the seconds of a run.
    """
    by_second: dict[int, list[Record]] = {}
    for record in records:
        by_second.setdefault(math.floor(record.end - begin), []).append(record)
    starts = sorted(record.start - begin for record in records)
    ends = sorted(record.end - begin for record in records)
    begun = ended = 0
    for second in range(math.ceil(end - begin)):
        while begun < len(starts) and starts[begun] <= second:
            begun += 1
        while ended < len(ends) and ends[ended] <= second:
            ended += 1
        its = by_second.get(second, [])
        good = [one for one in its if one.is_success]
        latencies = [one.latency for one in good]
        firsts = [one.first_token for one in good if one.first_token is not None]
        yield Second(
            second=second,
            requests=len(good),
            failures=sum(1 for one in its if one.is_finished and one.failure),
            tokens=sum(one.tokens for one in good),
            latency=statistics.median(latencies) if latencies else None,
            first_token=statistics.median(firsts) if firsts else None,
            in_flight=begun - ended,
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    A figure, and the interval in which it lies in 95 of 100 such runs.

    Args:
        value: The figure.

        low: The least it may be.

        high: The most.
    """

    value: float
    low: float
    high: float

    def differs_from(self, other: Estimate) -> bool:
        """
        Tell whether the difference is more than chance explains.

        Args:
            other: The estimate to compare with.
        """
        if self.value >= other.value:
            margin = math.hypot(self.value - self.low, other.high - other.value)
        else:
            margin = math.hypot(self.high - self.value, other.value - other.low)
        return abs(self.value - other.value) > margin


def median_of(samples: Sequence[float]) -> Estimate | None:
    """
    Estimate a median by the ranks that it may have; ``None`` without samples.
    """
    found = sorted(samples)
    if not found:
        return None
    count = len(found)
    half = _Z * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half))
    high = min(count - 1, math.ceil(count / 2 + half))
    return Estimate(found[math.ceil(count / 2) - 1], found[low], found[high])


def rate_of(times: Sequence[float], begin: float, end: float) -> Estimate:
    """
    Estimate how many happened a second, by how much ten parts of the time differ.
    """
    part = (end - begin) / _PARTS
    counts = [0] * _PARTS
    for time in times:
        if begin <= time < end:
            counts[min(int((time - begin) / part), _PARTS - 1)] += 1
    rates = [count / part for count in counts]
    value = statistics.fmean(rates)
    margin = _T * statistics.stdev(rates) / math.sqrt(_PARTS)
    return Estimate(value, max(0.0, value - margin), value + margin)


def share_of(good: int, count: int) -> Estimate | None:
    """
    Estimate a share by Wilson's interval; ``None`` if nothing was counted.
    """
    if not count:
        return None
    share, z2 = good / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    root = math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    margin = _Z * root / (1 + z2 / count)
    return Estimate(share, min(share, middle - margin), max(share, middle + margin))
