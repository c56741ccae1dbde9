"""
What Application Auto Scaling refuses, over the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.local.by_hand import HandRunAws, hand_run_aws
from tests.local.hosting_requests import (
    make_component,
    make_config,
    make_endpoint,
    make_model,
    unchecked,
)

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

VARIANT = "sagemaker:variant:DesiredInstanceCount"
COMPONENT = "sagemaker:inference-component:DesiredCopyCount"
UNSUPPORTED = "Unsupported service namespace, resource type or scalable dimension"
PER_COPY = {"PredefinedMetricType": "SageMakerInferenceComponentInvocationsPerCopy"}
CUSTOM = {"MetricName": "M", "Namespace": "N", "Statistic": "Sum"}


@pytest.fixture(name="aws", scope="module")
def _aws() -> Iterator[HandRunAws]:
    with hand_run_aws(takes_time=False) as aws:
        yield aws


@pytest.fixture(name="variant", scope="module")
def _variant(aws: HandRunAws) -> str:
    """
    Return the resource id of a variant of a real-time endpoint.
    """
    model = {"ModelName": make_model(aws)}
    endpoint = make_endpoint(aws, make_config(aws, variant=model))
    return f"endpoint/{endpoint}/variant/AllTraffic"


@pytest.fixture(name="component", scope="module")
def _component(aws: HandRunAws) -> str:
    """
    Return the resource id of a component that is a scalable target.
    """
    endpoint = make_endpoint(aws, make_config(aws))
    resource_id = f"inference-component/{make_component(aws, endpoint)}"
    register(aws, resource_id, COMPONENT, MinCapacity=0, MaxCapacity=4)
    return resource_id


class TestTargets:
    """
    ``RegisterScalableTarget``.
    """

    @pytest.mark.parametrize(
        ("resource_id", "dimension"),
        [
            ("endpoint", VARIANT),
            ("endpoint/x", VARIANT),
            ("endpoint/x/variant", VARIANT),
            ("inference-component", COMPONENT),
            ("inference-component/x", VARIANT),
            ("endpoint/x/variant/y", COMPONENT),
            ("endpoint/x/variant/y", "ecs:service:DesiredCount"),
            ("service/x/y", "ecs:service:DesiredCount"),
        ],
    )
    def test_what_does_not_belong_together(
        self, aws: HandRunAws, resource_id: str, dimension: str
    ) -> None:
        """
        Namespace, resource id and dimension.
        """
        with refused(UNSUPPORTED):
            register(aws, resource_id, dimension, MinCapacity=1, MaxCapacity=2)

    def test_a_resource_id_of_another_service(self, aws: HandRunAws) -> None:
        """
        That moto cannot take apart.
        """
        with refused(UNSUPPORTED):
            aws.client("application-autoscaling").register_scalable_target(
                ServiceNamespace="ecs",
                ResourceId="service",
                ScalableDimension="ecs:service:DesiredCount",
                MinCapacity=1,
                MaxCapacity=2,
            )

    @pytest.mark.parametrize(
        ("bounds", "words"),
        [
            ({}, "are required to register a new scalable target"),
            ({"MinCapacity": 1}, "are required to register a new scalable target"),
            ({"MaxCapacity": 1}, "are required to register a new scalable target"),
            ({"MinCapacity": -1, "MaxCapacity": 1}, "greater than or equal to 0"),
            ({"MinCapacity": 3, "MaxCapacity": 2}, "cannot be less than minimum"),
            ({"MinCapacity": 0, "MaxCapacity": 2}, "Minimum capacity must be at lea"),
            ({"MinCapacity": 0, "MaxCapacity": 0}, "Maximum capacity must be at lea"),
            ({"MinCapacity": "1", "MaxCapacity": 2}, "STRING_VALUE can not be conv"),
        ],
    )
    def test_bounds_that_a_real_time_variant_cannot_have(
        self,
        aws: HandRunAws,
        variant: str,
        bounds: dict[str, Any],
        words: str,
    ) -> None:
        """
        Both are needed, in order, and at least one.
        """
        with refused(words):
            register(aws, variant, VARIANT, **bounds)

    def test_an_asynchronous_endpoint_goes_to_zero(self, aws: HandRunAws) -> None:
        """
        As a component does.
        """
        output = {"OutputConfig": {"S3OutputPath": "s3://bucket/out"}}
        config = make_config(
            aws,
            variant={"ModelName": make_model(aws)},
            AsyncInferenceConfig=output,
        )
        resource_id = f"endpoint/{make_endpoint(aws, config)}/variant/AllTraffic"

        register(aws, resource_id, VARIANT, MinCapacity=0, MaxCapacity=2)

    def test_one_bound_may_follow(self, aws: HandRunAws, component: str) -> None:
        """
        It is held against the other one as registered.
        """
        register(aws, component, COMPONENT, MaxCapacity=5)

        with refused("Maximum capacity cannot be less than minimum capacity"):
            register(aws, component, COMPONENT, MinCapacity=6)
        register(aws, component, COMPONENT, MinCapacity=0, MaxCapacity=4)


class TestTracking:
    """
    ``PutScalingPolicy`` that tracks a target.
    """

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"PredefinedMetricSpecification": None}, "Specify exactly one of Pre"),
            ({"CustomizedMetricSpecification": CUSTOM}, "Specify exactly one of Pre"),
            ({"TargetValue": None}, "'targetTrackingScalingPolicyConfiguration.tar"),
            ({"TargetValue": 0}, "TargetValue must be between"),
            ({"TargetValue": -1}, "TargetValue must be between"),
            ({"TargetValue": 1.2e108}, "TargetValue must be between"),
            ({"ScaleInCooldown": -1}, "ScaleInCooldown must be greater than or eq"),
            ({"ScaleOutCooldown": -1}, "ScaleOutCooldown must be greater than or e"),
            (
                {
                    "PredefinedMetricSpecification": {
                        **PER_COPY,
                        "ResourceLabel": "app/x/1/targetgroup/y/2",
                    }
                },
                "ResourceLabel is not supported",
            ),
            (
                {
                    "PredefinedMetricSpecification": {
                        "PredefinedMetricType": "ECSServiceAverageCPUUtilization"
                    }
                },
                "is not supported for scalable dimension",
            ),
            (
                {
                    "PredefinedMetricSpecification": None,
                    "CustomizedMetricSpecification": {"MetricName": "M"},
                },
                "needs MetricName, Namespace and Statistic",
            ),
            (
                {
                    "PredefinedMetricSpecification": None,
                    "CustomizedMetricSpecification": {
                        **CUSTOM,
                        "Statistic": "Median",
                    },
                },
                "Member must satisfy enum value set: [Average, Minimum, Maximum",
            ),
        ],
    )
    def test_refused(
        self,
        aws: HandRunAws,
        component: str,
        change: dict[str, Any],
        words: str,
    ) -> None:
        """
        And nothing is kept.
        """
        with refused(words):
            track(aws, component, **change)

    @pytest.mark.parametrize(
        "change",
        [
            {},
            {"TargetValue": 0.01, "ScaleInCooldown": 0, "ScaleOutCooldown": 0},
            {
                "PredefinedMetricSpecification": None,
                "CustomizedMetricSpecification": CUSTOM,
            },
        ],
    )
    def test_taken(
        self, aws: HandRunAws, component: str, change: dict[str, Any]
    ) -> None:
        """
        The boundaries on the right side.
        """
        track(aws, component, **change)


class TestSteps:
    """
    ``PutScalingPolicy`` by steps.
    """

    @pytest.mark.parametrize(
        ("steps", "words"),
        [
            ([], "Specify between 1 and 20 step adjustments"),
            ([(None, None)], "must have a lower bound, an upper bound, or both"),
            ([(0, 10), (5, None)], "can't overlap"),
            ([(0, 10), (20, None)], "There must not be a gap"),
            ([(10, 0)], "must be greater than its lower bound"),
            ([(0, 10)], "a step adjustment with an unspecified upper bound"),
            ([(-10, 0)], "a step adjustment with an unspecified lower bound"),
            ([(None, 0), (None, 10)], "can't overlap"),
        ],
        ids=str,
    )
    def test_intervals_that_are_refused(
        self,
        aws: HandRunAws,
        component: str,
        steps: list[tuple[float | None, float | None]],
        words: str,
    ) -> None:
        """
        They cover one side of the threshold, or both, without hole or doubt.
        """
        with refused(words):
            step(aws, component, steps)

    @pytest.mark.parametrize(
        "steps",
        [
            [(0, None)],
            [(None, 0)],
            [(0, 10), (10, None)],
            [(10, None), (0, 10)],
            [(None, -10), (-10, 0), (0, 10), (10, None)],
        ],
        ids=str,
    )
    def test_intervals_that_are_taken(
        self,
        aws: HandRunAws,
        component: str,
        steps: list[tuple[float | None, float | None]],
    ) -> None:
        """
        In any order.
        """
        step(aws, component, steps)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"AdjustmentType": None}, "AdjustmentType is required"),
            ({"AdjustmentType": "Double"}, "Member must satisfy enum value set"),
            ({"Cooldown": -1}, "Cooldown must be greater than or equal to 0"),
            ({"MinAdjustmentMagnitude": 1}, "MinAdjustmentMagnitude is not supported"),
            (
                {
                    "AdjustmentType": "PercentChangeInCapacity",
                    "MinAdjustmentMagnitude": 0,
                },
                "MinAdjustmentMagnitude must be greater than 0",
            ),
            ({"MetricAggregationType": "Sum"}, "Member must satisfy enum value set"),
        ],
    )
    def test_the_rest_that_is_refused(
        self,
        aws: HandRunAws,
        component: str,
        change: dict[str, Any],
        words: str,
    ) -> None:
        """
        Each on its own.
        """
        with refused(words):
            step(aws, component, [(0, None)], **change)

    def test_a_percentage_may_have_a_least_magnitude(
        self, aws: HandRunAws, component: str
    ) -> None:
        """
        Of one.
        """
        step(
            aws,
            component,
            [(0, None)],
            AdjustmentType="PercentChangeInCapacity",
            MinAdjustmentMagnitude=1,
        )


class TestPolicies:
    """
    ``PutScalingPolicy``, whatever it does.
    """

    @pytest.mark.parametrize(
        ("policy", "words"),
        [
            ({}, "Policy type None is not supported"),
            ({"PolicyType": "TargetTrackingScaling"}, "is required for policy type"),
            ({"PolicyType": "StepScaling"}, "is required for policy type"),
            ({"PolicyType": "PredictiveScaling"}, "Policy type PredictiveScaling is"),
            ({"PolicyType": "Simple"}, "Member must satisfy enum value set"),
            (
                {
                    "PolicyType": "StepScaling",
                    "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1},
                },
                "is not supported for policy type: StepScaling",
            ),
            (
                {
                    "PolicyType": "StepScaling",
                    "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1},
                    "StepScalingPolicyConfiguration": {},
                },
                "Specify only one of",
            ),
        ],
    )
    def test_its_type_and_configuration_belong_together(
        self,
        aws: HandRunAws,
        component: str,
        policy: dict[str, Any],
        words: str,
    ) -> None:
        """
        One of each.
        """
        with refused(words):
            put_policy(aws, component, PolicyName="Odd", **policy)

    def test_a_predefined_metric_is_followed_by_one(
        self, aws: HandRunAws, component: str
    ) -> None:
        """
        Whatever else the two say; the policy that has it can be changed.
        """
        track(aws, component)
        track(aws, component, TargetValue=6.0)
        second = {"TargetValue": 9.0, "PredefinedMetricSpecification": PER_COPY}

        with refused("Only one TargetTrackingScaling policy for a given metric"):
            put_policy(
                aws,
                component,
                PolicyName="Second",
                PolicyType="TargetTrackingScaling",
                TargetTrackingScalingPolicyConfiguration=second,
            )

    def test_a_policy_that_exists_keeps_what_is_left_out(
        self, aws: HandRunAws, component: str
    ) -> None:
        """
        As the API reference says.
        """
        track(aws, component)
        put_policy(aws, component, PolicyName="Track")

        found = aws.client("application-autoscaling").describe_scaling_policies(
            ServiceNamespace="sagemaker", ResourceId=component
        )["ScalingPolicies"]
        kept = [p for p in found if p["PolicyName"] == "Track"]
        configured = kept[0]["TargetTrackingScalingPolicyConfiguration"]
        assert configured["TargetValue"] == 5.0


class TestSchedules:
    """
    ``PutScheduledAction``.
    """

    @pytest.mark.parametrize(
        "schedule",
        [
            "cron(0 9 * * ? *)",
            "cron(0/15 8-18 ? * MON-FRI *)",
            "cron(0 0 L * ? 2026-2030)",
            "cron(0 10 ? JAN,FEB 2#1 *)",
            "rate(1 minute)",
            "rate(12 hours)",
            "at(2026-12-31T23:59:59)",
        ],
    )
    def test_schedules_that_are_taken(
        self, aws: HandRunAws, component: str, schedule: str
    ) -> None:
        """
        Of the three forms.
        """
        plan(aws, component, Schedule=schedule)

    @pytest.mark.parametrize(
        "schedule",
        [
            "cron(0 9 * * *)",
            "cron(0 9 * * * *)",
            "cron(0 9 ? * ? *)",
            "cron(60 9 * * ? *)",
            "cron(0 24 * * ? *)",
            "cron(0 9 32 * ? *)",
            "cron(0 9 ? * 8 *)",
            "cron(0 9 * 13 ? *)",
            "cron(0/0 9 * * ? *)",
            "cron(0 9 * * ? 1969)",
            "rate(0 minutes)",
            "rate(5 weeks)",
            "rate(5minutes)",
            "at(2026-13-01T00:00:00)",
            "at(tomorrow)",
            "every day",
        ],
    )
    def test_schedules_that_are_refused(
        self, aws: HandRunAws, component: str, schedule: str
    ) -> None:
        """
        Named as they are.
        """
        with refused(f"Schedule {schedule} is not a valid"):
            plan(aws, component, Schedule=schedule)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"Timezone": "Europe/Atlantis"}, "Time zone Europe/Atlantis is not valid"),
            ({"Timezone": "../etc"}, "Time zone ../etc is not valid"),
            ({"ScalableTargetAction": {}}, "are required for a new scheduled action"),
            ({"ScalableTargetAction": None}, "are required for a new scheduled act"),
            ({"Schedule": None}, "are required for a new scheduled action"),
            (
                {"ScalableTargetAction": {"MinCapacity": 3, "MaxCapacity": 2}},
                "cannot be less than minimum",
            ),
            (
                {"ScalableTargetAction": {"MinCapacity": -1}},
                "greater than or equal to 0",
            ),
            (
                {"StartTime": 1_800_000_000, "EndTime": 1_700_000_000},
                "StartTime must be earlier than EndTime",
            ),
        ],
    )
    def test_the_rest_that_is_refused(
        self,
        aws: HandRunAws,
        component: str,
        change: dict[str, Any],
        words: str,
    ) -> None:
        """
        Each on its own.
        """
        with refused(words):
            plan(aws, component, ScheduledActionName="Odd", **change)

    def test_it_needs_a_target(self, aws: HandRunAws) -> None:
        """
        That is registered.
        """
        with pytest.raises(ClientError, match=r"\(ObjectNotFoundException\)"):
            plan(aws, "inference-component/nobody")

    def test_a_time_zone_is_taken(self, aws: HandRunAws, component: str) -> None:
        """
        By its canonical name, and a window in order.
        """
        plan(
            aws,
            component,
            Timezone="Europe/Berlin",
            StartTime=1_700_000_000,
            EndTime=1_800_000_000,
        )


def refused(words: str) -> Untyped:
    """
    Expect the service's words.
    """
    return pytest.raises(ClientError, match=re.escape(words))


def without_nothing(request: dict[str, Any]) -> dict[str, Any]:
    """
    Leave out what is ``None``.
    """
    return {key: value for key, value in request.items() if value is not None}


def register(
    aws: HandRunAws, resource_id: str, dimension: str, **bounds: Untyped
) -> None:
    """
    Register a target.
    """
    unchecked(aws, "application-autoscaling").register_scalable_target(
        ServiceNamespace="sagemaker",
        ResourceId=resource_id,
        ScalableDimension=dimension,
        **bounds,
    )


def put_policy(aws: HandRunAws, component: str, **policy: Untyped) -> None:
    """
    Put a policy of a component.
    """
    unchecked(aws, "application-autoscaling").put_scaling_policy(
        ServiceNamespace="sagemaker",
        ResourceId=component,
        ScalableDimension=COMPONENT,
        **policy,
    )


def track(aws: HandRunAws, component: str, **change: Untyped) -> None:
    """
    Track invocations, with something changed.
    """
    configuration = {
        "TargetValue": 5.0,
        "PredefinedMetricSpecification": PER_COPY,
        **change,
    }
    put_policy(
        aws,
        component,
        PolicyName="Track",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration=without_nothing(configuration),
    )


def step(
    aws: HandRunAws,
    component: str,
    steps: list[tuple[float | None, float | None]],
    **change: Untyped,
) -> None:
    """
    Scale by steps, with something changed.
    """
    bounds = ("MetricIntervalLowerBound", "MetricIntervalUpperBound")
    configuration = {
        "AdjustmentType": "ChangeInCapacity",
        "StepAdjustments": [
            {
                **without_nothing(dict(zip(bounds, one, strict=True))),
                "ScalingAdjustment": 1,
            }
            for one in steps
        ],
        **change,
    }
    put_policy(
        aws,
        component,
        PolicyName="Step",
        PolicyType="StepScaling",
        StepScalingPolicyConfiguration=without_nothing(configuration),
    )


def plan(aws: HandRunAws, component: str, **change: Untyped) -> None:
    """
    Schedule an action, with something changed.
    """
    action = {
        "ScheduledActionName": "Morning",
        "Schedule": "rate(1 day)",
        "ScalableTargetAction": {"MinCapacity": 1, "MaxCapacity": 4},
        **change,
    }
    unchecked(aws, "application-autoscaling").put_scheduled_action(
        ServiceNamespace="sagemaker",
        ResourceId=component,
        ScalableDimension=COMPONENT,
        **without_nothing(action),
    )
