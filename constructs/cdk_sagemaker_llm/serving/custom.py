"""
A container of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource
from cdk_sagemaker_llm.serving.configuration import (
    Accelerators,
    Container,
    Prepared,
)
from cdk_sagemaker_llm.serving.credentials import credential_findings, file_findings
from cdk_sagemaker_llm.serving.hub import TOKEN_VARIABLES

if TYPE_CHECKING:
    from aws_cdk import aws_ecr as ecr
    from aws_cdk import aws_ecr_assets as ecr_assets


@dataclass(frozen=True, slots=True)
class CustomContainer:
    """
    Serve with an image that the catalogue does not have, or one of yours.

    ``CustomContainer.from_uri("111111111111.dkr.ecr.eu-west-1.amazonaws.com/vllm:1")``
    ``CustomContainer.from_ecr_repository(repository, tag="1")``
    ``CustomContainer.from_docker_image_asset(asset)``
    ``CustomContainer(find_image("huggingface-vllm", "0.21.0"), environment={...})``

    Nothing of what it is told is checked but credentials.

    Args:
        image: The image that runs.

        environment: Its environment variables, without secrets.

        files: What goes into the model tarball, by path. If left out, there is none.

        model_variable:
            The variable that names a model on the Hugging Face Hub.
            If left out, it is ``HF_MODEL_ID``; weights on S3 are put into
            ``/opt/ml/model``.

        token_variables: The variables that hold the Hugging Face token.
    """

    image: ImageRelease
    _: KW_ONLY
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    model_variable: str = "HF_MODEL_ID"
    token_variables: tuple[str, ...] = TOKEN_VARIABLES

    def __post_init__(self) -> None:
        """
        Hold each field to its kind.
        """
        hold_kinds(self)

    @classmethod
    @held
    def from_uri(
        cls,
        uri: str,
        *,
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        model_variable: str = "HF_MODEL_ID",
    ) -> CustomContainer:
        """
        Name the image by its full URI in Amazon ECR, some or all of which may be
        decided at deployment.

        Where the URI shows the repository, the execution role is let pull from it.

        Raises:
            ValueError: If it is no such URI.
        """
        return cls(
            ImageRelease.from_uri(uri),
            environment=environment or {},
            files=files or {},
            model_variable=model_variable,
        )

    @classmethod
    def from_ecr_repository(
        cls,
        repository: ecr.IRepository,
        *,
        tag: str = "latest",
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        model_variable: str = "HF_MODEL_ID",
    ) -> CustomContainer:
        """
        Name an image of a repository, which the execution role is let pull from.

        Args:
            repository: The repository, of this app or imported.

            tag: The image's tag, or its digest as ``sha256:...``.

            environment: Its environment variables, without secrets.

            files: What goes into the model tarball, by path. If left out, there is
                none.

            model_variable: The variable that names a model on the Hugging Face Hub.
        """
        uri = repository.repository_uri_for_tag_or_digest(tag)
        image = ImageRelease.from_uri(uri, repository_arn=repository.repository_arn)
        return cls(
            image,
            environment=environment or {},
            files=files or {},
            model_variable=model_variable,
        )

    @classmethod
    def from_docker_image_asset(
        cls,
        asset: ecr_assets.DockerImageAsset,
        *,
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, bytes] | None = None,
        model_variable: str = "HF_MODEL_ID",
    ) -> CustomContainer:
        """
        Take an image that the app builds, which the execution role is let pull.

        Args:
            asset: The image.

            environment: Its environment variables, without secrets.

            files: What goes into the model tarball, by path. If left out, there is
                none.

            model_variable: The variable that names a model on the Hugging Face Hub.
        """
        arn = asset.repository.repository_arn
        return cls(
            ImageRelease.from_uri(asset.image_uri, repository_arn=arn),
            environment=environment or {},
            files=files or {},
            model_variable=model_variable,
        )

    def prepare(
        self,
        model: ModelSource | None,
        accelerators: Accelerators,  # noqa: ARG002 - the container decides
    ) -> Prepared:
        """
        Check for credentials in plain text; pass on what was given, and the model's
        address.
        """
        found = credential_findings("environment", self.environment)
        found += file_findings(self.files)
        if found:
            return Prepared(None, tuple(found))
        named = {}
        if isinstance(model, HuggingFaceModel):
            named[self.model_variable] = model.model_id
        container = Container(
            image=self.image,
            files=self.files,
            environment={**named, **self.environment},
            token_variables=self.token_variables,
            weights_uri=getattr(model, "uri", None),
        )
        return Prepared(container, ())
