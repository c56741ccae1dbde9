"""
Alarms that turn an update back: what is made, what is referred to, who may look.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
from aws_cdk import (
    App,
    CfnElement,
    CfnParameter,
    Duration,
    Environment,
    PhysicalName,
    Stack,
)
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from cdk_sagemaker_llm import (
    AllAtOnce,
    Canary,
    Endpoint,
    EndpointConfig,
    HuggingFaceModel,
    InferenceComponent,
    InferenceComponentEndpoint,
    Linear,
    LlmEndpoint,
    Model,
    ProductionVariant,
    ResourceRequirements,
    RollbackAlarms,
    Rolling,
    Rollout,
    Tgi,
)
from tests.conftest import ACCOUNT, REGION
from tests.unit.hosting.written import codes_of, properties_of, written

GPT2 = HuggingFaceModel("gpt2")
TGI = Tgi("3.3.6")
ONE = ResourceRequirements(accelerators=1)
ALARMS = "arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm"


def filled(
    stack: Stack,
    rollback_on: Any,  # noqa: ANN401 - what is refused, too
    *,
    endpoint_name: str | None = "chat",
    role: iam.IRole | None = None,
    notify: sns.ITopic | events.IRuleTarget | None = None,
) -> LlmEndpoint:
    """
    Define an endpoint of one model that is updated all at once.
    """
    return LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.xlarge",
        endpoint_name=endpoint_name,
        role=role,
        rollout=AllAtOnce(rollback_on=rollback_on, notify=notify),
    )


def shared(stack: Stack) -> InferenceComponentEndpoint:
    """
    Define a host of components.
    """
    return InferenceComponentEndpoint(
        stack, "Host", instance_type="ml.p4d.24xlarge", max_instance_count=2
    )


def rolled(
    host: InferenceComponentEndpoint,
    rollback_on: Any,  # noqa: ANN401 - what is refused, too
    **given: Any,  # noqa: ANN401 - what the method takes
) -> InferenceComponent:
    """
    Define a component that is updated batch by batch.
    """
    return host.add_model(
        "Gpt",
        model=GPT2,
        serving=TGI,
        resources=ONE,
        copies=2,
        rollout=Rolling(copies=1, rollback_on=rollback_on),
        **given,
    )


def own_alarm(stack: Stack) -> cloudwatch.Alarm:
    """
    Define an alarm as a user does.
    """
    metric = cloudwatch.Metric(namespace="Mine", metric_name="Bad")
    return cloudwatch.Alarm(
        stack,
        "Bad",
        metric=metric,
        threshold=1,
        evaluation_periods=1,
    )


def looks_at(stack: Stack, policy: str) -> Any:  # noqa: ANN401 - as IAM has it
    """
    Return what a policy lets its role look at.
    """
    document = written(stack, "IAM::Policy")[policy]["Properties"]["PolicyDocument"]
    (found,) = (
        statement["Resource"]
        for statement in document["Statement"]
        if statement["Sid"] == "WatchAlarms"
    )
    return found


def watched(stack: Stack, kind: str = "SageMaker::Endpoint") -> list[Any]:
    """
    Return the names of the alarms that a resource is turned back by.
    """
    config = properties_of(stack, kind)["DeploymentConfig"]
    alarms = config["AutoRollbackConfiguration"]["Alarms"]
    return [alarm["AlarmName"] for alarm in alarms]


def alarm(
    name: str, metric: str, threshold: float, **settings: object
) -> dict[str, Any]:
    """
    Return an alarm as CloudFormation has it.
    """
    statistic = {} if "ExtendedStatistic" in settings else {"Statistic": "Average"}
    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmDescription": "Turns an update of chat back",
            "AlarmName": name,
            "ComparisonOperator": "GreaterThanThreshold",
            "Dimensions": [
                {"Name": "EndpointName", "Value": "chat"},
                {"Name": "VariantName", "Value": "AllTraffic"},
            ],
            "EvaluationPeriods": 1,
            "MetricName": metric,
            "Namespace": "AWS/SageMaker",
            "Period": 60,
            "Threshold": threshold,
            "TreatMissingData": "notBreaching",
            **statistic,
            **settings,
        },
    }


def test_alarms_are_made_for_errors(stack: Stack) -> None:
    """
    Of the service and of the container, one in twenty; the endpoint refers to them,
    and they to nothing.
    """
    filled(stack, RollbackAlarms())

    assert written(stack, "CloudWatch::Alarm") == {
        "LlmEndpointRollbackInvocation5XXErrors": alarm(
            "chat-Invocation5XXErrors", "Invocation5XXErrors", 0.05
        ),
        "LlmEndpointRollbackInvocationModelErrors": alarm(
            "chat-InvocationModelErrors", "InvocationModelErrors", 0.05
        ),
    }
    assert watched(stack) == [
        "${LlmEndpointRollbackInvocation5XXErrors}",
        "${LlmEndpointRollbackInvocationModelErrors}",
    ]
    assert looks_at(stack, "LlmModelAccess") == [
        f"{ALARMS}:chat-Invocation5XXErrors",
        f"{ALARMS}:chat-InvocationModelErrors",
    ]
    endpoint = written(stack, "SageMaker::Endpoint")["LlmEndpoint"]
    assert endpoint["DependsOn"] == ["LlmModelAccess"]


def test_every_threshold_becomes_an_alarm(stack: Stack) -> None:
    """
    Latencies in microseconds, by a percentile or another statistic.
    """
    filled(
        stack,
        RollbackAlarms(
            invocation_5xx_error_rate=0.01,
            invocation_5xx_error_count=3,
            invocation_model_error_rate=0.02,
            mid_stream_error_rate=0.03,
            first_chunk_latency=Duration.millis(1500),
            model_latency=Duration.seconds(30),
            latency_statistic="p99.9",
            period=Duration.minutes(5),
            evaluation_periods=2,
        ),
    )

    for name, metric, threshold, statistic in (
        ("Invocation5XXErrors", "Invocation5XXErrors", 0.01, "Average"),
        ("Invocation5XXErrorCount", "Invocation5XXErrors", 3, "Sum"),
        ("InvocationModelErrors", "InvocationModelErrors", 0.02, "Average"),
        ("MidStreamErrors", "MidStreamErrors", 0.03, "Average"),
        ("FirstChunkLatency", "FirstChunkLatency", 1_500_000, "p99.9"),
        ("ModelLatency", "ModelLatency", 30_000_000, "p99.9"),
    ):
        key = "ExtendedStatistic" if statistic == "p99.9" else "Statistic"
        settings = {key: statistic, "Period": 300, "EvaluationPeriods": 2}
        assert written(stack, "CloudWatch::Alarm")[
            f"LlmEndpointRollback{name}"
        ] == alarm(f"chat-{name}", metric, threshold, **settings)
    assert len(watched(stack)) == 6


@pytest.mark.parametrize("statistic", ["Average", "Maximum", "Minimum", "p100", "p5"])
def test_a_latency_has_any_statistic_that_its_metric_has(
    stack: Stack, statistic: str
) -> None:
    """
    What is no percentile is a statistic.
    """
    alarms = RollbackAlarms(
        invocation_5xx_error_rate=None,
        invocation_model_error_rate=None,
        model_latency=Duration.seconds(1),
        latency_statistic=statistic,
    )
    filled(stack, alarms)

    written = properties_of(stack, "CloudWatch::Alarm")
    key = "ExtendedStatistic" if statistic.startswith("p") else "Statistic"
    assert written[key] == statistic


def test_a_component_is_watched_by_its_own_metrics(stack: Stack) -> None:
    """
    By the name that follows its prefix, which is known before it is made.
    """
    rolled(
        shared(stack), RollbackAlarms(), inference_component_name_prefix="llama"
    ).auto_scale_copy_count(min_capacity=2, max_capacity=4)

    component = properties_of(stack, "SageMaker::InferenceComponent")
    name = component["InferenceComponentName"]
    assert name.startswith("llama-")
    made = written(stack, "CloudWatch::Alarm")
    first = made["HostGptComponentRollbackInvocation5XXErrors"]["Properties"]
    assert first["AlarmName"] == f"{name}-Invocation5XXErrors"
    assert first["Dimensions"] == [{"Name": "InferenceComponentName", "Value": name}]
    assert watched(stack, "SageMaker::InferenceComponent") == [
        f"${{{logical_id}}}" for logical_id in made
    ]
    assert looks_at(stack, "HostAccess") == [
        f"{ALARMS}:{name}-Invocation5XXErrors",
        f"{ALARMS}:{name}-InvocationModelErrors",
    ]


def test_each_of_several_variants_has_alarms(stack: Stack) -> None:
    """
    With its name in theirs; five variants of two alarms are the most.
    """
    Endpoint(
        stack,
        "It",
        endpoint_config=_config(stack, 5),
        endpoint_name="chat",
        rollout=Canary(percent=50, rollback_on=RollbackAlarms()),
    )

    names = {
        one["Properties"]["AlarmName"]
        for one in written(stack, "CloudWatch::Alarm").values()
    }
    assert names == {
        f"chat-V{number}-{metric}"
        for number in range(5)
        for metric in ("Invocation5XXErrors", "InvocationModelErrors")
    }
    assert len(watched(stack)) == 10
    # Each model has a role of its own, any of which SageMaker may take.
    assert len(looks_at(stack, "V4Access")) == 10


def test_fails_if_several_variants_need_too_many_alarms(stack: Stack) -> None:
    """
    Twelve, where the service takes ten.
    """
    config = _config(stack, 6)
    with pytest.raises(ValueError, match="rollback_on must be 1 to 10 alarms, got 12"):
        Endpoint(
            stack,
            "It",
            endpoint_config=config,
            endpoint_name="chat",
            rollout=Canary(percent=50, rollback_on=RollbackAlarms()),
        )


def _config(stack: Stack, number: int) -> EndpointConfig:
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=f"V{each}",
            initial_instance_count=2,
            model=Model(stack, f"V{each}", model=GPT2, serving=TGI),
        )
        for each in range(number)
    ]
    return EndpointConfig(stack, "Config", variants=variants)


def test_alarms_of_ones_own_are_taken_as_they_are(stack: Stack) -> None:
    """
    Of any layer, imported or by name; the role may look at those and no others.
    """
    plain = cloudwatch.CfnAlarm(
        stack,
        "Plain",
        comparison_operator="GreaterThanThreshold",
        evaluation_periods=1,
        metric_name="Bad",
        namespace="Mine",
        period=60,
        statistic="Sum",
        threshold=1,
    )
    arn = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm:theirs"
    theirs = cloudwatch.Alarm.from_alarm_arn(stack, "Theirs", arn)
    filled(stack, [own_alarm(stack), plain, theirs, "by-name"], endpoint_name=None)

    assert watched(stack) == ["${Bad}", "${Plain}", "theirs", "by-name"]
    assert looks_at(stack, "LlmModelAccess") == f"{ALARMS}:by-name"
    assert looks_at(stack, "LlmEndpointRollbackAccessPolicy") == [
        "${Bad.Arn}",
        "${Plain.Arn}",
        arn,
    ]
    endpoint = written(stack, "SageMaker::Endpoint")["LlmEndpoint"]
    assert endpoint["DependsOn"] == [
        "LlmEndpointRollbackAccessPolicy",
        "LlmModelAccess",
    ]


def test_an_alarm_on_the_host_turns_its_component_back(stack: Stack) -> None:
    """
    No circle: what the host waits for does not refer to the alarm.
    """
    host = shared(stack)
    metric = cloudwatch.Metric(
        namespace="AWS/SageMaker",
        metric_name="Invocation4XXErrors",
        dimensions_map={"EndpointName": host.endpoint_name},
    )
    on_host = metric.create_alarm(stack, "OnHost", threshold=1, evaluation_periods=1)
    rolled(host, [on_host])

    resources = written(stack)
    waits = resources["HostConfig"]["DependsOn"]
    assert waits == ["HostAccess"]
    assert "OnHost" not in str(resources["HostAccess"])
    assert resources["HostGptComponent"]["DependsOn"] == [
        "HostGptComponentRollbackAccessPolicy"
    ]
    # It resolves references and refuses circles.
    Template.from_stack(stack)


def test_an_alarm_of_another_stack_is_referred_to(app: App) -> None:
    """
    By an export.
    """
    environment = Environment(account=ACCOUNT, region=REGION)
    watching = Stack(app, "Watching", env=environment)
    serving = Stack(app, "Serving", env=environment)
    filled(serving, [own_alarm(watching)], endpoint_name=None)

    name: Any
    (name,) = watched(serving)
    assert name["Fn::ImportValue"].startswith("Watching:ExportsOutputRefBad")
    exported = looks_at(serving, "LlmEndpointRollbackAccessPolicy")
    assert exported["Fn::ImportValue"].startswith("Watching:ExportsOutputFnGetAttBad")


def test_a_composite_alarm_is_shown_to_who_may_look_at_all(stack: Stack) -> None:
    """
    CloudWatch hides it from others.
    """
    rule = cloudwatch.AlarmRule.from_alarm(
        own_alarm(stack), cloudwatch.AlarmState.ALARM
    )
    both = cloudwatch.CompositeAlarm(stack, "Both", alarm_rule=rule)
    filled(stack, [both, "by-name"])

    assert watched(stack) == ["${Both}", "by-name"]
    assert looks_at(stack, "LlmModelAccess") == "*"


def test_variants_of_one_role_look_by_one_policy(
    stack: Stack, own_role: iam.IRole
) -> None:
    """
    Also where two objects stand for it.
    """
    twin = iam.Role.from_role_arn(stack, "Twin", own_role.role_arn)
    variants = [
        ProductionVariant(
            instance_type="ml.g5.xlarge",
            variant_name=name,
            model=Model(stack, name, model=GPT2, serving=TGI, role=role),
        )
        for name, role in (("Blue", own_role), ("Green", twin))
    ]
    config = EndpointConfig(stack, "Config", variants=variants)
    rollout = AllAtOnce(rollback_on=[own_alarm(stack)])
    Endpoint(stack, "It", endpoint_config=config, rollout=rollout)

    assert sorted(written(stack, "IAM::Policy")) == [
        "ItRollbackAccessPolicy",
        "SageMakerAccessminePolicy",
    ]


def test_a_given_role_may_look_too(stack: Stack, own_role: iam.IRole) -> None:
    """
    By a policy of its own where the alarm is referred to.
    """
    filled(stack, [own_alarm(stack), "by-name"], role=own_role)

    assert looks_at(stack, "SageMakerAccessminePolicy") == f"{ALARMS}:by-name"
    policy = written(stack, "IAM::Policy")["LlmEndpointRollbackAccessPolicy"]
    assert policy["Properties"]["Roles"] == ["mine"]


def test_a_role_that_stays_as_it_is_is_told_of(stack: Stack) -> None:
    """
    Once for what models need, and once for the alarm.
    """
    arn = f"arn:aws:iam::{ACCOUNT}:role/ours"
    role = iam.Role.from_role_arn(stack, "Ours", arn, mutable=False)
    filled(stack, [own_alarm(stack)], role=role)

    told = [path for path, code in codes_of(stack) if code == "LLM237"]
    assert told == [
        "/Test/Llm/Endpoint/RollbackAccess/Policy",
        "/Test/SageMakerAccess:ours/Policy",
    ]


def test_a_role_that_is_not_known_is_told_of(stack: Stack) -> None:
    """
    That of an imported configuration, and that of an imported model.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Theirs", "theirs")
    rollout = AllAtOnce(rollback_on=["by-name"])
    Endpoint(stack, "It", endpoint_config=config, rollout=rollout)
    InferenceComponent(
        stack,
        "Component",
        endpoint=Endpoint.from_endpoint_name(stack, "Endpoint", "shared"),
        model=Model.from_model_name(stack, "Model", "theirs"),
        resources=ResourceRequirements(copies=2, accelerators=1),
        rollout=Rolling(copies=1, rollback_on=["by-name"]),
    )

    assert codes_of(stack) == [("/Test/Component", "LLM427"), ("/Test/It", "LLM427")]


