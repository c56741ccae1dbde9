"""
A staged prefix: what a stack asks for, which stacks want it, and what is in it.

S3 reads after each write what was written: a stack marks what it wants before it looks
for the manifest, and who removes takes the manifest away before looking for marks once
more. So neither sees the other too late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MANIFEST_ENDING = ".json"
OWNERS = ".owners/"
JOBS = ".jobs/"
# Of a job, beside its folder: who waits for it, and for what.
NOTE = ".json"

# What one call of DeleteObjects takes.
_AT_ONCE = 1000
_GONE = {"404", "NoSuchKey"}


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedPrefix:
    """
    One staged prefix that a stack wants.

    Args:
        base: The prefix without its slash; the manifest and the owners stand beside.

        keeps: Whether it stays when no stack wants it any more.

        project: The CodeBuild project that stages; empty where a job does.

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
    def of(cls, event: Mapping[str, object], which: str) -> StagedPrefix:
        """
        Read the properties of a custom resource's event.
        """
        properties = event[which]
        if not isinstance(properties, Mapping):
            raise TypeError(f"{which} must be an object, got {properties!r}")
        owner = f"{event['StackId']} {event['LogicalResourceId']}"
        return cls(
            bucket=properties["Bucket"],
            base=properties["Base"],
            handle=properties["Handle"],
            keeps=properties["Keep"] == "true",
            project=properties.get("Project", ""),
            order=properties["Order"],
            owner=hashlib.sha256(owner.encode()).hexdigest()[:16],
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
        return self.base + MANIFEST_ENDING

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


class Ownership:
    """
    The marks beside one staged prefix.
    """

    def __init__(self, place: StagedPrefix) -> None:
        # Constructs read the names above, where nobody has installed boto3.
        import boto3  # noqa: PLC0415 - an extra

        self._place = place
        self._s3 = boto3.client("s3")

    def claim(self) -> None:
        """
        Mark that the stack wants it.
        """
        self._s3.put_object(Bucket=self._place.bucket, Key=self._place.mark, Body=b"")

    def is_staged(self) -> bool:
        """
        Whether the manifest says that all of it is there.
        """
        return self._manifest() is not None

    def release(self) -> None:
        """
        Take the mark away, and what nobody wants any more where that was asked for.

        What was never finished stays: the next deployment goes on from there.
        """
        self._s3.delete_object(Bucket=self._place.bucket, Key=self._place.mark)
        if self._place.keeps or self._has_owners():
            return
        manifest = self._manifest()
        if manifest is None:
            return
        key = {"Bucket": self._place.bucket, "Key": self._place.manifest}
        self._s3.delete_object(**key)
        if self._has_owners():
            self._s3.put_object(**key, Body=manifest, ContentType="application/json")
            return
        keys = list(self._keys(self._place.prefix))
        if not self._place.project:
            # What jobs read and wrote.
            keys += self._keys(self._place.jobs)
        for first in range(0, len(keys), _AT_ONCE):
            self._delete(keys[first : first + _AT_ONCE])

    def _delete(self, keys: Sequence[str]) -> None:
        done = self._s3.delete_objects(
            Bucket=self._place.bucket,
            Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True},
        )
        for error in done.get("Errors", []):
            raise RuntimeError(
                f"{error['Key']} of bucket {self._place.bucket} was not removed: "
                f"{error['Message']}"
            )

    def _has_owners(self) -> bool:
        return any(self._keys(self._place.base + OWNERS))

    def _manifest(self) -> bytes | None:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - an extra

        # A list says what is not there: whether reading does, S3 leaves to a permission
        # to list that is bound to no prefix (API reference, GetObject).
        if self._place.manifest not in self._keys(self._place.manifest):
            return None
        try:
            found = self._s3.get_object(
                Bucket=self._place.bucket, Key=self._place.manifest
            )
        except ClientError as fault:
            if fault.response["Error"]["Code"] in _GONE:
                return None
            raise
        return bytes(found["Body"].read())

    def _keys(self, prefix: str) -> Iterator[str]:
        for key, _ in objects(self._s3, self._place.bucket, prefix):
            yield key


def objects(
    s3: Any,  # noqa: ANN401 - boto3's clients have no types
    bucket: str,
    prefix: str,
    *,
    delimiter: str = "",
) -> Iterator[tuple[str, int]]:
    """
    Return the keys that begin so, without those beyond a delimiter, with their sizes in
    bytes.
    """
    cut = {"Delimiter": delimiter} if delimiter else {}
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix, **cut
    )
    for page in pages:
        for one in page.get("Contents", []):
            yield one["Key"], one["Size"]
