"""
Alarms with thresholds for language models.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aws_cdk import CfnParameter, Duration, Stack, Token
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns

from cdk_sagemaker_llm import (
    AlarmOptions,
    AsyncInference,
    Endpoint,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    InstanceCapacity,
    InstancePool,
    LlmEndpoint,
    ResourceRequirements,
)
from tests.unit.hosting.written import warnings_of, written

GPT2 = HuggingFaceModel("gpt2")
OF_COMPONENT = [
    {
        "Name": "InferenceComponentName",
        "Value": {"Fn::Select": [1, {"Fn::Split": ["/", "${HostGptComponent}"]}]},
    }
]
OF_VARIANT = [
    {"Name": "EndpointName", "Value": "${LlmEndpoint.EndpointName}"},
    {"Name": "VariantName", "Value": "AllTraffic"},
]
# Keyword, metric, statistic, threshold in the metric's unit, and how it is compared.
DEFAULT = {
    "server_error_rate": ("Invocation5XXErrors", "Average", 0.05, "Threshold"),
    "model_error_rate": ("InvocationModelErrors", "Average", 0.05, "Threshold"),
    "mid_stream_error_rate": ("MidStreamErrors", "Average", 0.05, "Threshold"),
    "model_latency_seconds": ("ModelLatency", "p99", 50_000_000, "Threshold"),
    "overhead_latency_seconds": ("OverheadLatency", "Average", 1_000_000, "Threshold"),
}
NO_CAPACITY = (
    "NoCapacityInvocationFailures",
    "Sum",
    1,
    "OrEqualToThreshold",
)
NONE: Mapping[str, None] = dict.fromkeys((*DEFAULT, "no_capacity_failures"))


@pytest.fixture(name="llm")
def _llm(stack: Stack) -> LlmEndpoint:
    return LlmEndpoint(stack, "Llm", model=GPT2, instance_type="ml.g5.12xlarge")


@pytest.fixture(name="component")
def _component(stack: Stack) -> InferenceComponent:
    host = InferenceComponentEndpoint(stack, "Host", instance_type="ml.g5.12xlarge")
    return host.add_model(
        "Gpt", model=GPT2, resources=ResourceRequirements(accelerators=1)
    )


def alarms_in(stack: Stack) -> dict[str, dict[str, Any]]:
    """
    Return the properties of each alarm that is written, by its id.
    """
    found = written(stack, "CloudWatch::Alarm")
    return {name: resource["Properties"] for name, resource in found.items()}


def test_a_components_alarms_are_these(
    stack: Stack, component: InferenceComponent
) -> None:
    """
    Without a word of the user's, and each looks at 5 minutes.
    """
    made = component.add_alarms()
    expected = {**DEFAULT, "no_capacity_failures": NO_CAPACITY}

    assert list(made) == list(expected)
    assert {
        name: (
            properties["MetricName"],
            properties.get("Statistic", properties.get("ExtendedStatistic")),
            properties["Threshold"],
            properties["ComparisonOperator"].removeprefix("GreaterThan"),
        )
        for name, properties in alarms_in(stack).items()
    } == {
        f"HostGptComponentAlarms{name.title().replace('_', '')}": row
        for name, row in expected.items()
    }
    for properties in alarms_in(stack).values():
        assert properties["Namespace"] == "AWS/SageMaker"
        assert properties["Dimensions"] == OF_COMPONENT
        assert properties["Period"] == 60
        assert properties["EvaluationPeriods"] == 5
        assert properties["DatapointsToAlarm"] == 3
        assert properties["TreatMissingData"] == "notBreaching"
        assert properties["AlarmDescription"].startswith("The ")


def test_a_percentile_waits_for_enough_requests(
    stack: Stack, component: InferenceComponent
) -> None:
    """
    The slowest of three is no percentile.
    """
    component.add_alarms()
    judged = {
        name: properties["EvaluateLowSampleCountPercentile"]
        for name, properties in alarms_in(stack).items()
        if "EvaluateLowSampleCountPercentile" in properties
    }

    assert judged == {"HostGptComponentAlarmsModelLatencySeconds": "ignore"}


def test_an_endpoints_alarms_are_these(stack: Stack, llm: LlmEndpoint) -> None:
    """
    The pattern's are its endpoint's.
    """
    made = llm.add_alarms()

    assert list(made) == list(DEFAULT)
    assert {
        name: (
            properties["MetricName"],
            properties["Threshold"],
            properties["Dimensions"],
        )
        for name, properties in alarms_in(stack).items()
    } == {
        f"LlmEndpointAlarms{name.title().replace('_', '')}": (
            row[0],
            row[2],
            OF_VARIANT,
        )
        for name, row in DEFAULT.items()
    }


CHOSEN: Mapping[str, tuple[float, tuple[str, str, float, str]]] = {
    "client_error_rate": (0.2, ("Invocation4XXErrors", "Average", 0.2, "Threshold")),
    "first_chunk_latency_seconds": (
        1.5,
        ("FirstChunkLatency", "p99", 1_500_000, "Threshold"),
    ),
    "gpu_memory_percent": (
        99,
        ("GPUMemoryUtilizationNormalized", "Maximum", 99, "Threshold"),
    ),
    "concurrency": (8, ("ConcurrentRequestsPerCopy", "Maximum", 8, "Threshold")),
}


@pytest.mark.parametrize("keyword", CHOSEN)
def test_each_threshold_is_an_alarm(
    stack: Stack, component: InferenceComponent, keyword: str
) -> None:
    """
    And one that is None is none.
    """
    given, row = CHOSEN[keyword]
    thresholds: dict[str, Any] = {**NONE, keyword: given}
    made = component.add_alarms(**thresholds)
    ((_, properties),) = alarms_in(stack).items()

    assert list(made) == [keyword]
    assert (
        properties["MetricName"],
        properties.get("Statistic", properties.get("ExtendedStatistic")),
        properties["Threshold"],
        properties["ComparisonOperator"].removeprefix("GreaterThan"),
    ) == row


def test_without_thresholds_nothing_is_made(component: InferenceComponent) -> None:
    """
    Not even a place for it.
    """
    thresholds: dict[str, Any] = dict(NONE)

    assert component.add_alarms(**thresholds) == {}
    assert component.node.try_find_child("Alarms") is None


@pytest.mark.parametrize(
    ("pattern", "keyword", "name"),
    [
        ("component", "copies", "InvocationsPerCopy"),
        ("llm", "instances", "InvocationsPerInstance"),
    ],
)
def test_what_serves_is_counted_by_its_requests(
    request: pytest.FixtureRequest, stack: Stack, pattern: str, keyword: str, name: str
) -> None:
    """
    SageMaker publishes no number of copies or instances.
    """
    owner = request.getfixturevalue(pattern)
    given = dict.fromkeys(DEFAULT)
    given |= {"no_capacity_failures": None} if pattern == "component" else {}
    owner.add_alarms(**given, **{keyword: 4})
    ((_, properties),) = alarms_in(stack).items()
    expression, requests, each = properties["Metrics"]

    assert expression["Expression"] == "requests / each"
    assert requests["MetricStat"]["Metric"]["MetricName"] == "Invocations"
    assert each["MetricStat"]["Metric"]["MetricName"] == name
    assert {each["MetricStat"]["Stat"], requests["MetricStat"]["Stat"]} == {"Sum"}
    assert {each["MetricStat"]["Period"], requests["MetricStat"]["Period"]} == {60}
    assert properties["Threshold"] == 4
    assert properties["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


def test_the_memory_of_several_gpus_is_one_percentage(
    stack: Stack, llm: LlmEndpoint
) -> None:
    """
    The raw metric of an ml.g5.12xlarge goes to 400.
    """
    llm.add_alarms(gpu_memory_percent=99)
    properties = alarms_in(stack)["LlmEndpointAlarmsGpuMemoryPercent"]

    assert properties["Metrics"][0]["Expression"] == "raw / 4"


@pytest.mark.parametrize("pattern", ["component", "llm"])
def test_the_users_actions_are_taken(
    request: pytest.FixtureRequest, stack: Stack, pattern: str
) -> None:
    """
    Each at its own occasion.
    """
    topics = {name: sns.Topic(stack, name) for name in ("Bad", "Good", "Unknown")}
    bad, good, unknown = map(actions.SnsAction, topics.values())
    request.getfixturevalue(pattern).add_alarms(
        options=AlarmOptions(
            alarm_actions=[bad], ok_actions=[good], insufficient_data_actions=[unknown]
        )
    )

    for properties in alarms_in(stack).values():
        assert properties["AlarmActions"] == ["${Bad}"]
        assert properties["OKActions"] == ["${Good}"]
        assert properties["InsufficientDataActions"] == ["${Unknown}"]


def test_other_constructs_take_the_alarms(
    stack: Stack, component: InferenceComponent
) -> None:
    """
    Such as one alarm over all.
    """
    made = component.add_alarms()
    rule = cloudwatch.AlarmRule.any_of(*made.values())
    cloudwatch.CompositeAlarm(stack, "Any", alarm_rule=rule)

    (composite,) = written(stack, "CloudWatch::CompositeAlarm").values()
    assert composite["Properties"]["AlarmRule"].count("ALARM(") == 6


def test_pages_and_tickets_are_two_calls(
    stack: Stack, component: InferenceComponent
) -> None:
    """
    Each set has its id.
    """
    thresholds: dict[str, Any] = {**NONE, "server_error_rate": 0.01}
    component.add_alarms()
    component.add_alarms("Tickets", **thresholds)

    assert "HostGptComponentTicketsServerErrorRate" in alarms_in(stack)
    assert len(alarms_in(stack)) == 7


def test_fails_if_the_id_is_taken_or_empty(component: InferenceComponent) -> None:
    """
    What has the id stays.
    """
    component.add_alarms()

    assert message(component.add_alarms) == (
        "Test/Host/Gpt/Component/Alarms: LLM106 the id 'Alarms' is taken, such as by "
        "an earlier call of add_alarms; pass another as the first argument"
    )
    assert "LLM106 id must not be empty; leave it out" in message(
        lambda: component.add_alarms("")
    )


@pytest.mark.parametrize("pattern", ["component", "llm"])
def test_when_they_go_off_can_be_said(
    request: pytest.FixtureRequest, stack: Stack, pattern: str
) -> None:
    """
    Of how many minutes how many.
    """
    request.getfixturevalue(pattern).add_alarms(
        options=AlarmOptions(
            period=Duration.minutes(5), evaluation_periods=3, datapoints_to_alarm=2
        )
    )

    for properties in alarms_in(stack).values():
        assert (
            properties["Period"],
            properties["EvaluationPeriods"],
            properties["DatapointsToAlarm"],
        ) == (300, 3, 2)


def test_a_queue_that_grows_is_told(stack: Stack) -> None:
    """
    By the endpoint's own metric.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.xlarge",
        async_inference=AsyncInference(output="s3://bucket/answers/"),
    )
    llm.add_alarms(backlog_per_instance=10)
    properties = alarms_in(stack)["LlmEndpointAlarmsBacklogPerInstance"]

    assert properties["MetricName"] == "ApproximateBacklogSizePerInstance"
    assert properties["Statistic"] == "Maximum"
    assert properties["Threshold"] == 10
    assert properties["Dimensions"] == OF_VARIANT[:1]


