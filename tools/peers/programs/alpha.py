"""
The deployment with ``aws-cdk.aws-sagemaker-alpha``, as its documentation does it.
"""

from __future__ import annotations

import sys

import aws_cdk as cdk
import aws_cdk.aws_sagemaker_alpha as sagemaker
from aws_cdk import aws_iam as iam

MODEL, IMAGE, TAG, INSTANCE = sys.argv[1:]

app = cdk.App()
stack = cdk.Stack(app, "Peer")
model = sagemaker.Model(
    stack,
    "Model",
    containers=[
        sagemaker.ContainerDefinition(
            image=sagemaker.ContainerImage.from_dlc(IMAGE, TAG),
            environment={"HF_MODEL_ID": MODEL},
        )
    ],
)
config = sagemaker.EndpointConfig(
    stack,
    "Config",
    instance_production_variants=[
        sagemaker.InstanceProductionVariantProps(
            model=model,
            variant_name="AllTraffic",
            instance_type=sagemaker.InstanceType.of(INSTANCE),
        )
    ],
)
endpoint = sagemaker.Endpoint(stack, "Endpoint", endpoint_config=config)
caller = iam.Role(
    stack, "Caller", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
)
endpoint.grant_invoke(caller)
app.synth()
