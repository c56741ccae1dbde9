"""
The deployment with this library.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from cdk_sagemaker_llm import HuggingFaceModel, LlmEndpoint, Tgi

MODEL, _IMAGE, VERSION, INSTANCE = sys.argv[1:]

app = cdk.App()
stack = cdk.Stack(app, "Peer")
endpoint = LlmEndpoint(
    stack,
    "Endpoint",
    model=HuggingFaceModel(MODEL),
    serving=Tgi(VERSION),
    instance_type=INSTANCE,
)
caller = iam.Role(
    stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
)
endpoint.grant_invoke(caller)
app.synth()
