"""
Policies that act while time runs; the time is run by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.local.aws.faults import Fault
from cdk_sagemaker_llm.simulation.fleet import FleetTimes
from tests.local.by_hand import NOON, HandRunAws, hand_run_aws
from tests.local.scaled import Scaled, scaled_component, scaled_variant

_ORDERS: dict[str, Any] = {"MetricName": "Orders", "Namespace": "Shop"}
_IDENTITY = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture(name="aws")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws() as aws:
        yield aws


def _steps(scaled: Scaled) -> list[tuple[float, str]]:
    return [
        ((a["StartTime"].timestamp() - NOON) / 60, a["Description"])
        for a in scaled.activities()
    ]


def _order(aws: HandRunAws, value: float, minutes: int = 1) -> None:
    for _ in range(minutes):
        aws.client("cloudwatch").put_metric_data(
            Namespace="Shop", MetricData=[{"MetricName": "Orders", "Value": value}]
        )
        aws.run(60)


def test_target_tracking_makes_its_alarms(aws: HandRunAws) -> None:
    """
    Two, named after the resource, told of by both operations, gone with the policy.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)

    made = variant.track(5.0)

    names = [alarm["AlarmName"] for alarm in made["Alarms"]]
    for name, kind in zip(names, ("High", "Low"), strict=True):
        stem = f"TargetTracking-{variant.resource_id}-Alarm{kind}-"
        assert re.fullmatch(re.escape(stem) + _IDENTITY, name)
    policies = variant.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")
    assert policies["ScalingPolicies"][0]["Alarms"] == made["Alarms"]
    high, low = (variant.alarms()[name] for name in names)
    assert high["AlarmDescription"].startswith(
        f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {made['PolicyARN']}"
    )
    shown = (
        "MetricName",
        "Statistic",
        "Period",
        "EvaluationPeriods",
        "Threshold",
        "ComparisonOperator",
    )
    assert [high[key] for key in shown] == [
        *("InvocationsPerInstance", "Sum", 60, 3, 5.0, "GreaterThanThreshold"),
    ]
    assert [low[key] for key in shown] == [
        *("InvocationsPerInstance", "Sum", 60, 15, 4.5, "LessThanThreshold"),
    ]
    assert {d["Name"]: d["Value"] for d in high["Dimensions"]} == {
        "EndpointName": variant.subject.endpoint,
        "VariantName": "AllTraffic",
    }

    variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Traffic")

    assert variant.alarms() == {}


def test_ten_seconds_are_watched_by_ninety_points(aws: HandRunAws) -> None:
    """
    Concurrency is a metric of ten seconds.
    """
    component = scaled_component(aws)
    component.register(0, 2)
    component.track(4.0)

    low = next(a for name, a in component.alarms().items() if "AlarmLow" in name)

    assert (low["Period"], low["EvaluationPeriods"]) == (10, 90)
    assert (low["Statistic"], low["Threshold"]) == ("Maximum", 3.6)
    assert low["Dimensions"] == [
        {"Name": "InferenceComponentName", "Value": component.subject.component}
    ]


def test_a_policy_put_again_is_the_same_policy(aws: HandRunAws) -> None:
    """
    Its ARN and its alarms stay; without scale-in the low one goes.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    before = variant.track(5.0)

    after = variant.track(7.0)
    alone = variant.track(7.0, DisableScaleIn=True)

    assert after["PolicyARN"] == before["PolicyARN"]
    assert after["Alarms"] == before["Alarms"]
    assert alone["Alarms"] == before["Alarms"][:1]
    assert [alarm["Threshold"] for alarm in variant.alarms().values()] == [7.0]


def test_deregistering_takes_everything_along(aws: HandRunAws) -> None:
    """
    Policies, alarms and scheduled actions; what was done stays known.
    """
    variant = scaled_variant(aws)
    variant.register(2, 4)
    variant.track(5.0)
    variant.scaling.put_scheduled_action(
        **variant.key,
        ScheduledActionName="Later",
        Schedule="rate(5 minutes)",
        ScalableTargetAction={"MinCapacity": 3},
    )

    variant.scaling.deregister_scalable_target(**variant.key)
    aws.run(900)

    assert variant.alarms() == {}
    found = variant.scaling.describe_scheduled_actions(ServiceNamespace="sagemaker")
    assert found["ScheduledActions"] == []
    assert _steps(variant) == [(0.0, "Setting desired instance count to 2.")]


def test_an_activity_is_told_in_the_services_words(aws: HandRunAws) -> None:
    """
    From one to four, and why.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    made = variant.track(5.0)

    variant.ask_for(300, per_minute=16)

    (activity,) = variant.activities()
    assert re.fullmatch(_IDENTITY, activity.pop("ActivityId"))
    assert activity.pop("StartTime").timestamp() == NOON + 300
    assert activity.pop("EndTime").timestamp() == NOON + 300
    assert activity == {
        **variant.key,
        "Description": "Setting desired instance count to 4.",
        "Cause": f"monitor alarm {made['Alarms'][0]['AlarmName']} in state ALARM "
        "triggered policy Traffic",
        "StatusCode": "Successful",
        "StatusMessage": "Successfully set desired instance count to 4. Change "
        "successfully fulfilled by sagemaker.",
    }
    assert variant.capacity.running == 4


