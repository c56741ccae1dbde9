"""
Weights on a host's disk: how large they are, and how large the volume must be.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.catalog.instances import InstanceType
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.limits import gibibytes
from cdk_sagemaker_llm.models import ModelSource, architecture_of

if TYPE_CHECKING:
    from aws_cdk import Size

# What a type without local NVMe storage gets, where no size is asked for.
DEFAULT_VOLUME_GIB = 30
LARGEST_VOLUME_GIB = 512
# The weights as they are published, and as the engine splits or compiles them.
_COPIES_ON_DISK = 2

SMALL_VOLUME = Rule(
    "LLM246",
    "a volume may be too small for the model's weights",
    "SageMaker developer guide, large-model-inference-hosting",
)


def weight_bytes(demand: Demand | None, model: ModelSource | None) -> int | None:
    """
    Return the bytes of a model's weights as they are published; ``None`` if that is
    not known.
    """
    known = demand.architecture if demand else architecture_of(model)
    return None if known is None else known.weight_bytes()


def volume_gib(hardware: InstanceType | None, weights: int | None) -> int | None:
    """
    Return the size of the volume that weights ask for.

    ``None`` where the default will do, storage is local, or the size is not known.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        weights: The weights' bytes; ``None`` if they are not known.
    """
    if weights is None or hardware is None or not hardware.volume_size_supported:
        return None
    needed = math.ceil(_COPIES_ON_DISK * weights / 2**30)
    return min(needed, LARGEST_VOLUME_GIB) if needed > DEFAULT_VOLUME_GIB else None


def volume_findings(
    hardware: InstanceType | None, volume_size: Size | None, weights: int | None
) -> list[Finding]:
    """
    Check that the hosts' volume holds a model.

    Args:
        hardware: The instance type; ``None`` if it is not known.

        volume_size: The size that the hosts have; ``None`` for the default.

        weights: The bytes that are downloaded there; ``None`` if they are not known.
    """
    if hardware is None or not hardware.volume_size_supported:
        return []
    has = DEFAULT_VOLUME_GIB
    if volume_size is not None:
        asked = gibibytes(volume_size)
        if asked is None or is_unresolved(asked):
            return []
        has = round(asked)
    if weights is None and volume_size is None:
        return [
            SMALL_VOLUME.finding(
                f"{hardware} has no local storage, and nothing is known of the model's "
                f"size: its volume has {has} GiB",
                "set volume_size to at least the weights' size, twice that where they "
                "are compiled or converted",
            )
        ]
    if weights is None or weights <= has * 2**30:
        return []
    return [
        SMALL_VOLUME.finding(
            f"the weights take {weights / 2**30:.0f} GiB, and the volume of {hardware} "
            f"has {has} GiB",
            "raise volume_size",
        )
    ]
