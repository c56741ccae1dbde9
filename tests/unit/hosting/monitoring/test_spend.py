"""
What instances are estimated to cost: budgets, alarms and charts.
"""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Environment, Stack

from cdk_sagemaker_llm import (
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    InstanceType,
    LlmDashboard,
    LlmEndpoint,
    Model,
    Observability,
    ProductionVariant,
    ShadowVariant,
    Vllm,
)
from cdk_sagemaker_llm.catalog.prices import known_prices
from cdk_sagemaker_llm.hosting.monitoring.spend import HourlyPrices
from tests.unit.hosting.patterns.dashboard_body import body_of, charts_of
from tests.unit.hosting.written import warnings_of, written

GPT2 = HuggingFaceModel("gpt2", revision="a" * 40)
TYPE = "ml.g5.xlarge"
NEW = InstanceType.of("ml.g9.xlarge", accelerators=1, vcpus=4, memory_gib=32)
# Two instances at a dollar an hour: 730 hours a month, 24 a day.
PRICES = {TYPE: 1.0}


def budgets_of(stack: Stack) -> list[str]:
    """
    Return what is said of budgets.
    """
    codes = ("LLM446", "LLM447")
    return [text for _, text in warnings_of(stack) if any(c in text for c in codes)]


@pytest.mark.parametrize(("budget", "warns"), [(1460, False), (1459.99, True)])
def test_scaling_may_reach_the_budget_and_no_more(
    stack: Stack, budget: float, *, warns: bool
) -> None:
    """
    As far as it scales, whether that is said before the budget or after it.
    """
    endpoint = LlmEndpoint(
        stack,
        "It",
        model=GPT2,
        instance_type=TYPE,
        monthly_budget=budget,
        hourly_prices=PRICES,
    )
    endpoint.auto_scale_instance_count(max_capacity=2)

    found = budgets_of(stack)
    assert len(found) == warns
    if warns:
        assert found[0].startswith(
            "monthly_budget is $1,460, and up to 2 ml.g5.xlarge at $1.00 an hour "
            "(hourly_prices) may cost $1,460 in a month of 730 hours; lower the most "
            "instances that scaling may start, or raise the budget"
        )


@pytest.mark.parametrize(("budget", "warns"), [(2190, False), (2189, True)])
def test_a_schedule_may_raise_the_bound(
    stack: Stack, budget: float, *, warns: bool
) -> None:
    """
    What counts is the most that there ever is.
    """
    from aws_cdk import aws_applicationautoscaling as appscaling  # noqa: PLC0415

    endpoint = LlmEndpoint(
        stack,
        "It",
        model=GPT2,
        instance_type=TYPE,
        monthly_budget=budget,
        hourly_prices=PRICES,
    )
    scaling = endpoint.auto_scale_instance_count(max_capacity=2)
    schedule = appscaling.Schedule.cron(hour="8", minute="0")
    scaling.scale_on_schedule("Morning", schedule=schedule, max_capacity=3)
    scaling.scale_on_schedule("Evening", schedule=schedule, max_capacity=1)

    assert bool(budgets_of(stack)) is warns


@pytest.mark.parametrize(("budget", "warns"), [(2920, False), (2919, True)])
def test_a_host_may_have_as_many_as_sagemaker_adds(
    stack: Stack, budget: float, *, warns: bool
) -> None:
    """
    Of several types the dearest counts.
    """
    pools = [
        InstancePool(instance_type=TYPE, priority=1),
        InstancePool(instance_type="ml.g5.2xlarge", priority=2),
    ]
    InferenceComponentEndpoint(
        stack,
        "It",
        capacity=InstanceCapacity(pools=pools),
        cuda_version="12.4",
        max_instance_count=2,
        monthly_budget=budget,
        hourly_prices={**PRICES, "ml.g5.2xlarge": 2.0},
    )

    assert bool(budgets_of(stack)) is warns


