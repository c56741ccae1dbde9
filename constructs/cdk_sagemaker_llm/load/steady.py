"""
What a closed loop of users comes to on average, from which service times are computed.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from cdk_sagemaker_llm.load.result import LoadResult


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
