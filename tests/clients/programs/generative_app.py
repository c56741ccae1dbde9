"""
An app of the generative-AI constructs: a model of the Hub, one of JumpStart, one's own.

Its one argument is the URL of that last model's artifact; the CDK CLI runs it.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk
from cdklabs.generative_ai_cdk_constructs import sagemaker_deployment as deployment

INSTANCE = deployment.SageMakerInstanceType.ML_G5_12_XLARGE
TGI = deployment.DeepLearningContainerImage.from_deep_learning_container_image(
    "huggingface-pytorch-tgi-inference", "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04"
)
LMI = deployment.DeepLearningContainerImage.from_deep_learning_container_image(
    "djl-inference", "0.36.0-lmi28.0.0-cu130"
)


def define(stack: cdk.Stack, artifact: str, name: str = "generative") -> None:
    """
    Define an endpoint of each kind, whose names begin with one.
    """
    deployment.HuggingFaceSageMakerEndpoint(
        stack,
        "Hub",
        model_id="mistralai/Mistral-7B-v0.1",
        container=TGI,
        instance_type=INSTANCE,
        endpoint_name=f"{name}-hub",
    )
    deployment.JumpStartSageMakerEndpoint(
        stack,
        "JumpStart",
        model=deployment.JumpStartModel.HUGGINGFACE_LLM_MISTRAL_7_B_2_0_0,
        endpoint_name=f"{name}-jumpstart",
    )
    deployment.CustomSageMakerEndpoint(
        stack,
        "Custom",
        model_id="own",
        model_data_url=artifact,
        container=LMI,
        instance_type=INSTANCE,
        endpoint_name=f"{name}-custom",
        min_capacity=1,
        max_capacity=2,
    )


if __name__ == "__main__":
    app = cdk.App()
    where = cdk.Environment(account="123456789012", region="us-east-1")
    define(cdk.Stack(app, "Generative", env=where), sys.argv[1])
    app.synth()
