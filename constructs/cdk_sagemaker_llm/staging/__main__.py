"""
Staging a model in a build: ``python3 -m cdk_sagemaker_llm.staging``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from cdk_sagemaker_llm.staging import hub
from cdk_sagemaker_llm.staging.failures import StagingError
from cdk_sagemaker_llm.staging.hub import HubFile
from cdk_sagemaker_llm.staging.order import HANDLE, Order
from cdk_sagemaker_llm.staging.progress import say
from cdk_sagemaker_llm.staging.selecting import select
from cdk_sagemaker_llm.staging.signalling import signal
from cdk_sagemaker_llm.staging.storage import Storage
from cdk_sagemaker_llm.staging.transfer import Transfer


def stage(order: Order) -> None:
    """
    Stage an order, unless it is staged.

    Raises:
        StagingError: If that cannot be done; what was brought stays for the next time.
    """
    storage = Storage(order)
    if storage.is_staged():
        say(f"{order.title} is staged already")
        return
    files = select(hub.list_files(order), order.include, order.exclude)
    Transfer(order, storage, files).run()
    storage.seal(_manifest(order, files))
    say(f"{order.title} is staged: s3://{order.bucket}/{order.prefix}")


def _manifest(order: Order, files: list[HubFile]) -> dict[str, Any]:
    return {
        "model_id": order.model_id,
        "revision": order.revision,
        "prefix": order.prefix,
        "files": {one.path: {"size": one.size, "digest": one.digest} for one in files},
    }


def main() -> int:
    """
    Stage what the environment asks for, and signal how it went.
    """
    reason = ""
    unique_id = "staging"
    try:
        order = Order.from_environment()
        unique_id = order.manifest
        stage(order)
    except StagingError as fault:
        reason = str(fault)
    except Exception as fault:  # noqa: BLE001 - the stack's event must say what it was
        reason = f"{type(fault).__name__}: {fault}"
    if reason:
        say(f"not staged: {reason}")
    handle = os.environ.get(HANDLE)
    if handle:
        signal(handle, unique_id=unique_id, reason=reason)
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
