"""
A stack of L1 resources: model with an artifact, config, endpoint, scaling.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from aws_cdk import (
    App,
    CfnOutput,
    CfnResource,
    Environment,
    FileAssetPackaging,
    Fn,
    Stack,
)

LMI = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference"
IMAGE = f"{LMI}:0.26.0-tensorrtllm0.7.1-cu122"
STACK = "Tiny"
ENDPOINT = "tiny-endpoint"


def synth(
    outdir: Path, *, batch_size: str = "16", instance_type: str = "ml.g5.12xlarge"
) -> Path:
    """
    Write the cloud assembly of the app.
    """
    outdir.mkdir(parents=True, exist_ok=True)
    app = App(outdir=str(outdir), analytics_reporting=False)
    stack = Stack(
        app,
        STACK,
        env=Environment(account="123456789012", region="us-east-1"),
    )
    _define(stack, _artifact(stack, outdir, batch_size), instance_type)
    app.synth()
    return outdir


def _define(stack: Stack, url: str, instance_type: str) -> None:
    role = CfnResource(
        stack,
        "Role",
        type="AWS::IAM::Role",
        properties={
            "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Effect": "Allow",
                        "Action": "sts:AssumeRole",
                        "Principal": {"Service": "sagemaker.amazonaws.com"},
                    }
                ],
            }
        },
    )
    model = CfnResource(
        stack,
        "Model",
        type="AWS::SageMaker::Model",
        properties={
            "ExecutionRoleArn": role.get_att("Arn"),
            "PrimaryContainer": {"Image": IMAGE, "ModelDataUrl": url},
        },
    )
    variant = {
        "VariantName": "AllTraffic",
        "ModelName": model.get_att("ModelName"),
        "InstanceType": instance_type,
        "InitialInstanceCount": 1,
    }
    config = CfnResource(
        stack,
        "Config",
        type="AWS::SageMaker::EndpointConfig",
        properties={"ProductionVariants": [variant]},
    )
    endpoint = CfnResource(
        stack,
        "Endpoint",
        type="AWS::SageMaker::Endpoint",
        properties={
            "EndpointName": ENDPOINT,
            "EndpointConfigName": config.get_att("EndpointConfigName"),
        },
    )
    _scale(stack, endpoint)
    CfnOutput(stack, "EndpointName", value=endpoint.get_att("EndpointName").to_string())


def _scale(stack: Stack, endpoint: CfnResource) -> None:
    name = endpoint.get_att("EndpointName").to_string()
    target = CfnResource(
        stack,
        "Target",
        type="AWS::ApplicationAutoScaling::ScalableTarget",
        properties={
            "ServiceNamespace": "sagemaker",
            "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
            "ResourceId": Fn.join("/", ["endpoint", name, "variant", "AllTraffic"]),
            "MinCapacity": 1,
            "MaxCapacity": 4,
        },
    )
    CfnResource(
        stack,
        "Policy",
        type="AWS::ApplicationAutoScaling::ScalingPolicy",
        properties={
            "PolicyName": "Traffic",
            "PolicyType": "TargetTrackingScaling",
            "ScalingTargetId": target.ref,
            "TargetTrackingScalingPolicyConfiguration": {
                "TargetValue": 5,
                "PredefinedMetricSpecification": {
                    "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
                },
            },
        },
    )


def _artifact(stack: Stack, outdir: Path, batch_size: str) -> str:
    text = f"engine=MPI\noption.max_rolling_batch_size={batch_size}\n"
    path = outdir / f"artifact-{batch_size}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("serving.properties")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    location = stack.synthesizer.add_file_asset(
        source_hash=hashlib.sha256(text.encode()).hexdigest(),
        file_name=path.name,
        packaging=FileAssetPackaging.FILE,
    )
    return location.s3_object_url