def test_a_name_that_deployment_decides_is_watched(stack: Stack) -> None:
    """
    A parameter is no circle.
    """
    name = CfnParameter(stack, "Name").value_as_string
    filled(stack, RollbackAlarms(), endpoint_name=name)

    made = written(stack, "CloudWatch::Alarm")
    first = made["LlmEndpointRollbackInvocation5XXErrors"]["Properties"]
    assert first["AlarmName"] == "${Name}-Invocation5XXErrors"
    assert first["Dimensions"][0]["Value"] == "${Name}"


@pytest.mark.parametrize(
    "name", [None, PhysicalName.GENERATE_IF_NEEDED], ids=["none", "generated"]
)
def test_fails_if_the_endpoint_has_no_name(stack: Stack, name: str | None) -> None:
    """
    A name that CloudFormation makes would make a circle.
    """
    with pytest.raises(ValueError, match="LLM339 .*; pass endpoint_name; giving one"):
        filled(stack, RollbackAlarms(), endpoint_name=name)


def test_fails_if_the_component_has_no_name(stack: Stack) -> None:
    """
    The way out is a prefix, with which it can still be moved.
    """
    with pytest.raises(ValueError, match="LLM339 .*inference_component_name_prefix"):
        rolled(shared(stack), RollbackAlarms())


