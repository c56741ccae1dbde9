"""
How a run goes, in one line that changes.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from cdk_sagemaker_llm.load.measured import Record
from cdk_sagemaker_llm.load.running import Progress

_WINDOW = 10.0


@contextmanager
def live() -> Iterator[Callable[[Progress], None]]:
    """
    Give what shows progress on the terminal, if standard error is one.
    """
    console = Console(stderr=True)
    recent: deque[Record] = deque()
    with console.status("starting the load generator") as status:

        def show(progress: Progress) -> None:
            recent.extend(progress.recent)
            status.update(line_of(progress, recent))

        yield show


def line_of(progress: Progress, recent: deque[Record]) -> str:
    """
    Say how a run goes, by the requests of the last ten seconds.

    Args:
        progress: How it goes.

        recent: The requests that ended lately; older ones are dropped.
    """
    newest = max((one.end for one in recent), default=0.0)
    while recent and recent[0].end < newest - _WINDOW:
        recent.popleft()
    seconds = min(max(progress.seconds, 1.0), _WINDOW)
    good = [one for one in recent if one.is_success]
    parts = [f"{progress.phase}, {progress.seconds:.0f} s"]
    if progress.users:
        parts.append(f"{progress.users} users")
    parts += [
        f"{progress.requests} requests",
        f"{len(good) / seconds:.1f} requests/s",
        f"{sum(one.tokens for one in good) / seconds:.0f} tokens/s",
    ]
    if good:
        latency = statistics.median(one.latency for one in good)
        parts.append(f"median latency {latency:.2f} s")
    if failed := sum(1 for one in recent if one.failure and one.is_finished):
        parts.append(f"{failed} failed lately")
    return " · ".join(parts)
