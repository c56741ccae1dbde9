"""
The pages of the List* operations: filters, order, tokens.

The defaults and the words of the filters are those of botocore 1.44.5.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from cdk_sagemaker_llm.local.errors import AwsError, validation
from cdk_sagemaker_llm.local.sagemaker.store import Record

_DEFAULT_PAGE = 10

R = TypeVar("R", bound=Record)

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


def page(
    records: Iterable[R],
    request: dict[str, Any],
    summary: Callable[[R], dict[str, Any]],
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """
    Return one page of summaries, newest first, and the token of the next page.

    Raises:
        AwsError: If the token is not one of these.
    """
    request = _with_seconds(request)
    start = _start(request.get("NextToken"))
    end = start + request.get("MaxResults", _DEFAULT_PAGE)
    found = _sorted([r for r in records if _wanted(r, request)], request)
    token = {"NextToken": str(end)} if end < len(found) else {}
    return [summary(record) for record in found[start:end]], token


def _with_seconds(request: dict[str, Any]) -> dict[str, Any]:
    # The protocol's times are seconds; its readers take ISO 8601 as well.
    return {
        name: _seconds(value) if "Time" in name and isinstance(value, str) else value
        for name, value in request.items()
    }


def _seconds(text: str) -> float:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        told = f"{text} is not a time"
        raise AwsError("SerializationException", told) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def _wanted(record: Record, request: dict[str, Any]) -> bool:
    return all(
        test(record, request[name])
        for name, test in _TESTS.items()
        if request.get(name) is not None
    )


def _sorted(found: list[R], request: dict[str, Any]) -> list[R]:
    key = _KEYS[request.get("SortBy") or "CreationTime"]
    found.sort(key=lambda record: (key(record), record.created))
    if (request.get("SortOrder") or "Descending") == "Descending":
        found.reverse()
    return found


def _start(token: str | None) -> int:
    if not token:
        return 0
    if not token.isascii() or not token.isdigit():
        raise validation("Invalid pagination token given.")
    return int(token)
