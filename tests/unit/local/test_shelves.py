"""
Named resources: kept, found, refused and listed a page at a time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from cdk_sagemaker_llm.local.aws.errors import AwsError
from cdk_sagemaker_llm.local.aws.untyped import Untyped
from cdk_sagemaker_llm.local.hosting.records import Record, Shelf, page, tags_of

_PREFIX = "arn:aws:sagemaker:us-east-1:123456789012:thing/"
# 1 January 2030.
_DAY = 1_893_456_000.0


@dataclass(kw_only=True)
class Thing(Record):
    """
    A resource with all that lists filter by.
    """

    status: str = "InService"
    endpoint_name: str = "host"
    variant_name: str = "A"


def thing(name: str, created: float, modified: float, **settings: Untyped) -> Thing:
    """
    Make one that was created and changed at seconds of the day.
    """
    return Thing(
        name=name,
        arn=f"{_PREFIX}{name}",
        request={},
        created=_DAY + created,
        modified=_DAY + modified,
        **settings,
    )


_THINGS = [
    thing("bread", 10, 90, status="Creating"),
    thing("Apple", 20, 80, endpoint_name="other"),
    thing("cake", 30, 70, variant_name="B"),
    thing("apple-pie", 30, 60, status="Failed"),
]


def listed(**request: Untyped) -> list[str]:
    """
    List them by their names.
    """
    found, _ = page(_THINGS, request, lambda record: {"Name": record.name})
    return [one["Name"] for one in found]


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ({}, "apple-pie cake Apple bread"),
        ({"SortOrder": "Descending"}, "apple-pie cake Apple bread"),
        ({"SortOrder": "Ascending"}, "bread Apple cake apple-pie"),
        ({"SortOrder": None, "SortBy": None}, "apple-pie cake Apple bread"),
        ({"SortBy": "Name", "SortOrder": "Ascending"}, "Apple apple-pie bread cake"),
        ({"SortBy": "Name"}, "cake bread apple-pie Apple"),
        (
            {"SortBy": "Status", "SortOrder": "Ascending"},
            "bread apple-pie Apple cake",
        ),
        ({"NameContains": "APPLE"}, "apple-pie Apple"),
        ({"NameContains": "e-p"}, "apple-pie"),
        ({"NameContains": None}, "apple-pie cake Apple bread"),
        ({"CreationTimeBefore": _DAY + 20}, "bread"),
        ({"CreationTimeAfter": _DAY + 20}, "apple-pie cake Apple"),
        ({"LastModifiedTimeBefore": _DAY + 70}, "apple-pie"),
        ({"LastModifiedTimeAfter": _DAY + 70}, "Apple bread"),
        ({"CreationTimeBefore": "2030-01-01T00:00:20Z"}, "bread"),
        ({"CreationTimeBefore": "2030-01-01T00:00:20"}, "bread"),
        ({"CreationTimeBefore": "2030-01-01T01:00:20+01:00"}, "bread"),
        ({"StatusEquals": "Failed"}, "apple-pie"),
        ({"EndpointNameEquals": "other"}, "Apple"),
        ({"VariantNameEquals": "B"}, "cake"),
        ({"StatusEquals": "InService", "VariantNameEquals": "A"}, "Apple"),
        ({"MaxResults": 2}, "apple-pie cake"),
        ({"MaxResults": 2, "NextToken": "2"}, "Apple bread"),
        ({"NextToken": "3"}, "bread"),
        ({"NextToken": "4"}, ""),
        ({"NextToken": ""}, "apple-pie cake Apple bread"),
        ({"NextToken": None}, "apple-pie cake Apple bread"),
    ],
)
def test_what_is_asked_for_is_listed(request_: dict[str, Any], names: str) -> None:
    """
    The newest first if nothing else is said; limits on both sides.
    """
    assert listed(**request_) == names.split()


@pytest.mark.parametrize(
    ("most", "token", "following"),
    [
        (4, None, {}),
        (3, None, {"NextToken": "3"}),
        (3, "1", {}),
        (2, "1", {"NextToken": "3"}),
    ],
)
def test_a_page_names_the_next(
    most: int, token: str | None, following: dict[str, str]
) -> None:
    """
    If anything is left for it.
    """
    request = {"MaxResults": most, "NextToken": token}
    assert page(_THINGS, request, lambda _: {})[1] == following


def test_a_page_has_ten() -> None:
    """
    If no other number is asked for.
    """
    many = [thing(f"{number}", number, 0) for number in range(11)]
    found, token = page(many, {}, lambda record: {"Name": record.name})

    assert [one["Name"] for one in found] == [f"{n}" for n in range(10, 0, -1)]
    assert token == {"NextToken": "10"}


@pytest.mark.parametrize("token", ["x", "-1", "1.5", "²"])
def test_a_token_that_no_answer_gave_is_refused(token: str) -> None:
    """
    It is a number.
    """
    with pytest.raises(AwsError) as caught:
        listed(NextToken=token)
    assert caught.value.code == "ValidationException"
    assert caught.value.message == "Invalid pagination token given."


def test_a_time_that_is_none_is_refused() -> None:
    """
    As what cannot be read.
    """
    with pytest.raises(AwsError) as caught:
        listed(CreationTimeAfter="yesterday")
    assert caught.value.code == "SerializationException"
    assert caught.value.message == "yesterday is not a time"


def test_a_shelf_keeps_what_is_named() -> None:
    """
    Once each, until it goes.
    """
    shelf: Shelf[Thing] = Shelf("thing", _PREFIX)
    apple, other = thing("apple", 0, 0), thing("Apple", 0, 0)
    shelf.add(apple)
    shelf.add(other)
    assert [*shelf] == [apple, other]
    assert shelf.find("apple") is shelf.get("apple") is apple
    assert shelf.find("pear") is None
    shelf.refuse_existing("pear")
    with pytest.raises(AwsError) as caught:
        shelf.refuse_existing("apple")
    assert caught.value.code == "ValidationException"
    assert caught.value.message == (
        f'Cannot create already existing thing "{_PREFIX}apple".'
    )
    for use in (shelf.get, shelf.remove):
        with pytest.raises(AwsError) as caught:
            use("pear")
        assert caught.value.message == f'Could not find thing "{_PREFIX}pear".'
    assert shelf.remove("apple") is apple
    shelf.drop(thing("Apple", 0, 0))
    assert [*shelf] == [other]
    shelf.drop(other)
    shelf.drop(other)
    assert [*shelf] == []


def test_names_may_differ_by_more_than_their_case() -> None:
    """
    On a shelf that folds it.
    """
    shelf: Shelf[Thing] = Shelf("thing", _PREFIX, str.lower)
    apple = thing("Apple", 0, 0)
    shelf.add(apple)

    assert shelf.find("aPPLE") is apple
    with pytest.raises(AwsError):
        shelf.refuse_existing("apple")
    assert shelf.remove("APPLE") is apple
    assert shelf.find("Apple") is None


def test_tags_are_a_mapping() -> None:
    """
    Of a request that has any.
    """
    tags = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]

    assert tags_of({"Tags": tags}) == {"a": "1", "b": ""}
    assert tags_of({}) == {}


def test_a_time_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Wherever the machine stands.
    """
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert listed(CreationTimeBefore="2030-01-01T00:00:20") == ["bread"]
    finally:
        monkeypatch.undo()
        time.tzset()
