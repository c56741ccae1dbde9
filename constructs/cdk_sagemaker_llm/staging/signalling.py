"""
Telling CloudFormation's wait condition how it went.
"""

from __future__ import annotations

import json
import urllib.request

# What CloudFormation shows of a reason.
_LONGEST = 3000


def signal(url: str, *, unique_id: str, reason: str = "", data: str = "") -> None:
    """
    Signal success, or failure with its reason.

    Args:
        url: The handle's presigned address.

        unique_id: What is signalled of; the same is counted once.

        reason: Why it failed. If left out, it succeeded.

        data: What the condition's ``Data`` hands on.
    """
    body = {
        "Status": "FAILURE" if reason else "SUCCESS",
        "Reason": (reason or "staged")[:_LONGEST],
        "UniqueId": unique_id,
        "Data": data,
    }
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"url must be the handle's address, got {url!r}")
    request = urllib.request.Request(  # noqa: S310 - held just above
        url,
        data=json.dumps(body).encode(),
        method="PUT",
        # The signature covers an empty content type.
        headers={"Content-Type": ""},
    )
    with urllib.request.urlopen(request, timeout=60):  # noqa: S310 - as above
        pass
