"""
Looking whether an endpoint answers at all, before it is loaded.
"""

from __future__ import annotations

from botocore.exceptions import BotoCoreError

from cdk_sagemaker_llm.client import ComponentNameError, RefusedError
from cdk_sagemaker_llm.load.generating.asking import Asking
from cdk_sagemaker_llm.load.settings import LoadSettings

_REMEDY = "name a region with --region or AWS_DEFAULT_REGION, or choose an AWS_PROFILE"


class HopelessError(Exception):
    """
    No load could ever be: what is wrong does not pass.
    """


def prepared(settings: LoadSettings, number: int) -> Asking:
    """
    Return what asks, after it has asked once.

    Args:
        settings: Who asks what.

        number: Which process this is.

    Raises:
        HopelessError: If the endpoint refuses for good.
    """
    try:
        asking = Asking(settings, number)
    except ValueError as error:
        raise HopelessError(f"{error}; correct the setting") from error
    except RefusedError as error:
        raise _at_fault(error.__cause__ or error) from error
    try:
        asking.try_once()
    except BotoCoreError as error:
        raise _at_fault(error) from error
    except (ComponentNameError, RefusedError) as error:
        raise HopelessError(str(error)) from error
    except Exception:  # noqa: BLE001, S110 - what may pass is measured, not judged
        pass
    return asking


def _at_fault(error: BaseException) -> HopelessError:
    return HopelessError(f"{error} The settings of AWS are at fault: {_REMEDY}")