def test_fails_if_the_variants_are_not_known(stack: Stack) -> None:
    """
    Those of an imported configuration.
    """
    config = EndpointConfig.from_endpoint_config_name(stack, "Theirs", "theirs")
    with pytest.raises(
        ValueError, match="^Test/It: LLM339 .*imported.*alarms of your own"
    ):
        Endpoint(
            stack,
            "It",
            endpoint_config=config,
            endpoint_name="chat",
            rollout=AllAtOnce(rollback_on=RollbackAlarms()),
        )


@pytest.mark.parametrize(
    ("rollback_on", "words"),
    [
        ([], "rollback_on must be 1 to 10 alarms, got 0"),
        (["a"] * 11, "rollback_on must be 1 to 10 alarms, got 11"),
        ([" "], "LLM106 an alarm's name must have 1 to 255 characters, got ' '"),
        (["a" * 256], "LLM106 an alarm's name must have 1 to 255 characters"),
        (
            RollbackAlarms(
                invocation_5xx_error_rate=None, invocation_model_error_rate=None
            ),
            "rollback_on must be 1 to 10 alarms, got 0",
        ),
        (
            RollbackAlarms(invocation_5xx_error_rate=-0.01),
            "invocation_5xx_error_rate must be 0 to 1, got -0.01",
        ),
        (
            RollbackAlarms(invocation_model_error_rate=1.01),
            "invocation_model_error_rate must be 0 to 1, got 1.01",
        ),
        (
            RollbackAlarms(mid_stream_error_rate=5),
            "mid_stream_error_rate must be 0 to 1, got 5",
        ),
        (
            RollbackAlarms(invocation_5xx_error_count=-1),
            "invocation_5xx_error_count must be at least 0, got -1",
        ),
        (
            RollbackAlarms(model_latency=Duration.seconds(0)),
            "model_latency must be above 0 seconds, got 0",
        ),
        (
            RollbackAlarms(latency_statistic="Sum"),
            "latency_statistic must be Average, Maximum, Minimum or a percentile, got",
        ),
        (RollbackAlarms(latency_statistic="p101"), "latency_statistic must be"),
        (
            RollbackAlarms(period=Duration.seconds(30)),
            "period must be of whole minutes, got 30 seconds",
        ),
        (
            RollbackAlarms(period=Duration.seconds(90)),
            "period must be of whole minutes, got 90 seconds",
        ),
        (
            RollbackAlarms(evaluation_periods=0),
            "evaluation_periods must be at least 1, got 0",
        ),
        (
            RollbackAlarms(period=Duration.minutes(59), evaluation_periods=25),
            "period times evaluation_periods must be at most a day, got 88500",
        ),
        (
            RollbackAlarms(period=Duration.hours(1), evaluation_periods=169),
            "period times evaluation_periods must be at most a week, got 608400",
        ),
    ],
)
def test_fails_if_the_alarms_cannot_be(
    stack: Stack,
    rollback_on: Any,  # noqa: ANN401 - alarms of either kind
    words: str,
) -> None:
    """
    Before anything is made.
    """
    with pytest.raises(ValueError, match="^Test/Llm: ") as caught:
        filled(stack, rollback_on)

    assert words in str(caught.value)
    assert not stack.node.children


