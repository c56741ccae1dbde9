"""
An app that needs one of everything of its account, and what makes the account ready.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cdk_sagemaker_llm.local import EmbeddedAws
from tests.secrecy import TOKEN

if TYPE_CHECKING:
    from cdk_sagemaker_llm.local.aws.untyped import Untyped

REGION = "us-east-1"
TYPE = "ml.g5.12xlarge"

_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
_MANIFEST = {
    "schemaVersion": 2,
    "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
    "config": {"digest": "sha256:" + "0" * 64, "size": 1, "mediaType": "a"},
    "layers": [],
}


@dataclass(frozen=True)
class Ready:
    """
    What the account has.
    """

    key: str
    subnet: str
    account: str


def make_ready(aws: EmbeddedAws) -> Ready:
    """
    Make all that the app needs.
    """
    aws.client("ecr").create_repository(repositoryName="chat")
    aws.client("ecr").put_image(
        repositoryName="chat", imageManifest=json.dumps(_MANIFEST), imageTag="1.0"
    )
    # Of all accounts no two have a bucket of one name.
    bucket = f"weights-{aws.account}"
    aws.client("s3").create_bucket(Bucket=bucket)
    aws.client("s3").put_object(Bucket=bucket, Key="chat/model.tar.gz", Body=b"x")
    aws.client("secretsmanager").create_secret(Name="hub", SecretString=TOKEN)
    aws.client("iam").create_role(
        RoleName="chat", AssumeRolePolicyDocument=json.dumps(_TRUST)
    )
    key = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    vpc = aws.client("ec2").create_vpc(CidrBlock="10.0.0.0/24")["Vpc"]["VpcId"]
    # 32 addresses, of which AWS keeps five.
    subnet = aws.client("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/27")
    return Ready(key, subnet["Subnet"]["SubnetId"], aws.account)


def make_service_role(aws: EmbeddedAws) -> None:
    """
    Make the role that Application Auto Scaling makes at its first use.
    """
    aws.client("iam").create_role(
        RoleName="AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint",
        AssumeRolePolicyDocument=json.dumps(_TRUST),
    )


def write_app(ready: Ready, folder: Path, **changed: Untyped) -> Path:
    """
    Write the app's template.
    """
    role = f"arn:aws:iam::{ready.account}:role/chat"
    image = f"{ready.account}.dkr.ecr.{REGION}.amazonaws.com/chat:1.0"
    plan = f"arn:aws:sagemaker:{REGION}:{ready.account}:training-plan/spring"
    model = {
        "ExecutionRoleArn": role,
        "PrimaryContainer": {
            "Image": image,
            "ModelDataUrl": f"s3://weights-{ready.account}/chat/model.tar.gz",
            "Environment": {
                "HF_TOKEN": "{{resolve:secretsmanager:hub:SecretString:::}}"
            },
        },
        "VpcConfig": {"Subnets": [ready.subnet], "SecurityGroupIds": []},
    }
    variants = [
        {
            "VariantName": "AllTraffic",
            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
            "InstanceType": TYPE,
            "InitialInstanceCount": 2,
            "InitialVariantWeight": 1,
        }
    ]
    reserved = {
        **variants[0],
        "InstanceType": "ml.p4d.24xlarge",
        "CapacityReservationConfig": {
            "CapacityReservationPreference": "capacity-reservations-only",
            "MlReservationArn": plan,
        },
    }
    template = {
        "Resources": {
            "Model": {"Type": "AWS::SageMaker::Model", "Properties": model},
            "Config": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {"ProductionVariants": variants, "KmsKeyId": ready.key},
            },
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointName": "chat",
                    "EndpointConfigName": {"Ref": "Config"},
                    "DeploymentConfig": {
                        "RollingUpdatePolicy": {
                            "MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 1}
                        }
                    },
                },
            },
            "Reserved": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {"ProductionVariants": [reserved]},
            },
            "ReservedEndpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {"EndpointConfigName": {"Ref": "Reserved"}},
            },
        }
    }
    template["Resources"].update(changed)
    path = folder / "Chat.template.json"
    path.write_text(json.dumps(template))
    return path
