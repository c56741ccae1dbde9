"""
How many copies, or instances, serve an endpoint at present.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdk_sagemaker_llm.load.settings import LoadSettings


def copies_of(settings: LoadSettings) -> int:
    """
    Look up how many copies of the component serve, or instances of the variant.

    Raises:
        LookupError: If that cannot be told, with the reason.
    """
    if settings.endpoint_url is not None:
        raise LookupError(
            "how many copies served is not looked up beside --endpoint-url; say it "
            "with --copies"
        )
    try:
        import boto3  # noqa: PLC0415 - an extra
        from botocore.config import Config  # noqa: PLC0415 - an extra
        from botocore.exceptions import (  # noqa: PLC0415 - an extra
            BotoCoreError,
            ClientError,
        )
    except ImportError as error:
        raise _unknown("boto3 is missing") from error
    # Nobody waits long for what is a convenience.
    config = Config(connect_timeout=5, read_timeout=10, retries={"max_attempts": 2})
    try:
        client = boto3.client("sagemaker", region_name=settings.region, config=config)
        if settings.component is not None:
            found = client.describe_inference_component(
                InferenceComponentName=settings.component
            )
            return _known(found.get("RuntimeConfig", {}).get("CurrentCopyCount"))
        found = client.describe_endpoint(EndpointName=settings.endpoint)
        return _known(_instances(found, settings.variant))
    except ClientError as error:
        raise _unknown(error.response["Error"]["Code"]) from error
    except BotoCoreError as error:
        raise _unknown(type(error).__name__) from error


class Counting:
    """
    How many served while something was measured.

    Args:
        settings: Whom to count.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self._settings = settings
        self._first, self._untold = self._count()

    def found(self) -> dict[str, Any]:
        """
        Count again: how many served since the beginning, or why that is not known.
        """
        if self._first is not None:
            count, self._untold = self._count()
            self._untold = self._untold or _changed(self._first, count)
        if self._untold:
            self._first = None
        return {"copies": self._first, "copies_untold": self._untold}

    def _count(self) -> tuple[int | None, str]:
        try:
            return copies_of(self._settings), ""
        except LookupError as reason:
            return None, str(reason)


def _changed(before: int, after: int | None) -> str:
    if before == after:
        return ""
    return (
        f"the copies changed from {before} to {after} while it was measured; hold "
        "their number, with a minimum that is the maximum, and measure again"
    )


def _instances(endpoint: Mapping[str, Any], variant: str | None) -> int | None:
    variants = [
        one
        for one in endpoint.get("ProductionVariants", [])
        if variant in {None, one["VariantName"]}
    ]
    if len(variants) > 1:
        raise LookupError("the endpoint has several variants; name one with --variant")
    return variants[0].get("CurrentInstanceCount") if variants else None


def _known(count: int | None) -> int:
    if not count:
        raise _unknown("none is named")
    return count


def _unknown(why: str) -> LookupError:
    return LookupError(
        f"how many copies served could not be read ({why}); say it with --copies"
    )