@pytest.mark.parametrize(
    "rollback_on",
    [
        ["a"],
        ["a"] * 10,
        ["a" * 255],
        RollbackAlarms(invocation_5xx_error_rate=0, invocation_model_error_rate=1),
        RollbackAlarms(invocation_5xx_error_count=0),
        RollbackAlarms(period=Duration.minutes(30), evaluation_periods=48),
        RollbackAlarms(period=Duration.hours(1), evaluation_periods=168),
    ],
    ids=["one", "ten", "longest", "rates", "count", "a day", "a week"],
)
def test_the_last_values_inside_are_taken(
    stack: Stack,
    rollback_on: Any,  # noqa: ANN401 - as above
) -> None:
    """
    Nothing is refused that the service takes.
    """
    filled(stack, rollback_on)


def test_fails_if_a_latency_is_known_only_at_deployment(stack: Stack) -> None:
    """
    The template cannot count a placeholder in microseconds.
    """
    number = CfnParameter(stack, "Number", type="Number").value_as_number
    for latency in (Duration.seconds(number), Duration.minutes(number)):
        with pytest.raises(ValueError, match="LLM129 model_latency is known only at"):
            filled(stack, RollbackAlarms(model_latency=latency))


@pytest.mark.parametrize(
    ("rollback_on", "words"),
    [
        ("by-name", r"must be a RollbackAlarms or a list.*write \['by-name'\]"),
        ([3], r"rollback_on\[0\] must be an alarm or text, got 3"),
    ],
)
def test_fails_if_they_are_no_alarms(rollback_on: object, words: str) -> None:
    """
    When the rollout is written, already.
    """
    with pytest.raises(ValueError, match=words):
        AllAtOnce(rollback_on=rollback_on)  # type: ignore[arg-type]  # what is refused


