"""
How many streaming users the load generator holds, beside the server that they ask.

Each reads 50 tokens an answer at ten tokens a second and asks again. The stand-in for
the endpoint runs on the same cores, and says how late it was itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.standin import PACE, TOKENS
from cdk_sagemaker_llm.load import LoadResult, LoadSettings, run_load

ROOT = Path(__file__).parent.parent
HEADS = (
    "concurrent users",
    "answers",
    "failures",
    "tokens a second",
    "the generator's delay, ms",
    "its busiest process",
    "the stand-in's own lateness, ms",
)


class StandIn:
    """
    The server's process.
    """

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.port = port
        self._process = process

    def end(self) -> Sequence[float]:
        """
        End it; return how late it was: the median, the 99th percentile, the latest.
        """
        said, _ = self._process.communicate()
        late: Sequence[float] = json.loads(said)
        return late


@contextmanager
def stand_in(pace: float = PACE) -> Iterator[StandIn]:
    """
    Run the server, with so many seconds between two tokens of a stream.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.standin", "--pace", str(pace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the stand-in has no output")
        yield StandIn(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()


def measure(users: int, seconds: float) -> tuple[LoadResult, Sequence[float]]:
    """
    Load the stand-in; return what was measured, and how late it was itself.
    """
    with stand_in() as server:
        result = run_load(
            LoadSettings(
                endpoint="stand-in",
                users=users,
                run_time=seconds,
                max_new_tokens=TOKENS,
                region="us-east-1",
                endpoint_url=f"http://127.0.0.1:{server.port}",
            )
        )
        return result, server.end()


def cells(users: int, result: LoadResult, late: Sequence[float]) -> tuple[str, ...]:
    """
    Write a run as a row of the table.
    """
    figures, delay = result.figures, result.measured.delay
    return (
        str(users),
        str(figures.requests),
        str(sum(figures.failures.values()) + figures.unfinished),
        f"{figures.tokens_per_second:.0f} of {users / PACE:.0f}",
        _milliseconds([delay.p50, delay.p99, delay.longest]),
        f"{delay.cpu:.0%} of a core",
        _milliseconds(late),
    )


def _milliseconds(seconds: Sequence[float]) -> str:
    p50, p99, longest = (1000 * each for each in seconds)
    return f"{p50:.1f}, p99 {p99:.1f}, at most {longest:.1f}"


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=500, help="who ask at a time")
    parser.add_argument("--seconds", type=float, default=30.0, help="for how long")
    given = parser.parse_args()
    # No settings of anybody's own, and no proxy between two processes.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",  # noqa: S106 - no secret: any value does
        NO_PROXY="127.0.0.1",
    )
    print(
        f"Answers of {TOKENS} tokens, {1 / PACE:.0f} a second, for {given.seconds:g} s."
    )
    print(f"\n| {' | '.join(HEADS)} |\n|{' --- |' * len(HEADS)}")
    result, late = measure(given.users, given.seconds)
    print(f"| {' | '.join(cells(given.users, result, late))} |\n")
    for remark in result.remarks():
        print(f"- {remark}")


if __name__ == "__main__":
    main()
