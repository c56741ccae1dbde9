"""
What hosting needs to know about the services around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from cdk_sagemaker_llm.local.sagemaker.locations import Location


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
        Write lines to a log stream, which is made if it is not there.

        Args:
            group: The log group.

            stream: The stream in it.

            lines: What is written.

            moment: When, in seconds since 1970.
        """

    def notify(
        self, source: str, kind: str, detail: dict[str, Any], resource: str
    ) -> None:
        """
        Tell EventBridge of what has happened, and wait for nobody.

        Args:
            source: The service, such as ``aws.sagemaker``.

            kind: What EventBridge calls the detail's type.

            detail: What has happened.

            resource: The ARN of what it has happened to.
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
