"""
Resources as a template declares them, in the order in which they come and go.
"""

from __future__ import annotations

from typing import Any

import pytest
from moto.cloudformation.parsing import ResourceMap

from cdk_sagemaker_llm.local.cloudformation.drift import detect
from cdk_sagemaker_llm.local.cloudformation.resolver import EmbeddedResourceMap
from cdk_sagemaker_llm.local.cloudformation.resource import (
    Declaration,
    Resource,
    ResourceError,
    Scope,
    attributes,
    changed_names,
    declarations,
    deletion_order,
    physical_name,
    pointers,
    scalar_text,
)

TOPIC = {"Type": "AWS::SNS::Topic"}
SCOPE = Scope("111111111111", "us-east-1", "id", "stack")


def declared(resources: dict[str, Any], **conditions: bool) -> list[Declaration]:
    """
    Return what a template of some resources declares.
    """
    return declarations({"Resources": resources}, conditions)


def names(found: list[Declaration]) -> list[str]:
    """
    Return the logical ids.
    """
    return [one.logical_id for one in found]


def with_property(value: object, **more: object) -> dict[str, Any]:
    """
    Declare a resource with a property.
    """
    return {**TOPIC, "Properties": {"P": value}, **more}


@pytest.mark.parametrize(
    "first",
    [
        with_property({"Ref": "B"}),
        with_property({"Fn::GetAtt": ["B", "Arn"]}),
        with_property({"Fn::GetAtt": "B.Arn"}),
        with_property([{"Fn::Sub": "${B}"}]),
        with_property({"Fn::Sub": "${B.Arn}"}),
        with_property({"Fn::Sub": ["${X}${B}", {"X": "a"}]}),
        with_property({"Fn::Sub": ["${X}", {"X": {"Ref": "B"}}]}),
        {**TOPIC, "DependsOn": "B"},
        {**TOPIC, "DependsOn": ["B"]},
    ],
)
def test_what_others_need_comes_first(first: dict[str, Any]) -> None:
    """
    However they refer to it.
    """
    found = declared({"A": first, "B": TOPIC})

    assert names(found) == ["B", "A"]
    assert [one.depends_on for one in found] == [frozenset(), {"B"}]


@pytest.mark.parametrize(
    "value", [{"Ref": "P"}, {"Ref": "AWS::Region"}, {"Fn::Sub": "${!B}"}, "B", None]
)
def test_what_is_no_resource_is_nothing_to_wait_for(value: object) -> None:
    """
    A parameter, or text.
    """
    found = declared({"A": with_property(value), "B": TOPIC})

    assert names(found) == ["A", "B"]
    assert not found[0].depends_on


def test_conditions_say_what_is_there() -> None:
    """
    What depends on what is not there goes without.
    """
    resources = {
        "A": {**TOPIC, "Condition": "No"},
        "B": {**TOPIC, "Condition": "Yes", "DependsOn": "A"},
    }

    (found,) = declared(resources, No=False, Yes=True)

    assert (found.logical_id, found.depends_on) == ("B", frozenset())
    assert declarations({}, {}) == []


@pytest.mark.parametrize(
    ("policies", "retained"),
    [
        ({}, (False, False, False)),
        ({"DeletionPolicy": "Delete"}, (False, False, False)),
        ({"DeletionPolicy": "Retain"}, (True, False, True)),
        ({"DeletionPolicy": "RetainExceptOnCreate"}, (True, False, False)),
        ({"UpdateReplacePolicy": "Retain"}, (False, True, False)),
        ({"UpdateReplacePolicy": "Delete"}, (False, False, False)),
    ],
)
def test_policies_say_what_stays(
    policies: dict[str, str], retained: tuple[bool, bool, bool]
) -> None:
    """
    On deletion, replacement and the rollback of a creation.
    """
    (found,) = declared({"A": {**TOPIC, **policies}})

    assert retained == (
        found.retain_on_delete,
        found.retain_on_replace,
        found.retain_on_create,
    )
    assert (found.type, found.properties) == ("AWS::SNS::Topic", {})


def test_a_circle_has_no_order() -> None:
    """
    Who is in it is told.
    """
    resources = {
        "A": with_property({"Ref": "B"}),
        "B": with_property({"Ref": "C"}),
        "C": with_property({"Ref": "A"}),
        "D": TOPIC,
    }
    words = r"^Circular dependency between resources: \[A, B, C\]$"
    with pytest.raises(ResourceError, match=words):
        declared(resources)


def made(declaration: Declaration, physical_id: str = "id") -> Resource:
    """
    Return a resource that exists.
    """
    return Resource(declaration, {}, physical_id, attributes({"Truth": True, "N": 1}))


def test_what_depends_on_others_goes_before_them() -> None:
    """
    Of one that was replaced both.
    """
    found = declared({"A": with_property({"Ref": "B"}), "B": TOPIC})
    second, first = (made(one) for one in found)
    old = made(found[0], "old")

    assert deletion_order([second, old, first]) == [first, second, old]
    assert deletion_order([second]) == [second]
    assert deletion_order([]) == []


def test_pointers_are_found_at_any_depth() -> None:
    """
    In the order in which they stand.
    """
    value = {
        "a": [{"Ref": "A"}, {"Fn::GetAtt": ["B", "C", "D"]}],
        "b": {"Fn::GetAtt": "E.F"},
        "c": {"Fn::Sub": ["${G.H} ${!I} ${J}", {"J": {"Ref": "K"}}]},
        "d": {"Ref": {"Fn::Sub": "${L}"}},
        "e": "Ref",
    }

    found = list(pointers(value))

    assert found == ["A", "B.C.D", "E.F", "G.H", "J", "K", "L"]