@pytest.mark.parametrize(("budget", "warns"), [(2190, False), (2189, True)])
def test_a_shadow_costs_too(stack: Stack, budget: float, *, warns: bool) -> None:
    """
    One instance beside the one that answers, of a type that costs twice as much.
    """
    LlmEndpoint(
        stack,
        "It",
        model=GPT2,
        instance_type=TYPE,
        shadow=ShadowVariant(instance_type="ml.g5.2xlarge"),
        monthly_budget=budget,
        hourly_prices={**PRICES, "ml.g5.2xlarge": 2.0},
    )

    assert bool(budgets_of(stack)) is warns


def test_a_type_without_a_price_is_named(stack: Stack) -> None:
    """
    With how to give one; one that is given is taken, and a budget is not needed.
    """
    InferenceComponentEndpoint(
        stack, "It", instance_type=NEW, cuda_version="12.4", monthly_budget=1
    )
    InferenceComponentEndpoint(stack, "Free", instance_type=NEW, cuda_version="12.4")
    InferenceComponentEndpoint(
        stack,
        "Given",
        instance_type=NEW,
        cuda_version="12.4",
        monthly_budget=730,
        hourly_prices={"ml.g9.xlarge": 1},
    )

    (found,) = budgets_of(stack)
    assert "has no price of ml.g9.xlarge; give hourly_prices={'ml.g9.xlarge': " in found


def test_prices_are_those_of_the_region() -> None:
    """
    Of us-east-1 where deployment decides on it; one's own count first.
    """
    far = "eu-west-1"
    for region in (far, None):
        listed = known_prices(region or "us-east-1")[TYPE]
        found = HourlyPrices(region, {}).of([TYPE])

        assert found is not None
        assert found.dollars == listed.usd_per_hour
        assert listed.date in found.origin
    own = HourlyPrices(far, {TYPE: 9.0}).of([TYPE, "ml.g5.2xlarge"])
    assert own is not None
    assert (own.dollars, own.origin) == (9.0, "hourly_prices")
    assert HourlyPrices(far, {}).of([TYPE, "ml.g9.xlarge"]) is None
    assert HourlyPrices(far, {}).of([]) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"monthly_budget": -1}, "monthly_budget must be at least 0, got -1"),
        (
            {"hourly_prices": {TYPE: -1}},
            "hourly_prices['ml.g5.xlarge'] must be at least 0, got -1",
        ),
    ],
)
def test_what_is_below_zero_is_refused(
    stack: Stack, arguments: dict[str, Any], message: str
) -> None:
    """
    By both patterns, with all else that is wrong.
    """
    for define in (LlmEndpoint, InferenceComponentEndpoint):
        model: dict[str, Any] = {"model": GPT2} if define is LlmEndpoint else {}
        with pytest.raises(ValueError, match=".") as raised:
            define(stack, "It", instance_type=TYPE, **model, **arguments)
        assert message in str(raised.value)


def test_an_alarm_watches_the_spend_a_day(stack: Stack) -> None:
    """
    Instances by their requests, times the price of a day.
    """
    endpoint = LlmEndpoint(
        stack, "It", model=GPT2, instance_type=TYPE, hourly_prices=PRICES
    )
    made = endpoint.add_alarms(spend_a_day=48)
    endpoint.add_alarms("Dearer", spend_a_day=48, hourly_prices={TYPE: 2})
    alarms = written(stack, "CloudWatch::Alarm").values()
    properties = [each["Properties"] for each in alarms]
    own, given = (
        each
        for each in properties
        if each["AlarmDescription"].startswith("The estimated spend")
    )

    assert "spend_a_day" in made
    assert (own["Threshold"], own["ComparisonOperator"]) == (
        48,
        "GreaterThanThreshold",
    )
    assert own["AlarmDescription"] == (
        "The estimated spend in US dollars a day, by requests and requests of each "
        "ml.g5.xlarge at $1.00 an hour (hourly_prices)"
    )
    expressions = [
        each["Expression"]
        for one in (own, given)
        for each in one["Metrics"]
        if "Expression" in each
    ]
    assert expressions == ["requests / each * 24", "requests / each * 48"]