def test_what_was_not_done_is_told_if_asked(aws: HandRunAws) -> None:
    """
    At its maximum, once, with the reason for machines.
    """
    variant = scaled_variant(aws)
    variant.register(1, 1)
    variant.track(5.0)

    variant.ask_for(600, per_minute=16)

    assert variant.activities() == []
    (activity,) = variant.activities(IncludeNotScaledActivities=True)
    assert activity["Description"] == "Attempting to scale due to alarm triggered"
    assert activity["StatusCode"] == "Failed"
    assert activity["NotScaledReasons"] == [
        {"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 1}
    ]


def test_what_hosting_refuses_has_failed(aws: HandRunAws) -> None:
    """
    Eight copies where four fit; the reason is hosting's own.
    """
    component = scaled_component(aws)
    component.register(9, 9)

    activity = component.activities()[0]

    assert activity["StatusCode"] == "Failed"
    assert activity["StatusMessage"].startswith(
        "Failed to set desired copy count to 9. Reason: There is not enough hardware "
        "resources on the instances"
    )
    assert activity["Details"] in activity["StatusMessage"]
    assert component.capacity.running == 1


def test_what_does_not_come_is_unfulfilled() -> None:
    """
    There is one instance and no more; the service gives up after 31 minutes.
    """
    with hand_run_aws(times=FleetTimes()) as aws:
        variant = scaled_variant(aws)
        aws.run_to_the_hour()
        world = aws.hosting.world
        world.faults.put(Fault(kind="no-capacity", available=1))
        try:
            variant.register(2, 2)
            aws.run(1800)
            waiting = variant.activities()[0]
            aws.run(120)
            over = variant.activities()[0]
        finally:
            world.faults.clear()

    done = "Successfully set desired instance count to 2."
    assert waiting["StatusCode"] == "InProgress"
    assert waiting["StatusMessage"] == (
        f"{done} Waiting for change to be fulfilled by sagemaker."
    )
    assert "EndTime" not in waiting
    assert over["StatusCode"] == "Unfulfilled"
    assert over["StatusMessage"] == f"{done} Change was not fulfilled by sagemaker."
    assert over["EndTime"].timestamp() == pytest.approx(NOON + 3600 + 31 * 60, abs=10)


def test_copies_that_find_no_place_are_unfulfilled() -> None:
    """
    Four of six serve, and the component with them; six stay wanted.
    """
    with hand_run_aws(times=FleetTimes()) as aws:
        component = scaled_component(aws, 4)
        aws.run(1800)
        world = aws.hosting.world
        world.faults.put(Fault(kind="no-capacity", available=1))
        try:
            component.register(6, 6)
            aws.run(3600)
            over = component.activities()[0]
            counts = component.capacity.desired, component.capacity.running
        finally:
            world.faults.clear()

    assert counts == (6, 4)
    assert over["StatusCode"] == "Unfulfilled"


def test_activities_come_in_pages_and_by_target(aws: HandRunAws) -> None:
    """
    The newest first.
    """
    variant, component = scaled_variant(aws), scaled_component(aws)
    for least in (2, 3, 4):
        variant.register(least, 4)
        aws.run(1)
    component.register(2, 2)
    scaling = variant.scaling

    first = scaling.describe_scaling_activities(
        ServiceNamespace="sagemaker", MaxResults=3
    )
    rest = scaling.describe_scaling_activities(
        ServiceNamespace="sagemaker", NextToken=first["NextToken"]
    )
    by_dimension = scaling.describe_scaling_activities(
        ServiceNamespace="sagemaker",
        ResourceId=component.resource_id,
        ScalableDimension="sagemaker:inference-component:DesiredCopyCount",
    )

    told = [a["Description"] for a in first["ScalingActivities"]]
    assert told == [
        "Setting desired copy count to 2.",
        "Setting desired instance count to 4.",
        "Setting desired instance count to 3.",
    ]
    assert len(rest["ScalingActivities"]) == 1
    assert "NextToken" not in rest
    assert len(by_dimension["ScalingActivities"]) == 1
    assert [a["Cause"] for a in by_dimension["ScalingActivities"]] == [
        "minimum capacity was set to 2"
    ]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"MaxResults": 0}, "ValidationException"),
        ({"MaxResults": 51}, "ValidationException"),
        ({"NextToken": "x"}, "InvalidNextTokenException"),
    ],
)
def test_a_wrong_page_is_refused(
    aws: HandRunAws, wrong: dict[str, Any], code: str
) -> None:
    """
    Between one and fifty activities, and no token of one's own.
    """
    with pytest.raises(ClientError, match=code):
        aws.client("application-autoscaling").describe_scaling_activities(
            ServiceNamespace="sagemaker", **wrong
        )