def test_fails_if_the_alarms_are_a_list_that_deployment_decides(stack: Stack) -> None:
    """
    Each is a property of its own in the template, and a statement in the role's policy.
    """
    names = CfnParameter(stack, "Names", type="CommaDelimitedList").value_as_list

    with pytest.raises(
        ValueError,
        match=r"LLM114 rollback_on is a list .*; name each with Fn.select\(0, list\)",
    ):
        filled(stack, names)


def test_a_host_of_components_publishes_nothing_to_watch(stack: Stack) -> None:
    """
    Requests count for the components; alarms on these are the way out.
    """
    InferenceComponentEndpoint(
        stack,
        "Host",
        instance_type="ml.p4d.24xlarge",
        endpoint_name="shared",
        rollout=AllAtOnce(rollback_on=RollbackAlarms()),
    )

    assert codes_of(stack) == [
        ("/Test/Host/Endpoint", "LLM428"),
        ("/Test/Host/Endpoint", "LLM818"),
    ]


@pytest.mark.parametrize(
    ("seconds", "codes"), [(0, {"LLM426"}), (1, set())], ids=["not", "a second"]
)
def test_warns_if_nobody_waits_for_the_alarms(
    stack: Stack, seconds: int, codes: set[str]
) -> None:
    """
    The service looks at them while it waits.
    """
    rollout = AllAtOnce(
        rollback_on=["by-name"], termination_wait=Duration.seconds(seconds)
    )
    config = EndpointConfig.from_endpoint_config_name(stack, "Theirs", "theirs")
    Endpoint(stack, "It", endpoint_config=config, rollout=rollout)

    assert {code for _, code in codes_of(stack)} == {"LLM427", *codes}


