"""
What the client costs in asyncio: beside aioboto3 with ``json.loads``, and how long
streams take beside slow ones.

Each side reads in a process of its own, in turns, and says how much of its own CPU a
token took; aioboto3's is the environment that `make clients` makes for it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from benchmarks.client import FORMS, cut, server
from benchmarks.load import stand_in
from cdk_sagemaker_llm.client import AsyncLlmClient

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
THEIRS = ROOT / ".venv-clients" / "aioboto3" / "bin" / "python"
PROGRAM = ROOT / "benchmarks" / "async_streams.py"
# Fifty tokens a second, as a model may write them.
PACE = 0.02
QUICK, SLOW = 200, 60


@contextmanager
def paced() -> Iterator[str]:
    """
    Serve streams whose tokens come one by one; give the address.
    """
    with stand_in(PACE) as running:
        yield f"http://127.0.0.1:{running.port}"


def cost(reader: str, url: str, streams: int, rounds: int) -> float:
    """
    Return the microseconds of CPU that a token takes.
    """
    python = sys.executable if reader == "ours" else str(THEIRS)
    counts = ["--streams", str(streams), "--rounds", str(rounds)]
    command = [python, str(PROGRAM), reader, url, *counts]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["cpu"])


def row(
    name: str,
    serving: AbstractContextManager[str],
    streams: int,
    reads: int,
    rounds: int,
) -> None:
    """
    Measure both sides in turns, and print the medians.
    """
    with serving as url:
        pairs = [
            (cost("ours", url, streams, reads), cost("theirs", url, streams, reads))
            for _ in range(rounds)
        ]
    ratios = [here / there for here, there in pairs]
    here, there = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"| {name} | {streams} | {here:.1f} | {there:.1f} | "
        f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


async def beside(url: str, connections: int) -> tuple[Sequence[float], float]:
    """
    Read streams of a second beside slow ones; return how long each took, and the CPU.
    """
    client = AsyncLlmClient(
        "chat",
        session=boto3.Session("test", "test", region_name="us-east-1"),
        endpoint_url=url,
        max_connections=connections,
        config=Config(proxies={"http": ""}),
    )

    async def quick() -> float:
        began = time.perf_counter()
        async for _ in client.stream("Who?", max_new_tokens=round(1 / PACE)):
            pass
        return time.perf_counter() - began

    async def slow() -> None:
        async for _ in client.stream("Who?", max_new_tokens=round(30 / PACE)):
            pass

    async with client:
        others = [asyncio.create_task(slow()) for _ in range(SLOW)]
        await asyncio.sleep(2)
        began, cpu = time.perf_counter(), time.process_time()
        took = await asyncio.gather(*(quick() for _ in range(QUICK)))
        busy = (time.process_time() - cpu) / (time.perf_counter() - began)
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    return sorted(took), busy


def main() -> None:
    """
    Print the tables as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="rounds a line")
    rounds = parser.parse_args().rounds
    print(f"Microseconds of CPU a token, medians of {rounds} pairs.\n")
    print("| format | streams at a time | the client | aioboto3 | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for form in FORMS:
        for lines in (1, 4):
            parts = cut(form, lines)
            row(f"{form}, {lines} an event", server(parts), 10, 2, rounds)
    row("LMI 0.28, JSON lines, 50 a second", paced(), 100, 2, rounds)
    print(
        f"\nStreams of a second, {QUICK} at once, beside {SLOW} slow ones, seconds.\n"
    )
    print("| `max_connections=` | median | slowest | CPU of the process |")
    print("| --- | --- | --- | --- |")
    for connections in (500, 100):
        with paced() as url:
            took, busy = asyncio.run(beside(url, connections))
        middle = statistics.median(took)
        print(f"| `{connections}` | {middle:.2f} | {took[-1]:.2f} | {busy:.0%} |")


if __name__ == "__main__":
    main()
