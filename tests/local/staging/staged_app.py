"""
An app that stages a model by what its context says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aws_cdk import App, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_s3 as s3

from cdk_sagemaker_llm import (
    HuggingFaceModel,
    LlmEndpoint,
    NeuronX,
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
    serving, kind = compiled(said)
    weights = StagedModel(
        stack,
        "Weights",
        model=HuggingFaceModel(said["model"], revision=said["revision"], token=token),
        bucket=bucket,
        include=said.get("include", ()),
        removal_policy=RemovalPolicy.DESTROY,
        hub_url=said["hub"],
        compile=serving,
        instance_type=kind if serving else None,
    )
    if said.get("endpoint"):
        LlmEndpoint(
            stack,
            "Endpoint",
            model=weights.model,
            serving=weights.serving or Vllm(max_model_len=512),
            instance_type=kind,
        )
    app.synth()


def compiled(
    said: Mapping[str, Any],
) -> tuple[TensorRtLlm | NeuronX | None, str]:
    """
    Return what is compiled, and the instance type.
    """
    if "graphs" in said:
        degree = said["degree"]
        return NeuronX(said["graphs"], tensor_parallel_degree=degree), "ml.trn1.2xlarge"
    version = said.get("compile")
    return TensorRtLlm(version) if version else None, "ml.g6.xlarge"


main()
