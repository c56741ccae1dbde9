"""
Python callables that stand for the functions of custom resources.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from cdk_sagemaker_llm.local.functions import known
from cdk_sagemaker_llm.local.untyped import Untyped

Handler = Callable[[dict[str, Any]], Untyped]

# The CDK's own, whose code needs an SDK for Node that only Lambda has.
HANDLERS: dict[str, Handler] = {
    "Custom::AWS": known.call_aws,
    "Custom::S3AutoDeleteObjects": known.empty_bucket,
    "Custom::LogRetention": known.retain_logs,
}
"""The callables by type of custom resource."""


def register(assignment: str) -> None:
    """
    Register ``Custom::Name=module:function``.

    Raises:
        ValueError: If it is not of that form, or there is no such function.
    """
    name, separator, place = assignment.partition("=")
    module, colon, attribute = place.partition(":")
    if not (name and separator and module and colon and attribute):
        raise ValueError(
            f"custom_resource must be Custom::Name=module:function, got {assignment!r}"
        )
    try:
        HANDLERS[name] = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"custom_resource {name}: {error}") from error
