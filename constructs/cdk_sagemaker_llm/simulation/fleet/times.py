"""
How long instances and copies take, each figure with where it comes from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self

from cdk_sagemaker_llm.arguments import hold_kinds

# AWS on container caching, December 2024, Llama 3.1 70B on ml.p4d.24xlarge: a copy took
# 580 s on a new instance, 379 s on one that ran, and 166 s with the image in place.
_PROVISION = 580.0 - 379.0
_IMAGE_PULL = 379.0 - 166.0
# AWS on container image caching, 2026: an LMI image of 17.7 GB took 333 s to pull on an
# ml.g6.2xlarge, whose network is slower.
_IMAGE_PULL_SMALL = 333.0
# An assumption; with the two above a start takes 534 s, and AWS measured 525 s for
# Qwen3-8B on an ml.g6.2xlarge (2026, before its caching).
_MODEL_START = 120.0
# The container has 30 seconds after SIGTERM ("your-algorithms-inference-code").
_DRAIN = 30.0
# Measured on an ml.g5.xlarge in July 2026: 12 minutes after its last copy was gone.
_RELEASE = 12 * 60.0
# Reported for a variant of one type: InsufficientInstanceCapacity after 31 minutes.
_REFUSAL = 31 * 60.0
# An assumption: how long until what was refused is tried again.
_RETRY = 5 * 60.0

# For the estimate below, which gives 166 s for 141 GB out of S3 and 176 s for the
# 14.5 GB of Mistral 7B from the Hub: a start of ten minutes, less the two above.
_ENGINE_START = 60.0
_BYTES_PER_SECOND = {"s3": 1.33e9, "hub": 0.125e9}


@dataclass(frozen=True, slots=True)
class ByType:
    """
    A figure that differs by instance type.

    Args:
        otherwise: The figure of every type that is not named.

        types: The figures of those that are.
    """

    otherwise: float
    types: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hold_kinds(self)

    def of(self, instance_type: str) -> float:
        """
        Return the figure of a type.

        Args:
            instance_type: The type's API name.
        """
        return self.types.get(instance_type, self.otherwise)


Seconds = float | ByType


def seconds(value: Seconds, instance_type: str) -> float:
    """
    Return a time for one instance type.
    """
    return value.of(instance_type) if isinstance(value, ByType) else value


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetTimes:
    """
    Seconds that the steps of a fleet take.

    ``FleetTimes(provision=ByType(200, {"ml.p5.48xlarge": 600}), model_start=45)``

    Args:
        provision: From asking for an instance until it runs.
            If omitted, it is 201, from figures of AWS.

        image_pull: The first copy of an image on an instance waits for it.
            If omitted, it is 213, from figures of AWS; 333 on an ml.g6.2xlarge.

        model_start: From a container with its image until it serves.
            If omitted, it is 120, which is assumed; ``start_seconds`` estimates it.

        drain: From a copy leaving service until it is gone.
            If omitted, it is 30, the time a container has after SIGTERM.

        release: An instance without copies is let go after this.
            If omitted, it is 720, measured on an ml.g5.xlarge.

        refusal: Until the service says that it has no capacity.
            If omitted, it is 1860, as reported for a variant of one type.

        retry: Until what was refused or failed is tried again; never for 0.
            If omitted, it is 300, which is assumed.

    Raises:
        ValueError: If one is negative, or no number.
    """

    provision: Seconds = _PROVISION
    image_pull: Seconds = field(
        default_factory=lambda: ByType(
            _IMAGE_PULL, {"ml.g6.2xlarge": _IMAGE_PULL_SMALL}
        )
    )
    model_start: Seconds = _MODEL_START
    drain: Seconds = _DRAIN
    release: float = _RELEASE
    refusal: float = _REFUSAL
    retry: float = _RETRY

    def __post_init__(self) -> None:
        hold_kinds(self)
        for own in fields(self):
            value = getattr(self, own.name)
            times = (
                [value.otherwise, *value.types.values()]
                if isinstance(value, ByType)
                else [value]
            )
            for one in times:
                if not one >= 0:
                    raise ValueError(f"{own.name} must be at least 0, got {one}")

    @classmethod
    def instant(cls) -> Self:
        """
        Nothing takes any time.
        """
        return cls(
            provision=0.0,
            image_pull=0.0,
            model_start=0.0,
            drain=0.0,
            release=0.0,
            refusal=0.0,
            retry=0.0,
        )

    @classmethod
    def measured(cls, first_answer: float) -> Self:
        """
        Take one measurement: from asking for an instance until its first answer.

        What instance and image do not take of it is the model's start.

        Args:
            first_answer: Seconds, at least as many as instance and image take.
        """
        rest = first_answer - _PROVISION - _IMAGE_PULL
        return cls(image_pull=_IMAGE_PULL, model_start=rest)


def start_seconds(weight_bytes: float, *, source: str = "hub") -> float:
    """
    Estimate how long a model takes to start from its bytes: they come over the network.

    Args:
        weight_bytes: What is downloaded.

        source: ``hub`` for the Hugging Face Hub or ``s3``. If omitted, it is the Hub.
    """
    return _ENGINE_START + weight_bytes / _BYTES_PER_SECOND[source]
