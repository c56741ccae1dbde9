"""
Keeping named resources: models, endpoint configs, endpoints, components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from cdk_sagemaker_llm.local.clock import now
from cdk_sagemaker_llm.local.errors import validation


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

        arn_prefix: The ARN up to the name.

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
        Return the resource of that name.

        Raises:
            AwsError: If there is none.
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
