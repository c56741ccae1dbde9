"""
What every serving configuration answers: which image runs, with what inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import ModelSource


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
    """

    image: ImageRelease
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    token_variables: tuple[str, ...] = ()
    weights_uri: str | None = None
    loading_seconds: int | None = None


@runtime_checkable
class ServingConfiguration(Protocol):
    """
    How a model is served: one of the backends, or a hand-written folder.
    """

    def findings(
        self, model: ModelSource | None, *, accelerators: int | None = None
    ) -> list[Finding]:
        """
        Check the configuration for a model, before anything is made of it.

        Args:
            model: Where the weights come from; ``None`` when the files name it.

            accelerators: Devices that each copy of the model has.
                ``None`` skips what depends on them.
        """

    def container(
        self, model: ModelSource | None, *, accelerators: int | None
    ) -> Container:
        """
        Describe the container for a model.

        Args:
            model: Where the weights come from; ``None`` when the files name it.

            accelerators: Devices that each copy of the model has.
        """
