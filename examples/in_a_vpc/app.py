"""
A model in private subnets without a way out, with weights from a bucket; who asks it is
outside the VPC.
"""

from aws_cdk import Acknowledgment, App, Stack, Validations
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import LlmEndpoint, Network, PrivateAccess, S3Model, Tgi

ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)


class NetworkStack(Stack):
    """
    A VPC that outlives the model: SageMaker's network interfaces leave their subnets
    and security groups some minutes after the endpoint is gone, and a stack that
    deletes both waits for them, or fails.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=2,
            nat_gateways=0,
            subnet_configuration=[
                ec2.SubnetConfiguration(
                    name="Models", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
                )
            ],
        )
        logged = Acknowledgment(
            id="AwsSolutions-VPC7",
            reason="who runs the account logs flows of every VPC",
        )
        Validations.of(self.vpc).acknowledge(logged)
        self.group = ec2.SecurityGroup(
            self, "Models", vpc=self.vpc, description="SageMaker models"
        )


# SageMaker attaches by interfaces that it makes itself: there is none to name before.
# checkov:skip=CKV_AWS_109: its guide gives these actions no resource (host-vpc)
# checkov:skip=CKV_AWS_111: its guide gives these actions no resource (host-vpc)
class PrivateStack(Stack):
    """
    No token and no way out: SageMaker puts the weights in place, by endpoints of just
    those services of AWS that it calls from the subnets.

    The bucket is there before, with the model in it: SageMaker looks at once.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: ec2.IVpc,
        group: ec2.ISecurityGroup,
        weights: str,
    ) -> None:
        super().__init__(scope, id)
        bucket = s3.Bucket.from_bucket_name(self, "Weights", weights)
        chat = LlmEndpoint(
            self,
            "Chat",
            model=S3Model.from_bucket(bucket, "mistral-7b"),
            serving=Tgi("3.3.6", max_total_tokens=8192),
            instance_type="ml.g5.2xlarge",
            network=Network(
                vpc=vpc, subnets=ISOLATED, security_groups=[group], isolated=True
            ),
        )
        caller = iam.Role(
            self,
            "Caller",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
        )
        chat.grant_invoke(caller)
        PrivateAccess(self, "PrivateAccess", vpc=vpc)


app = App()
network = NetworkStack(app, "Network")
PrivateStack(
    app,
    "Private",
    vpc=network.vpc,
    group=network.group,
    weights=app.node.try_get_context("weights_bucket") or "model-weights",
)
app.synth()
