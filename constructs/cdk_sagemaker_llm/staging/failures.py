"""
Why a model cannot be staged, and how long to wait before a busy server is asked again.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

_ELSEWHERE = {"301", "PermanentRedirect", "AuthorizationHeaderMalformed"}

# The first pause; each is twice the one before.
_PAUSE = float(os.environ.get("STAGING_RETRY_SECONDS", "2"))


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


class StagingError(Exception):
    """
    What stands in the way, and the way out, in one line for the stack's event.
    """


def pause(attempt: int) -> None:
    """
    Wait after an attempt, the longer the more there were.
    """
    time.sleep(_PAUSE * 2**attempt)
