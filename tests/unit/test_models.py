"""
Where weights come from.
"""

from __future__ import annotations

import pytest
from aws_cdk import SecretValue, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import HuggingFaceModel, S3Model


@pytest.mark.parametrize("model_id", ["", "/", "s3://bucket/prefix/", "a/b/c"])
def test_fails_if_the_model_id_is_no_hub_repository(model_id: str) -> None:
    """
    A path or S3 address is caught before a container looks for it on the Hub.
    """
    with pytest.raises(ValueError, match="model_id must be a Hugging Face repository"):
        HuggingFaceModel(model_id)


def test_a_token_is_not_shown() -> None:
    """
    A model in a log line does not show the token's reference.
    """
    model = HuggingFaceModel("a/b", token=SecretValue.secrets_manager("my-secret"))

    assert "token" not in repr(model)


@pytest.mark.parametrize("uri", ["bucket/prefix/", "s3://bucket/prefix", "https://x/"])
def test_fails_if_the_uri_is_no_prefix(uri: str) -> None:
    """
    The service takes prefixes with a slash at the end only.
    """
    with pytest.raises(ValueError, match="uri must be a prefix"):
        S3Model(uri)


def test_a_bucket_brings_its_key(stack: Stack) -> None:
    """
    An encrypted bucket's key is known without being named twice.
    """
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Bucket", encryption_key=key)

    model = S3Model.from_bucket(bucket, "/weights/")

    assert model.kms_key is not None
    assert model.prefix == "weights/"
    assert model.uri.endswith("/weights/")
