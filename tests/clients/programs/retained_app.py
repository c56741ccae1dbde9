"""
An app of other libraries' constructs whose resources stay when its stacks go, as
CloudFormation asks before another stack takes them over.

Its arguments are an artifact's path, its URL, a security group, and two subnets; the
CDK CLI runs it.
"""

from __future__ import annotations

import sys

import alpha_app
import aws_cdk as cdk
import aws_cdk.aws_ec2 as ec2
import aws_cdk.aws_kms as kms
import aws_cdk.aws_sagemaker_alpha as sagemaker
import generative_app
from cdklabs.generative_ai_cdk_constructs import sagemaker_deployment as deployment

ENVIRONMENT = {"HF_MODEL_ID": "Qwen/Qwen2.5-7B-Instruct"}


def private(stack: cdk.Stack, group: str, subnets: list[str]) -> None:
    """
    Define an endpoint of the alpha constructs in a VPC, with a key.
    """
    vpc = ec2.Vpc.from_vpc_attributes(
        stack,
        "Vpc",
        vpc_id="vpc-0",
        availability_zones=["us-east-1a", "us-east-1b"],
        private_subnet_ids=subnets,
    )
    model = sagemaker.Model(
        stack,
        "PrivateModel",
        containers=[
            sagemaker.ContainerDefinition(
                image=sagemaker.ContainerImage.from_dlc("djl-inference", alpha_app.TAG),
                environment=ENVIRONMENT,
            )
        ],
        vpc=vpc,
        security_groups=[
            ec2.SecurityGroup.from_security_group_id(stack, "Group", group)
        ],
        network_isolation=True,
    )
    config = sagemaker.EndpointConfig(
        stack,
        "PrivateConfig",
        encryption_key=kms.Key(stack, "Key"),
        instance_production_variants=[
            sagemaker.InstanceProductionVariantProps(
                model=model,
                variant_name="AllTraffic",
                initial_instance_count=2,
                instance_type=sagemaker.InstanceType.of("ml.p3.2xlarge"),
            )
        ],
    )
    sagemaker.Endpoint(
        stack, "PrivateEndpoint", endpoint_config=config, endpoint_name="alpha-private"
    )


def least(stack: cdk.Stack) -> None:
    """
    Define an endpoint of the alpha constructs with nothing that can be left out.
    """
    image = sagemaker.ContainerImage.from_dlc("djl-inference", alpha_app.TAG)
    container = sagemaker.ContainerDefinition(image=image, environment=ENVIRONMENT)
    model = sagemaker.Model(stack, "LeastModel", containers=[container])
    variant = sagemaker.InstanceProductionVariantProps(model=model, variant_name="Only")
    config = sagemaker.EndpointConfig(
        stack, "LeastConfig", instance_production_variants=[variant]
    )
    sagemaker.Endpoint(
        stack, "LeastEndpoint", endpoint_config=config, endpoint_name="alpha-least"
    )


def tuned(stack: cdk.Stack, artifact: str) -> None:
    """
    Define an endpoint of the generative-AI constructs with all that it takes.
    """
    deployment.CustomSageMakerEndpoint(
        stack,
        "Tuned",
        model_id="tuned",
        model_data_url=artifact,
        container=generative_app.LMI,
        instance_type=deployment.SageMakerInstanceType.ML_P3_2_XLARGE,
        endpoint_name="retained-tuned",
        environment={"OPTION_ROLLING_BATCH": "vllm"},
        instance_count=2,
        volume_size_in_gb=128,
        model_data_download_timeout_in_seconds=1200,
        startup_health_check_timeout_in_seconds=1200,
    )


if __name__ == "__main__":
    path, url, group, *subnets = sys.argv[1:]
    app = cdk.App()
    where = cdk.Environment(account="123456789012", region="us-east-1")
    alpha = cdk.Stack(app, "RetainedAlpha", env=where)
    alpha_app.define(alpha, path, 3)
    private(alpha, group, subnets)
    least(alpha)
    generative = cdk.Stack(app, "RetainedGenerative", env=where)
    generative_app.define(generative, url, "retained")
    tuned(generative, url)
    for one in [*alpha.node.find_all(), *generative.node.find_all()]:
        if isinstance(one, cdk.CfnResource):
            one.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
    app.synth()
