"""
Where model data lies: the addresses that SageMaker takes for an object in S3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
