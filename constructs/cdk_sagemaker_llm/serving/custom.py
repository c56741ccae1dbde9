"""
A container of your own: any image, with your variables and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.arguments import held
from cdk_sagemaker_llm.catalog.images import ImageRelease
from cdk_sagemaker_llm.findings import Finding
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, kind_of
from cdk_sagemaker_llm.serving.base import Accelerators, Case, Serving, Settings
from cdk_sagemaker_llm.serving.checks import config_of
from cdk_sagemaker_llm.serving.families import container_findings
from cdk_sagemaker_llm.serving.images import ChosenImage
from cdk_sagemaker_llm.serving.parameters import (
    TOKEN_VARIABLES,
    credential_findings,
    file_findings,
)
from cdk_sagemaker_llm.tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import aws_ecr as ecr
    from aws_cdk import aws_ecr_assets as ecr_assets

_UNKNOWN_REGION = "unknown-region"


@dataclass(frozen=True, slots=True)
class CustomContainer(Serving):
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

        files: What goes into the model tarball, by path. If omitted, there is none.

        model_variable:
            The variable that names a model on the Hugging Face Hub.
            If omitted, it is ``HF_MODEL_ID``; weights on S3 are put into
            ``/opt/ml/model``.

        token_variables: The variables that hold the Hugging Face token.
    """

    image: ImageRelease
    _: KW_ONLY
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    model_variable: str = "HF_MODEL_ID"
    token_variables: tuple[str, ...] = TOKEN_VARIABLES

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

        Args:
            uri: The image's address in a registry of ECR.

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

            files: What goes into the model tarball, by path. If omitted, there is
                none.

            model_variable: The variable that names a model on the Hugging Face Hub.
        """
        uri = repository.repository_uri_for_tag_or_digest(tag)
        image = ImageRelease.from_uri(uri, repository_arn=repository.repository_arn)
        region = repository.env.region
        if image.registry and not is_unresolved(region) and region != _UNKNOWN_REGION:
            # Of a repository of the app's own the address does not tell it.
            image = replace(image, registry=replace(image.registry, region=region))
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

            files: What goes into the model tarball, by path. If omitted, there is
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

    def _image(
        self,
        model: ModelSource | None,  # noqa: ARG002 - the base's signature
        accelerators: Accelerators,
    ) -> tuple[ChosenImage, Accelerators]:
        image = self.image
        return ChosenImage(image, image.family, image.version, ()), accelerators

    def _general_findings(self, case: Case) -> list[Finding]:  # noqa: ARG002 - the base's signature
        found = credential_findings("environment", self.environment)
        return found + file_findings(self.files)

    def _settings(self, case: Case, *, is_sound: bool) -> Settings:
        if not is_sound:
            return Settings()
        named = {}
        if isinstance(case.model, HuggingFaceModel):
            named[self.model_variable] = case.model.model_id
        settings = Settings(files=self.files, environment={**named, **self.environment})
        container = self._container(case, self.image, settings)
        # A token is set by reference, after all that is known here.
        has_token = case.model is not None and case.model.token is not None
        tokens = self.token_variables if has_token else ()
        environment = {
            **container.environment,
            **dict.fromkeys(tokens, "{{resolve:token}}"),
        }
        found = container_findings(
            replace(container, environment=environment),
            accelerators=case.devices,
            architecture=config_of(kind_of(case.model)),
            has_model_data=bool(container.files or container.weights_uri),
        )
        return settings._replace(findings=tuple(found))

    def _token_variables(self, image: ChosenImage) -> tuple[str, ...]:  # noqa: ARG002 - the base's signature
        return self.token_variables
