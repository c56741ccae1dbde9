"""
Benchmarks whose figures can be told by hand, the published one among them.
"""

from __future__ import annotations

from cdk_sagemaker_llm.load.benchmark import Benchmark, Row
from cdk_sagemaker_llm.load.figures import Estimate, share_of
from cdk_sagemaker_llm.local.aws.untyped import Untyped

# Users, requests, requests a second, median latency, how many failed.
PUBLISHED = [
    (100, 2322, 24.74, 3.76, 0),
    (150, 2543, 26.32, 5.58, 0),
    (200, 2648, 26.72, 7.81, 0),
    (250, 2769, 25.83, 8.89, 83),
    (300, 2776, 25.66, 9.78, 0),
    (350, 2827, 26.71, 12.57, 0),
    (400, 2880, 24.16, 12.53, 0),
    (450, 2934, 26.14, 15.69, 0),
    (500, 2976, 26.17, 16.90, 0),
]


def distribution(count: int, p50: float, p95: float | None = None) -> Untyped:
    """
    Make times of which the others are a tenth of a second from these.
    """
    p95 = p50 + 1 if p95 is None else p95
    return {
        "count": count,
        "p50": p50,
        "p90": p95 - 0.1,
        "p95": p95,
        "p99": p95 + 0.1,
        "longest": p95 + 0.2,
    }


def row(
    users: int,
    requests: int = 100,
    rate: float = 1.0,
    p50: float = 1.0,
    failed: int = 0,
    *,
    p95: float | None = None,
    unfinished: int = 0,
    is_streamed: bool = True,
    component: str | None = "chat",
) -> Row:
    """
    Make a row; its first tokens come in a tenth of the time.
    """
    good = requests - failed
    latency = distribution(good, p50, p95) if good else None
    first = distribution(good, p50 / 10) if good and is_streamed else None
    return Row(
        users=users,
        seconds=90.0,
        requests=requests,
        rate=Estimate(rate, rate, rate),
        latency=Estimate(p50, p50, p50) if good else None,
        success=share_of(good, requests),
        first_token=Estimate(p50 / 10, p50 / 10, p50 / 10) if first else None,
        facts={
            "settings": {
                "component": component,
                "is_streamed": is_streamed,
                "prompts": 0,
                "prompt_words": "1000",
                "max_new_tokens": 50,
                "run_time": 90.0,
                "tokenizer": None,
            },
            "figures": {
                "requests": requests,
                "unfinished": unfinished,
                "latency": latency,
                "first_token": first,
                "tokens_per_second": rate * 50,
                "tokens": 50.0 if good else None,
                "prompt_tokens": 1000.0 if good else None,
            },
            "remarks": [],
        },
    )


def sweep(*rows: Row, copies: int | None = 8) -> Benchmark:
    """
    Make a benchmark of rows.
    """
    return Benchmark(
        endpoint="chat", began="2027-01-17T12:00:00+00:00", rows=rows, copies=copies
    )


def published(copies: int | None = 8) -> Benchmark:
    """
    Make the one that is published, on 8 copies.
    """
    return sweep(*(row(*facts) for facts in PUBLISHED), copies=copies)
