"""
A VPC without any way to the internet: the model, the function that asks it, and the
endpoints of just those services of AWS that the two call.

The weights come from a bucket, there before, with the model in it: SageMaker looks at
once. No container needs the Hugging Face Hub, and no token is anywhere.
"""

from aws_cdk import (
    Acknowledgment,
    App,
    CfnOutput,
    CfnResource,
    Duration,
    RemovalPolicy,
    Stack,
    Validations,
)
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from cdk_sagemaker_llm import LlmEndpoint, Network, PrivateAccess, S3Model, Tgi

ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)

# Lambda user guide, configuration-vpc: what a function's role needs, on no resource.
ATTACH = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
]

# What every Python runtime of Lambda has: boto3, and nothing else.
HANDLER = """
import json, os
import boto3

RUNTIME = boto3.client("sagemaker-runtime")


def handler(event, _context):
    answer = RUNTIME.invoke_endpoint(
        EndpointName=os.environ["ENDPOINT"],
        ContentType="application/json",
        Body=json.dumps({"inputs": event["prompt"]}),
    )
    return json.load(answer["Body"])
"""


class ClosedStack(Stack):
    """
    A VPC of isolated subnets that outlives the models: SageMaker's network interfaces
    leave their subnets and security groups some minutes after the endpoint is gone.
    """

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        subnets = ec2.SubnetConfiguration(
            name="Closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
        )
        self.vpc = ec2.Vpc(
            self, "Vpc", max_azs=2, nat_gateways=0, subnet_configuration=[subnets]
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
# checkov:skip=CKV_AWS_115: how many ask at once is left to the account's limit
# checkov:skip=CKV_AWS_116: it is asked and answers at once, and drops nothing
# checkov:skip=CKV_AWS_158: CloudWatch encrypts the function's lines by its own key
# checkov:skip=CKV_AWS_173: the variable is an endpoint's name, and no secret
class PrivateVpc(Stack):
    """
    The model, who asks it, and what both call of AWS.
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
        asker = self._make_asker(vpc, chat.endpoint_name)
        chat.grant_invoke(asker)
        PrivateAccess(self, "PrivateAccess", vpc=vpc)
        CfnOutput(self, "EndpointName", value=chat.endpoint_name)
        CfnOutput(self, "FunctionName", value=asker.function_name)

    def _make_asker(self, vpc: ec2.IVpc, endpoint_name: str) -> lambda_.Function:
        lines = logs.LogGroup(self, "Lines", removal_policy=RemovalPolicy.DESTROY)
        role = iam.Role(
            self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")
        )
        lines.grant_write(role)
        role.add_to_policy(iam.PolicyStatement(actions=ATTACH, resources=["*"]))
        unnamed = Acknowledgment(
            id="AwsSolutions-IAM5[Resource::*]",
            reason="Lambda's network interfaces do not exist before",
        )
        Validations.of(role).acknowledge(unnamed)
        asker = lambda_.Function(
            self,
            "Asker",
            runtime=lambda_.Runtime.PYTHON_3_14,
            handler="index.handler",
            code=lambda_.Code.from_inline(HANDLER),
            timeout=Duration.seconds(60),
            role=role,
            log_group=lines,
            vpc=vpc,
            vpc_subnets=ISOLATED,
            environment={"ENDPOINT": endpoint_name},
        )
        if isinstance(asker.node.default_child, CfnResource):
            # The CDK has it wait for a role that it refers to as well.
            once = {"config": {"ignore_checks": ["W3005"]}}
            asker.node.default_child.add_metadata("cfn-lint", once)
        return asker


app = App()
closed = ClosedStack(app, "Closed")
PrivateVpc(
    app,
    "PrivateVpc",
    vpc=closed.vpc,
    group=closed.group,
    weights=app.node.try_get_context("weights_bucket") or "model-weights",
)
app.synth()