def test_what_answers_at_once_has_no_queue(llm: LlmEndpoint) -> None:
    """
    Its alarm would never go off.
    """
    assert "LLM361 ApproximateBacklogSizePerInstance is published of" in message(
        lambda: llm.add_alarms(backlog_per_instance=10)
    )


@pytest.mark.parametrize(
    ("pattern", "thresholds", "words"),
    [
        ("component", {"instances": 4}, "takes instances for endpoints, and this"),
        (
            "llm",
            {"copies": 4, "no_capacity_failures": 5},
            "takes copies and no_capacity_failures for components",
        ),
        ("llm", {"no_capacity_failures": 1}, "takes no_capacity_failures for"),
        ("llm", {"rate": 1}, r"^add_alarms\(\) got an unexpected keyword.* 'rate'$"),
        ("component", {"variant_name": "Blue"}, "variant_name is for metrics of"),
    ],
    ids=[
        "instances of a component",
        "copies of an endpoint",
        "the usual number of an endpoint",
        "an unknown threshold",
        "a component's variant",
    ],
)
def test_a_threshold_of_something_else_is_refused(
    request: pytest.FixtureRequest,
    pattern: str,
    thresholds: dict[str, Any],
    words: str,
) -> None:
    """
    There is no metric to hold it against.
    """
    with pytest.raises(TypeError, match=words):
        request.getfixturevalue(pattern).add_alarms(**thresholds)


