"""
What every serving configuration answers: which image runs, with what inside, and what
it asks of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.demand import Demand
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource
from cdk_sagemaker_llm.tokens import is_unresolved

Accelerators = int | Callable[[Demand | None], int | None] | None
"""
How many devices each copy of a model has.

A number; ``None`` if it is not known; or a function that decides it, once the
configuration has said what it asks of the memory.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """
    What SageMaker starts for a model: an image, files, variables and weights.

    Args:
        image: The image that runs.

        files: What goes into the model tarball, by path; empty for no tarball.

        environment: Environment variables, without secrets.

        token_variables: Variables that are to hold the Hugging Face token.

        weights_uri: A prefix on S3 that SageMaker itself puts into
            ``/opt/ml/model``; ``None`` when the container fetches the weights.

        loading_seconds: How long the container itself lets loading take; ``None``
            where it sets no limit.

        start_up_seconds: How long SageMaker should wait for an answer, where the
            model's size asks for more than the default; ``None`` for the default.
    """

    image: ImageRelease
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    token_variables: tuple[str, ...] = ()
    weights_uri: str | None = None
    loading_seconds: int | None = None
    start_up_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """
    All that a serving configuration answers for one model, at once.

    Args:
        container: What is started; ``None`` where an error stands in the way.

        findings: What was found, errors and warnings.

        demand: What it asks of the memory; ``None`` where that is not modelled.
    """

    container: Container | None
    findings: tuple[Finding, ...]
    demand: Demand | None = None


@runtime_checkable
class ServingConfiguration(Protocol):
    """
    How a model is served: one of the backends, or a hand-written folder.
    """

    def prepare(
        self, model: ModelSource | None, accelerators: Accelerators
    ) -> Prepared:
        """
        Check the configuration for a model and describe the container, before
        anything is made of it.

        Args:
            model: Where the weights come from; ``None`` when the files name it.

            accelerators: Devices that each copy of the model has.
                ``None`` skips what depends on them.
        """


def settled(accelerators: Accelerators, demand: Demand | None) -> int | None:
    """
    Return how many devices each copy has, now that the demand is known; ``None`` where
    only deployment knows.
    """
    devices = accelerators(demand) if callable(accelerators) else accelerators
    return None if is_unresolved(devices) else devices