def test_a_step_policy_acts_on_a_clients_alarm(aws: HandRunAws) -> None:
    """
    By its ARN among the alarm's actions, and not while actions are disabled.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    arn = variant.step()
    variant.cloudwatch.put_metric_alarm(
        AlarmName="Orders",
        **_ORDERS,
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=5.0,
        ComparisonOperator="GreaterThanThreshold",
        AlarmActions=["arn:aws:sns:us-east-1:123456789012:topic", arn],
        ActionsEnabled=False,
    )
    policies = variant.scaling.describe_scaling_policies(ServiceNamespace="sagemaker")
    shown = policies["ScalingPolicies"][0]["Alarms"]
    assert [alarm["AlarmName"] for alarm in shown] == ["Orders"]
    _order(aws, 9, minutes=5)
    assert variant.activities() == []

    variant.cloudwatch.enable_alarm_actions(AlarmNames=["Orders"])
    _order(aws, 9, minutes=3)

    assert _steps(variant) == [
        (6.0, "Setting desired instance count to 2."),
        (7.0, "Setting desired instance count to 3."),
        (8.0, "Setting desired instance count to 4."),
    ]
    variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Steps")
    assert set(variant.alarms()) == {"Orders"}


def test_a_state_that_is_set_acts_with_its_data(aws: HandRunAws) -> None:
    """
    The policy takes the value from the data, and does nothing without.
    """
    variant = scaled_variant(aws)
    variant.register(1, 9)
    steps = [
        {
            "MetricIntervalLowerBound": 0.0,
            "MetricIntervalUpperBound": 10.0,
            "ScalingAdjustment": 1,
        },
        {"MetricIntervalLowerBound": 10.0, "ScalingAdjustment": 3},
    ]
    arn = variant.step(StepAdjustments=steps)
    variant.cloudwatch.put_metric_alarm(
        AlarmName="Orders",
        **_ORDERS,
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=5.0,
        ComparisonOperator="GreaterThanThreshold",
        AlarmActions=[arn],
    )
    drill = {"AlarmName": "Orders", "StateReason": "a drill"}

    variant.cloudwatch.set_alarm_state(**drill, StateValue="ALARM")
    aws.run(1)
    assert variant.capacity.running == 1
    variant.cloudwatch.set_alarm_state(**drill, StateValue="OK")
    variant.cloudwatch.set_alarm_state(
        **drill, StateValue="ALARM", StateReasonData='{"recentDatapoints": [4.0, 20.0]}'
    )
    aws.run(1)

    assert variant.capacity.running == 4


def test_a_customized_metric_is_tracked(aws: HandRunAws) -> None:
    """
    One of the client's own: twenty where five are wanted, so four.
    """
    variant = scaled_variant(aws)
    variant.register(1, 9)
    variant.track_own(5.0, {**_ORDERS, "Statistic": "Average"})

    _order(aws, 20, minutes=5)

    assert _steps(variant) == [(5.0, "Setting desired instance count to 4.")]


def test_metric_math_is_tracked(aws: HandRunAws) -> None:
    """
    Half of the orders: ten where five are wanted, so two.
    """
    variant = scaled_variant(aws)
    variant.register(1, 9)
    metrics = [
        {
            "Id": "m1",
            "MetricStat": {"Metric": _ORDERS, "Stat": "Sum"},
            "ReturnData": False,
        },
        {"Id": "e1", "Expression": "m1 / 2", "ReturnData": True},
    ]
    variant.track_own(5.0, {"Metrics": metrics})

    _order(aws, 20, minutes=5)

    assert _steps(variant) == [(5.0, "Setting desired instance count to 2.")]
    shown = next(iter(variant.alarms().values()))["Metrics"]
    assert [one["Id"] for one in shown] == ["m1", "e1"]


def test_bounds_are_kept_at_once(aws: HandRunAws) -> None:
    """
    A minimum above what runs, and a maximum below it.
    """
    variant = scaled_variant(aws)

    variant.register(2, 4)
    assert variant.capacity.running == 2
    variant.register(1, 1)

    assert variant.capacity.running == 1
    assert [a["Cause"] for a in variant.activities()] == [
        "minimum capacity was set to 2",
        "maximum capacity was set to 1",
    ]


def test_suspended_directions_do_nothing(aws: HandRunAws) -> None:
    """
    Out is suspended first; in is not.
    """
    variant = scaled_variant(aws, count=2)
    variant.register(1, 4, SuspendedState={"DynamicScalingOutSuspended": True})
    variant.track(5.0)

    variant.ask_for(600, per_minute=60)
    assert variant.activities() == []
    aws.run(17 * 60)
    assert variant.capacity.running == 1
    variant.register(1, 4, SuspendedState={"DynamicScalingOutSuspended": False})
    variant.ask_for(300, per_minute=60)

    assert variant.capacity.running == 4


def test_schedules_move_the_bounds(aws: HandRunAws) -> None:
    """
    At a quarter past one in Berlin, which is a quarter past noon, three; then less.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    put = variant.scaling.put_scheduled_action
    put(
        **variant.key,
        ScheduledActionName="Lunch",
        Schedule="cron(15 13 * * ? *)",
        Timezone="Europe/Berlin",
        ScalableTargetAction={"MinCapacity": 3},
    )
    at = datetime.fromtimestamp(NOON + 1800, UTC)
    put(
        **variant.key,
        ScheduledActionName="After",
        Schedule=f"at({at:%Y-%m-%dT%H:%M:%S})",
        ScalableTargetAction={"MinCapacity": 1, "MaxCapacity": 2},
    )

    aws.run(3600)

    assert _steps(variant) == [
        (15.0, "Setting desired instance count to 3."),
        (30.0, "Setting desired instance count to 2."),
    ]
    assert variant.activities()[0]["Cause"] == (
        "scheduled action name Lunch was triggered"
    )
    target = variant.scaling.describe_scalable_targets(ServiceNamespace="sagemaker")
    bounds = target["ScalableTargets"][0]
    assert (bounds["MinCapacity"], bounds["MaxCapacity"]) == (1, 2)


