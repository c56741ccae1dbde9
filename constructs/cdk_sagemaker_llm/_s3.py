"""
What S3 takes as the name of a bucket, and as a prefix in it.

What belongs here is a rule of S3's own; messages say it in the caller's words.
"""

from __future__ import annotations

import re

from cdk_sagemaker_llm._tokens import is_unresolved

_LONGEST_NAME = 63
# S3 user guide, "General purpose bucket naming rules". Aliases of access points go in
# their place, so that the reserved endings of names are not held here.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]|\.(?!\.))*[a-z0-9]\Z|[a-z0-9]\Z")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+\Z")


def bucket_fault(name: str) -> str | None:
    """
    Say what a bucket's name must be and is not; ``None`` if S3 takes it.
    """
    if is_unresolved(name):
        return None
    if len(name) <= _LONGEST_NAME and _NAME.match(name) and not _ADDRESS.match(name):
        return None
    return (
        f"at most {_LONGEST_NAME} lower-case letters, digits, hyphens and single dots, "
        "with a letter or digit at both ends, and no IP address"
    )
