"""
Staging a model in a build: ``python3 -m cdk_sagemaker_llm.staging``.
"""

from __future__ import annotations

import sys

from cdk_sagemaker_llm.staging import hub
from cdk_sagemaker_llm.staging.order import Order
from cdk_sagemaker_llm.staging.signalling import ended, say
from cdk_sagemaker_llm.staging.storage import Storage
from cdk_sagemaker_llm.staging.transfer import Transfer, select


def stage(order: Order) -> None:
    """
    Stage an order, unless it is staged.
    """
    storage = Storage(order)
    if storage.is_staged():
        say(f"{order.title} is staged already")
        return
    files = select(hub.list_files(order), order.include, order.exclude)
    Transfer(order, storage, files).run()
    storage.seal(
        {
            "model_id": order.model_id,
            "revision": order.revision,
            "prefix": order.prefix,
            "files": {
                each.path: {"size": each.size, "digest": each.digest} for each in files
            },
        }
    )
    say(f"{order.title} is staged: s3://{order.bucket}/{order.prefix}")


def main() -> int:
    """
    Stage what the environment asks for, and signal how it went.
    """
    return ended(
        Order.from_environment,
        stage,
        named=lambda order: order.manifest,
        otherwise="staging",
        failed="not staged",
    )


if __name__ == "__main__":
    sys.exit(main())
