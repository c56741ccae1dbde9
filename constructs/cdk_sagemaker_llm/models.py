"""
Where a model's weights come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cdk_sagemaker_llm._tokens import is_unresolved

if TYPE_CHECKING:
    from aws_cdk import SecretValue
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3
    from aws_cdk import aws_secretsmanager as secretsmanager


@dataclass(frozen=True, slots=True)
class HuggingFaceModel:
    """
    A model on the Hugging Face Hub, downloaded by the container when it starts.

    ``HuggingFaceModel("mistralai/Mistral-7B-v0.1")``
    ``HuggingFaceModel("meta-llama/Llama-2-13b-chat-hf", token=secret)``

    Args:
        model_id: The repository on the Hub, as ``organisation/name``.

        revision:
            A commit, branch or tag.
            Left out, the newest commit of the main branch at every start.

        token:
            The secret that holds a Hub access token, for gated models: a Secrets
            Manager secret, or ``SecretValue.secrets_manager(...)``.
            It reaches the container as a dynamic reference: the value is in no
            template, but whoever may call DescribeModel can read it.
            Left out, only public models load.

    Raises:
        ValueError: If the model id is not of that form.
    """

    model_id: str
    revision: str | None = field(default=None, kw_only=True)
    token: secretsmanager.ISecret | SecretValue | None = field(
        default=None, kw_only=True, repr=False
    )

    def __post_init__(self) -> None:
        """
        Hold the form of a Hub repository name.
        """
        if is_unresolved(self.model_id):
            return
        if self.model_id.count("/") > 1 or not self.model_id.strip("/"):
            raise ValueError(
                "model_id must be a Hugging Face repository such as "
                f"'mistralai/Mistral-7B-v0.1', got {self.model_id!r}; "
                "weights on S3 are an S3Model"
            )


@dataclass(frozen=True, slots=True)
class S3Model:
    """
    A model's uncompressed files under a prefix on S3, in the endpoint's region.

    ``S3Model("s3://my-bucket/mistral-7b/")``
    ``S3Model.from_bucket(bucket, "mistral-7b/")``

    Args:
        uri: The prefix, as ``s3://bucket/prefix/``; it must end with a slash.

        kms_key:
            The key that encrypts the objects.
            Left out, the role may not decrypt with any.

    Raises:
        ValueError: If the URI is no such prefix.
    """

    uri: str
    kms_key: kms.IKey | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """
        Hold the service's rule that a prefix ends with a slash.
        """
        if not self.uri.startswith("s3://") or not self.uri.endswith("/"):
            raise ValueError(
                f"uri must be a prefix such as 's3://bucket/prefix/', got {self.uri!r}"
            )

    @classmethod
    def from_bucket(cls, bucket: s3.IBucket, prefix: str) -> S3Model:
        """
        Name the prefix of a bucket, whose own encryption key is used.
        """
        uri = f"s3://{bucket.bucket_name}/{prefix.strip('/')}/"
        return cls(uri, kms_key=bucket.encryption_key)

    @property
    def bucket_name(self) -> str:
        """
        The bucket's part of the URI.
        """
        return self.uri.removeprefix("s3://").split("/", 1)[0]

    @property
    def prefix(self) -> str:
        """
        The key prefix, with its slash at the end.
        """
        return self.uri.removeprefix("s3://").split("/", 1)[1]


ModelSource = HuggingFaceModel | S3Model
