"""
Step scaling: intervals, and the alarm that they are counted from.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Environment, Stack
from aws_cdk import aws_applicationautoscaling as appscaling
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import ScalingStep, StepScaling
from tests.unit.hosting.scaling.made import copies_of, instances_of, metric
from tests.unit.hosting.written import (
    codes_of,
    keywords_of,
    left_at_default,
    properties_of,
    written,
)

OUT = [ScalingStep(lower=10, change=1)]


def adjustments(stack: Stack) -> list[dict[str, Any]]:
    """
    Return the steps as they are written.
    """
    properties = written(stack)["CountIt"]["Properties"]
    found: list[dict[str, Any]] = properties["StepScalingPolicyConfiguration"][
        "StepAdjustments"
    ]
    return found


def alarm(stack: Stack) -> dict[str, Any]:
    """
    Return the alarm's properties.
    """
    found: dict[str, Any] = written(stack)["CountItAlarm"]["Properties"]
    return found


@pytest.mark.parametrize("kind", ["copies", "instances"])
def test_every_keyword_reaches_the_template(stack: Stack, kind: str) -> None:
    """
    A policy and its alarm, in whose actions it stands.
    """
    count = copies_of(stack) if kind == "copies" else instances_of(stack)
    given: dict[str, Any] = {
        "metric": metric(
            statistic="Sum",
            seconds=30,
            dimensions={"Shop": "Berlin"},
            unit=cloudwatch.Unit.COUNT,
        ),
        "steps": [
            ScalingStep(lower=50, change=100),
            ScalingStep(lower=10, upper=50, change=20),
        ],
        "adjustment_type": appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY,
        "cooldown": Duration.seconds(61),
        "metric_aggregation_type": appscaling.MetricAggregationType.MINIMUM,
        "min_adjustment_magnitude": 2,
        "evaluation_periods": 5,
        "datapoints_to_alarm": 3,
        "treat_missing_data": cloudwatch.TreatMissingData.NOT_BREACHING,
    }
    policy = count.scale_by_steps("It", **given)
    found = written(stack)

    assert isinstance(policy, StepScaling)
    assert found["CountIt"] == {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyName": "It",
            "PolicyType": "StepScaling",
            "ScalingTargetId": "${Count}",
            "StepScalingPolicyConfiguration": {
                "AdjustmentType": "PercentChangeInCapacity",
                "Cooldown": 61,
                "MetricAggregationType": "Minimum",
                "MinAdjustmentMagnitude": 2,
                "StepAdjustments": [
                    {
                        "MetricIntervalLowerBound": 0,
                        "MetricIntervalUpperBound": 40,
                        "ScalingAdjustment": 20,
                    },
                    {"MetricIntervalLowerBound": 40, "ScalingAdjustment": 100},
                ],
            },
        },
    }
    assert found["CountItAlarm"] == {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmActions": ["${CountIt}"],
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "DatapointsToAlarm": 3,
            "Dimensions": [{"Name": "Shop", "Value": "Berlin"}],
            "EvaluationPeriods": 5,
            "MetricName": "Orders",
            "Namespace": "Shop",
            "Period": 30,
            "Statistic": "Sum",
            "Threshold": 10,
            "TreatMissingData": "notBreaching",
            "Unit": "Count",
        },
    }
    assert keywords_of(type(count).scale_by_steps) == set(given)
    assert keywords_of(StepScaling.__init__) == {*given, "target"}
    assert left_at_default(type(count).scale_by_steps, given) == set()


def test_the_smallest_call_reaches_the_template(stack: Stack) -> None:
    """
    One more from the threshold on, at most every five minutes.
    """
    copies_of(stack).scale_by_steps("It", metric=metric(), steps=OUT)
    found = written(stack)["CountIt"]["Properties"]

    assert found["StepScalingPolicyConfiguration"] == {
        "AdjustmentType": "ChangeInCapacity",
        "Cooldown": 300,
        "MetricAggregationType": "Average",
        "StepAdjustments": [{"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}],
    }
    assert alarm(stack) == {
        "AlarmActions": ["${CountIt}"],
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "EvaluationPeriods": 1,
        "MetricName": "Orders",
        "Namespace": "Shop",
        "Period": 60,
        "Statistic": "Average",
        "Threshold": 10,
        "TreatMissingData": "missing",
    }


@pytest.mark.parametrize(
    ("steps", "threshold", "expected"),
    [
        (
            [
                ScalingStep(lower=0.3, change=2),
                ScalingStep(lower=0.1, change=1),
                ScalingStep(lower=5, change=3),
            ],
            0.1,
            [(0, 0.2, 1), (0.2, 4.9, 2), (4.9, None, 3)],
        ),
        (
            [ScalingStep(lower=-5, upper=0, change=1), ScalingStep(lower=0, change=2)],
            -5,
            [(0, 5, 1), (5, None, 2)],
        ),
        ([ScalingStep(upper=2, change=-1)], 2, [(None, 0, -1)]),
        (
            [
                ScalingStep(upper=1, change=-2),
                ScalingStep(lower=1, upper=4, change=-1),
            ],
            4,
            [(-3, 0, -1), (None, -3, -2)],
        ),
        (
            [ScalingStep(upper=1, change=-3), ScalingStep(upper=4, change=-1)],
            4,
            [(-3, 0, -1), (None, -3, -3)],
        ),
    ],
)
def test_bounds_are_counted_from_the_threshold(
    stack: Stack,
    steps: list[ScalingStep],
    threshold: float,
    expected: list[tuple[float | None, float | None, int]],
) -> None:
    """
    In whatever order they were given, as people subtract.
    """
    copies_of(stack).scale_by_steps("It", metric=metric(), steps=steps)
    found = [
        (
            step.get("MetricIntervalLowerBound"),
            step.get("MetricIntervalUpperBound"),
            step["ScalingAdjustment"],
        )
        for step in adjustments(stack)
    ]

    assert found == expected
    assert alarm(stack)["Threshold"] == threshold
    goes_up = expected[0][0] == 0
    assert alarm(stack)["ComparisonOperator"] == (
        "GreaterThanOrEqualToThreshold" if goes_up else "LessThanOrEqualToThreshold"
    )


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "steps must be at least one, got none"),
        (
            [ScalingStep(lower=1, upper=2, change=1)],
            "the last of the steps must have no end, got bounds on both sides",
        ),
        (
            [ScalingStep(change=1)],
            "steps must lead one way from one alarm's threshold",
        ),
        (
            [ScalingStep(lower=9, change=1), ScalingStep(upper=1, change=-1)],
            "steps must lead one way from one alarm's threshold",
        ),
        (
            [ScalingStep(lower=1, upper=4, change=1), ScalingStep(lower=3, change=2)],
            r"steps must not overlap, got \(lower=1, upper=4\) and \(lower=3\)",
        ),
        (
            [ScalingStep(lower=1, upper=2, change=1), ScalingStep(lower=3, change=2)],
            r"steps must leave no gap, got \(lower=1, upper=2\) and \(lower=3\)",
        ),
        (
            [ScalingStep(lower=1, change=1), ScalingStep(lower=1, change=2)],
            r"steps must not overlap, got \(lower=1\) and \(lower=1\)",
        ),
        (
            [ScalingStep(lower=1, change=1), ScalingStep(lower=3, upper=5, change=2)],
            r"steps must end in one without an end, got \(lower=3, upper=5\)",
        ),
        (
            [ScalingStep(upper=4, lower=2, change=-1), ScalingStep(upper=3, change=-2)],
            r"steps must not overlap, got \(lower=2, upper=4\) and \(upper=3\)",
        ),
        (
            [ScalingStep(upper=4, lower=3, change=-1), ScalingStep(upper=2, change=-2)],
            r"steps must leave no gap, got \(lower=3, upper=4\) and \(upper=2\)",
        ),
        (
            [ScalingStep(upper=4, change=-1), ScalingStep(upper=2, lower=1, change=-2)],
            r"steps must end in one without an end, got \(lower=1, upper=2\)",
        ),
    ],
)
def test_fails_if_steps_are_no_staircase(
    stack: Stack, steps: list[ScalingStep], message: str
) -> None:
    """
    Nothing is made, and the message says which.
    """
    with pytest.raises(ValueError, match=f"^Test/Count/It: LLM303 {message}"):
        copies_of(stack).scale_by_steps("It", metric=metric(), steps=steps)

    assert [*written(stack)] == ["Count"]


@pytest.mark.parametrize(("count", "codes"), [(20, []), (21, ["LLM401"])])
def test_warns_above_the_quota_of_steps(
    stack: Stack, count: int, codes: list[str]
) -> None:
    """
    It can be raised, so that it is no error.
    """
    steps = [ScalingStep(lower=each, change=1) for each in range(count)]
    copies_of(stack).scale_by_steps("It", metric=metric(), steps=steps)

    assert [code for _, code in codes_of(stack)] == codes
    assert len(adjustments(stack)) == count


def test_one_bound_may_be_known_at_deployment_only(stack: Stack) -> None:
    """
    It is the threshold; several would have to be subtracted.
    """
    value = CfnParameter(stack, "Value", type="Number").value_as_number
    copies = copies_of(stack)
    copies.scale_by_steps(
        "It", metric=metric(), steps=[ScalingStep(lower=value, change=1)]
    )

    assert alarm(stack)["Threshold"] == "${Value}"
    with pytest.raises(ValueError, match="LLM114 the bounds of several steps must"):
        copies.scale_by_steps(
            "Two",
            metric=metric(),
            steps=[
                ScalingStep(lower=1, change=1),
                ScalingStep(lower=value, change=1),
            ],
        )


EXACT = appscaling.AdjustmentType.EXACT_CAPACITY
PERCENT = appscaling.AdjustmentType.PERCENT_CHANGE_IN_CAPACITY


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_adjustment_magnitude": 1}, "min_adjustment_magnitude must be left out"),
        (
            {"min_adjustment_magnitude": 0, "adjustment_type": PERCENT},
            "min_adjustment_magnitude must be at least 1, got 0",
        ),
        (
            {"adjustment_type": EXACT, "steps": [ScalingStep(lower=1, change=-1)]},
            "change must be at least 0, got -1",
        ),
        ({"evaluation_periods": 0}, "evaluation_periods must be at least 1, got 0"),
        (
            {"datapoints_to_alarm": 2},
            "evaluation_periods must be at least datapoints_to_alarm",
        ),
        ({"datapoints_to_alarm": 0}, "datapoints_to_alarm must be at least 1, got 0"),
    ],
)
def test_fails_if_a_count_is_outside_what_is_taken(
    stack: Stack, given: dict[str, Any], message: str
) -> None:
    """
    Of the policy and of its alarm.
    """
    with pytest.raises(ValueError, match=f"LLM105 {message}"):
        copies_of(stack).scale_by_steps(
            "It", **{"metric": metric(), "steps": OUT, **given}
        )


@pytest.mark.parametrize(
    "given",
    [
        {"min_adjustment_magnitude": 1, "adjustment_type": PERCENT},
        {"adjustment_type": EXACT, "steps": [ScalingStep(lower=1, change=0)]},
        {"evaluation_periods": 2, "datapoints_to_alarm": 2},
        {"cooldown": Duration.seconds(0)},
    ],
)
def test_the_other_side_of_each_limit_is_taken(
    stack: Stack, given: dict[str, Any]
) -> None:
    """
    What is just within it.
    """
    copies_of(stack).scale_by_steps("It", **{"metric": metric(), "steps": OUT, **given})

    assert len(adjustments(stack)) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"cooldown": Duration.seconds(0)}, 0), ({}, 300)],
    ids=["nothing", "left out"],
)
def test_a_cooldown_of_nothing_is_not_one_that_is_left_out(
    stack: Stack, given: dict[str, Any], expected: int
) -> None:
    """
    Which is 300 seconds.
    """
    copies_of(stack).scale_by_steps("It", metric=metric(), steps=OUT, **given)
    policy = properties_of(stack, "ApplicationAutoScaling::ScalingPolicy")

    assert policy["StepScalingPolicyConfiguration"]["Cooldown"] == expected


@pytest.mark.parametrize(
    ("seconds", "most", "words"),
    [(30, 2880, "day"), (3540, 24, "day"), (3600, 168, "week"), (86_400, 7, "week")],
)
def test_fails_if_the_alarm_looks_back_further_than_cloudwatch(
    stack: Stack, seconds: int, most: int, words: str
) -> None:
    """
    A day, and a week where the periods are of an hour or more.
    """
    watched, count = metric(seconds=seconds), copies_of(stack)
    count.scale_by_steps("Most", metric=watched, steps=OUT, evaluation_periods=most)

    with pytest.raises(
        ValueError,
        match=f"LLM111 evaluation_periods of {seconds} seconds must be at most a "
        f"{words} together, got {most + 1}",
    ):
        count.scale_by_steps(
            "More", metric=watched, steps=OUT, evaluation_periods=most + 1
        )


def test_how_far_a_formula_looks_back_is_not_judged(stack: Stack) -> None:
    """
    AWS does not say whose period counts.
    """
    half = cloudwatch.MathExpression(
        expression="orders / 2", using_metrics={"orders": metric(seconds=60)}
    )
    copies_of(stack).scale_by_steps(
        "It", metric=half, steps=OUT, evaluation_periods=1441
    )

    assert alarm(stack)["EvaluationPeriods"] == 1441


def test_fails_if_the_cooldown_is_of_no_whole_seconds(stack: Stack) -> None:
    """
    The service counts seconds.
    """
    with pytest.raises(ValueError, match="LLM129 cooldown must be of whole seconds"):
        copies_of(stack).scale_by_steps(
            "It", metric=metric(), steps=OUT, cooldown=Duration.millis(1500)
        )


@pytest.mark.parametrize("period", [10, 30, 60, 120, 3600])
def test_the_periods_of_alarms_are_taken(stack: Stack, period: float) -> None:
    """
    Ten and thirty seconds, and whole minutes.
    """
    copies_of(stack).scale_by_steps("It", metric=metric(seconds=period), steps=OUT)

    assert alarm(stack)["Period"] == period


@pytest.mark.parametrize("period", [1, 5])
def test_fails_if_no_alarm_has_the_period(stack: Stack, period: float) -> None:
    """
    Graphs may have it, alarms may not.
    """
    with pytest.raises(ValueError, match="LLM302 the period of an alarm's metric must"):
        copies_of(stack).scale_by_steps("It", metric=metric(seconds=period), steps=OUT)


def test_an_alarm_watches_percentiles_and_other_accounts() -> None:
    """
    The one has a property of its own, the other is a query.
    """
    here = Environment(account="111111111111", region="us-east-1")
    stack = Stack(App(), "Here", env=here)
    copies = copies_of(stack)
    copies.scale_by_steps("It", metric=metric(statistic="p90"), steps=OUT)
    copies.scale_by_steps(
        "Afar", metric=metric(account="222222222222", seconds=30), steps=OUT
    )
    found = written(stack)
    near, afar = (found[f"Count{it}Alarm"]["Properties"] for it in ("It", "Afar"))

    assert near["ExtendedStatistic"] == "p90"
    assert "Statistic" not in near
    assert afar["Metrics"] == [
        {
            "AccountId": "222222222222",
            "Id": "expr_1",
            "MetricStat": {
                "Metric": {"MetricName": "Orders", "Namespace": "Shop"},
                "Period": 30,
                "Stat": "Average",
            },
            "ReturnData": True,
        }
    ]
    assert not {"MetricName", "Namespace", "Statistic", "Period"} & set(afar)


def test_a_metric_of_ones_own_account_is_plain() -> None:
    """
    Whoever names the account that the alarm is in says nothing new.
    """
    here = Environment(account="111111111111", region="us-east-1")
    stack = Stack(App(), "Here", env=here)
    own = metric(account="111111111111", unit=cloudwatch.Unit.COUNT)
    formula = cloudwatch.MathExpression(
        expression="own / 2",
        using_metrics={"own": own},
        period=Duration.minutes(1),
    )
    copies = copies_of(stack)
    copies.scale_by_steps("It", metric=own, steps=OUT)
    copies.scale_by_steps("Half", metric=formula, steps=OUT)
    found = written(stack)
    plain, half = (found[f"Count{it}Alarm"]["Properties"] for it in ("It", "Half"))

    assert "Metrics" not in plain
    assert plain["MetricName"] == "Orders"
    assert half["Metrics"] == [
        {
            "Id": "own",
            "MetricStat": {
                "Metric": {"MetricName": "Orders", "Namespace": "Shop"},
                "Period": 60,
                "Stat": "Average",
                "Unit": "Count",
            },
            "ReturnData": False,
        },
        {"Expression": "own / 2", "Id": "expr_1", "ReturnData": True},
    ]


@pytest.mark.parametrize(("count", "fails"), [(10, False), (11, True)])
def test_an_alarm_watches_ten_metrics(stack: Stack, count: int, *, fails: bool) -> None:
    """
    Whatever formula they are in.
    """
    using = {f"m{each}": metric(f"Orders{each}") for each in range(count)}
    formula = cloudwatch.MathExpression(
        expression=" + ".join(using), using_metrics=using
    )
    copies = copies_of(stack)
    if fails:
        with pytest.raises(ValueError, match="LLM302 .*at most 10 metrics, got 11"):
            copies.scale_by_steps("It", metric=formula, steps=OUT)
    else:
        copies.scale_by_steps("It", metric=formula, steps=OUT)
        queries = alarm(stack)["Metrics"]
        assert queries[-1] == {
            "Expression": " + ".join(using),
            "Id": "expr_1",
            "ReturnData": True,
        }
        assert len(queries) == count + 1


def test_fails_if_the_alarm_is_elsewhere() -> None:
    """
    An alarm watches its own region.
    """
    here = Environment(account="111111111111", region="us-east-1")
    stack = Stack(App(), "Here", env=here)

    with pytest.raises(ValueError, match="LLM302 an alarm watches metrics of its own"):
        copies_of(stack).scale_by_steps(
            "It", metric=metric(region="eu-west-1"), steps=OUT
        )


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("Maximum", "Maximum"), ("Minimum", "Minimum"), ("Sum", "Average")],
)
def test_the_aggregation_follows_the_statistic(
    stack: Stack, statistic: str, expected: str
) -> None:
    """
    Where there is one like it.
    """
    copies_of(stack).scale_by_steps("It", metric=metric(statistic=statistic), steps=OUT)
    found = written(stack)["CountIt"]["Properties"]["StepScalingPolicyConfiguration"]

    assert found["MetricAggregationType"] == expected
