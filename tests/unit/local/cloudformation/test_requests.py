"""
Names, capabilities, parameters and pages of requests to CloudFormation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from moto.cloudformation.exceptions import ValidationError

from cdk_sagemaker_llm.local.cloudformation import requests

PATTERN = "Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*"
LENGTH = "Member must have length less than or equal to 128"


def message(act: Callable[[], object]) -> str:
    """
    Return the words of the refusal.
    """
    with pytest.raises(ValidationError) as caught:
        act()
    return str(caught.value.message)


@pytest.mark.parametrize("name", ["a", "Z", "a-1", "x" * 128])
def test_a_name_is_of_letters_digits_and_hyphens(name: str) -> None:
    """
    Up to 128 of them.
    """
    requests.check_name(name)


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("", [PATTERN]),
        ("1a", [PATTERN]),
        ("-a", [PATTERN]),
        ("a_b", [PATTERN]),
        ("x" * 129, [LENGTH]),
        ("_" * 129, [PATTERN, LENGTH]),
    ],
)
def test_another_name_has_its_faults_counted(name: str, faults: list[str]) -> None:
    """
    And each told.
    """
    start = f"Value '{name}' at 'stackName' failed to satisfy constraint: "
    count = "1 validation error" if len(faults) == 1 else "2 validation errors"
    told = "; ".join(f"{start}{fault}" for fault in faults)

    assert message(lambda: requests.check_name(name)) == f"{count} detected: {told}"


def test_a_body_is_at_most_as_long_as_it_may_be() -> None:
    """
    In bytes: a letter may have two.
    """
    requests.check_body("x" * 51_200)
    requests.check_body("é" * 25_600)
    for body in ("x" * 51_201, "é" * 25_601):
        assert message(partial(requests.check_body, body)) == (
            f"1 validation error detected: Value '{body}' at 'templateBody' failed to "
            "satisfy constraint: Member must have length less than or equal to 51200"
        )


ROLE = {"Type": "AWS::IAM::Role"}
NAMED = {**ROLE, "Properties": {"RoleName": "r"}}


@pytest.mark.parametrize(
    ("resource", "acknowledged", "missing"),
    [
        ({"Type": "AWS::SNS::Topic"}, [], None),
        (ROLE, ["CAPABILITY_IAM"], None),
        (ROLE, ["CAPABILITY_NAMED_IAM", "Other"], None),
        (ROLE, ["CAPABILITY_AUTO_EXPAND"], "CAPABILITY_IAM"),
        (NAMED, ["CAPABILITY_NAMED_IAM"], None),
        (NAMED, ["CAPABILITY_IAM"], "CAPABILITY_NAMED_IAM"),
        (NAMED, [], "CAPABILITY_NAMED_IAM"),
    ],
)
def test_a_capability_is_acknowledged(
    resource: dict[str, Any], acknowledged: list[str], missing: str | None
) -> None:
    """
    The greater stands for the lesser.
    """
    body = json.dumps({"Resources": {"R": resource}})
    if missing is None:
        requests.check_capabilities(body, acknowledged)
        return
    with pytest.raises(requests.InsufficientCapabilities) as caught:
        requests.check_capabilities(body, acknowledged)
    assert caught.value.code == "InsufficientCapabilitiesException"
    assert caught.value.message == f"Requires capabilities : [{missing}]"


def refused(value: object, **body: object) -> str:
    """
    Return why a parameter does not take a value.
    """
    template = {"Parameters": {"P": {"Type": "String", **body}}}
    return message(lambda: requests.check_parameters(template, {"P": value}))


@pytest.mark.parametrize(
    ("value", "body", "reason"),
    [
        ("c", {"AllowedValues": ["a", "b"]}, "be one of AllowedValues"),
        ("3", {"Type": "Number", "AllowedValues": [1, 2]}, "be one of AllowedValues"),
        ("ab", {"AllowedPattern": "a"}, "match pattern a"),
        ("", {"MinLength": 1}, "contain at least 1 characters"),
        ("abc", {"MaxLength": "2"}, "contain at most 2 characters"),
        ("a", {"Type": "Number"}, "be a number"),
        ("1.9", {"Type": "Number", "MinValue": 2}, "be a number not less than 2"),
        ("2.1", {"Type": "Number", "MaxValue": "2"}, "be a number not greater than 2"),
        ("1,x", {"Type": "List<Number>"}, "be a number"),
        ("1,3", {"Type": "List<Number>", "MaxValue": 2}, "be a number not greater "),
        (
            "a, c",
            {"Type": "CommaDelimitedList", "AllowedValues": ["a", "b"]},
            "be one of AllowedValues",
        ),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(
    value: str, body: dict[str, Any], reason: str
) -> None:
    """
    By its reason, or in the template's own words.
    """
    assert refused(value, **body).startswith(f"Parameter 'P' must {reason}")
    own = refused(value, **body, ConstraintDescription="be so")
    assert own == "Parameter P failed to satisfy constraint: be so"


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("a", {"AllowedValues": ["a", "b"]}),
        ("true", {"AllowedValues": [True]}),
        (True, {"AllowedValues": ["true"]}),
        ("1", {"Type": "Number", "AllowedValues": [1]}),
        ("aa", {"AllowedPattern": "a+"}),
        ("anything", {"AllowedPattern": r"\p{Alpha}"}),
        ("a", {"MinLength": 1, "MaxLength": 1}),
        ("", {"MinLength": "0"}),
        ("2", {"Type": "Number", "MinValue": 2, "MaxValue": 2}),
        (2.5, {"Type": "Number"}),
        ("1, 2", {"Type": "List<Number>", "MinValue": 1}),
        ("", {"Type": "List<Number>"}),
        ("", {"Type": "CommaDelimitedList", "AllowedValues": ["a"]}),
        ("a, b", {"Type": "CommaDelimitedList", "AllowedValues": ["a", "b"]}),
        # Lengths are of texts, bounds of numbers.
        ("abc", {"Type": "CommaDelimitedList", "MaxLength": 1}),
        ("9", {"MaxValue": 1}),
        ("/name", {"Type": "AWS::SSM::Parameter::Value<String>", "MaxLength": 1}),
    ],
)
def test_a_value_that_is_just_allowed_is_taken(
    value: object, body: dict[str, Any]
) -> None:
    """
    As its default is.
    """
    template = {"Parameters": {"P": {"Type": "String", **body}}}
    requests.check_parameters(template, {"P": value})
    template["Parameters"]["P"]["Default"] = value
    requests.check_parameters(template, {})


def test_parameters_are_those_of_the_template() -> None:
    """
    No others, and none without a value.
    """
    template = {"Parameters": {"A": {}, "B": {"Default": ""}, "C": {"Default": None}}}

    assert message(
        lambda: requests.check_parameters(template, {"Y": "", "A": "", "X": ""})
    ) == ("Parameters: [Y, X] do not exist in the template")
    assert message(lambda: requests.check_parameters(template, {})) == (
        "Parameters: [A, C] must have values"
    )
    requests.check_parameters(template, {"A": "", "C": ""})
    requests.check_parameters({}, {})
    requests.check_parameters({"Parameters": None}, {})
    assert message(lambda: requests.check_parameters({}, {"A": ""})) == (
        "Parameters: [A] do not exist in the template"
    )


def test_lists_are_written_without_spaces() -> None:
    """
    A default too, which moto would leave as it is; truths in small letters.
    """
    template = {
        "Parameters": {
            "A": {"Type": "CommaDelimitedList", "Default": "a, b ,c"},
            "B": {"Type": "List<Number>"},
            "C": {"Type": "String", "Default": True},
            "D": {"Type": "String", "Default": False},
            "E": {"Type": "String", "Default": "a, b"},
        }
    }

    found = requests.parameters_as_given(template, {"B": "1, 2", "D": "x"})

    assert found == {"A": "a,b,c", "B": "1,2", "C": "true", "D": "x"}
    assert requests.parameters_as_given({"Parameters": None}, {"A": "a"}) == {"A": "a"}


def test_what_is_not_to_be_echoed_is_hidden() -> None:
    """
    However the template says so.
    """
    declared = {"A": {"NoEcho": True}, "B": {"NoEcho": "true"}, "C": {"NoEcho": False}}
    values = dict.fromkeys("ABCD", "secret")

    assert requests.shown_parameter({"Parameters": declared}, values) == {
        "A": "****",
        "B": "****",
        "C": "secret",
        "D": "secret",
    }
    assert requests.shown_parameter({}, {"A": "a"}) == {"A": "a"}


@pytest.mark.parametrize(
    ("kind", "is_list"),
    [
        ("CommaDelimitedList", True),
        ("List<Number>", True),
        ("List<AWS::EC2::Subnet::Id>", True),
        ("String", False),
        ("AWS::SSM::Parameter::Value<List<String>>", False),
    ],
)
def test_lists_are_known_by_their_types(kind: str, *, is_list: bool) -> None:
    """
    Those that come as one text.
    """
    assert requests.is_list_type({"Type": kind}) is is_list


@pytest.mark.parametrize(
    ("count", "token", "size", "page", "following"),
    [
        (0, None, None, (0, 0), None),
        (100, None, None, (0, 100), None),
        (101, None, None, (0, 100), "100"),
        (101, "100", None, (100, 101), None),
        (5, None, 2, (0, 2), "2"),
        (5, "2", 2, (2, 4), "4"),
        (5, "4", 2, (4, 5), None),
        (4, "2", 2, (2, 4), None),
        (4, "9", 2, (4, 4), None),
    ],
)
def test_a_page_has_a_token_of_the_next(
    count: int,
    token: str | None,
    size: int | None,
    page: tuple[int, int],
    following: str | None,
) -> None:
    """
    Unless it is the last.
    """
    items = list(range(count))

    assert requests.page(items, token, size) == (items[slice(*page)], following)


@pytest.mark.parametrize("token", ["", "x", "-1", "1.5"])
def test_a_token_that_nobody_gave_is_refused(token: str) -> None:
    """
    As it came.
    """
    words = message(lambda: requests.page([1], token))

    assert words == f"Invalid NextToken: {token}"
