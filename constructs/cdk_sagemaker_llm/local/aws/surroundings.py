"""
What services need of those around them, and where model data lies in S3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

_Service = TypeVar("_Service")
_Find = Callable[[str, str], _Service]

# Virtual-hosted and path style, with and without a region, of every partition's suffix
# that is public.
_HOST = re.compile(
    r"(?:(?P<bucket>.+)\.)?s3(?:[.-](?:dualstack\.)?[a-z0-9-]+)?\.amazonaws\.com(?:\.cn)?"
)
# Buckets of other accounts cannot be seen from here; these are AWS's own, which
# everybody may read.
_PUBLIC_BUCKETS = (
    "jumpstart-cache-prod-",
    "jumpstart-private-cache-prod-",
    "sagemaker-sample-files",
    "sagemaker-example-files-prod-",
)


@dataclass(frozen=True, slots=True)
class Location:
    """
    An object in S3, or what the keys of many start with.
    """

    bucket: str
    key: str

    @classmethod
    def of(cls, url: str) -> Location | None:
        """
        Read an ``s3://`` or ``https://`` address; ``None`` if it is none of S3's.
        """
        scheme, _, rest = url.partition("://")
        host, _, path = rest.partition("/")
        if scheme == "s3":
            return cls(host, path)
        found = _HOST.fullmatch(host) if scheme == "https" else None
        if found is None:
            return None
        if found["bucket"]:
            return cls(found["bucket"], path)
        bucket, _, key = path.partition("/")
        return cls(bucket, key)

    @property
    def is_public(self) -> bool:
        """
        Whether it is in a bucket of AWS that everybody may read.
        """
        return self.bucket.startswith(_PUBLIC_BUCKETS)

    def child(self, name: str) -> Location:
        """
        Return the object of that name under a prefix.
        """
        return Location(self.bucket, self.key + name)


class Surroundings(Protocol):
    """
    The other services of the same account and region.
    """

    def read_object(self, location: Location) -> bytes | None:
        """
        Return the contents of an object, or ``None`` if it is not there.
        """

    def write_object(self, location: Location, contents: bytes) -> None:
        """
        Write an object, if its bucket is there.
        """

    def publish(self, topic: str, message: str) -> bool:
        """
        Send a message to a topic; return whether it is there.
        """

    def publish_for_alarm(
        self, topic: str, message: str, subject: str, alarm: str
    ) -> bool:
        """
        Send an alarm's message to a topic, if its policy lets CloudWatch publish for
        that alarm; return whether it does.
        """

    def object_version(self, location: Location) -> str | None:
        """
        Return what changes with an object's contents, without reading them.

        ``None`` if it is not there.
        """

    def has_objects(self, prefix: Location) -> bool:
        """
        Tell whether the key of any object starts like this.
        """

    def objects_under(self, prefix: Location) -> tuple[str, ...]:
        """
        Return the keys that start like this, without that beginning.
        """

    def write_log(
        self, group: str, stream: str, lines: Sequence[str], moment: float
    ) -> None:
        """
        Write lines to a log stream, which is made if it is not there, at a moment in
        seconds since 1970.
        """

    def notify(
        self, source: str, kind: str, detail: dict[str, Any], resource: str
    ) -> None:
        """
        Tell EventBridge of what has happened to a resource, and wait for nobody: the
        source is a service such as ``aws.sagemaker``, the kind the detail's type.
        """

    def scalable_targets(self) -> set[str]:
        """
        Return the resource ids that Application Auto Scaling has registered.
        """

    def deregister(self, resource_id: str) -> None:
        """
        Remove a scalable target and its policies.
        """

    def has_gone_off(self, alarm: str, since: float) -> bool:
        """
        Tell whether a CloudWatch alarm is in ALARM, or was after a time.
        """


class InRegions(Generic[_Service]):
    """
    One of a service in each account and region.

    What puts the services together says how one is found: ``@SAGEMAKER.finder`` stands
    at the function that does.
    """

    def __init__(self) -> None:
        self._finders: list[_Find[_Service]] = []

    def finder(self, find: _Find[_Service]) -> _Find[_Service]:
        """
        Have a function find the service, and return that function.
        """
        self._finders.append(find)
        return find

    def at(self, account: str, region: str) -> _Service:
        """
        Return the one of an account and region.
        """
        return self._finders[-1](account, region)
