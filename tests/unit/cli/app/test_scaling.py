"""
Reading how capacity is scaled: targets, policies, alarms and schedules.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cdk_sagemaker_llm.cli.app.scaling import Scaling
from cdk_sagemaker_llm.cli.app.simulated import HostedApp, read_hosted
from cdk_sagemaker_llm.simulation.alarms import AlarmRule
from cdk_sagemaker_llm.simulation.metrics import MathQuery, Metric, MetricQuery
from cdk_sagemaker_llm.simulation.scaling import (
    Bounds,
    ScheduledAction,
    StepAdjustment,
    StepScaling,
    TargetTracking,
)
from tests.unit.cli.app.templates import (
    COPIES,
    Resources,
    components,
    name_of,
    resource,
    stepping,
    target,
    template,
    tracking,
    variant,
)

OF_LLAMA = "inference-component/${Llama.InferenceComponentName}"
INVOCATIONS = MetricQuery(
    Metric.of_variant("InvocationsPerInstance", "Host/Host", "AllTraffic"), "Sum", 60
)


def read(folder: Path, *parts: Resources) -> HostedApp:
    """
    Read a single template, put together from parts.
    """
    resources: Resources = {}
    for part in parts:
        resources |= part
    return read_hosted(template(folder, resources))


def only(folder: Path, *parts: Resources) -> Scaling:
    """
    Read the scaling of the only model of a template of which nothing is left out.
    """
    found = read(folder, *parts)
    assert found.left_out == ()
    scaling = found.variants[0].models[0].scaling
    assert scaling is not None
    return scaling


def test_target_tracking_of_a_variant_is_read(tmp_path: Path) -> None:
    """
    Cooldowns that are left out are the service's 300 seconds.
    """
    assert only(tmp_path, variant(), target(), tracking()) == Scaling(
        bounds=Bounds(minimum=1, maximum=4),
        policies=(
            TargetTracking(
                name="Track",
                query=INVOCATIONS,
                target=5.0,
                scale_in_cooldown=300.0,
                scale_out_cooldown=300.0,
            ),
        ),
    )


@pytest.mark.parametrize(
    "name",
    [
        {
            "Fn::Join": [
                "",
                ["endpoint/", name_of("Host", "EndpointName"), "/variant/AllTraffic"],
            ]
        },
        # As the alpha constructs have it, who cut the name off the ARN.
        {
            "Fn::Join": [
                "",
                [
                    "endpoint/",
                    {"Fn::Select": [1, {"Fn::Split": ["/", {"Ref": "Host"}]}]},
                    "/variant/AllTraffic",
                ],
            ]
        },
    ],
    ids=["joined", "split"],
)
def test_a_target_is_found_however_its_name_is_written(
    name: object, tmp_path: Path
) -> None:
    """
    By reference, joined or split.
    """
    found = only(tmp_path, variant(), target(name), tracking())

    assert found.bounds == Bounds(minimum=1, maximum=4)
    assert len(found.policies) == 1


def test_a_policy_may_name_its_target_by_resource_id(tmp_path: Path) -> None:
    """
    With a literal name of the endpoint.
    """
    hosts = variant()
    hosts["Host"]["Properties"]["EndpointName"] = "chat"
    policy = tracking(ScaleInCooldown="60", DisableScaleIn="true")
    given = policy["Track"]["Properties"]
    del given["ScalingTargetId"]
    given |= target("endpoint/chat/variant/AllTraffic")["Target"]["Properties"]
    found = only(tmp_path, hosts, target("endpoint/chat/variant/AllTraffic"), policy)

    (one,) = found.policies
    assert isinstance(one, TargetTracking)
    assert (one.scale_in_cooldown, one.disable_scale_in) == (60.0, True)


def test_each_way_has_its_cooldown(tmp_path: Path) -> None:
    """
    Nothing of it is the service's own then.
    """
    policy = tracking(ScaleInCooldown=600, ScaleOutCooldown=30)
    (one,) = only(tmp_path, variant(), target(), policy).policies

    assert isinstance(one, TargetTracking)
    assert (one.scale_in_cooldown, one.scale_out_cooldown) == (600.0, 30.0)


def test_an_alarm_belongs_to_the_policy_that_is_its_action(tmp_path: Path) -> None:
    """
    As AWS's sample wakes a component from zero.
    """
    found = only(
        tmp_path,
        components(),
        target(OF_LLAMA, COPIES, MinCapacity=0),
        stepping(DatapointsToAlarm=1),
    )

    failures = Metric.of_component("NoCapacityInvocationFailures", "Host/Llama")
    assert found.policies == (
        StepScaling(
            name="Wake",
            alarm=AlarmRule(
                name="Refused",
                query=MetricQuery(failures, "Maximum", 30),
                comparison="GreaterThanOrEqualToThreshold",
                threshold=1.0,
                evaluation_periods=1,
                datapoints_to_alarm=1,
            ),
            adjustments=(StepAdjustment(lower=0.0, change=1.0),),
            cooldown=60.0,
        ),
    )


def test_a_policy_without_a_name_has_its_logical_ids(tmp_path: Path) -> None:
    """
    Whichever kind it is.
    """
    policies = {**tracking(), **stepping()}
    for name in ("Track", "Wake"):
        del policies[name]["Properties"]["PolicyName"]
    policies["Tracks"] = policies.pop("Track")
    found = only(tmp_path, components(), target(OF_LLAMA, COPIES), policies)

    assert [policy.name for policy in found.policies] == ["Wake", "Tracks"]


def test_several_alarms_may_have_one_policy_as_their_action(tmp_path: Path) -> None:
    """
    Each of them counts.
    """
    steps = stepping()
    steps["Other"] = steps["Refused"]
    found = only(tmp_path, components(), target(OF_LLAMA, COPIES), steps)

    assert [policy.name for policy in found.policies] == [
        "Wake (Refused)",
        "Wake (Other)",
    ]


def test_customised_metrics_and_metric_math_are_read(tmp_path: Path) -> None:
    """
    An expression may name another, in whatever order they are written.
    """

    def stat(name: str) -> dict[str, Any]:
        dimensions = [
            {"Name": "EndpointName", "Value": name_of("Host", "EndpointName")},
            {"Name": "VariantName", "Value": "AllTraffic"},
        ]
        metric = {
            "Namespace": "AWS/SageMaker",
            "MetricName": name,
            "Dimensions": dimensions,
        }
        return {"Metric": metric, "Stat": "Sum"}

    metrics = [
        {"Id": "e2", "Expression": "e1 * 2"},
        {"Id": "e1", "Expression": "m1 + m2", "ReturnData": False},
        {"Id": "m1", "MetricStat": stat("Invocations"), "ReturnData": "false"},
        {"Id": "m2", "MetricStat": stat("Invocation5XXErrors"), "ReturnData": False},
    ]
    policy = tracking(CustomizedMetricSpecification={"Metrics": metrics})
    (one,) = only(tmp_path, variant(), target(), policy).policies

    assert isinstance(one, TargetTracking)
    assert isinstance(one.query, MathQuery)
    assert one.query.expression == "e1 * 2"
    assert {metric.name for metric in one.query.metrics()} == {
        "Invocations",
        "Invocation5XXErrors",
    }


def test_scheduled_actions_are_read(tmp_path: Path) -> None:
    """
    With their zone and their ends; one without a zone is in UTC.
    """
    actions = [
        {
            "ScheduledActionName": "Morning",
            "Schedule": "cron(0 8 ? * MON-FRI *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": 2},
            "StartTime": "2026-01-05T00:00:00",
            "EndTime": "2026-02-05T00:00:00Z",
        },
        {
            "ScheduledActionName": "Night",
            "Schedule": "cron(0 20 * * ? *)",
            "ScalableTargetAction": {"MinCapacity": 0, "MaxCapacity": 1},
        },
    ]
    found = only(tmp_path, variant(), target(ScheduledActions=actions))

    assert found.schedules == (
        ScheduledAction(
            name="Morning",
            schedule="cron(0 8 ? * MON-FRI *)",
            time_zone="Europe/Berlin",
            minimum=2,
            start=datetime(2026, 1, 5, tzinfo=UTC),
            end=datetime(2026, 2, 5, tzinfo=UTC),
        ),
        ScheduledAction(
            name="Night", schedule="cron(0 20 * * ? *)", minimum=0, maximum=1
        ),
    )


@pytest.mark.parametrize(
    ("state", "policies", "schedules", "disabled", "suspended"),
    [
        ({}, 1, 1, False, ()),
        ({"DynamicScalingInSuspended": True}, 1, 1, True, ("DynamicScalingIn",)),
        ({"DynamicScalingOutSuspended": True}, 1, 1, False, ("DynamicScalingOut",)),
        (
            {"DynamicScalingInSuspended": True, "DynamicScalingOutSuspended": "true"},
            0,
            1,
            None,
            ("DynamicScalingIn", "DynamicScalingOut"),
        ),
        ({"ScheduledScalingSuspended": True}, 1, 0, False, ()),
    ],
    ids=["nothing", "in", "out", "both", "schedules"],
)
def test_what_is_suspended_is_left_out(
    state: dict[str, object],
    policies: int,
    schedules: int,
    disabled: bool | None,  # noqa: FBT001 - what is expected
    suspended: tuple[str, ...],
    tmp_path: Path,
) -> None:
    """
    By the service's switches.
    """
    action = {"ScheduledActionName": "x", "Schedule": "rate(1 hour)"}
    host = target(SuspendedState=state, ScheduledActions=[action])
    found = only(tmp_path, variant(), host, tracking())

    assert (len(found.policies), len(found.schedules)) == (policies, schedules)
    assert found.suspended == suspended
    for policy in found.policies:
        assert isinstance(policy, TargetTracking)
        assert policy.disable_scale_in is disabled


def policy_of(kind: str, **given: object) -> Resources:
    """
    Write a policy of a kind.
    """
    policy = tracking()
    policy["Track"]["Properties"] |= {"PolicyType": kind, **given}
    return policy


METRIC = {
    "Namespace": "AWS/EC2",
    "MetricName": "CPUUtilization",
    "Statistic": "Average",
}
CUSTOM = "CustomizedMetricSpecification"
OWN = {
    "Namespace": "AWS/SageMaker",
    "MetricName": "Invocations",
    "Statistic": "Sum",
    "Dimensions": [
        {"Name": "EndpointName", "Value": name_of("Host", "EndpointName")},
        {"Name": "VariantName", "Value": "AllTraffic"},
    ],
}
TOLD: dict[str, tuple[tuple[Resources, ...], str]] = {
    "an open bound": (
        (target(MaxCapacity={"Ref": "Most"}),),
        "Host/Target: its MaxCapacity is ${Most}, known at deployment only",
    ),
    "bounds that cross": (
        (target(MinCapacity=5),),
        (
            "Host/Target: bounds must be 0 <= minimum <= maximum, got minimum=5 and "
            "maximum=4"
        ),
    ),
    "provisioned concurrency": (
        (target(ScalableDimension="sagemaker:variant:DesiredProvisionedConcurrency"),),
        (
            "Host/Target: scaling of 'sagemaker:variant:DesiredProvisionedConcurrency' "
            "is not simulated"
        ),
    ),
    "an unknown resource": (
        (target("something/else"),),
        "Host/Target: what it scales is not known: 'something/else'",
    ),
    "a target elsewhere": (
        (target("endpoint/old/variant/AllTraffic"),),
        "old (AllTraffic): it is scaled, but is not in what is simulated",
    ),
    "a broken schedule": (
        (target(ScheduledActions=[{"ScheduledActionName": "x", "Schedule": "noon"}]),),
        (
            "Host/Target: scheduled action x: schedule must be cron(...), rate(...) or "
            "at(...), got 'noon'"
        ),
    ),
    "predictive scaling": (
        (target(), policy_of("PredictiveScaling")),
        "Host/Track: policies of type 'PredictiveScaling' are not simulated",
    ),
    "a step policy without an alarm": (
        (target(), policy_of("StepScaling", StepScalingPolicyConfiguration={})),
        "Host/Track: no alarm of the app has it as its action",
    ),
    "an open target value": (
        (target(), tracking(TargetValue={"Ref": "Aim"})),
        "Host/Track: its TargetValue is ${Aim}, known at deployment only",
    ),
    "an open cooldown": (
        (target(), tracking(ScaleInCooldown={"Ref": "Cool"})),
        "Host/Track: its ScaleInCooldown is ${Cool}, known at deployment only",
    ),
    "another predefined metric": (
        (
            target(),
            tracking(PredefinedMetricSpecification={"PredefinedMetricType": "X"}),
        ),
        "Host/Track: its predefined metric 'X' is not computed",
    ),
    "another service's metric": (
        (target(), tracking(**{CUSTOM: METRIC})),
        "Host/Track: it follows CPUUtilization of AWS/EC2, which no run computes",
    ),
    "a percentile": (
        (target(), tracking(**{CUSTOM: {**OWN, "Statistic": "p90"}})),
        (
            "Host/Track: of its metric Invocations, statistic must be one of Average, "
            "Maximum, Minimum, SampleCount, Sum, got 'p90'; percentiles are not "
            "computed here"
        ),
    ),
    "an expression of nothing": (
        (target(), tracking(**{CUSTOM: {"Metrics": [{"Id": "e", "Expression": "m"}]}})),
        "Host/Track: its expression 'm' names m, which no query has as its id",
    ),
    "a policy without its target": (
        (tracking(),),
        "Host/Track: its target is not in the app",
    ),
}


@pytest.mark.parametrize(("parts", "why"), TOLD.values(), ids=TOLD)
def test_what_cannot_be_played_out_is_told(
    parts: tuple[Resources, ...], why: str, tmp_path: Path
) -> None:
    """
    The variant runs without it.
    """
    found = read(tmp_path, variant(), *parts)

    assert len(found.variants) == 1
    assert found.left_out == (why,)


ALARMS: dict[str, tuple[dict[str, Any], str]] = {
    "an open threshold": (
        {"Threshold": {"Ref": "T"}},
        (
            "Host/Wake: the Threshold of its alarm Refused is ${T}, known at "
            "deployment only"
        ),
    ),
    "an anomaly": (
        {"ComparisonOperator": "LessThanLowerThreshold"},
        (
            "Host/Wake: comparison of alarm Refused must be one of "
            "GreaterThanThreshold, GreaterThanOrEqualToThreshold, LessThanThreshold, "
            "LessThanOrEqualToThreshold, got 'LessThanLowerThreshold'"
        ),
    ),
    "switched off": (
        {"ActionsEnabled": False},
        "Host/Wake: no alarm of the app has it as its action",
    ),
    "another action": (
        {"AlarmActions": ["arn:aws:sns:us-east-1:111111111111:topic"]},
        "Host/Wake: no alarm of the app has it as its action",
    ),
}


@pytest.mark.parametrize(("alarm", "why"), ALARMS.values(), ids=ALARMS)
def test_an_alarm_that_cannot_be_played_out_is_told(
    alarm: dict[str, Any], why: str, tmp_path: Path
) -> None:
    """
    At the policy that is its action.
    """
    found = read(tmp_path, components(), target(OF_LLAMA, COPIES), stepping(**alarm))

    assert found.left_out == (why,)


def test_cooldowns_that_aws_does_not_document_are_called_assumed(
    tmp_path: Path,
) -> None:
    """
    Those of components; variants have 300 seconds by the documents.
    """
    copies = target(OF_LLAMA, COPIES)
    open_ = read(tmp_path, components(), copies, tracking(ScaleInCooldown=60))
    said = tracking(ScaleInCooldown=60, ScaleOutCooldown=60)

    assert open_.assumed == (
        (
            "Host/Track leaves a cooldown out, which AWS documents for variants alone: "
            "300 s are assumed"
        ),
    )
    assert read(tmp_path, components(), copies, said).assumed == ()
    assert read(tmp_path, variant(), target(), tracking()).assumed == ()


def test_targets_of_other_services_do_not_matter(tmp_path: Path) -> None:
    """
    A table's capacity is nobody's business here.
    """
    table = resource(
        "ApplicationAutoScaling::ScalableTarget",
        ServiceNamespace="dynamodb",
        ScalableDimension="dynamodb:table:ReadCapacityUnits",
        ResourceId="table/x",
    )
    found = read(tmp_path, variant(), {"Target": table}, tracking())

    assert found.left_out == ()
