"""
The lists of Application Auto Scaling: a page at a time, whole, and each thing once.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.local.hosting_requests import make_component, make_config, make_endpoint
from tests.local.test_malformed import post

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws

COMPONENT = "sagemaker:inference-component:DesiredCopyCount"
LINKED = (
    "arn:aws:iam::123456789012:role/aws-service-role/"
    "sagemaker.application-autoscaling.amazonaws.com/"
    "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint"
)
# Each with what it lists, and the most of them that one answer has.
LISTS = {
    "DescribeScalableTargets": ("ScalableTargets", 50),
    "DescribeScalingPolicies": ("ScalingPolicies", 10),
    "DescribeScheduledActions": ("ScheduledActions", 50),
    "DescribeScalingActivities": ("ScalingActivities", 50),
}
Place = dict[str, str]


@pytest.fixture(name="place", scope="module")
def _place(fresh_aws: EmbeddedAws) -> Place:
    """
    Three targets; the last of them has twelve policies and sixty scheduled actions.
    """
    scaling = fresh_aws.client("application-autoscaling")
    endpoint = make_endpoint(fresh_aws, make_config(fresh_aws))
    for _ in range(3):
        component = make_component(fresh_aws, endpoint)
        place = {
            "ServiceNamespace": "sagemaker",
            "ResourceId": f"inference-component/{component}",
            "ScalableDimension": COMPONENT,
        }
        scaling.register_scalable_target(**place, MinCapacity=0, MaxCapacity=4)
    for number in range(12):
        scaling.put_scaling_policy(
            **place,
            PolicyName=f"policy-{number}",
            PolicyType="StepScaling",
            StepScalingPolicyConfiguration={
                "AdjustmentType": "ChangeInCapacity",
                "StepAdjustments": [
                    {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
                ],
            },
        )
    for number in range(60):
        scaling.put_scheduled_action(
            **place,
            ScheduledActionName=f"action-{number}",
            Schedule="rate(1 day)",
            ScalableTargetAction={"MinCapacity": 1},
        )
    return place


@pytest.mark.parametrize(
    ("operation", "most", "sizes"),
    [
        ("DescribeScalableTargets", 2, [2, 1]),
        ("DescribeScalableTargets", 3, [3]),
        ("DescribeScalableTargets", None, [3]),
        ("DescribeScalingPolicies", 5, [5, 5, 2]),
        ("DescribeScalingPolicies", None, [10, 2]),
        ("DescribeScheduledActions", 40, [40, 20]),
        ("DescribeScheduledActions", None, [50, 10]),
    ],
)
def test_pages_have_each_thing_once(
    fresh_aws: EmbeddedAws,
    place: Place,
    operation: str,
    most: int | None,
    sizes: list[int],
) -> None:
    """
    The last one has no token, and no token comes twice.
    """
    assert place
    pages: list[list[dict[str, Any]]] = []
    token = None
    while token is not None or not pages:
        request = {
            "ServiceNamespace": "sagemaker",
            "MaxResults": most,
            "NextToken": token,
        }
        status, answer = ask(fresh_aws, operation, request)
        assert status == 200
        pages.append(answer[LISTS[operation][0]])
        token = answer.get("NextToken")
        assert len(pages) <= len(sizes)

    assert [len(page) for page in pages] == sizes
    distinct = {json.dumps(one) for page in pages for one in page}
    assert len(distinct) == sum(sizes)


@pytest.mark.parametrize("operation", LISTS)
def test_pages_have_bounds(fresh_aws: EmbeddedAws, operation: str) -> None:
    """
    The two around what the API reference says, for each operation.
    """
    most = LISTS[operation][1]

    for number, code in ((0, 400), (1, 200), (most, 200), (most + 1, 400)):
        request = {"ServiceNamespace": "sagemaker", "MaxResults": number}
        status, answer = ask(fresh_aws, operation, request)
        assert status == code, number
        assert code == 200 or answer["__type"] == "ValidationException"


@pytest.mark.parametrize("token", ["abc", "-3", "1.5"])
@pytest.mark.parametrize("operation", LISTS)
def test_a_token_that_no_answer_gave(
    fresh_aws: EmbeddedAws, operation: str, token: str
) -> None:
    """
    It has an exception of its own.
    """
    request = {"ServiceNamespace": "sagemaker", "NextToken": token}
    status, answer = ask(fresh_aws, operation, request)

    assert (status, answer["__type"]) == (400, "InvalidNextTokenException")


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({"PolicyNames": ["policy-3", "policy-11"]}, 2),
        ({"PolicyNames": ["policy"]}, 0),
        ({"ScalableDimension": COMPONENT}, 10),
        ({"ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}, 0),
    ],
)
def test_policies_that_are_asked_for(
    fresh_aws: EmbeddedAws, place: Place, asked: dict[str, Any], count: int
) -> None:
    """
    By whole names, and whole ids of resources.
    """
    longer = f"{place['ResourceId']}-and-more"
    request = {"ServiceNamespace": "sagemaker", **asked}
    _, answer = ask(fresh_aws, "DescribeScalingPolicies", request)
    _, others = ask(
        fresh_aws, "DescribeScalingPolicies", {**request, "ResourceId": longer}
    )

    assert len(answer["ScalingPolicies"]) == count
    assert others["ScalingPolicies"] == []


def test_a_target_has_the_role_of_the_service(
    fresh_aws: EmbeddedAws, place: Place
) -> None:
    """
    Which is a required member of it, and nothing of an answer is null.
    """
    assert place
    for operation, (member, _) in LISTS.items():
        _, answer = ask(fresh_aws, operation, {"ServiceNamespace": "sagemaker"})
        assert all(None not in one.values() for one in answer[member])
        if member == "ScalableTargets":
            assert {one["RoleARN"] for one in answer[member]} == {LINKED}


def test_a_policy_of_another_service_that_moto_cannot_take_apart(
    fresh_aws: EmbeddedAws,
) -> None:
    """
    And a type that there is not, whose alternatives are in the service's order.
    """
    request = {
        "PolicyName": "p",
        "ServiceNamespace": "ecs",
        "ResourceId": "service",
        "ScalableDimension": "ecs:service:DesiredCount",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1},
    }
    status, answer = ask(fresh_aws, "PutScalingPolicy", request)
    _, unknown = ask(fresh_aws, "PutScalingPolicy", {**request, "PolicyType": "Quick"})

    assert (status, answer["__type"]) == (400, "ValidationException")
    assert answer["message"].startswith("Unsupported service namespace")
    assert unknown["message"].endswith(
        "enum value set: [PredictiveScaling, StepScaling, TargetTrackingScaling]"
    )


def ask(
    aws: EmbeddedAws, operation: str, request: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    """
    Send a request as it is, with members that are null.
    """
    return post(
        aws,
        json.dumps(request).encode(),
        target=f"AnyScaleFrontendService.{operation}",
        service="application-autoscaling",
    )