def test_an_imported_endpoint_has_alarms(stack: Stack) -> None:
    """
    On a variant that is named.
    """
    other = Endpoint.from_endpoint_name(stack, "Other", "chat")
    other.add_alarms(variant_name="AllTraffic", concurrency=10)
    properties = alarms_in(stack)["OtherAlarmsConcurrency"]

    assert properties["MetricName"] == "ConcurrentRequestsPerModel"
    assert {each["Value"] for each in properties["Dimensions"]} == {
        "chat",
        "AllTraffic",
    }


FAR = "arn:aws:sagemaker:{}:222222222222:endpoint/chat"


def test_what_is_in_another_account_is_watched_there(stack: Stack) -> None:
    """
    And what is in another region, by an alarm of that region alone.
    """
    beside = Endpoint.from_endpoint_arn(stack, "Beside", FAR.format("us-east-1"))
    beside.add_alarms(variant_name="Blue")
    far = Endpoint.from_endpoint_arn(stack, "Far", FAR.format("eu-west-1"))
    component = InferenceComponent.from_inference_component_arn(
        stack,
        "Copies",
        FAR.format("eu-west-1").replace("endpoint/", "inference-component/"),
        endpoint=far,
    )
    (query,) = alarms_in(stack)["BesideAlarmsServerErrorRate"]["Metrics"]

    assert query["AccountId"] == "222222222222"
    assert far.metric_invocations(variant_name="Blue").region == "eu-west-1"
    for add in (lambda: far.add_alarms(variant_name="Blue"), component.add_alarms):
        assert "LLM797 alarms must be in the region of what they watch, eu-we" in (
            message(add)
        )


