"""
What a stack asks of the function that starts staging: its custom resource's properties.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

MANIFEST = ".json"
OWNERS = ".owners/"
JOBS = ".jobs/"
# Of a job, beside its folder: who waits for it, and for what.
NOTE = ".json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """
    One staged prefix that a stack wants.

    Args:
        bucket: The bucket.

        base: The prefix without its slash; the manifest and the owners stand beside.

        handle: The wait condition's address.

        keeps: Whether it stays when no stack wants it any more.

        project: The CodeBuild project that stages; empty where a job does.

        order: What the worker, or the job, is to do: JSON.

        owner: The stack and its resource, as one short name.
    """

    bucket: str
    base: str
    handle: str
    keeps: bool
    project: str
    order: str
    owner: str

    @classmethod
    def of(cls, event: Mapping[str, object], which: str) -> Wanted:
        """
        Read the properties of a custom resource's event.

        Args:
            event: What CloudFormation sent.

            which: ``ResourceProperties``, or those that were before.
        """
        said = event[which]
        if not isinstance(said, Mapping):
            raise TypeError(f"{which} must be an object, got {said!r}")
        place = f"{event['StackId']} {event['LogicalResourceId']}"
        return cls(
            bucket=said["Bucket"],
            base=said["Base"],
            handle=said["Handle"],
            keeps=said["Keep"] == "true",
            project=said.get("Project", ""),
            order=said["Order"],
            owner=hashlib.sha256(place.encode()).hexdigest()[:16],
        )

    @property
    def prefix(self) -> str:
        """
        The beginning of all keys, with its slash.
        """
        return f"{self.base}/"

    @property
    def manifest(self) -> str:
        """
        The key of the list that is written last.
        """
        return self.base + MANIFEST

    @property
    def mark(self) -> str:
        """
        The key that says that this stack wants it.
        """
        return f"{self.base}{OWNERS}{self.owner}"

    @property
    def jobs(self) -> str:
        """
        The beginning of what jobs read and write while they are under way.
        """
        return self.base + JOBS

    @property
    def uri(self) -> str:
        """
        Where it is: the custom resource's physical id.
        """
        return f"s3://{self.bucket}/{self.prefix}"
