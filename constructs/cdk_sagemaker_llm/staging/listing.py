"""
Listing what is in a bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def objects(
    s3: Any,  # noqa: ANN401 - boto3's clients have no types
    bucket: str,
    prefix: str,
    *,
    delimiter: str = "",
) -> Iterator[tuple[str, int]]:
    """
    Return the keys that begin so, with their sizes in bytes.

    Args:
        s3: The client.

        bucket: The bucket.

        prefix: What the keys begin with.

        delimiter:
            What ends a folder: keys beyond it are left out.
            If omitted, none are.
    """
    cut = {"Delimiter": delimiter} if delimiter else {}
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=prefix, **cut
    )
    for page in pages:
        for one in page.get("Contents", []):
            yield one["Key"], one["Size"]
