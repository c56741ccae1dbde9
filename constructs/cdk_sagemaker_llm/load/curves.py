"""
What is drawn of a run, on paper or on a page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from cdk_sagemaker_llm.load.result import LoadResult
from cdk_sagemaker_llm.pages.chart import Curve, Panel


def panels_of(result: LoadResult) -> list[Panel]:
    """
    Return what belongs into one panel each: the course first, then the percentiles.
    """
    # What is left of a second at the end would look like a fall.
    whole = math.floor(result.end - result.begin + 0.01)
    course = result.seconds[:whole] or result.seconds
    xs = [float(one.second) for one in course]
    latencies: list[Curve] = [("latency", [one.latency for one in course])]
    if any(one.first_token is not None for one in course):
        firsts = [one.first_token for one in course]
        latencies.append(("time to first token", firsts))
    ended: list[Curve] = [
        ("ended well", [one.requests for one in course]),
        ("failed", [one.failures for one in course]),
    ]
    by_unit: list[tuple[str, list[Curve]]] = [
        ("requests a second", ended),
        ("tokens a second", [("tokens", [one.tokens for one in course])]),
        ("requests under way", [("under way", [one.in_flight for one in course])]),
        ("seconds, median of each second", latencies),
    ]
    since = "seconds since the beginning"
    panels = [Panel(unit, curves, xs, since) for unit, curves in by_unit]
    return [*panels, _percentiles(result)]


def _percentiles(result: LoadResult) -> Panel:
    shares = [float(share) for share in range(101)]
    good = [
        one
        for one in result.measured.records
        if one.is_success and result.begin <= one.start < result.end
    ]
    firsts = [one.first_token for one in good if one.first_token is not None]
    curves: list[Curve] = [("latency", _at_each([one.latency for one in good]))]
    if firsts:
        curves.append(("time to first token", _at_each(firsts)))
    return Panel(
        "seconds at most", curves, shares, "percentile of the requests that ended well"
    )


def _at_each(seconds: Sequence[float]) -> list[float | None]:
    found = sorted(seconds)
    if not found:
        return [None] * 101
    return [found[max(0, -(-len(found) * share // 100) - 1)] for share in range(101)]
