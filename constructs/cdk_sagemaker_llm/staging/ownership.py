"""
Which stacks want a staged prefix, and removing it when the last one does not.

S3 reads after each write what was written: a stack marks what it wants before it looks
for the manifest, and who removes takes the manifest away before looking for marks once
more. So neither sees the other too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import boto3
from botocore.exceptions import ClientError

from cdk_sagemaker_llm.staging.listing import objects
from cdk_sagemaker_llm.staging.wanted import OWNERS, Wanted

# What one call of DeleteObjects takes.
_AT_ONCE = 1000
_GONE = {"404", "NoSuchKey"}


class Ownership:
    """
    The marks beside one staged prefix.

    Args:
        wanted: What a stack wants.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._s3 = boto3.client("s3")

    def claim(self) -> None:
        """
        Mark that the stack wants it.
        """
        self._s3.put_object(Bucket=self._wanted.bucket, Key=self._wanted.mark, Body=b"")

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
        self._s3.delete_object(Bucket=self._wanted.bucket, Key=self._wanted.mark)
        if self._wanted.keeps or self._has_owners():
            return
        manifest = self._manifest()
        if manifest is None:
            return
        key = {"Bucket": self._wanted.bucket, "Key": self._wanted.manifest}
        self._s3.delete_object(**key)
        if self._has_owners():
            self._s3.put_object(**key, Body=manifest, ContentType="application/json")
            return
        keys = [*self._keys(self._wanted.prefix), *self._leftovers()]
        for first in range(0, len(keys), _AT_ONCE):
            self._delete(keys[first : first + _AT_ONCE])

    def _leftovers(self) -> Iterator[str]:
        """
        Return what jobs read and wrote, where jobs made it.
        """
        return iter(()) if self._wanted.project else self._keys(self._wanted.jobs)

    def _delete(self, keys: Sequence[str]) -> None:
        done = self._s3.delete_objects(
            Bucket=self._wanted.bucket,
            Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True},
        )
        for error in done.get("Errors", []):
            raise RuntimeError(
                f"{error['Key']} of bucket {self._wanted.bucket} was not removed: "
                f"{error['Message']}"
            )

    def _has_owners(self) -> bool:
        return any(self._keys(self._wanted.base + OWNERS))

    def _manifest(self) -> bytes | None:
        # A list says what is not there: whether reading does, S3 leaves to a permission
        # to list that is bound to no prefix (API reference, GetObject).
        if self._wanted.manifest not in self._keys(self._wanted.manifest):
            return None
        try:
            found = self._s3.get_object(
                Bucket=self._wanted.bucket, Key=self._wanted.manifest
            )
        except ClientError as fault:
            if fault.response["Error"]["Code"] in _GONE:
                return None
            raise
        return bytes(found["Body"].read())

    def _keys(self, prefix: str) -> Iterator[str]:
        for key, _ in objects(self._s3, self._wanted.bucket, prefix):
            yield key
