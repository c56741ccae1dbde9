"""
The deployment with ``cdklabs.generative-ai-cdk-constructs``, as its README does it.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from cdklabs.generative_ai_cdk_constructs import sagemaker_deployment as deployment

MODEL, IMAGE, TAG, INSTANCE = sys.argv[1:]

app = cdk.App()
stack = cdk.Stack(app, "Peer")
image = deployment.DeepLearningContainerImage
endpoint = deployment.HuggingFaceSageMakerEndpoint(
    stack,
    "Endpoint",
    model_id=MODEL,
    container=image.from_deep_learning_container_image(IMAGE, TAG),
    instance_type=deployment.SageMakerInstanceType.of(INSTANCE),
    endpoint_name="peer",
)
caller = iam.Role(
    stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
)
endpoint.grant_invoke(caller)
app.synth()