def a_rule(beside: Stack, source: str, kind: str | None = None) -> events.Rule:
    """
    Define a rule of a service's events in another stack of the app.
    """
    scope = Stack(cast("App", beside.node.root), "Monitoring")
    pattern = events.EventPattern(source=[source], detail_type=[kind] if kind else None)
    return events.Rule(scope, "Rule", event_pattern=pattern)


def an_alarm(scope: Stack, *, tells: bool) -> cloudwatch.Alarm:
    """
    Define an alarm of the user's own.
    """
    metric = cloudwatch.Metric(namespace="Shop", metric_name="Orders")
    alarm = metric.create_alarm(scope, "Own", threshold=1, evaluation_periods=1)
    if tells:
        alarm.add_alarm_action(actions.SnsAction(sns.Topic(scope, "Pager")))
    return alarm


@pytest.mark.parametrize(
    ("define", "is_silent"),
    [
        (lambda stack: filled(stack, RollbackAlarms()), True),
        (lambda stack: filled(stack, RollbackAlarms()).on_rollback("Told"), False),
        (lambda stack: filled(stack, [an_alarm(stack, tells=False)]), True),
        (lambda stack: filled(stack, [an_alarm(stack, tells=True)]), False),
        # What it does is not known here.
        (lambda stack: filled(stack, ["by-name"]), False),
        (lambda stack: filled(stack, None), False),
        (
            lambda stack: (
                filled(stack, RollbackAlarms()),
                a_rule(stack, "aws.sagemaker", "SageMaker Endpoint State Change"),
            ),
            False,
        ),
        (
            lambda stack: (
                filled(stack, RollbackAlarms()),
                a_rule(stack, "aws.sagemaker"),
            ),
            False,
        ),
        (
            lambda stack: (
                filled(stack, RollbackAlarms()),
                a_rule(stack, "aws.sagemaker", "SageMaker Training Job State Change"),
            ),
            True,
        ),
        (
            lambda stack: (
                filled(stack, RollbackAlarms()),
                a_rule(stack, "aws.codebuild"),
            ),
            True,
        ),
    ],
    ids=[
        "made alarms",
        "a rule of its own",
        "an alarm",
        "an alarm that tells",
        "a name",
        "no alarms",
        "a rule of endpoints",
        "a rule of SageMaker",
        "a rule of jobs",
        "a rule of builds",
    ],
)
def test_warns_if_nobody_hears_of_a_rollback(
    stack: Stack, define: Callable[[Stack], object], *, is_silent: bool
) -> None:
    """
    The endpoint is in service then as if nothing was wrong.
    """
    define(stack)

    found = {code for _, code in codes_of(stack)}
    assert ("LLM818" in found) is is_silent


