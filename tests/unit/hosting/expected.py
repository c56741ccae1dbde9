"""
What several tests expect to be written: statements and policies, word for word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ACCESS_TO_MINE = "SageMakerAccessminePolicy"
# No other stack has this name: two that share a role would overwrite each other's.
NAME_OF_MINE = {
    "Fn::Join": [
        "",
        [
            "TestSageMakerAccessmine1CA216B6-",
            {"Fn::Select": [2, {"Fn::Split": ["/", "${AWS::StackId}"]}]},
        ],
    ]
}
KEY_ARN = "arn:aws:kms:us-east-1:111111111111:key/12345678-1234-1234-1234-123456789012"
RESERVATION_ARN = "arn:aws:sagemaker:us-east-1:111111111111:training-plan/mine"
ROLE_ARN = "arn:aws:iam::111111111111:role/mine"
TGI_IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-tgi-inference:"
    "2.1.1-tgi1.4.5-gpu-py310-cu121-ubuntu22.04"
)
TRT_IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:"
    "0.26.0-tensorrtllm0.7.1-cu122"
)
VLLM_IMAGE = (
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/vllm:server-sagemaker-cuda-v2.6"
)
TARBALL = "s3://cdk-hnb659fds-assets-111111111111-us-east-1/<asset hash>.gz"

TRUST_POLICY = {
    "Statement": [
        {
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": "111111111111"}},
            "Effect": "Allow",
            "Principal": {"Service": "sagemaker.amazonaws.com"},
        }
    ],
    "Version": "2012-10-17",
}
ROLE = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": TRUST_POLICY,
        "Description": "Runs a language model on SageMaker",
    },
}
LOG_IN = {
    "Action": "ecr:GetAuthorizationToken",
    "Effect": "Allow",
    "Resource": "*",
    "Sid": "LogInToRegistries",
}
PULL_TGI = {
    "Action": [
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetDownloadUrlForLayer",
    ],
    "Effect": "Allow",
    "Resource": (
        "arn:${AWS::Partition}:ecr:us-east-1:763104351884:repository/"
        "huggingface-pytorch-tgi-inference"
    ),
    "Sid": "PullImage",
}
PULL_VLLM = {
    "Action": [
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetDownloadUrlForLayer",
    ],
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:ecr:us-east-1:763104351884:repository/vllm",
    "Sid": "PullImage",
}
READ_TARBALL = {
    "Action": "s3:GetObject",
    "Effect": "Allow",
    "Resource": (
        "arn:${AWS::Partition}:s3:::cdk-hnb659fds-assets-111111111111-us-east-1/532eaabd9574*.gz"
    ),
    "Sid": "ReadTarball",
}
FIND_TARBALL = {
    "Action": "s3:ListBucket",
    "Condition": {"StringLike": {"s3:prefix": ["532eaabd9574*.gz"]}},
    "Effect": "Allow",
    "Resource": (
        "arn:${AWS::Partition}:s3:::cdk-hnb659fds-assets-111111111111-us-east-1"
    ),
    "Sid": "FindTarball",
}
READ_WEIGHTS = {
    "Action": "s3:GetObject",
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::weights-bucket/llama/*",
    "Sid": "ReadWeights",
}
LIST_WEIGHTS = {
    "Action": "s3:ListBucket",
    "Condition": {"StringLike": {"s3:prefix": ["llama/*"]}},
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::weights-bucket",
    "Sid": "ListWeights",
}
DECRYPT_WEIGHTS = {
    "Action": "kms:Decrypt",
    "Effect": "Allow",
    "Resource": KEY_ARN,
    "Sid": "DecryptWeights",
}
ENCRYPT_VOLUMES = {
    "Action": "kms:CreateGrant",
    "Effect": "Allow",
    "Resource": KEY_ARN,
    "Sid": "EncryptVolumes",
}
WRITE_ANSWERS = {
    "Action": ["s3:AbortMultipartUpload", "s3:PutObject"],
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::answers-bucket/out/*",
    "Sid": "WriteAnswers",
}
READ_REQUESTS = {
    "Action": "s3:GetObject",
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::answers-bucket/*",
    "Sid": "ReadRequests",
}
FIND_REQUESTS = {
    "Action": "s3:ListBucket",
    "Condition": {"StringLike": {"s3:prefix": ["*"]}},
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::answers-bucket",
    "Sid": "FindRequests",
}
WRITE_CAPTURED = {
    "Action": ["s3:AbortMultipartUpload", "s3:PutObject"],
    "Effect": "Allow",
    "Resource": "arn:${AWS::Partition}:s3:::captured-bucket/*",
    "Sid": "WriteCaptured",
}
ASYNC_CONFIG = {"OutputConfig": {"S3OutputPath": "s3://answers-bucket/out"}}
CAPTURE_CONFIG = {
    "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
    "CaptureOptions": [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}],
    "DestinationS3Uri": "s3://captured-bucket",
    "EnableCapture": True,
    "InitialSamplingPercentage": 100,
}
WRITE_LOGS = {
    "Action": [
        "logs:CreateLogGroup",
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
    ],
    "Effect": "Allow",
    "Resource": [
        (
            "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}"
            ":log-group:/aws/sagemaker/Endpoints/*"
        ),
        (
            "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}"
            ":log-group:/aws/sagemaker/InferenceComponents/*"
        ),
    ],
    "Sid": "WriteLogs",
}
PUBLISH_METRICS = {
    "Action": "cloudwatch:PutMetricData",
    "Condition": {"StringLike": {"cloudwatch:namespace": ["/aws/sagemaker/*"]}},
    "Effect": "Allow",
    "Resource": "*",
    "Sid": "PublishMetrics",
}
ATTACH_TO_VPC = {
    "Action": [
        "ec2:CreateNetworkInterface",
        "ec2:CreateNetworkInterfacePermission",
        "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission",
        "ec2:DescribeDhcpOptions",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
    ],
    "Effect": "Allow",
    "Resource": "*",
    "Sid": "AttachToVpc",
}
SECURITY_GROUP = {
    "Type": "AWS::EC2::SecurityGroup",
    "Properties": {
        "GroupDescription": "SageMaker model",
        "SecurityGroupEgress": [
            {
                "CidrIp": "0.0.0.0/0",
                "Description": "Allow all outbound traffic by default",
                "IpProtocol": "-1",
            }
        ],
        "VpcId": "vpc-1234567890abcdef0",
    },
}


def policy(
    name: str | Mapping[str, Any], role: str, *statements: dict[str, Any]
) -> dict[str, Any]:
    """
    Return a policy of these statements, no more and no fewer, in this order.
    """
    return {
        "Type": "AWS::IAM::Policy",
        "Properties": {
            "PolicyDocument": {
                "Statement": list(statements),
                "Version": "2012-10-17",
            },
            "PolicyName": name,
            "Roles": [role],
        },
    }
