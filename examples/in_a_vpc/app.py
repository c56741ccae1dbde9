"""
A model in private subnets, with weights from a bucket, invoked by a function.
"""

from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import LlmEndpoint, Network, S3Model, Tgi


class PrivateStack(Stack):
    """
    No token and no way out: SageMaker puts the weights in place.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Models", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                )
            ],
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(
                    service=ec2.GatewayVpcEndpointAwsService.S3
                )
            },
        )
        weights = s3.Bucket(
            self,
            "Weights",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
        )
        chat = LlmEndpoint(
            self,
            "Chat",
            model=S3Model.from_bucket(weights, "mistral-7b"),
            serving=Tgi("3.3.6", max_total_tokens=8192),
            instance_type="ml.g5.2xlarge",
            network=Network(
                vpc=vpc,
                subnets=ec2.SubnetSelection(
                    subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                ),
                isolated=True,
            ),
        )
        caller = iam.Role(
            self,
            "Caller",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        chat.grant_invoke(caller)


app = App()
PrivateStack(app, "Private")
app.synth()
