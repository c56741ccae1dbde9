"""
How far back an alarm may look: all its periods together.
"""

from __future__ import annotations

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.serving.rules import OUTSIDE_RANGE

_HOUR = 3600
_DAY = 24 * _HOUR
_WEEK = 7 * _DAY


def together_findings(period: float | None, evaluation_periods: int) -> list[Finding]:
    """
    Check an alarm's periods together (CloudWatch API reference, PutMetricAlarm).

    Args:
        period: Seconds; ``None`` if it is not known.

        evaluation_periods: How many of them the alarm looks at.
    """
    if period is None or is_unresolved((period, evaluation_periods)):
        return []
    most, words = (_DAY, "day") if period < _HOUR else (_WEEK, "week")
    if period * evaluation_periods <= most:
        return []
    return [
        OUTSIDE_RANGE.finding(
            f"evaluation_periods of {period:g} seconds must be at most a {words} "
            f"together, got {evaluation_periods}"
        )
    ]
