"""
A sweep over numbers of users: how throughput and latency follow the load, how it is
saved, how two of them differ, and whether chance explains it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from cdk_sagemaker_llm.arguments import kind_of, raise_faults
from cdk_sagemaker_llm.load.deployed import Counting
from cdk_sagemaker_llm.load.figures import Estimate, median_of, rate_of, share_of
from cdk_sagemaker_llm.load.result import LoadResult, asked_of, percent, table_of
from cdk_sagemaker_llm.load.running import Progress, run_load
from cdk_sagemaker_llm.load.settings import Fault, LoadSettings, SettingsError
from cdk_sagemaker_llm.text import counted

BENCHMARK_HEADS = (
    "concurrent users",
    "requests",
    "requests/s",
    "median latency s",
    "success",
)
# Nobody asks it of fewer than half of the requests.
LEAST_PERCENT = 50
_WHOLE = 0.99
# What files of this version may lack.
_LATER = ("copies", "copies_untold")

BENCHMARK_FORMAT = "cdk-sagemaker-llm/benchmark"
BENCHMARK_VERSION = 1
_WAY_OUT = "name a file that sagemaker-llm benchmark --save wrote"

_COMPARED = ("concurrent users", "figure", "before", "after", "change", "verdict")
# Whether an answer is the same does not depend on where it was asked for.
_ELSEWHERE = {"endpoint", "component", "variant", "region", "endpoint_url"}
# Rows are compared by these, and the generator decides over those.
_OTHERWISE = {"users", "spawn_rate", "processes", "seed", "drain"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """
    A sweep over numbers of users.

    Args:
        endpoint: What was asked.

        began: When, as ISO 8601 has it.

        rows: What each number of users came to.

        copies: How many copies, or instances, served all the time.
            If omitted, that is not known.

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
        request = asked_of([row.facts for row in self.rows])
        return f"{request}\n\n{table_of(BENCHMARK_HEADS, self.table())}"

    def remarks(self) -> list[str]:
        """
        Say what else there is to know of each row.
        """
        return [
            f"{counted(row.users, 'user')}: {remark}"
            for row in self.rows
            for remark in (*row.cut(), *row.facts["remarks"])
        ]

    def to_facts(self) -> dict[str, Any]:
        """
        Return all of it, as JSON has it.
        """
        return {
            "format": BENCHMARK_FORMAT,
            "version": BENCHMARK_VERSION,
            **asdict(self),
        }

    def to_json(self) -> str:
        """
        Write all of it as JSON, to be compared with another.
        """
        return json.dumps(self.to_facts(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Benchmark:
        """
        Read what ``to_json`` wrote.

        Args:
            text: What ``to_json()`` wrote.

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
            If omitted, nothing.

        on_progress: What is told each second how a row goes. If omitted, nothing.

        copies: How many copies, or instances, serve. If omitted, SageMaker is asked
            before and after each row, where the caller may ask it.

    Raises:
        LoadError: If the endpoint refuses any request, or Locust is missing.
    """
    raise_faults(
        [
            *kind_of("LoadSettings").faults("settings", settings),
            *kind_of("Sequence[int]").faults("users", users),
        ]
    )
    if not users:
        raise SettingsError([Fault("{} must have a number for each row", ("users",))])
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
        if result.end - result.begin < settings.seconds * _WHOLE:
            break
    return found


def row_of(result: LoadResult) -> Row:
    """
    Compute what a load test came to, with the uncertainty of each figure.
    """
    begun = [
        one for one in result.measured.records if result.begin <= one.start < result.end
    ]
    good = [one for one in begun if one.is_success]
    ends = [one.end for one in result.measured.records if one.is_success]
    firsts = [one.first_token for one in good if one.first_token is not None]
    facts = result.to_facts()
    # A row's figures are enough; its course is for a single load test.
    del facts["course"]
    latencies = [one.latency for one in good]
    further = [
        one.output_token
        for one in good
        if one.output_token is not None and one.tokens > 1
    ]
    facts["percents"] = {
        "latency": _percents(latencies),
        "first_token": _percents(firsts),
        "output_token": _percents(further),
    }
    steady = steady_of(result)
    facts["steady"] = None if steady is None else asdict(steady)
    return Row(
        users=result.settings.user_count,
        seconds=result.end - result.begin,
        requests=sum(one.is_finished for one in begun),
        rate=rate_of(ends, result.begin, result.end),
        latency=median_of(latencies),
        success=share_of(len(good), len(begun)),
        first_token=median_of(firsts),
        facts=facts,
    )


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

        success: Which part of those that began ended well. ``None`` if none began.

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
        run_time = self.facts["settings"]["run_time"]
        if self.seconds >= run_time * _WHOLE:
            return []
        return [f"ended after {self.seconds:.0f} s of {run_time:g} s"]


def facts_of(text: str) -> Mapping[str, Any]:
    """
    Read the JSON of a saved benchmark.
    """
    try:
        facts = json.loads(text)
    except ValueError as fault:
        raise ValueError(f"this is no JSON; {_WAY_OUT}") from fault
    written = facts.get("format") if isinstance(facts, dict) else None
    if written != BENCHMARK_FORMAT:
        what = "" if written is None else f", but {written}"
        raise ValueError(f"this is no saved benchmark{what}; {_WAY_OUT}")
    if facts.get("version") != BENCHMARK_VERSION:
        raise ValueError(
            f"this is a benchmark in version {facts.get('version')} of the format, and "
            f"this release reads version {BENCHMARK_VERSION}; measure again with "
            "--save, or use the release of cdk-sagemaker-llm that wrote it"
        )
    return dict(facts)


def steady_of(result: LoadResult) -> Steady | None:
    """
    Compute the means of a run; ``None`` if nothing was streamed that ended well.

    What is under way is counted by time, and not by what ends: where answers end
    together, a window has one such wave more or less.
    """
    begin, end = result.begin, result.end
    good = [one for one in result.measured.records if one.is_success]
    begun = [one for one in good if begin <= one.start < end]
    firsts = [one.first_token for one in begun if one.first_token is not None]
    if not firsts:
        return None
    spent = sum(max(0.0, min(one.end, end) - max(one.start, begin)) for one in good)
    return Steady(
        under_way=spent / (end - begin),
        latency=statistics.fmean(one.latency for one in begun),
        first_token=statistics.fmean(firsts),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Steady:
    """
    Means of a run, which Little's law joins: as many are under way as there begin in
    the time that each takes.

    Args:
        under_way: How many requests that ended well were under way, on average.

        latency: Seconds that each took.

        first_token: Seconds until its first token.
    """

    under_way: float
    latency: float
    first_token: float


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


def _percents(seconds: Sequence[float]) -> list[float]:
    found = sorted(seconds)
    if not found:
        return []
    return [
        found[-(-percent * len(found) // 100) - 1]
        for percent in range(LEAST_PERCENT, 101)
    ]


def _estimate(facts: Mapping[str, float] | None) -> Estimate | None:
    return None if facts is None else Estimate(**facts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """
    A figure, measured twice with the same number of users.
    """

    users: int
    figure: str
    before: Estimate
    after: Estimate

    @property
    def differs(self) -> bool:
        return self.after.differs_from(self.before)

    def cells(self) -> tuple[str, ...]:
        before, after = self.before.value, self.after.value
        return (
            str(self.users),
            self.figure,
            self._with_bounds(self.before),
            self._with_bounds(self.after),
            f"{after / before - 1:+.1%}" if before else "-",
            "differs" if self.differs else "may be chance",
        )

    def to_facts(self) -> dict[str, Any]:
        return {**asdict(self), "differs": self.differs}

    def _with_bounds(self, one: Estimate) -> str:
        written = percent if self.figure == "success" else "{:.3g}".format
        return f"{written(one.value)} ({written(one.low)} to {written(one.high)})"


def differences(before: Benchmark, after: Benchmark) -> list[Difference]:
    """
    Return each figure that was measured twice with the same number of users.
    """
    return [each for pair in _pairs(before, after) for each in _compared(*pair)]


def compare(before: Benchmark, after: Benchmark) -> str:
    """
    Write how two benchmarks differ, where both have the same number of users.
    """
    table = table_of(_COMPARED, [one.cells() for one in differences(before, after)])
    sentences = [
        f"- {name}: {one.endpoint}, {one.began}."
        for name, one in (("Before", before), ("After", after))
    ]
    was, now = (row.facts["settings"] for row in _pairs(before, after)[0])
    sentences += [
        f"- Asked otherwise: {name.replace('_', ' ')} was {was.get(name)}, and is "
        f"{value}."
        for name, value in now.items()
        if name not in _ELSEWHERE | _OTHERWISE and was.get(name) != value
    ]
    old, new = ({row.users for row in one.rows} for one in (before, after))
    alone = [
        (name, ", ".join(map(str, sorted(users))))
        for name, users in (("before", old - new), ("after", new - old))
        if users
    ]
    sentences += [
        f"- Only {name}: {users} {'user' if users == '1' else 'users'}."
        for name, users in alone
    ]
    return "\n".join(sentences) + f"\n\n{table}"


def _pairs(before: Benchmark, after: Benchmark) -> list[tuple[Row, Row]]:
    old = {row.users: row for row in before.rows}
    pairs = [(old[row.users], row) for row in after.rows if row.users in old]
    if not pairs:
        raise ValueError("the benchmarks have no number of users in common")
    return pairs


def _compared(old: Row, new: Row) -> Iterator[Difference]:
    named = (
        ("requests/s", old.rate, new.rate),
        ("median latency s", old.latency, new.latency),
        ("median time to first token s", old.first_token, new.first_token),
        ("success", old.success, new.success),
    )
    for figure, before, after in named:
        if before is not None and after is not None:
            yield Difference(users=new.users, figure=figure, before=before, after=after)
