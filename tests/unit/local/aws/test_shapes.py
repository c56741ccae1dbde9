"""
Requests held against the services' models, in the services' words.
"""

from __future__ import annotations

from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws import shapes
from cdk_sagemaker_llm.local.aws.errors import AwsError

_SCALING = "application-autoscaling"
_MODEL = {"ModelName": "m"}


def faults(service: str, operation: str, request: dict[str, Any]) -> str:
    """
    Return what is wrong with a request.
    """
    with pytest.raises(AwsError) as caught:
        shapes.check(service, operation, request)
    assert (caught.value.code, caught.value.status) == ("ValidationException", 400)
    return str(caught.value)


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        ({}, "Value null at 'modelName'{}Member must not be null"),
        (
            {"ModelName": None},
            "Value null at 'modelName'{}Member must not be null",
        ),
        (
            {"ModelName": "a_b"},
            (
                "Value 'a_b' at 'modelName'{}Member must satisfy regular expression "
                "pattern: [a-zA-Z0-9]([\\-a-zA-Z0-9]*[a-zA-Z0-9])?"
            ),
        ),
        (
            {**_MODEL, "PrimaryContainer": {"Environment": {"A": "x" * 1025}}},
            (
                f"Value '{'x' * 1025}' at 'primaryContainer.environment.A.value'{{}}"
                "Member must have length less than or equal to 1024"
            ),
        ),
        (
            {**_MODEL, "PrimaryContainer": {"Environment": {"1": "x"}}},
            (
                "Value '1' at 'primaryContainer.environment.1.key'{}Member must "
                "satisfy regular expression pattern: [a-zA-Z_][a-zA-Z0-9_]*"
            ),
        ),
        (
            {**_MODEL, "VpcConfig": {"SecurityGroupIds": [], "Subnets": ["s"]}},
            (
                "Value '[]' at 'vpcConfig.securityGroupIds'{}Member must have length "
                "greater than or equal to 1"
            ),
        ),
        (
            {**_MODEL, "Containers": "x"},
            "Value 'x' at 'containers'{}Member must be of type list",
        ),
        (
            {**_MODEL, "Containers": [{"Mode": "Some"}]},
            (
                "Value 'Some' at 'containers.1.member.mode'{}Member must satisfy enum "
                "value set: [SingleModel, MultiModel]"
            ),
        ),
    ],
)
def test_a_fault_is_told_by_its_place(request_: dict[str, Any], fault: str) -> None:
    """
    Members by their names, items by their numbers from one on, entries by their keys.
    """
    told = fault.format(" failed to satisfy constraint: ")

    assert faults("sagemaker", "CreateModel", request_) == (
        f"1 validation error detected: {told}"
    )


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "greater than or equal to 1"),
        (1, None),
        (100, None),
        (101, "less than or equal to 100"),
    ],
)
def test_a_number_has_bounds(size: int, words: str | None) -> None:
    """
    Which belong to it.
    """
    request = {"MaxResults": size}
    if words is None:
        shapes.check("sagemaker", "ListModels", request)
    else:
        assert faults("sagemaker", "ListModels", request) == (
            f"1 validation error detected: Value '{size}' at 'maxResults' failed to "
            f"satisfy constraint: Member must have value {words}"
        )


