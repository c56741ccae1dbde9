"""
Saying how staging went: in the log, to CloudFormation by a wait condition or a custom
resource, and by a worker's exit status; what stands in its way, and how long to wait
before a busy server is asked again.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

HANDLE = "STAGING_HANDLE"
"""The variable with the address of the wait condition that is told how it went."""
# What CloudFormation takes of a reason: an answer has at most 4096 bytes, of which a
# prefix and the stack's names may be a thousand (CloudFormation user guide,
# crpg-ref-responses).
_LONGEST = 3000
_SECONDS = 60

_ELSEWHERE = {"301", "PermanentRedirect", "AuthorizationHeaderMalformed"}

# The first pause; each is twice the one before.
_PAUSE = float(os.environ.get("STAGING_RETRY_SECONDS", "2"))

Work = TypeVar("Work")


class StagingError(Exception):
    """
    What stands in the way, and the way out, in one line for the stack's event.
    """


def answer(event: Mapping[str, Any], made: str, reason: str) -> None:
    """
    Answer a custom resource's event; without a reason it succeeded.
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


def ended(
    read: Callable[[], Work],
    do: Callable[[Work], None],
    *,
    named: Callable[[Work], str],
    otherwise: str,
    failed: str,
) -> int:
    """
    Do what the environment asks for, and tell the wait condition of what is ``named``
    how it went, or of ``otherwise`` where the order cannot be read.
    """
    reason, unique_id = "", otherwise
    try:
        order = read()
        unique_id = named(order)
        do(order)
    except StagingError as fault:
        reason = str(fault)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
    if reason:
        say(f"{failed}: {reason}")
    handle = os.environ.get(HANDLE)
    if handle:
        signal(handle, unique_id=unique_id, reason=reason)
    return 1 if reason else 0


def signal(url: str, *, unique_id: str, reason: str = "") -> None:
    """
    Signal success to a wait condition, or failure with its reason; the same id is
    counted once.
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


def shortened(reason: str) -> str:
    """
    Return of a reason what an answer has room for, in the bytes of its JSON.
    """
    kept = reason[:_LONGEST]
    while len(json.dumps(kept)) > _LONGEST + len('""'):
        kept = kept[: len(kept) * 9 // 10]
    return kept


def say(line: str) -> None:
    """
    Write a line at once: whoever looks at the log of a build waits for it.
    """
    print(line, flush=True)  # noqa: T201 - the log of a build is its output


def bucket_failure(fault: ClientError, bucket: str) -> StagingError:
    """
    Return an error that says what is wrong with a bucket.
    """
    error = fault.response["Error"]
    code = error["Code"]
    if code in _ELSEWHERE:
        return StagingError(
            f"bucket {bucket} is in another region, and SageMaker reads weights from "
            "the endpoint's own; name a bucket of this region"
        )
    if code == "NoSuchBucket":
        return StagingError(f"bucket {bucket} does not exist")
    if code in {"403", "AccessDenied"} or code.startswith("KMS."):
        return StagingError(
            f"the role may not use bucket {bucket} or its key "
            f"({error.get('Message', code)}); let it in by their policies"
        )
    return StagingError(f"bucket {bucket}: {fault}")


def pause(attempt: int) -> None:
    """
    Wait after an attempt, the longer the more there were.
    """
    time.sleep(_PAUSE * 2**attempt)