def test_a_schedule_can_be_changed_suspended_and_deleted(aws: HandRunAws) -> None:
    """
    The same name is the same action; what is deleted does not come.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4, SuspendedState={"ScheduledScalingSuspended": True})
    action = {**variant.key, "ScheduledActionName": "More"}

    def put(schedule: str, least: int) -> None:
        variant.scaling.put_scheduled_action(
            **action, Schedule=schedule, ScalableTargetAction={"MinCapacity": least}
        )

    put("rate(1 minute)", 2)
    aws.run(150)
    assert variant.activities() == []
    variant.register(1, 4, SuspendedState={"ScheduledScalingSuspended": False})
    put("rate(2 minutes)", 3)
    aws.run(110)
    assert variant.activities() == []
    aws.run(20)
    assert variant.capacity.running == 3
    put("rate(1 minute)", 4)
    variant.scaling.delete_scheduled_action(**action)
    aws.run(600)

    assert variant.capacity.running == 3


def test_a_schedule_that_is_not_understood_never_comes(aws: HandRunAws) -> None:
    """
    The service takes it; here it takes the place of the one before, and that is all.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    action = {**variant.key, "ScheduledActionName": "More"}
    for schedule in ("rate(1 minute)", "cron(0 12 ? * 1#1 *)"):
        variant.scaling.put_scheduled_action(
            **action, Schedule=schedule, ScalableTargetAction={"MinCapacity": 2}
        )

    aws.run(3 * 86_400)

    assert variant.activities() == []