@pytest.mark.parametrize(
    "rollout",
    [
        AllAtOnce,
        functools.partial(Canary, percent=50),
        functools.partial(Linear, percent=50),
        functools.partial(Rolling, percent=50),
    ],
    ids=["at once", "canary", "linear", "rolling"],
)
def test_a_rollout_tells_a_topic_of_a_rollback(
    stack: Stack, rollout: Callable[..., Rollout]
) -> None:
    """
    Before the endpoint is updated the rule is there, and the topic lets it publish.
    """
    topic = sns.Topic(stack, "Topic")
    endpoint = LlmEndpoint(
        stack,
        "Llm",
        model=GPT2,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        instance_count=2,
        endpoint_name="chat",
        rollout=rollout(rollback_on=RollbackAlarms(), notify=topic),
    )

    template = Template.from_stack(stack)
    ((rule_id, rule),) = template.find_resources("AWS::Events::Rule").items()
    ((_, written_endpoint),) = template.find_resources(
        "AWS::SageMaker::Endpoint"
    ).items()
    ((_, policy),) = template.find_resources("AWS::SNS::TopicPolicy").items()
    topic_id = stack.get_logical_id(cast("CfnElement", topic.node.default_child))
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert endpoint.node.find_child("Endpoint").node.find_child("Notify")
    assert rule["Properties"]["Targets"] == [
        {"Arn": {"Ref": topic_id}, "Id": "Target0"}
    ]
    assert rule_id in written_endpoint["DependsOn"]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert "LLM818" not in {code for _, code in codes_of(stack)}


def test_a_rollout_tells_any_target(stack: Stack) -> None:
    """
    As ``on_rollback`` does.
    """
    queue = sqs.Queue(stack, "Queue")
    filled(stack, RollbackAlarms(), notify=targets.SqsQueue(queue))

    rules = Template.from_stack(stack).find_resources("AWS::Events::Rule")
    assert [
        list(each["Arn"])
        for rule in rules.values()
        for each in rule["Properties"]["Targets"]
    ] == [["Fn::GetAtt"]]


def test_fails_if_a_nameless_endpoint_is_to_notify(stack: Stack) -> None:
    """
    The rule would refer to the endpoint, and be updated after it.
    """
    with pytest.raises(ValueError, match="LLM339 notify needs a name .* endpoint_name"):
        filled(stack, None, endpoint_name=None, notify=sns.Topic(stack, "Topic"))


def test_without_alarms_to_make_cloudwatch_is_not_loaded() -> None:
    """
    It takes a fifth of a second, for those who ask for it.
    """
    code = """
import sys
from aws_cdk import App, Stack
from cdk_sagemaker_llm import AllAtOnce, HuggingFaceModel, LlmEndpoint
LlmEndpoint(
    Stack(App(), "It"), "It", model=HuggingFaceModel("gpt2"),
    instance_type="ml.g5.xlarge", rollout=AllAtOnce(rollback_on=["by-name"]),
)
print("aws_cdk.aws_cloudwatch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "False"
