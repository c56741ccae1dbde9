"""
How two benchmarks differ, and whether chance explains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.result import percent, table_of
from cdk_sagemaker_llm.load.uncertainty import Estimate

_HEADS = ("concurrent users", "figure", "before", "after", "change", "verdict")
# Whether an answer is the same does not depend on where it was asked for.
_ELSEWHERE = {"endpoint", "component", "variant", "region", "endpoint_url"}
# Rows are compared by these, and the generator decides over those.
_OTHERWISE = {"users", "spawn_rate", "processes", "seed", "drain"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """
    A figure, measured twice with the same number of users.

    Args:
        users: How many there were.

        figure: Which figure.

        before: What it was.

        after: What it is.
    """

    users: int
    figure: str
    before: Estimate
    after: Estimate

    @property
    def differs(self) -> bool:
        """
        Whether chance does not explain it.
        """
        return self.after.differs_from(self.before)

    def cells(self) -> tuple[str, ...]:
        """
        Write it as a row of the table.
        """
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
        """
        Return it as JSON has it.
        """
        return {**asdict(self), "differs": self.differs}

    def _with_bounds(self, one: Estimate) -> str:
        written = percent if self.figure == "success" else "{:.3g}".format
        return f"{written(one.value)} ({written(one.low)} to {written(one.high)})"


def differences(before: Benchmark, after: Benchmark) -> list[Difference]:
    """
    Return each figure that was measured twice with the same number of users.

    Raises:
        ValueError: If there is none.
    """
    return [each for pair in _pairs(before, after) for each in _compared(*pair)]


def compare(before: Benchmark, after: Benchmark) -> str:
    """
    Write how two benchmarks differ, where both have the same number of users.

    Raises:
        ValueError: If they have none in common.
    """
    table = table_of(_HEADS, [one.cells() for one in differences(before, after)])
    sentences = [*_sources(before, after), *_asked_otherwise(*_pairs(before, after)[0])]
    sentences += _alone(before, after)
    return "\n".join(sentences) + f"\n\n{table}"


def _pairs(before: Benchmark, after: Benchmark) -> list[tuple[Row, Row]]:
    old = {row.users: row for row in before.rows}
    pairs = [(old[row.users], row) for row in after.rows if row.users in old]
    if not pairs:
        raise ValueError("the benchmarks have no number of users in common")
    return pairs


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