def test_a_deleted_policy_does_nothing(aws: HandRunAws) -> None:
    """
    Not even if the alarm that was to invoke it goes off.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    variant.track(5.0)
    variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Traffic")

    variant.ask_for(600, per_minute=60)

    assert variant.activities(IncludeNotScaledActivities=True) == []


@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_a_policy_that_is_gone_keeps_no_capacity(aws: HandRunAws, how: str) -> None:
    """
    While it is there, another one that would take instances away waits for it.
    """
    variant = scaled_variant(aws, count=3)
    variant.register(1, 3)
    variant.track(5.0)
    variant.scaling.put_scaling_policy(
        **variant.key,
        PolicyName="Orders",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": 5.0,
            "CustomizedMetricSpecification": {**_ORDERS, "Statistic": "Average"},
        },
    )
    _order(aws, 5.0, minutes=20)
    assert variant.capacity.running == 3
    if how == "deleted":
        variant.scaling.delete_scaling_policy(**variant.key, PolicyName="Orders")
    else:
        variant.step(name="Orders")
    aws.run(60)

    assert variant.capacity.running < 3


def test_a_deleted_endpoint_is_no_target(aws: HandRunAws) -> None:
    """
    Its policies and alarms go with it, and time goes on.
    """
    variant = scaled_variant(aws)
    variant.register(1, 4)
    variant.track(5.0)

    aws.client("sagemaker").delete_endpoint(EndpointName=variant.subject.endpoint)
    aws.run(3600)

    assert variant.alarms() == {}


def test_what_is_made_has_the_time_of_the_embedded_aws(aws: HandRunAws) -> None:
    """
    Targets, policies, scheduled actions and alarms; a change of a policy is no new one.
    """
    variant = scaled_variant(aws)
    aws.run(60)
    variant.register(1, 4)
    variant.track(5.0)
    variant.scaling.put_scheduled_action(
        **variant.key,
        ScheduledActionName="Later",
        Schedule="rate(5 days)",
        ScalableTargetAction={"MinCapacity": 1},
    )
    aws.run(60)
    variant.register(1, 3)
    variant.track(6.0)

    of = {"ServiceNamespace": "sagemaker"}
    scaling = variant.scaling
    made = [
        *scaling.describe_scalable_targets(**of)["ScalableTargets"],
        *scaling.describe_scaling_policies(**of)["ScalingPolicies"],
        *scaling.describe_scheduled_actions(**of)["ScheduledActions"],
    ]
    assert [one["CreationTime"].timestamp() for one in made] == [NOON + 60] * 3
    changed = {
        alarm["AlarmConfigurationUpdatedTimestamp"].timestamp()
        for alarm in variant.alarms().values()
    }
    assert changed == {NOON + 120}


def test_time_goes_on_while_hosts_and_components_are_deleted() -> None:
    """
    They publish nothing more, and the rest goes on.
    """
    with hand_run_aws(times=FleetTimes()) as aws:
        variant, component = scaled_variant(aws), scaled_component(aws)
        aws.run_to_the_hour()
        sagemaker = aws.client("sagemaker")
        names = {"InferenceComponentName": component.subject.component}
        sagemaker.delete_inference_component(**names)
        sagemaker.delete_endpoint(EndpointName=variant.subject.endpoint)
        described = sagemaker.describe_endpoint(EndpointName=variant.subject.endpoint)
        assert described["EndpointStatus"] == "Deleting"
        for _ in range(30):
            aws.run(10)
        sagemaker.delete_endpoint(EndpointName=component.subject.endpoint)
        aws.run(3600)

        assert sagemaker.list_endpoints()["Endpoints"] == []


def test_without_time_no_policy_acts() -> None:
    """
    The default: alarms are made, metrics can be read, and that is all.
    """
    with hand_run_aws(takes_time=False) as aws:
        variant = scaled_variant(aws)
        variant.register(1, 4)
        made = variant.track(5.0)
        for _ in range(100):
            variant.ask()
        aws.run(3600)

        assert set(variant.alarms()) == {a["AlarmName"] for a in made["Alarms"]}
        assert variant.activities() == []
        metrics = variant.cloudwatch.list_metrics(Namespace="AWS/SageMaker")["Metrics"]
        assert {"Invocations", "ModelLatency"} <= {m["MetricName"] for m in metrics}