def test_what_a_model_does_not_have_is_no_fault() -> None:
    """
    Nor is nothing where something may be left out, nor a time as a number.
    """
    request = {"Another": 1, "NameContains": None, "CreationTimeAfter": 1.5}

    shapes.check("sagemaker", "ListModels", request)


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ({"ModelName": 7}, "NUMBER_VALUE can not be converted to a String"),
        ({"ModelName": 7.5}, "NUMBER_VALUE can not be converted to a String"),
        ({"ModelName": True}, "TRUE can not be converted to a String"),
        (
            {"EnableNetworkIsolation": "yes"},
            "STRING_VALUE can not be converted to a Boolean",
        ),
        (
            {"EnableNetworkIsolation": 1},
            "NUMBER_VALUE can not be converted to a Boolean",
        ),
        (
            {"ModelName": {}},
            "Start of structure or map found where not expected.",
        ),
        ({"ModelName": []}, "Start of list found where not expected"),
        ({"PrimaryContainer": "x"}, "Unexpected field type"),
        ({"Containers": "x"}, "Unexpected field type"),
        (
            {"PrimaryContainer": {"Environment": {"A": False}}},
            "FALSE can not be converted to a String",
        ),
        ({"Containers": [{"Image": 1}]}, "NUMBER_VALUE can not be converted to a "),
    ],
)
def test_a_member_of_another_type_cannot_be_read(
    member: dict[str, Any], words: str
) -> None:
    """
    Wherever it is.
    """
    with pytest.raises(AwsError) as caught:
        shapes.refuse_wrong_types("sagemaker", "CreateModel", member)

    assert caught.value.code == "SerializationException"
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("operation", "member", "words"),
    [
        (
            "RegisterScalableTarget",
            {"MinCapacity": "1"},
            "STRING_VALUE can not be converted to an Integer",
        ),
        (
            "RegisterScalableTarget",
            {"MinCapacity": 1.5},
            "NUMBER_VALUE can not be converted to an Integer",
        ),
        (
            "PutScalingPolicy",
            {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": "1"}},
            "STRING_VALUE can not be converted to a Double",
        ),
        (
            "PutScheduledAction",
            {"StartTime": True},
            "TRUE can not be converted to a Timestamp",
        ),
    ],
)
def test_numbers_are_of_their_kinds(
    operation: str, member: dict[str, Any], words: str
) -> None:
    """
    Whole or not; and a boolean is no time.
    """
    with pytest.raises(AwsError) as caught:
        shapes.refuse_wrong_types(_SCALING, operation, member)

    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("operation", "member"),
    [
        ("RegisterScalableTarget", {"MinCapacity": 1}),
        (
            "PutScalingPolicy",
            {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 1}},
        ),
        ("PutScheduledAction", {"StartTime": 1.5}),
        ("PutScheduledAction", {"StartTime": "2026-01-01", "Another": 1}),
        ("PutScheduledAction", {"StartTime": None}),
    ],
)
def test_what_can_be_read_is(operation: str, member: dict[str, Any]) -> None:
    """
    A whole number as any, a time as text, and nothing.
    """
    shapes.refuse_wrong_types(_SCALING, operation, member)


@pytest.mark.parametrize("weight", [1, 0.5, "NaN"])
def test_a_float_may_be_whole(weight: object) -> None:
    """
    Or one of the texts that stand for no number.
    """
    variants = [{"InitialVariantWeight": weight}]
    request = {"ProductionVariants": variants}

    shapes.refuse_wrong_types("sagemaker", "CreateEndpointConfig", request)


@pytest.mark.parametrize(
    ("service", "operation", "given", "wanted"),
    [
        (
            "sagemaker",
            "CreateModel",
            {
                "ModelName": 7,
                "EnableNetworkIsolation": "true",
                "PrimaryContainer": {"Environment": {"A": True, "B": 1.5}},
                "Containers": [{"Image": False}],
                "Another": "7",
            },
            {
                "ModelName": "7",
                "EnableNetworkIsolation": True,
                "PrimaryContainer": {"Environment": {"A": "true", "B": "1.5"}},
                "Containers": [{"Image": "false"}],
                "Another": "7",
            },
        ),
        (
            _SCALING,
            "RegisterScalableTarget",
            {"MinCapacity": "1", "MaxCapacity": "many"},
            {"MinCapacity": 1, "MaxCapacity": "many"},
        ),
        (
            "sagemaker",
            "CreateModel",
            {"EnableNetworkIsolation": "false", "PrimaryContainer": "x"},
            {"EnableNetworkIsolation": False, "PrimaryContainer": "x"},
        ),
        (
            "sagemaker",
            "CreateModel",
            {"EnableNetworkIsolation": "no", "Containers": "x", "ModelName": ["x"]},
            {"EnableNetworkIsolation": "no", "Containers": "x", "ModelName": ["x"]},
        ),
        (
            "cloudwatch",
            "PutMetricAlarm",
            {"Threshold": "0.5", "EvaluationPeriods": "3"},
            {"Threshold": 0.5, "EvaluationPeriods": 3},
        ),
    ],
)
def test_a_templates_values_become_the_apis(
    service: str, operation: str, given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    """
    Where that can be; the rest is left to the checks.
    """
    shape = shapes.input_shape(service, operation)

    found = shapes.coerce(shape, given)

    assert repr(found) == repr(wanted)


def test_members_that_a_model_lacks_are_named_by_their_place() -> None:
    """
    As CloudFormation names them, items from zero on.
    """
    shape = shapes.input_shape("sagemaker", "CreateModel")
    request = {
        "ModelName": "m",
        "Size": 1,
        "PrimaryContainer": {"Picture": "x"},
        "Containers": [{"Image": "x"}, {"Ports": []}],
    }

    assert list(shapes.unknown_members(shape, request)) == [
        "#: extraneous key [Size] is not permitted",
        "#/PrimaryContainer: extraneous key [Picture] is not permitted",
        "#/Containers/1: extraneous key [Ports] is not permitted",
    ]


def test_an_operation_is_one_of_its_service() -> None:
    """
    By its exact name.
    """
    assert shapes.has_operation("sagemaker", "CreateModel")
    assert not shapes.has_operation("sagemaker", "createModel")