def test_an_alarm_needs_a_price(stack: Stack) -> None:
    """
    And prices that are not below zero; components have no instances of their own.
    """
    endpoint = Endpoint.from_endpoint_name(stack, "Far", "far", variant_name="A")
    with pytest.raises(TypeError, match="has none of <instance type>; give hourly_pri"):
        endpoint.add_alarms(spend_a_day=1)
    with pytest.raises(ValueError, match=r"hourly_prices\['a'\] must be at least 0"):
        endpoint.add_alarms(spend_a_day=1, hourly_prices={"a": -1})


def chart_of(stack: Stack) -> dict[str, Any]:
    """
    Return the chart of the spend.
    """
    charts = charts_of(body_of(stack))
    (found,) = (chart for title, chart in charts.items() if "Estimated spend" in title)
    return found


def test_a_dashboard_draws_the_spend_of_what_is_counted(stack: Stack) -> None:
    """
    With scaling's bounds in dollars; by prices of the pattern's, or the dashboard's.
    """
    endpoint = LlmEndpoint(
        stack, "It", model=GPT2, instance_type=TYPE, hourly_prices=PRICES
    )
    endpoint.auto_scale_instance_count(max_capacity=3)
    LlmDashboard(stack, "Board", endpoints=[endpoint])
    chart = chart_of(stack)

    assert chart["metrics"][0][0]["label"] == (
        "US$, ml.g5.xlarge at $1.00 an hour (hourly_prices)"
    )
    assert chart["metrics"][0][0]["expression"] == "(m0 / d0) * 24"
    assert [line["value"] for line in chart["annotations"]["horizontal"]] == [24, 72]


def test_a_dashboard_draws_the_spend_of_a_host_with_enhanced_metrics(
    stack: Stack,
) -> None:
    """
    By the series of each instance; prices given to the dashboard count first.
    """
    host = InferenceComponentEndpoint(
        stack,
        "It",
        instance_type=TYPE,
        max_instance_count=2,
        observability=Observability(enhanced_metrics=True),
        hourly_prices={TYPE: 5.0},
    )
    LlmDashboard(stack, "Board", endpoints=[host], hourly_prices=PRICES)
    chart = chart_of(stack)

    assert chart["metrics"][1][0]["expression"] == "(SUM(e0 * 0 + 1)) * 24"
    assert "visible" in chart["metrics"][0][0]
    assert [line["value"] for line in chart["annotations"]["horizontal"]] == [24, 48]


def test_a_dashboard_says_where_instances_are_not_counted() -> None:
    """
    Of hosts without enhanced metrics; nothing of types whose price is not known.
    """
    stack = Stack(App(), "Stack", env=Environment(region="us-east-1"))
    host = InferenceComponentEndpoint(stack, "It", instance_type=TYPE)
    new = InferenceComponentEndpoint(
        stack, "New", instance_type=NEW, cuda_version="12.4"
    )
    LlmDashboard(stack, "Board", endpoints=[host, new])
    dollars = known_prices("us-east-1")[TYPE].usd_per_hour * 24
    texts = [
        each["properties"]["markdown"]
        for each in body_of(stack)["widgets"]
        if each["type"] == "text"
    ]

    (found,) = [each for each in texts if "Estimated spend" in each]
    assert found.startswith(
        f"Estimated spend a day: ${dollars:,.2f} for each ml.g5.xlarge at $"
    )
    assert found.endswith("; how many instances run is not counted here")


def test_building_blocks_have_the_prices_of_the_list(stack: Stack) -> None:
    """
    Whatever their variants.
    """
    variant = ProductionVariant(
        instance_type=TYPE, model=Model(stack, "Model", model=GPT2, serving=Vllm())
    )
    config = EndpointConfig(stack, "Config", variants=[variant])
    endpoint = Endpoint(stack, "Endpoint", endpoint_config=config)
    LlmDashboard(stack, "Board", endpoints=[endpoint])
    made = endpoint.add_alarms(spend_a_day=10)

    assert "spend_a_day" in made
    assert f"{TYPE} at $" in chart_of(stack)["metrics"][0][0]["label"]
