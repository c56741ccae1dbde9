"""
A closed VPC, and who may be in it.
"""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cdk_sagemaker_llm import LlmEndpoint, Network, S3Model, Tgi
from tests.unit.hosting.written import written

ISOLATED = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)
TGI = Tgi("3.3.6")
WEIGHTS = S3Model("s3://bucket/weights/")


def a_vpc(scope: Construct, id: str = "Vpc", **given: Any) -> ec2.Vpc:  # noqa: ANN401 - what the VPC takes by keyword
    """
    Define a VPC of isolated subnets in two zones.
    """
    closed = ec2.SubnetConfiguration(
        name="Closed", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED
    )
    return ec2.Vpc(scope, id, max_azs=2, subnet_configuration=[closed], **given)


def a_chat(
    scope: Construct,
    vpc: ec2.IVpc,
    id: str = "Chat",
    groups: tuple[ec2.ISecurityGroup, ...] = (),
    **given: Any,  # noqa: ANN401 - what the endpoint takes by keyword
) -> LlmEndpoint:
    """
    Define an endpoint in a VPC, with weights on S3.
    """
    return LlmEndpoint(
        scope,
        id,
        model=WEIGHTS,
        serving=TGI,
        instance_type="ml.g5.2xlarge",
        network=Network(vpc=vpc, subnets=ISOLATED, security_groups=groups),
        **given,
    )


def a_function(
    scope: Construct,
    vpc: ec2.IVpc,
    id: str = "Asker",
    log_group: logs.ILogGroup | None = None,
) -> lambda_.Function:
    """
    Define a function in a VPC.
    """
    return lambda_.Function(
        scope,
        id,
        runtime=lambda_.Runtime.PYTHON_3_14,
        handler="index.handler",
        code=lambda_.Code.from_inline("handler = print"),
        vpc=vpc,
        vpc_subnets=ISOLATED,
        log_group=log_group,
    )


def endpoints_of(stack: Stack) -> dict[str, Any]:
    """
    Return the properties of a stack's VPC endpoints, by service.
    """
    return {
        each["Properties"]["ServiceName"].split("}.")[-1].split("-1.")[-1]: each[
            "Properties"
        ]
        for each in written(stack, "EC2::VPCEndpoint").values()
    }


def let_through(stack: Stack, service: str) -> list[tuple[Any, Any]]:
    """
    Return what the policy of an endpoint allows, by action and resource.
    """
    statements = endpoints_of(stack)[service]["PolicyDocument"]["Statement"]
    return [(each["Action"], each["Resource"]) for each in statements]