def message(call: Callable[[], object]) -> str:
    """
    Return what a call fails with.
    """
    with pytest.raises(ValueError, match="LLM") as raised:
        call()
    return str(raised.value)


RATES = ("server_error_rate", "model_error_rate", "client_error_rate")
SECONDS = ("model_latency_seconds", "overhead_latency_seconds")


@pytest.mark.parametrize(
    ("keyword", "good", "bad", "words"),
    [
        *((rate, 0, -0.01, "must be 0 to 1, got -0.01") for rate in RATES),
        *((rate, 1, 1.01, "must be 0 to 1, got 1.01") for rate in RATES),
        ("mid_stream_error_rate", 1, 5, "must be 0 to 1, got 5"),
        *((each, 0, -1, "must be at least 0, got -1") for each in SECONDS),
        ("first_chunk_latency_seconds", 0, -1, "must be at least 0, got -1"),
        ("gpu_memory_percent", 0, -1, "must be 0 to 100, got -1"),
        ("gpu_memory_percent", 100, 100.5, "must be 0 to 100, got 100.5"),
        ("concurrency", 1, 0.5, "must be at least 1, got 0.5"),
        ("copies", 1, 0, "must be at least 1, got 0"),
        ("no_capacity_failures", 1, 0, "must be at least 1, got 0"),
    ],
)
def test_an_impossible_threshold_is_refused(
    component: InferenceComponent, keyword: str, good: float, bad: float, words: str
) -> None:
    """
    On both sides of each limit; nothing is made when it is wrong.
    """
    wrong: dict[str, Any] = {keyword: bad}
    right: dict[str, Any] = {keyword: good}

    assert f"{keyword} {words}" in message(lambda: component.add_alarms(**wrong))
    assert component.node.try_find_child("Alarms") is None
    assert keyword in component.add_alarms(**right)


