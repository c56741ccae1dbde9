"""
What computing time costs: a day request by request, and a week in aggregate.

Each is paired with a bare heap in the same round, so that a machine whose speed drifts
slows both sides: as many events as the day has requests are pushed in the order in
which they come and popped again, and nothing else.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import time
from collections.abc import Callable

from cdk_sagemaker_llm.fit import ResourceRequirements
from cdk_sagemaker_llm.simulation import (
    Bounds,
    Constant,
    DayCurve,
    Lengths,
    LogNormal,
    Metric,
    MetricQuery,
    Outcome,
    Pool,
    Scenario,
    ServiceTimes,
    TargetTracking,
    Workload,
    run,
)

DAY, WEEK = 86400, 7 * 86400
CHAT = Lengths(
    prompt=LogNormal(median=400, spread=0.7), answer=LogNormal(median=150, spread=0.6)
)
EVENTS = 10 * DAY


def heap_seconds() -> float:
    """
    Push as many events as the day has requests, and pop them.
    """
    began = time.perf_counter()
    heap: list[tuple[float, int]] = []
    for number in range(EVENTS):
        heapq.heappush(heap, (number / 10, number))
    while heap:
        heapq.heappop(heap)
    return time.perf_counter() - began


def day() -> Scenario:
    """
    Ten requests a second on four copies.
    """
    service = ServiceTimes(
        decode=((1, 0.02), (64, 0.045)),
        max_sequences=64,
        prompt_seconds_per_token=0.0001,
        kv_tokens=60_000,
    )
    chat = Workload(
        name="chat",
        traffic=Constant(rate=10, lengths=CHAT),
        service=service,
        copies=4,
    )
    return Scenario(workloads=(chat,), duration=DAY)


def week(rate: float = 10_000) -> Scenario:
    """
    A week whose days rise to so many requests a second, on copies that follow.
    """
    service = ServiceTimes(
        decode=((1, 0.02), (256, 0.05)),
        max_sequences=256,
        prompt_seconds_per_token=0.00001,
        kv_tokens=400_000,
    )
    # A copy serves about 20 requests a second: two thirds of what it could.
    most = max(2, round(rate / 20))
    query = MetricQuery(Metric.of_component("InvocationsPerCopy", "chat"), "Sum", 60)
    chat = Workload(
        name="chat",
        traffic=DayCurve.between(rate / 5, rate, lengths=CHAT),
        service=service,
        needs=ResourceRequirements(accelerators=1),
        copies=max(1, most // 3),
        bounds=Bounds(minimum=1, maximum=most),
        policies=(TargetTracking(name="track", query=query, target=1200),),
    )
    instances = -(-most // 8)
    return Scenario(
        workloads=(chat,),
        duration=WEEK,
        pools=(Pool("ml.g5.48xlarge"),),
        instances=max(1, instances // 3),
        minimum=1,
        maximum=instances,
        managed=True,
    )


def row(name: str, bar: str, played: Callable[[], Outcome], rounds: int) -> str:
    """
    Measure one line of the table, paired with the bare heap.
    """
    pairs = []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        played()
        pairs.append((time.perf_counter() - began, heap_seconds()))
    ours = [pair[0] for pair in pairs[1:]]
    ratios = [pair[0] / pair[1] for pair in pairs[1:]]
    return (
        f"| {name} | {statistics.median(ours):.2f} s "
        f"({min(ours):.2f} to {max(ours):.2f}) | {statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f}) | {bar} |"
    )


def main() -> None:
    """
    Print the table as Markdown.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds a line")
    rounds = parser.parse_args().rounds
    print(f"Simulation, medians of {rounds} rounds after one that is not counted.\n")
    print("| what | time | times a bare heap of 864,000 events | bar |")
    print("| --- | --- | --- | --- |")
    for name, bar, played in (
        (
            "a day of 10 requests a second, request by request",
            "3 times",
            lambda: run(day(), "requests"),
        ),
        (
            "a week at up to 10,000 requests a second, in aggregate",
            "5 s",
            lambda: run(week(), "aggregate"),
        ),
    ):
        print(row(name, bar, played, rounds), flush=True)


if __name__ == "__main__":
    main()
