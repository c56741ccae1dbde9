"""
Target tracking of metrics of the user's.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, CfnParameter, Duration, Environment, Stack
from aws_cdk import aws_cloudwatch as cloudwatch

from cdk_sagemaker_llm import TargetTrackingScaling
from tests.unit.hosting.scaling.made import copies_of, instances_of, metric
from tests.unit.hosting.written import keywords_of, required_keywords_of, written

DIMENSIONS = {"Shop": "Berlin", "Till": "1"}
WRITTEN_DIMENSIONS = [
    {"Name": "Shop", "Value": "Berlin"},
    {"Name": "Till", "Value": "1"},
]


def tracked(stack: Stack, name: str = "CountLoad") -> dict[str, Any]:
    """
    Return a policy's configuration.
    """
    properties = written(stack)[name]["Properties"]
    found: dict[str, Any] = properties["TargetTrackingScalingPolicyConfiguration"]
    return found


@pytest.mark.parametrize("kind", ["copies", "instances"])
def test_a_metric_reaches_the_template(stack: Stack, kind: str) -> None:
    """
    With all of its fields; its period is left to the service.
    """
    count = copies_of(stack) if kind == "copies" else instances_of(stack)
    policy = count.scale_on_metric(
        "Load",
        metric=metric(
            statistic="Maximum",
            seconds=300,
            dimensions=DIMENSIONS,
            unit=cloudwatch.Unit.COUNT_PER_SECOND,
        ),
        target_value=7.5,
        disable_scale_in=True,
        scale_in_cooldown=Duration.seconds(301),
        scale_out_cooldown=Duration.seconds(61),
    )

    assert written(stack)["CountLoad"] == {
        "Type": "AWS::ApplicationAutoScaling::ScalingPolicy",
        "Properties": {
            "PolicyName": "Load",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": "${Count}",
            "TargetTrackingScalingPolicyConfiguration": {
                "CustomizedMetricSpecification": {
                    "Dimensions": WRITTEN_DIMENSIONS,
                    "MetricName": "Orders",
                    "Namespace": "Shop",
                    "Statistic": "Maximum",
                    "Unit": "Count/Second",
                },
                "DisableScaleIn": True,
                "ScaleInCooldown": 301,
                "ScaleOutCooldown": 61,
                "TargetValue": 7.5,
            },
        },
    }
    assert isinstance(policy, TargetTrackingScaling)
    every = {
        "metric",
        "target_value",
        "disable_scale_in",
        "scale_in_cooldown",
        "scale_out_cooldown",
    }
    assert keywords_of(type(count).scale_on_metric) == every
    assert required_keywords_of(type(count).scale_on_metric) == {
        "metric",
        "target_value",
    }


def test_the_smallest_call_reaches_the_template(stack: Stack) -> None:
    """
    No dimensions, no unit, and scaling in.
    """
    copies_of(stack).scale_on_metric("Load", metric=metric(), target_value=1)

    assert tracked(stack) == {
        "CustomizedMetricSpecification": {
            "MetricName": "Orders",
            "Namespace": "Shop",
            "Statistic": "Average",
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 300,
        "TargetValue": 1,
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("avg", "Average"),
        ("Minimum", "Minimum"),
        ("n", "SampleCount"),
        ("sum", "Sum"),
        ("max", "Maximum"),
    ],
)
def test_a_statistic_is_spelled_as_the_service_does(
    stack: Stack, given: str, expected: str
) -> None:
    """
    The CDK takes several spellings.
    """
    copies_of(stack).scale_on_metric(
        "Load", metric=metric(statistic=given), target_value=1
    )
    found = tracked(stack)["CustomizedMetricSpecification"]

    assert found["Statistic"] == expected


def test_a_percentile_is_a_query(stack: Stack) -> None:
    """
    The service takes extended statistics in queries only.
    """
    copies_of(stack).scale_on_metric(
        "Load",
        metric=metric(statistic="p90", dimensions=DIMENSIONS),
        target_value=1,
    )

    assert tracked(stack)["CustomizedMetricSpecification"] == {
        "Metrics": [
            {
                "Id": "expr_1",
                "MetricStat": {
                    "Metric": {
                        "Dimensions": WRITTEN_DIMENSIONS,
                        "MetricName": "Orders",
                        "Namespace": "Shop",
                    },
                    "Stat": "p90",
                },
                "ReturnData": True,
            }
        ]
    }


def test_metric_math_reaches_the_template(stack: Stack) -> None:
    """
    Formulas of formulas too; the outermost alone is returned.
    """
    inner = cloudwatch.MathExpression(
        expression="orders / 2", using_metrics={"orders": metric()}
    )
    outer = cloudwatch.MathExpression(
        expression="half + returns",
        using_metrics={
            "half": inner,
            "returns": metric("Returns", statistic="p99", unit=cloudwatch.Unit.NONE),
        },
    )
    copies_of(stack).scale_on_metric("Load", metric=outer, target_value=1)

    assert tracked(stack)["CustomizedMetricSpecification"] == {
        "Metrics": [
            {
                "Id": "orders",
                "MetricStat": {
                    "Metric": {"MetricName": "Orders", "Namespace": "Shop"},
                    "Stat": "Average",
                },
                "ReturnData": False,
            },
            {"Expression": "orders / 2", "Id": "half", "ReturnData": False},
            {
                "Id": "returns",
                "MetricStat": {
                    "Metric": {"MetricName": "Returns", "Namespace": "Shop"},
                    "Stat": "p99",
                    "Unit": "None",
                },
                "ReturnData": False,
            },
            {"Expression": "half + returns", "Id": "expr_1", "ReturnData": True},
        ]
    }


def test_one_metric_may_be_used_twice(stack: Stack) -> None:
    """
    By the same id, as long as it is the same.
    """
    orders = metric()
    formula = cloudwatch.MathExpression(
        expression="a + orders",
        using_metrics={
            "a": cloudwatch.MathExpression(
                expression="orders * 2", using_metrics={"orders": orders}
            ),
            "orders": orders,
        },
    )
    copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)
    queries = tracked(stack)["CustomizedMetricSpecification"]["Metrics"]

    assert [query["Id"] for query in queries] == ["orders", "a", "expr_1"]


def test_the_formula_takes_an_id_that_is_free(stack: Stack) -> None:
    """
    A metric may have the one that is usually taken.
    """
    formula = cloudwatch.MathExpression(
        expression="expr_1 / 2", using_metrics={"expr_1": metric()}
    )
    copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)
    queries = tracked(stack)["CustomizedMetricSpecification"]["Metrics"]

    assert [(query["Id"], query["ReturnData"]) for query in queries] == [
        ("expr_1", False),
        ("expr_2", True),
    ]


@pytest.mark.parametrize("text", ["SUM(SEARCH('{Shop} Orders', 'Sum'))", "SEARCH ('')"])
def test_fails_if_a_formula_searches(stack: Stack, text: str) -> None:
    """
    An alarm follows one time series.
    """
    formula = cloudwatch.MathExpression(expression=text, using_metrics={})

    with pytest.raises(ValueError, match="LLM302 .*cannot SEARCH"):
        copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("requests / copies", "copies"),
        ("IF(requests > limit, 1e3, 0)", "limit"),
        ("requests+x1", "x1"),
    ],
)
def test_fails_if_a_formula_has_what_is_no_metric(
    stack: Stack, text: str, name: str
) -> None:
    """
    CloudWatch refuses it, and the CDK warns where it draws it only.
    """
    formula = cloudwatch.MathExpression(
        expression=text, using_metrics={"requests": metric()}
    )

    with pytest.raises(
        ValueError,
        match=rf"LLM302 the formula .* has '{name}', which names no metric; "
        rf"add using_metrics={{'{name}': \.\.\.}}",
    ):
        copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)


@pytest.mark.parametrize(
    "text",
    [
        "SUM(METRICS('errors')) / requests",
        "sum(requests)",
        "FILL(requests, 0) + 1e3",
        "if(requests > 1 and not requests > 5, 1, 0)",
        'SUM(METRICS("errors")) + requests',
        "FILL(requests, REPEAT)",
    ],
)
def test_what_is_no_id_is_not_looked_for(stack: Stack, text: str) -> None:
    """
    Functions, quoted words, numbers and operators.
    """
    formula = cloudwatch.MathExpression(
        expression=text, using_metrics={"requests": metric()}
    )
    copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)


def test_a_name_that_contains_search_is_none(stack: Stack) -> None:
    """
    Only the function is refused.
    """
    formula = cloudwatch.MathExpression(
        expression="research / 2", using_metrics={"research": metric()}
    )
    copies_of(stack).scale_on_metric("Load", metric=formula, target_value=1)

    assert tracked(stack)["TargetValue"] == 1


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ({"region": "eu-west-1"}, "its own region us-east-1, got Orders of eu-west-1"),
        ({"account": "222222222222"}, "its own account, got Orders of 222222222222"),
    ],
)
def test_fails_if_the_metric_is_elsewhere(place: dict[str, str], message: str) -> None:
    """
    A policy looks where it is.
    """
    here = Environment(account="111111111111", region="us-east-1")
    stack = Stack(App(), "Here", env=here)
    count = copies_of(stack)

    with pytest.raises(ValueError, match=f"Here/Count/Load: LLM302 .*{message}"):
        count.scale_on_metric("Load", metric=metric(**place), target_value=1)  # type: ignore[arg-type] # either
    count.scale_on_metric(
        "Load",
        metric=metric(region="us-east-1", account="111111111111"),
        target_value=1,
    )


def test_a_region_is_not_guessed() -> None:
    """
    A stack that may be deployed anywhere may be deployed there.
    """
    stack = Stack(App(), "Anywhere")
    copies_of(stack).scale_on_metric(
        "Load", metric=metric(region="eu-west-1"), target_value=1
    )

    assert tracked(stack)["TargetValue"] == 1


def test_a_target_that_deployment_decides_is_written(stack: Stack) -> None:
    """
    It is not compared with zero.
    """
    value = CfnParameter(stack, "Value", type="Number").value_as_number
    copies_of(stack).scale_on_metric("Load", metric=metric(), target_value=value)

    assert tracked(stack)["TargetValue"] == "${Value}"


@pytest.mark.parametrize("value", [0, -1.5])
def test_fails_if_the_target_is_not_above_zero(stack: Stack, value: float) -> None:
    """
    No load is below it.
    """
    with pytest.raises(ValueError, match="LLM111 the target value must be above 0"):
        copies_of(stack).scale_on_metric("Load", metric=metric(), target_value=value)


def test_fails_if_a_policy_has_two_metrics_or_none(stack: Stack) -> None:
    """
    It follows one.
    """
    target = copies_of(stack)

    with pytest.raises(ValueError, match="LLM302 .*not both, got neither"):
        TargetTrackingScaling(stack, "Load", target=target, target_value=1)
    with pytest.raises(ValueError, match="LLM302 .*not both, got both"):
        TargetTrackingScaling(
            stack,
            "Load",
            target=target,
            target_value=1,
            predefined_metric="SageMakerInferenceComponentInvocationsPerCopy",
            metric=metric(),
        )


def test_fails_if_a_name_is_taken(stack: Stack) -> None:
    """
    Also in another scope, and by a policy of steps.
    """
    target = copies_of(stack)
    target.scale_on_concurrency("Load", per_copy=4)

    with pytest.raises(
        ValueError, match="Test/Count/Load: LLM301 this target has a policy 'Load'"
    ):
        target.scale_on_invocations("Load", per_minute=4)
    with pytest.raises(ValueError, match="Test/Load: LLM301 this target has a policy"):
        TargetTrackingScaling(
            stack, "Load", target=target, metric=metric(), target_value=1
        )


def test_fails_if_a_predefined_metric_is_followed_twice(stack: Stack) -> None:
    """
    The service takes one policy for a metric, whatever else the two say.
    """
    target = copies_of(stack)
    target.scale_on_concurrency("Load", per_copy=4)
    target.scale_on_invocations("Traffic", per_minute=4)

    with pytest.raises(
        ValueError,
        match="Test/Count/More: LLM301 policy 'Load' of this target follows "
        "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution already, "
        "and the service takes one policy for a metric; define one of them",
    ):
        target.scale_on_concurrency("More", per_copy=8, disable_scale_in=True)


def test_fails_if_there_are_too_many(stack: Stack) -> None:
    """
    Fifty are the service's limit, which cannot be raised.
    """
    target = copies_of(stack)
    for number in range(50):
        target.scale_on_metric(f"Load{number}", metric=metric(), target_value=4)

    with pytest.raises(ValueError, match="LLM105 .* at most 50 policies, got one more"):
        target.scale_on_concurrency("Last", per_copy=4)