def test_a_backlog_may_be_less_than_a_request_for_each_instance(stack: Stack) -> None:
    """
    It is divided by the instances, and none is none.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        instance_type="ml.g5.12xlarge",
        async_inference=AsyncInference(output="s3://bucket/answers"),
    )
    llm.add_alarms(backlog_per_instance=0.5)
    llm.add_alarms("Waiting", backlog_per_instance=0)
    found = alarms_in(stack)

    assert found["LlmEndpointAlarmsBacklogPerInstance"]["Threshold"] == 0.5
    assert found["LlmEndpointWaitingBacklogPerInstance"]["Threshold"] == 0
    assert "backlog_per_instance must be at least 0, got -0.5" in message(
        lambda: llm.add_alarms("Less", backlog_per_instance=-0.5)
    )


def test_gpu_memory_of_types_with_other_numbers_of_gpus_has_a_way_out(
    stack: Stack,
) -> None:
    """
    One that the call has: it takes no instance type.
    """
    llm = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        capacity=InstanceCapacity(
            pools=[
                InstancePool("ml.g5.2xlarge", priority=1),
                InstancePool("ml.g5.12xlarge", priority=2),
            ]
        ),
    )

    assert message(lambda: llm.add_alarms(gpu_memory_percent=90)).endswith(
        "which is not the same for all types; leave gpu_memory_percent out, and make "
        "an alarm of metric_gpu_memory_utilization_normalized(instance_type=...) for "
        "each type"
    )
    for one in ("ml.g5.2xlarge", "ml.g5.12xlarge"):
        assert llm.metric_gpu_memory_utilization_normalized(instance_type=one)


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        (
            {"evaluation_periods": 3, "datapoints_to_alarm": 3},
            {"evaluation_periods": 2, "datapoints_to_alarm": 3},
            "evaluation_periods must be at least datapoints_to_alarm",
        ),
        (
            {"evaluation_periods": 1, "datapoints_to_alarm": 1},
            {"evaluation_periods": 0, "datapoints_to_alarm": 0},
            "evaluation_periods must be at least 1, got 0",
        ),
        (
            {"period": Duration.seconds(30)},
            {"period": Duration.seconds(20)},
            "period must be 10, 30 or a multiple of 60 seconds, got 20",
        ),
        (
            {"period": Duration.seconds(120)},
            {"period": Duration.seconds(90)},
            "period must be 10, 30 or a multiple of 60 seconds, got 90",
        ),
        (
            {"period": Duration.seconds(10)},
            {"period": Duration.seconds(0)},
            "period must be 10, 30 or a multiple of 60 seconds, got 0",
        ),
        (
            {"period": Duration.minutes(1)},
            {"period": Duration.seconds(Token.as_number({"Ref": "Seconds"}))},
            "period must be known at synth, got one that is known only at deployment",
        ),
        (
            {"period": Duration.hours(1)},
            {"period": Duration.minutes(Token.as_number({"Ref": "Minutes"}))},
            "period must be known at synth, got one that is known only at deployment",
        ),
        (
            {"evaluation_periods": 1440},
            {"evaluation_periods": 1441},
            "of 60 seconds must be at most a day together, got 1441",
        ),
        (
            {"period": Duration.hours(1), "evaluation_periods": 168},
            {"period": Duration.hours(1), "evaluation_periods": 169},
            "of 3600 seconds must be at most a week together, got 169",
        ),
    ],
)
def test_an_impossible_evaluation_is_refused(
    component: InferenceComponent,
    good: dict[str, Any],
    bad: dict[str, Any],
    words: str,
) -> None:
    """
    As CloudWatch would, in the middle of a deployment.
    """
    wrong, right = AlarmOptions(**bad), AlarmOptions(**good)

    assert words in message(lambda: component.add_alarms(options=wrong))
    assert component.add_alarms(options=right)


def test_options_of_another_kind_are_refused() -> None:
    """
    Where they are written, in the caller's words.
    """
    wrong: Any = {"period": 60, "alarm_actions": "page"}
    with pytest.raises(ValueError, match="period must be a Duration, got 60") as raised:
        AlarmOptions(**wrong)

    assert "alarm_actions must be" in str(raised.value)


def test_a_threshold_known_at_deployment_is_passed_on(
    stack: Stack, component: InferenceComponent
) -> None:
    """
    But where it had to be turned into microseconds.
    """
    parameter = CfnParameter(stack, "Most", type="Number").value_as_number
    component.add_alarms(server_error_rate=parameter)
    properties = alarms_in(stack)["HostGptComponentAlarmsServerErrorRate"]

    assert properties["Threshold"] == "${Most}"
    assert "LLM129 model_latency_seconds must be known at synth" in message(
        lambda: component.add_alarms("More", model_latency_seconds=parameter)
    )


def test_all_faults_come_at_once(component: InferenceComponent) -> None:
    """
    Not one a synthesis.
    """
    text = message(
        lambda: component.add_alarms(
            server_error_rate=5, copies=0, options=AlarmOptions(evaluation_periods=0)
        )
    )

    assert "Test/Host/Gpt/Component/Alarms: 4 errors" in text


def said_of_topics(stack: Stack) -> list[str]:
    """
    Return what is said of topics that alarms cannot publish to.
    """
    return [text for _, text in warnings_of(stack) if text.endswith("LLM810]")]


def publishing(topic: sns.Topic) -> iam.PolicyStatement:
    """
    Let alarms publish.
    """
    return iam.PolicyStatement(
        principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
        actions=["sns:Publish"],
        resources=[topic.topic_arn],
    )


def test_warns_of_a_topic_whose_policy_lets_no_alarm_publish(
    stack: Stack, llm: LlmEndpoint
) -> None:
    """
    The policy of ``enforce_ssl`` takes the place of the account's own.
    """
    topic = sns.Topic(stack, "Pager", enforce_ssl=True)
    page = AlarmOptions(alarm_actions=[actions.SnsAction(topic)])
    llm.add_alarms(options=page)

    (text,) = said_of_topics(stack)
    assert re.match(
        "the policy of the topic Pager[0-9A-F]{8} does not allow "
        "cloudwatch.amazonaws.com sns:Publish, so that its alarms notify nobody; ",
        text,
    )


@pytest.mark.parametrize("way", ["no policy", "allowed", "allowed later"])
def test_topics_that_alarms_can_publish_to_are_taken(
    stack: Stack, llm: LlmEndpoint, way: str
) -> None:
    """
    Those without a policy have one that lets the account publish.
    """
    topic = sns.Topic(stack, "Pager", enforce_ssl=way != "no policy")
    if way == "allowed":
        topic.add_to_resource_policy(publishing(topic))
    page = AlarmOptions(alarm_actions=[actions.SnsAction(topic)])
    llm.add_alarms(options=page)
    if way == "allowed later":
        topic.add_to_resource_policy(publishing(topic))

    assert said_of_topics(stack) == []


@pytest.mark.parametrize(
    ("service", "action", "is_silent"),
    [
        ("cloudwatch", "sns:Pub*", False),
        ("cloudwatch", "SNS:*", False),
        ("cloudwatch", "sns:Subscribe", True),
        ("events", "sns:Publish", True),
    ],
)
def test_who_may_do_what_on_a_topic_decides(
    stack: Stack, llm: LlmEndpoint, service: str, action: str, *, is_silent: bool
) -> None:
    """
    By IAM's wildcards, and without regard to case.
    """
    topic = sns.Topic(stack, "Pager", enforce_ssl=True)
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal(f"{service}.amazonaws.com")],
            actions=[action],
            resources=[topic.topic_arn],
        )
    )
    llm.add_alarms(options=AlarmOptions(alarm_actions=[actions.SnsAction(topic)]))

    assert bool(said_of_topics(stack)) is is_silent
