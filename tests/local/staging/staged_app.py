"""
An app that stages a model by what its context says.
"""

from __future__ import annotations

import json

from aws_cdk import App, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    StagedModel,
    TensorRtLlm,
    Vllm,
)


def main() -> None:
    """
    Write the assembly.
    """
    app = App()
    said = json.loads(app.node.try_get_context("said"))
    stack = Stack(app, said["stack"])
    bucket = s3.Bucket.from_bucket_name(stack, "Bucket", said["bucket"])
    secret = said.get("secret")
    token = SecretValue.secrets_manager(secret) if secret else None
    version = said.get("compile")
    weights = StagedModel(
        stack,
        "Weights",
        model=HuggingFaceModel(said["model"], revision=said["revision"], token=token),
        bucket=bucket,
        include=said.get("include", ()),
        removal_policy=RemovalPolicy.DESTROY,
        hub_url=said["hub"],
        compile=TensorRtLlm(version) if version else None,
        instance_type="ml.g6.xlarge" if version else None,
    )
    if said.get("endpoint"):
        LlmEndpoint(
            stack,
            "Endpoint",
            model=weights.model,
            serving=weights.serving or Vllm(max_model_len=512),
            instance_type="ml.g6.xlarge",
        )
    app.synth()


main()
