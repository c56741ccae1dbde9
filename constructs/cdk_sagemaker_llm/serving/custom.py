"""
A container of your own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import held, hold_kinds
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding, errors_of
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, kind_of
from cdk_sagemaker_llm.serving.configuration import (
    Accelerators,
    Container,
    Prepared,
    settled,
)
from cdk_sagemaker_llm.serving.credentials import credential_findings, file_findings
from cdk_sagemaker_llm.serving.environment import container_findings
from cdk_sagemaker_llm.serving.hub import TOKEN_VARIABLES
from cdk_sagemaker_llm.serving.lmi.base import config_of

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

    An image of LMI or TGI that the catalogue has is checked as the library's own is;
    of any other nothing is checked but credentials.

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
    @held
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
    @held
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
        accelerators: Accelerators,
    ) -> Prepared:
        """
        Check for credentials in plain text, and the variables where the image is
        known; pass on what was given, and the model's address.
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
        found = self._known_findings(container, model, settled(accelerators, None))
        if errors_of(found):
            return Prepared(None, tuple(found))
        return Prepared(container, tuple(found))

    def _known_findings(
        self, container: Container, model: ModelSource | None, devices: int | None
    ) -> list[Finding]:
        # A token is set by reference, after all that is known here.
        tokens = self.token_variables if getattr(model, "token", None) else ()
        environment = {
            **container.environment,
            **dict.fromkeys(tokens, "{{resolve:token}}"),
        }
        return container_findings(
            replace(container, environment=environment),
            accelerators=devices,
            architecture=config_of(kind_of(model)),
            has_model_data=bool(container.files or container.weights_uri),
        )
