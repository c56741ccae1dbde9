"""
Refusals, with the codes and words of the service they stand for.
"""

from __future__ import annotations

from cdk_sagemaker_llm.local.aws.untyped import Untyped


class AwsError(Exception):
    """
    A request that the service refuses: its code, its words, the HTTP status, and what
    else the error's body carries.
    """

    def __init__(
        self, code: str, message: str, status: int = 400, **fields: Untyped
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.fields = fields


def validation(message: str) -> AwsError:
    """
    Make the error that SageMaker's control plane answers nearly everything with.

    A missing resource too: the API declares ``ResourceNotFound``, but the hosting
    operations answer ``ValidationException: Could not find ...``.
    """
    return AwsError("ValidationException", message)
