"""
Requests to the CDK's own custom resources, in the place of CloudFormation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdk_sagemaker_llm.local.cloudformation.cdk_handlers import HANDLERS

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local import EmbeddedAws
    from cdk_sagemaker_llm.local.aws.untyped import Untyped


class Handlers:
    """
    Those that run in this process, for a stack of an AWS that does.
    """

    def __init__(self, aws: EmbeddedAws) -> None:
        self._stack = f"arn:aws:cloudformation:us-east-1:{aws.account}:stack/s/1"

    def __call__(
        self,
        kind: str,
        request: str,
        properties: dict[str, Any],
        old: dict[str, Any] | None = None,
        **more: str,
    ) -> Untyped:
        """
        Ask one, and return its answer.
        """
        event = {
            "RequestType": request,
            "StackId": self._stack,
            "LogicalResourceId": "Logical",
            "ResourceProperties": properties,
            **more,
        }
        if old is not None:
            event["OldResourceProperties"] = old
        return HANDLERS[f"Custom::{kind}"](event)
