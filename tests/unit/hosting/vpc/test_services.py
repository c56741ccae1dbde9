"""
Which services an action is a call of, and what the table says of each.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from aws_cdk import aws_ec2 as ec2

from cdk_sagemaker_llm.hosting.vpc.services import (
    SERVICES,
    Service,
    reached_by,
    service_named,
)

PAGE = Path(__file__).parents[4] / "docs" / "networks.md"
ACTIONS = {
    "sagemaker:InvokeEndpoint": ("sagemaker.runtime",),
    "sagemaker:InvokeEndpointAsync": ("sagemaker.runtime",),
    "sagemaker:InvokeEndpointWithResponseStream": ("sagemaker.runtime",),
    "sagemaker:Invoke*": ("sagemaker.runtime",),
    "sagemaker:*": ("sagemaker.runtime", "sagemaker.api"),
    "sagemaker:In*": ("sagemaker.runtime", "sagemaker.api"),
    "sagemaker:DescribeEndpoint": ("sagemaker.api",),
    "SageMaker:invokeendpoint": ("sagemaker.runtime",),
    "s3:GetObject": ("s3",),
    "logs:PutLogEvents": ("logs",),
    "cloudwatch:PutMetricData": ("monitoring",),
    "ecr:BatchGetImage": ("ecr.api", "ecr.dkr"),
    "sts:AssumeRole": ("sts",),
    "secretsmanager:GetSecretValue": ("secretsmanager",),
    "ssm:GetParameter": ("ssm",),
    "kms:Decrypt": ("kms",),
    "application-autoscaling:RegisterScalableTarget": ("application-autoscaling",),
    "ec2:CreateNetworkInterface": (),
    "dynamodb:GetItem": (),
    "*": (),
    "": (),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_a_call_of_a_service(action: str) -> None:
    """
    Of one that hosting calls from inside a VPC, or of none.
    """
    assert reached_by(action) == ACTIONS[action]


def test_each_service_says_who_calls_it_and_why() -> None:
    """
    With where that is written.
    """
    assert len({each.id for each in SERVICES}) == len(SERVICES) == 12
    assert all(each.callers and each.why and each.source for each in SERVICES)
    assert all(service_named(each.name) is each for each in SERVICES)


def test_the_cdk_knows_each_by_the_same_name() -> None:
    """
    As an endpoint's service name ends.
    """
    found = {
        each.name: getattr(ec2.InterfaceVpcEndpointAwsService, each.constant)
        for each in SERVICES
        if each.constant
    }

    assert {name: one.short_name for name, one in found.items()} == {
        name: name for name in found
    }
    assert len(found) == len(SERVICES) - 1


@pytest.mark.parametrize("service", SERVICES, ids=lambda each: each.name)
def test_the_page_has_a_row_for_each(service: Service) -> None:
    """
    In the table's words.
    """
    row = " | ".join(
        [f"`{service.name}`", service.callers, service.why, service.source]
    )

    assert f"| {row} |\n" in PAGE.read_text(encoding="utf-8")