@pytest.mark.parametrize(
    ("logical_id", "longest", "stem"),
    [
        ("Model", 63, "Model"),
        ("x" * 50, 63, "x" * 50),
        ("x" * 51, 63, "x" * 50),
        ("Model", 15, "Mo"),
    ],
)
def test_a_name_is_the_logical_id_and_a_suffix(
    logical_id: str, longest: int, stem: str
) -> None:
    """
    As long as it may be, and never the same.
    """
    one, other = (physical_name(logical_id, longest) for _ in range(2))

    assert one != other
    assert one.rpartition("-")[0] == stem
    assert len(one.rpartition("-")[2]) == 12
    assert physical_name("x" * 99)[:51] == "x" * 50 + "-"


def test_values_are_text_in_small_letters() -> None:
    """
    Where they are truths.
    """
    assert [scalar_text(one) for one in (True, False, 1, 0.5, "True")] == [
        "true",
        "false",
        "1",
        "0.5",
        "True",
    ]


def test_differing_properties_are_named() -> None:
    """
    Those too that only one has.
    """
    before = {"A": 1, "B": 1, "C": None, "D": 1}

    assert changed_names(before, {"A": 1, "B": 2, "E": 1}) == {"B", "D", "E"}
    assert changed_names({}, {}) == set()


def test_attributes_are_read_of_a_table() -> None:
    """
    One that is not there is refused.
    """
    (declaration,) = declared({"A": TOPIC})
    resource = made(declaration)

    assert resource.get_cfn_attribute("Truth") == "true"
    assert resource.get_cfn_attribute("N") == 1
    assert (resource.logical_resource_id, resource.cf_resource_type) == (
        "A",
        "AWS::SNS::Topic",
    )
    assert (resource.status, resource.reason, resource.native) == (
        "CREATE_COMPLETE",
        None,
        None,
    )
    with pytest.raises(ResourceError, match="^Attribute 'Other' does not exist$"):
        resource.get_cfn_attribute("Other")


def resolver(region: str = "us-east-1", **parts: object) -> EmbeddedResourceMap:
    """
    Return the resolver of a template.
    """
    found = EmbeddedResourceMap(
        "id",
        "stack",
        {},
        {},
        account_id="111111111111",
        region_name=region,
        template={"Resources": {}, **parts},
        cross_stack_resources={},
    )
    found.load()
    return found


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ({"Fn::Cidr": ["10.0.0.0/16", 2]}, ["10.0.0.0/24", "10.0.1.0/24"]),
        ({"Fn::Cidr": ["10.0.0.0/16", "2", "4"]}, ["10.0.0.0/28", "10.0.0.16/28"]),
        ({"Fn::Cidr": ["fd00::/56", 1, 64]}, ["fd00::/64"]),
        ({"Fn::Length": [1, 2, 3]}, 3),
        ({"Fn::Length": {"Fn::Split": [",", "a,b"]}}, 2),
        ({"Fn::Select": [1, ["a", "b"]]}, "b"),
        ({"Fn::Select": ["0", {"Fn::GetAZs": ""}]}, "us-east-1a"),
        (
            {"Fn::GetAZs": {"Ref": "AWS::Region"}},
            ["us-east-1a", "us-east-1b", "us-east-1c"],
        ),
        ({"Ref": "AWS::NotificationARNs"}, []),
        ({"Ref": "AWS::Partition"}, "aws"),
        ({"Ref": "AWS::URLSuffix"}, "amazonaws.com"),
        ({"a": {"Ref": "AWS::NoValue"}, "b": 1}, {"b": 1}),
        ([{"Ref": "AWS::NoValue"}, {"a": [{"Ref": "AWS::NoValue"}, 0]}], [{"a": [0]}]),
        ("text", "text"),
    ],
)
def test_functions_are_resolved(value: object, resolved: object) -> None:
    """
    Those too that moto lacks.
    """
    assert resolver().resolve(value) == resolved


@pytest.mark.parametrize(
    ("region", "partition", "suffix"),
    [
        ("eu-west-1", "aws", "amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov", "amazonaws.com"),
        ("cn-north-1", "aws-cn", "amazonaws.com.cn"),
    ],
)
def test_a_region_has_its_partition(region: str, partition: str, suffix: str) -> None:
    """
    And that one its addresses.
    """
    found = resolver(region)

    assert found.resolve({"Ref": "AWS::Partition"}) == partition
    assert found.resolve({"Ref": "AWS::URLSuffix"}) == suffix
    assert found.resolve({"Fn::GetAZs": ""})[2] == f"{region}c"


def test_what_is_not_made_is_not_referred_to() -> None:
    """
    moto would make it on the way.
    """
    found = resolver(Resources={"T": TOPIC})
    words = r"^Unresolved resource dependencies \[T\] in the template$"
    with pytest.raises(ResourceError, match=words):
        found["T"]
    assert found.get("T") is None
    assert found.get("T", 1) == 1
    (declaration,) = declared({"T": TOPIC})
    found.made["T"] = made(declaration)
    assert found["T"] is found.get("T")
    assert found.resolve({"Ref": "T"}) == "id"
    assert isinstance(found, ResourceMap)


@pytest.mark.parametrize("kind", ["AWS::SNS::Topic", "Custom::Odd", "AWS::Odd::Thing"])
def test_a_type_that_is_not_read_back_has_no_drift(kind: str) -> None:
    """
    It is not checked.
    """
    (declaration,) = declared({"A": {"Type": kind}})

    assert detect(made(declaration), SCOPE) is None
