"""
Keeping named resources, and listing them a page at a time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cdk_sagemaker_llm.local.aws.clock import now
from cdk_sagemaker_llm.local.aws.errors import AwsError, validation

_DEFAULT_PAGE = 10
_Test = Callable[[Any, Any], bool]
_TESTS: dict[str, _Test] = {
    "NameContains": lambda record, part: part.lower() in record.name.lower(),
    "CreationTimeBefore": lambda record, time: record.created < time,
    "CreationTimeAfter": lambda record, time: record.created >= time,
    "LastModifiedTimeBefore": lambda record, time: record.modified < time,
    "LastModifiedTimeAfter": lambda record, time: record.modified > time,
    "StatusEquals": lambda record, status: record.status == status,
    "EndpointNameEquals": lambda record, name: record.endpoint_name == name,
    "VariantNameEquals": lambda record, name: record.variant_name == name,
}
_KEYS: dict[str, Callable[[Any], Any]] = {
    "Name": lambda record: record.name,
    "CreationTime": lambda record: record.created,
    "Status": lambda record: record.status,
}


@dataclass(kw_only=True)
class Record:
    """
    One named resource as it was asked for.
    """

    name: str
    arn: str
    request: dict[str, Any]
    created: float = field(default_factory=now)
    modified: float = field(default_factory=now)
    tags: dict[str, str] = field(default_factory=dict)

    def touch(self) -> None:
        """
        Note that the resource changed now.
        """
        self.modified = now()


R = TypeVar("R", bound=Record)


@dataclass
class Shelf(Generic[R]):
    """
    The resources of one kind.

    Args:
        noun: The word the API's messages use, such as ``endpoint configuration``.

        fold: How names are compared; endpoint names differ by more than their case.
    """

    noun: str
    arn_prefix: str
    fold: Callable[[str], str] = str
    records: dict[str, R] = field(default_factory=dict)

    def arn(self, name: str) -> str:
        """
        Return the ARN a resource of that name has.
        """
        return f"{self.arn_prefix}{name}"

    def find(self, name: str) -> R | None:
        """
        Return the resource of that name, if there is one.
        """
        return self.records.get(self.fold(name))

    def get(self, name: str) -> R:
        """
        Return the resource of that name; an ``AwsError`` if there is none.
        """
        record = self.find(name)
        if record is None:
            raise validation(f'Could not find {self.noun} "{self.arn(name)}".')
        return record

    def refuse_existing(self, name: str) -> None:
        """
        Refuse a name that is taken.
        """
        if self.find(name) is not None:
            raise validation(
                f'Cannot create already existing {self.noun} "{self.arn(name)}".'
            )

    def add(self, record: R) -> None:
        """
        Keep a new resource.
        """
        self.records[self.fold(record.name)] = record

    def remove(self, name: str) -> R:
        """
        Drop the resource of that name.
        """
        self.get(name)
        return self.records.pop(self.fold(name))

    def drop(self, record: R) -> None:
        """
        Drop a resource, unless it is gone already.
        """
        if self.find(record.name) is record:
            self.remove(record.name)

    def __iter__(self) -> Iterator[R]:
        return iter(list(self.records.values()))


def tags_of(request: dict[str, Any]) -> dict[str, str]:
    """
    Take a request's tags as a mapping.
    """
    return {tag["Key"]: tag["Value"] for tag in request.get("Tags", ())}


def page(
    records: Iterable[R],
    request: dict[str, Any],
    summary: Callable[[R], dict[str, Any]],
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """
    Return one page of summaries, newest first, and the token of the next page.
    """
    # The protocol's times are seconds; its readers take ISO 8601 as well.
    filters: dict[str, Any] = {
        name: _seconds(value) if "Time" in name and isinstance(value, str) else value
        for name, value in request.items()
    }
    token = filters.get("NextToken") or "0"
    if not token.isascii() or not token.isdigit():
        raise validation("Invalid pagination token given.")
    tests = [
        (test, filters[name])
        for name, test in _TESTS.items()
        if filters.get(name) is not None
    ]
    key = _KEYS[filters.get("SortBy") or "CreationTime"]
    found = sorted(
        (each for each in records if all(test(each, value) for test, value in tests)),
        key=lambda record: (key(record), record.created),
    )
    if (filters.get("SortOrder") or "Descending") == "Descending":
        found.reverse()
    start = int(token)
    end = start + filters.get("MaxResults", _DEFAULT_PAGE)
    following = {"NextToken": str(end)} if end < len(found) else {}
    return [summary(record) for record in found[start:end]], following


def in_milliseconds(tree: Any) -> Any:  # noqa: ANN401 - as deep as a description is
    """
    Return a description as events have it: its times are whole milliseconds.
    """
    if isinstance(tree, dict):
        return {
            key: int(value * 1000)
            if key.endswith("Time") and isinstance(value, float)
            else in_milliseconds(value)
            for key, value in tree.items()
        }
    if isinstance(tree, list):
        return [in_milliseconds(one) for one in tree]
    return tree


def _seconds(text: str) -> float:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text} is not a time"
        raise AwsError("SerializationException", message) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
