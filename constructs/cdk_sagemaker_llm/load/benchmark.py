"""
A sweep over numbers of users: how throughput and latency follow the load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.load.conditions import asked_of
from cdk_sagemaker_llm.load.copies import Counting
from cdk_sagemaker_llm.load.formats import FORMAT, VERSION, facts_of
from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import Progress, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.load.steady import steady_of
from cdk_sagemaker_llm.load.tables import percent, table_of
from cdk_sagemaker_llm.load.uncertainty import Estimate, median_of, rate_of, share_of

HEADS = ("concurrent users", "requests", "requests/s", "median latency s", "success")
# Nobody asks it of fewer than half of the requests.
LEAST_PERCENT = 50
_WHOLE = 0.99
# What files of this version may lack.
_LATER = ("copies", "copies_untold")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """
    What one number of users came to.

    Args:
        users: How many asked at a time.

        seconds: For how long it was measured.

        requests: How many requests ended.

        rate: How many ended well a second.

        latency: The median latency in seconds. ``None`` if none ended well.

        success: Which part of them ended well. ``None`` if none ended.

        first_token: The median time to the first token, where answers were streamed.

        facts: Everything else, as a load test writes it.
    """

    users: int
    seconds: float
    requests: int
    rate: Estimate
    latency: Estimate | None
    success: Estimate | None
    first_token: Estimate | None
    facts: Mapping[str, Any]

    def cells(self) -> tuple[str, ...]:
        """
        Write it as a row of the table.
        """
        latency, success = self.latency, self.success
        return (
            str(self.users),
            str(self.requests),
            f"{self.rate.value:.2f}",
            "-" if latency is None else f"{latency.value:.2f}",
            "-" if success is None else percent(success.value),
        )

    def cut(self) -> list[str]:
        """
        Say that its time was cut short, if it was.
        """
        wanted = self.facts["settings"]["run_time"]
        if self.seconds >= wanted * _WHOLE:
            return []
        return [f"ended after {self.seconds:.0f} s of {wanted:g} s"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """
    A sweep over numbers of users.

    Args:
        endpoint: What was asked.

        began: When, as ISO 8601 has it.

        rows: What each number of users came to.

        copies: How many copies, or instances, served all the time.
            If left out, that is not known.

        copies_untold: Why it is not known.
    """

    endpoint: str
    began: str
    rows: tuple[Row, ...]
    copies: int | None = None
    copies_untold: str = "how many copies served is not known; say it with --copies"

    def table(self) -> list[tuple[str, ...]]:
        """
        Return the rows of the table below ``HEADS``.
        """
        return [row.cells() for row in self.rows]

    def to_markdown(self) -> str:
        """
        Write the table, and above it what was asked.
        """
        asked = asked_of([row.facts for row in self.rows])
        return f"{asked}\n\n{table_of(HEADS, self.table())}"

    def remarks(self) -> list[str]:
        """
        Say what else there is to know of each row.
        """
        return [
            f"{row.users} users: {remark}"
            for row in self.rows
            for remark in (*row.cut(), *row.facts["remarks"])
        ]

    def to_facts(self) -> dict[str, Any]:
        """
        Return all of it, as JSON has it.
        """
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def to_json(self) -> str:
        """
        Write all of it as JSON, to be compared with another.
        """
        return json.dumps(self.to_facts(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Benchmark:
        """
        Read what ``to_json`` wrote.

        Raises:
            ValueError: If it is something else, with what it is.
        """
        facts = facts_of(text)
        try:
            return cls(
                endpoint=facts["endpoint"],
                began=facts["began"],
                rows=tuple(map(_row, facts["rows"])),
                **{name: facts[name] for name in _LATER if name in facts},
            )
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(
                "this is a saved benchmark of which something is missing or changed; "
                "write another with --save"
            ) from fault


def run_benchmark(
    settings: LoadSettings,
    users: Sequence[int],
    on_row: Callable[[Benchmark], object] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
    copies: int | None = None,
) -> Benchmark:
    """
    Load an endpoint with one number of users after another.

    Ctrl-C ends it with the row that is being measured.

    Args:
        settings: What they ask, and for how long each time.

        users: How many of them, one number for each row.

        on_row: What is told the benchmark so far after each row.
            If left out, nothing.

        on_progress: What is told each second how a row goes. If left out, nothing.

        copies: How many copies, or instances, serve. If left out, SageMaker is asked
            before and after each row, where the caller may ask it.

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    began = datetime.now(UTC).isoformat(timespec="seconds")
    found = Benchmark(endpoint=settings.endpoint, began=began, rows=())
    counting = Counting(settings) if copies is None else None
    for count in users:
        result = run_load(replace(settings, users=count), on_progress)
        found = replace(found, rows=(*found.rows, row_of(result)), copies=copies)
        if counting is not None:
            found = replace(found, **counting.found())
        if on_row is not None:
            on_row(found)
        if result.end - result.begin < settings.run_time * _WHOLE:
            break
    return found


def row_of(result: LoadResult) -> Row:
    """
    Compute what a load test came to, with the uncertainty of each figure.
    """
    begun = [
        one
        for one in result.measured.records
        if result.begin <= one.start < result.end and one.is_finished
    ]
    good = [one for one in begun if one.is_success]
    ends = [one.end for one in result.measured.records if one.is_success]
    firsts = [one.first_token for one in good if one.first_token is not None]
    facts = result.to_facts()
    # A row's figures are enough; its course is for a single load test.
    del facts["course"]
    latencies = [one.latency for one in good]
    facts["percents"] = {
        "latency": _percents(latencies),
        "first_token": _percents(firsts),
    }
    steady = steady_of(result)
    facts["steady"] = None if steady is None else asdict(steady)
    return Row(
        users=result.settings.user_count,
        seconds=result.end - result.begin,
        requests=len(begun),
        rate=rate_of(ends, result.begin, result.end),
        latency=median_of(latencies),
        success=share_of(len(good), len(begun)),
        first_token=median_of(firsts),
        facts=facts,
    )


def _percents(seconds: Sequence[float]) -> list[float]:
    """
    Return what so many in a hundred took at most, from the median to the longest.
    """
    found = sorted(seconds)
    if not found:
        return []
    return [
        found[-(-percent * len(found) // 100) - 1]
        for percent in range(LEAST_PERCENT, 101)
    ]


def _row(facts: Mapping[str, Any]) -> Row:
    return Row(
        users=facts["users"],
        seconds=facts["seconds"],
        requests=facts["requests"],
        rate=Estimate(**facts["rate"]),
        latency=_estimate(facts["latency"]),
        success=_estimate(facts["success"]),
        first_token=_estimate(facts["first_token"]),
        facts=facts["facts"],
    )


def _estimate(facts: Mapping[str, float] | None) -> Estimate | None:
    return None if facts is None else Estimate(**facts)
