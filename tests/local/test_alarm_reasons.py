"""
Why an alarm is in its state, word for word as CloudWatch tells it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from cdk_sagemaker_llm.local.scaling.alarm_words import reason, reason_data
from cdk_sagemaker_llm.simulation.alarms import Alarm, AlarmRule
from cdk_sagemaker_llm.simulation.metrics import Metric, MetricQuery

_START = datetime(2026, 10, 9, 21, 0, tzinfo=UTC).timestamp()


def _after(
    values: list[float | None],
    *,
    needed: int | None = None,
    periods: int = 3,
    comparison: str = "GreaterThanThreshold",
    missing: str = "missing",
) -> Alarm:
    query = MetricQuery(Metric.of("N", "M", {}), "Sum", 60)
    rule = AlarmRule(
        name="A",
        query=query,
        comparison=comparison,
        threshold=5.0,
        evaluation_periods=periods,
        datapoints_to_alarm=needed,
        treat_missing=missing,
    )
    alarm = Alarm(rule)
    for number, value in enumerate(values, start=1):
        alarm.evaluate(_START + 60 * number, lambda *_, value=value: value)
    return alarm


@pytest.mark.parametrize(
    ("alarm", "told"),
    [
        (
            _after([16.0, 17.0, 18.0], needed=3),
            (
                "Threshold Crossed: 3 out of the last 3 datapoints [18.0 (09/10/26 "
                "21:02:00), 17.0 (09/10/26 21:01:00), 16.0 (09/10/26 21:00:00)] "
                "were greater than the threshold (5.0) (minimum 3 datapoints for OK"
                " -> ALARM transition)."
            ),
        ),
        (
            _after([16.0, 17.0, 18.0]),
            (
                "Threshold Crossed: 3 datapoints [18.0 (09/10/26 21:02:00), 17.0 "
                "(09/10/26 21:01:00), 16.0 (09/10/26 21:00:00)] were greater than "
                "the threshold (5.0)."
            ),
        ),
        (
            _after([1.0], needed=2),
            (
                "Threshold Crossed: 1 out of the last 3 datapoints [1.0 (09/10/26 "
                "21:00:00)] was not greater than the threshold (5.0) (minimum 2 "
                "datapoints for ALARM -> OK transition)."
            ),
        ),
        (
            _after([5.0], needed=1, periods=1, comparison="LessThanOrEqualToThreshold"),
            (
                "Threshold Crossed: 1 out of the last 1 datapoints [5.0 (09/10/26 "
                "21:00:00)] was less than or equal to the threshold (5.0) (minimum "
                "1 datapoint for OK -> ALARM transition)."
            ),
        ),
        (
            _after(
                [1.0, 2.0, 3.0, 4.0, 3.0, 2.0],
                periods=6,
                comparison="LessThanThreshold",
            ),
            (
                "Threshold Crossed: 6 datapoints were less than the threshold "
                "(5.0). The most recent datapoints which crossed the threshold: "
                "[2.0 (09/10/26 21:05:00), 3.0 (09/10/26 21:04:00), 4.0 (09/10/26 "
                "21:03:00), 3.0 (09/10/26 21:02:00), 2.0 (09/10/26 21:01:00)]."
            ),
        ),
        (_after([None]), "Insufficient Data: 3 datapoints were unknown."),
        (_after([None], periods=1), "Insufficient Data: 1 datapoint was unknown."),
        (
            _after([None] * 3, missing="breaching"),
            (
                "Threshold Crossed: no datapoints were received for 3 periods and 3"
                " missing datapoints were treated as [Breaching]."
            ),
        ),
        (
            _after([None], periods=1, missing="notBreaching"),
            (
                "Threshold Crossed: no datapoints were received for 1 period and 1 "
                "missing datapoint was treated as [NonBreaching]."
            ),
        ),
    ],
)
def test_the_words_are_the_services(alarm: Alarm, told: str) -> None:
    """
    Up to four points in one sentence, from five on in two.
    """
    assert reason(alarm) == told


def test_the_data_can_be_read_by_machines() -> None:
    """
    The oldest point first, and the newest first with its time.
    """
    data = json.loads(reason_data(_after([16.0, 17.0, 18.0]), _START + 300.5))

    assert data == {
        "version": "1.0",
        "queryDate": "2026-10-09T21:05:00.500+0000",
        "startDate": "2026-10-09T21:00:00.000+0000",
        "statistic": "Sum",
        "period": 60,
        "recentDatapoints": [16.0, 17.0, 18.0],
        "threshold": 5.0,
        "evaluatedDatapoints": [
            {"timestamp": "2026-10-09T21:02:00.000+0000", "value": 18.0},
            {"timestamp": "2026-10-09T21:01:00.000+0000", "value": 17.0},
            {"timestamp": "2026-10-09T21:00:00.000+0000", "value": 16.0},
        ],
    }
