"""
How two benchmarks differ, and whether chance explains it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.tables import percent, table_of
from cdk_sagemaker_llm.load.uncertainty import Estimate

_HEADS = ("concurrent users", "figure", "before", "after", "change", "verdict")
# Whether an answer is the same does not depend on where it was asked for.
_ELSEWHERE = {"endpoint", "component", "variant", "region", "endpoint_url"}
# Rows are compared by these, and the generator decides over those.
_OTHERWISE = {"users", "spawn_rate", "processes", "seed", "drain"}


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
    table = table_of(_HEADS, [line for pair in pairs for line in _compared(*pair)])
    told = [*_sources(before, after), *_asked_otherwise(*pairs[0])]
    told += _alone(before, after)
    return "\n".join(told) + f"\n\n{table}"


def _sources(before: Benchmark, after: Benchmark) -> Iterator[str]:
    for name, one in (("Before", before), ("After", after)):
        yield f"- {name}: {one.endpoint}, {one.began}."


def _asked_otherwise(old: Row, new: Row) -> Iterator[str]:
    was, now = old.facts["settings"], new.facts["settings"]
    for name in now:
        if name in _ELSEWHERE | _OTHERWISE or was.get(name) == now[name]:
            continue
        yield (
            f"- Asked otherwise: {name.replace('_', ' ')} was {was.get(name)}, "
            f"and is {now[name]}."
        )


def _alone(before: Benchmark, after: Benchmark) -> Iterator[str]:
    old, new = ({row.users for row in one.rows} for one in (before, after))
    for name, users in (("before", old - new), ("after", new - old)):
        if users:
            yield f"- Only {name}: {', '.join(map(str, sorted(users)))} users."


def _compared(old: Row, new: Row) -> Iterator[tuple[str, ...]]:
    named: tuple[
        tuple[str, Estimate | None, Estimate | None, Callable[[float], str]], ...
    ] = (
        ("requests/s", old.rate, new.rate, _three),
        ("median latency s", old.latency, new.latency, _three),
        ("median time to first token s", old.first_token, new.first_token, _three),
        ("success", old.success, new.success, percent),
    )
    for name, before, after, written in named:
        if before is None or after is None:
            continue
        is_other = after.differs_from(before)
        yield (
            str(new.users),
            name,
            _with_bounds(before, written),
            _with_bounds(after, written),
            f"{after.value / before.value - 1:+.1%}" if before.value else "-",
            "differs" if is_other else "may be chance",
        )


def _with_bounds(one: Estimate, written: Callable[[float], str]) -> str:
    return f"{written(one.value)} ({written(one.low)} to {written(one.high)})"


def _three(number: float) -> str:
    return f"{number:.3g}"
