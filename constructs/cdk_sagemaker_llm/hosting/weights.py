"""
Reading a model's weights from S3, and its Hugging Face token from Secrets Manager.
"""

from __future__ import annotations

from aws_cdk import SecretValue

from cdk_sagemaker_llm._tokens import is_unresolved
from cdk_sagemaker_llm.findings import Finding, Rule
from cdk_sagemaker_llm.hosting.arns import partition
from cdk_sagemaker_llm.hosting.keys import arn_of, key_access
from cdk_sagemaker_llm.hosting.statements import Statement, prefix_condition
from cdk_sagemaker_llm.models import HuggingFaceModel, ModelSource, S3Model
from cdk_sagemaker_llm.serving.rules import PLAIN_CREDENTIAL

USELESS_EULA = Rule(
    "LLM823",
    "a licence is accepted where SageMaker does not download the weights",
    "SageMaker API reference, S3ModelDataSource",
)
VISIBLE_TOKEN = Rule("LLM202", "a token can be read by whoever may call DescribeModel")


def weights_statements(model: ModelSource | None) -> list[Statement]:
    """
    Return what a role needs to read weights on S3.
    """
    if not isinstance(model, S3Model):
        return []
    bucket = f"arn:{partition()}:s3:::{model.bucket_name}"
    statements = [
        Statement(
            sid="ReadWeights",
            actions=["s3:GetObject"],
            resources=[f"{bucket}/{model.prefix}*"],
            wildcard_reason="a model is many files, listed under its prefix",
        ),
        Statement(
            sid="ListWeights",
            actions=["s3:ListBucket"],
            resources=[bucket],
            conditions=prefix_condition(f"{model.prefix}*"),
        ),
    ]
    if model.kms_key is not None:
        arns = [arn_of(model.kms_key)]
        statements += key_access("DecryptWeights", ["kms:Decrypt"], arns)
    return statements


def accepts_eula(model: ModelSource | None) -> bool:
    """
    Return whether the licence of weights on S3 is accepted.
    """
    return isinstance(model, S3Model) and model.accept_eula


def eula_findings(model: ModelSource | None, weights_uri: str | None) -> list[Finding]:
    """
    Check that what is accepted is written: the model's data source alone has a place.

    Args:
        model: The weights.

        weights_uri: What SageMaker downloads; ``None`` if the container does.
    """
    if not accepts_eula(model) or weights_uri is not None:
        return []
    return [
        USELESS_EULA.finding(
            "accept_eula=True is written nowhere: the container downloads the weights "
            "by itself",
            "use a serving configuration that SageMaker downloads for, such as Vllm()",
        )
    ]


def token_reference(model: ModelSource | None) -> str | None:
    """
    Return the Hugging Face token as a dynamic reference; ``None`` without one.
    """
    if not isinstance(model, HuggingFaceModel) or model.token is None:
        return None
    value = (
        model.token
        if isinstance(model.token, SecretValue)
        else model.token.secret_value
    )
    # A dynamic reference is the one safe form that reaches a container's
    # environment; the CDK refuses to render it without this word.
    return value.unsafe_unwrap()


def token_findings(reference: str | None) -> list[Finding]:
    """
    Check that the token is a reference, and say who can read it all the same.
    """
    if reference is None:
        return []
    if not is_unresolved(reference) and not reference.startswith("{{resolve:"):
        return [
            PLAIN_CREDENTIAL.finding(
                "token must refer to a secret, got its plain text",
                "use a Secret, or SecretValue.secrets_manager(...)",
            )
        ]
    return [
        VISIBLE_TOKEN.finding(
            "the Hugging Face token is no part of the template, but DescribeModel "
            "shows it to whoever may call it",
            "stage the weights on S3 and serve an S3Model without a token",
        )
    ]
