"""
A sweep over numbers of users: how throughput and latency follow the load.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.load.running import Progress, run_load
from cdk_sagemaker_llm.load.settings import LoadSettings
from cdk_sagemaker_llm.load.steady import steady_of
from cdk_sagemaker_llm.load.tables import table_of
from cdk_sagemaker_llm.load.uncertainty import Estimate, median_of, rate_of, share_of

FORMAT = "cdk-sagemaker-llm/benchmark"
VERSION = 1
HEADS = ("concurrent users", "requests", "requests/s", "median latency s", "success")
_WHOLE = 0.99


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
            "-" if success is None else _percent(success.value),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """
    A sweep over numbers of users.

    Args:
        endpoint: What was asked.

        began: When, as ISO 8601 has it.

        rows: What each number of users came to.
    """

    endpoint: str
    began: str
    rows: tuple[Row, ...]

    def to_markdown(self) -> str:
        """
        Write the table.
        """
        return table_of(HEADS, [row.cells() for row in self.rows])

    def remarks(self) -> list[str]:
        """
        Say what else there is to know of each row.
        """
        return [
            f"{row.users} users: {remark}"
            for row in self.rows
            for remark in row.facts["remarks"]
        ]

    def to_json(self) -> str:
        """
        Write all of it as JSON, to be compared with another.
        """
        facts = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(facts, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Benchmark:
        """
        Read what ``to_json`` wrote.

        Raises:
            ValueError: If it is something else.
        """
        try:
            facts = json.loads(text)
            if (facts["format"], facts["version"]) != (FORMAT, VERSION):
                raise ValueError("another format")  # noqa: TRY301 - one message for all
            rows = tuple(map(_row, facts["rows"]))
            return cls(endpoint=facts["endpoint"], began=facts["began"], rows=rows)
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise ValueError(
                "this is no saved benchmark of this version; write one with --save"
            ) from fault


def run_benchmark(
    settings: LoadSettings,
    users: Sequence[int],
    on_row: Callable[[Benchmark], object] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
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

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    began = datetime.now(UTC).isoformat(timespec="seconds")
    found = Benchmark(endpoint=settings.endpoint, began=began, rows=())
    for count in users:
        result = run_load(replace(settings, users=count), on_progress)
        found = replace(found, rows=(*found.rows, row_of(result)))
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
    steady = steady_of(result)
    facts["steady"] = None if steady is None else asdict(steady)
    return Row(
        users=result.settings.user_count,
        seconds=result.end - result.begin,
        requests=len(begun),
        rate=rate_of(ends, result.begin, result.end),
        latency=median_of([one.latency for one in good]),
        success=share_of(len(good), len(begun)),
        first_token=median_of(firsts),
        facts=facts,
    )


def compare(before: Benchmark, after: Benchmark) -> str:
    """
    Write how two benchmarks differ, where both have the same number of users.

    Raises:
        ValueError: If they have none in common.
    """
    old = {row.users: row for row in before.rows}
    pairs = [(old[row.users], row) for row in after.rows if row.users in old]
    if not pairs:
        raise ValueError("the benchmarks have no number of users in common")
    heads = ("concurrent users", "figure", "before", "after", "change", "verdict")
    return table_of(heads, [line for pair in pairs for line in _compared(*pair)])


def _compared(old: Row, new: Row) -> Iterator[tuple[str, ...]]:
    named = (
        ("requests/s", old.rate, new.rate),
        ("median latency s", old.latency, new.latency),
        ("median time to first token s", old.first_token, new.first_token),
        ("success", old.success, new.success),
    )
    for name, before, after in named:
        if before is None or after is None:
            continue
        is_other = after.differs_from(before)
        yield (
            str(new.users),
            name,
            _with_bounds(before),
            _with_bounds(after),
            f"{after.value / before.value - 1:+.1%}" if before.value else "-",
            "differs" if is_other else "may be chance",
        )


def _with_bounds(one: Estimate) -> str:
    return f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g})"


def _percent(share: float) -> str:
    # A single failure among thousands must not read as none.
    return "100%" if share == 1 else f"{min(share, 0.9999):.2%}"


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
