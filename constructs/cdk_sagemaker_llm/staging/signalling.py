"""
Telling CloudFormation how it went: a wait condition, and a custom resource.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

# What CloudFormation takes of a reason: an answer has at most 4096 bytes, of which a
# prefix and the stack's names may be a thousand (CloudFormation user guide,
# crpg-ref-responses).
_LONGEST = 3000
_SECONDS = 60


def signal(url: str, *, unique_id: str, reason: str = "") -> None:
    """
    Signal success to a wait condition, or failure with its reason.

    Args:
        url: The handle's presigned address.

        unique_id: What is signalled of; the same is counted once.

        reason: Why it failed. If left out, it succeeded.
    """
    body = {
        "Status": "FAILURE" if reason else "SUCCESS",
        "Reason": shortened(reason or "staged"),
        "UniqueId": unique_id,
        "Data": "",
    }
    put(url, body)


def put(url: str, body: Mapping[str, object]) -> None:
    """
    Put JSON at a presigned address.

    Raises:
        OSError: If it is not taken.
        ValueError: If it is no address of that kind.
    """
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"url must be a presigned address, got {url!r}")
    request = urllib.request.Request(  # noqa: S310 - held just above
        url,
        data=json.dumps(body).encode(),
        method="PUT",
        # The signature covers an empty content type.
        headers={"Content-Type": ""},
    )
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310 - as above
        pass


def answer(event: Mapping[str, Any], made: str, reason: str) -> None:
    """
    Answer a custom resource's event.

    Args:
        event: What CloudFormation sent.

        made: The physical id of what was made.

        reason: Why it failed; empty if it succeeded.
    """
    body = {
        "Status": "FAILED" if reason else "SUCCESS",
        "Reason": shortened(reason),
        "PhysicalResourceId": made,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
        "Data": {},
    }
    put(event["ResponseURL"], body)


def shortened(reason: str) -> str:
    """
    Return of a reason what an answer has room for, in the bytes of its JSON.
    """
    kept = reason[:_LONGEST]
    while len(json.dumps(kept)) > _LONGEST + len('""'):
        kept = kept[: len(kept) * 9 // 10]
    return kept
